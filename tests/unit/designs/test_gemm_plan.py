"""Plans of products: what they offer has room on the device, and takes as long as it says."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.designs import Gemm, TileShape, WholeArrayGemm
from tilewright.designs.gemm_candidate import Candidate
from tilewright.device import TileType, model

PAIRS = ["i8", "i8_i8", "i8_i16", "i16", "i16_i16", "bf16", "bf16_bf16"]


@settings(max_examples=10, deadline=None)
@given(
    st.tuples(*[st.integers(1, 1500)] * 3),
    st.sampled_from(PAIRS),
    st.sampled_from(["npu1", "npu2"]),
    st.tuples(st.booleans(), st.booleans()),
)
def test_candidates_have_room(sizes: tuple[int, int, int], types: str, device: str, orders: tuple[bool, bool]) -> None:
    a_col_maj, b_col_maj = orders
    plan = Gemm.plan(*sizes, types, device, columns=2, a_col_maj=a_col_maj, b_col_maj=b_col_maj)
    target = model(device)
    core, mem, shim = (target.resources(kind) for kind in (TileType.CoreTile, TileType.MemTile, TileType.ShimNOCTile))
    for candidate in plan:
        assert candidate.l1_bytes <= core.data_memory_bytes and candidate.l2_bytes <= mem.data_memory_bytes
        assert candidate.channels <= (mem.s2mm_channels, mem.mm2s_channels)
        assert candidate.descriptors[0] <= mem.bds and candidate.descriptors[1] <= shim.bds
        assert candidate.gemm.types.names.startswith(types)
        assert 0 < candidate.of_peak < 1 and candidate.cycles > candidate.bound_cycles
    assert [candidate.cycles for candidate in plan] == sorted(candidate.cycles for candidate in plan)


def test_a_plan_is_quick_and_readable() -> None:
    start = time.process_time()
    plan = Gemm.plan(4096, 4096, 4096, "i8_i8", "npu2", b_col_maj=True)
    assert time.process_time() - start < 2
    title, headings, *rows = str(plan).splitlines()
    assert title.startswith("4096 x 4096 x 4096 of i8_i8 on 8 columns of npu2")
    assert headings.split()[:3] == ["tile", "k_mt", "C"] and len(rows) == len(plan) == 10


def test_a_bound_has_no_overheads() -> None:
    """The kernel's cycles, bytes over limits: nothing of what a core does around its kernel, no bytes of bursts."""
    candidate = Candidate(WholeArrayGemm("npu1", 4, "i8", TileShape(112, 112, 112), "i8", k_mt=224), 448, 448, 896)
    step = 112**3 / 212.5  # as published for this tile
    assert candidate.compute_cycles == pytest.approx(2 * 4 * step, rel=1e-3)
    read, written = 2 * (448 * 448 + 448 * 448), 448 * 896
    assert candidate.read_cycles == pytest.approx(read / 15)
    assert candidate.mixed_cycles == pytest.approx((read + written) / 20)
    assert candidate.bound_cycles == candidate.mixed_cycles and candidate.bound == "reads and writes"


def test_few_columns_are_planned_as_few_rows() -> None:
    """Eight channels bring in B, four A: a matrix times a vector is as fast as the matrix can be read."""
    plan = Gemm.plan(4096, 4096, 1, "bf16", "npu2")
    assert (plan.best.m, plan.best.k, plan.best.n) == (1, 4096, 4096) and plan.best.gemm.b_col_maj
    assert plan.best.cycles < 1.1 * 4096 * 4096 * 2 / (50_000 / 1800)
    assert str(plan).startswith("4096 x 4096 x 1 of bf16_f32")


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (1, 100_000, 1), (100_000, 4, 3), (17, 4096, 4096)])
def test_plans_of_odd_shapes(sizes: tuple[int, int, int]) -> None:
    for types in ("i8_i8", "bf16"):
        assert Gemm.plan(*sizes, types, "npu2").best.cycles > 0


@pytest.mark.parametrize(
    "gemm, sizes",
    [
        pytest.param(
            WholeArrayGemm("npu1", 2, "i8", TileShape(64, 64, 64), "i8", b_col_maj=True, c_depth=1, k_mt=256),
            (512, 1024, 512),
            id="one tile of C",
        ),
        pytest.param(
            WholeArrayGemm("npu2", 2, "bf16", TileShape(64, 32, 64), "bf16", k_mt=128),
            (512, 1024, 512),
            id="two of them",
        ),
        pytest.param(WholeArrayGemm("npu1", 1, "i16", TileShape(32, 64, 32)), (384, 512, 128), id="one column"),
        pytest.param(
            WholeArrayGemm("npu2", 1, "i16", TileShape(16, 64, 128), k_mt=64, read_burst=128),
            (256, 192, 128),
            id="the sequence waits for C of the last block but one",
        ),
        pytest.param(
            WholeArrayGemm("npu1", 4, "i8", TileShape(64, 64, 64), "i8", c_depth=1, read_burst=128),
            (256, 256, 256),
            id="one block: reads begin before all are started",
        ),
        pytest.param(
            WholeArrayGemm("npu1", 4, "i8", TileShape(64, 176, 64), c_depth=1, read_burst=128, any_k=True),
            (512, 512, 512),
            id="a rest has transfers of its own",
        ),
    ],
)
def test_predictions_hold(gemm: WholeArrayGemm, sizes: tuple[int, int, int]) -> None:
    """Of short products, too, where the start and the end count."""
    m, k, n = sizes
    a, b = (np.ones(shape) for shape in ((m, k), (k, n)))
    cycles = Gemm(gemm).run(a, b).result.cycles
    assert Candidate(gemm, m, k, n).cycles == pytest.approx(cycles, rel=0.05)


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ((64, 64, 64, "f64", "npu1"), "no product of 'f64'; there is i8, i16, bf16"),
        ((64, 64, 64, "i16_i8", "npu1"), "no product of i16 is added up in 'i8'; there is i16, i32"),
        ((64, 64, 64, "i16", "npu1", 5), "npu1 has 4 columns"),
        ((64, 0, 64, "i16", "npu1"), "no product of 64 x 0 and 0 x 64"),
    ],
)
def test_plans_that_cannot_be(arguments: tuple[int, int, int, str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Gemm.plan(*arguments)
