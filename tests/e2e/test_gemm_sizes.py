"""Random products: any options of the design, sizes from one element to several blocks, all from one build each."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from tilewright.designs import Gemm, TileShape, WholeArrayGemm
from tilewright.designs.gemm_types import tile_steps
from tilewright.device import model
from tilewright.device.vector_unit import vector_unit
from tilewright.iron.dtype import dtype_map

DESIGNS = int(os.environ.get("TILEWRIGHT_GEMM_DESIGNS", "4"))
"""How many designs are tried: 100 in the long run, which uses all columns."""
IS_LONG = DESIGNS >= 50
SIZES = 5
"""Products of each."""


def random_design(random: np.random.Generator) -> WholeArrayGemm:
    device = str(random.choice(["npu1", "npu2"]))
    columns = int(random.integers(1, model(device).columns + 1 if IS_LONG else 3))
    unit = vector_unit(model(device).arch)
    pairs = sorted(unit.blocks)
    operand, sums = pairs[random.integers(len(pairs))]
    blocks_too = operand == "bf16" and device == "npu2" and bool(random.integers(2))
    steps = tile_steps((unit.emulated_blocks if blocks_too else unit.blocks)[operand, sums])
    a_col_maj, b_col_maj = (bool(random.integers(2)) for _ in "ab")
    if a_col_maj and b_col_maj:  # cores do the turned product
        steps = steps[2], steps[1], steps[0]
    m, k, n = (step * int(random.integers(1, 3)) for step in steps)
    return WholeArrayGemm(
        device,
        columns,
        operand,
        TileShape(m, k, n),
        sums,
        a_col_maj=a_col_maj,
        b_col_maj=b_col_maj,
        c_depth=int(random.integers(1, 3)),
        k_mt=k * int(random.integers(1, 4)),
        any_k=bool(random.integers(2)),
        batched=bool(random.integers(2)),
        block_floats=blocks_too,
    )


def random_size(random: np.random.Generator, block: int) -> int:
    """Less than a block, whole blocks, or something between."""
    return int(
        random.choice([random.integers(1, block + 1), block * random.integers(1, 4), random.integers(1, 3 * block)])
    )


def expected(gemm: WholeArrayGemm, a: Any, b: Any) -> Any:
    """Small integers: no sum of floats is rounded, and integers wrap."""
    exact = a.astype(np.int64) @ b.astype(np.int64)
    return exact.astype(dtype_map[gemm.result])


@pytest.mark.parametrize("seed", range(DESIGNS))
def test_any_sizes_and_options(seed: int) -> None:
    random = np.random.default_rng(seed)
    gemm = random_design(random)
    product = Gemm(gemm)
    most = 2 if gemm.operand == "bf16" else 100  # sums of bf16 stay below 256, up to which integers are exact
    for _ in range(SIZES):
        m, k, n = (random_size(random, block) for block in gemm.multiples)
        k = min(k, 100) if gemm.result == "bf16" else k
        many = (int(random.integers(1, 3)),) if gemm.batched else ()
        a, b = (
            random.integers(-most + 1, most, (*many, *shape)).astype(dtype_map[gemm.operand])
            for shape in ((m, k), (k, n))
        )
        np.testing.assert_array_equal(product(a, b), expected(gemm, a, b), f"{gemm}: {m} x {k} x {n}")
