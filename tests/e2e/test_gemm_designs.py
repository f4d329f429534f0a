"""One build of a product serves every size: NumPy says what comes out, a build with the sizes in it what is written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from txn_effects import effects

import tilewright as tw
from tilewright.designs import (
    Gemm,
    SingleCoreGemm,
    SingleCoreGemmPlaced,
    SingleCoreGemmTasks,
    TileShape,
    WholeArrayGemm,
)
from tilewright.designs.gemm_types import SUMS
from tilewright.device import model
from tilewright.driver import compiled_design as design_module
from tilewright.iron.dtype import dtype_map

SIZES = int(os.environ.get("TILEWRIGHT_GEMM_SIZES", "3"))
"""Products of each build: 25 in the long run."""
IS_LONG = SIZES >= 25
STYLES = SingleCoreGemm, SingleCoreGemmTasks, SingleCoreGemmPlaced
DEVICES = {"npu1": (1, 2, 4), "npu2": (1, 2, 4, 8)}
USUAL = [
    *(style("npu2_1col", "i16") for style in STYLES),
    WholeArrayGemm("npu1", 1, "bf16"),
    WholeArrayGemm("npu1", 2, "i16"),
    WholeArrayGemm("npu1", 4, "i8"),
]
ALL = [
    *(style(f"{device}_1col", operand) for style in STYLES for device in DEVICES for operand in SUMS),
    *(WholeArrayGemm(d, c, operand) for d, columns in DEVICES.items() for c in columns for operand in SUMS),
]


def name(gemm: Any) -> str:
    columns = f", {gemm.columns} columns" if isinstance(gemm, WholeArrayGemm) else ""
    return f"{type(gemm).__name__} of {gemm.operand} on {gemm.device}{columns}"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is compiled, in order: designs, and generators of their sequences."""
    found = list[str]()

    def count(function: str, as_name: str) -> None:
        original: Callable[..., Any] = getattr(design_module, function)

        def counted(*given: Any, **named: Any) -> Any:
            found.append(as_name)
            return original(*given, **named)

        monkeypatch.setattr(design_module, function, counted)

    count("run_pipeline", "design")
    count("_native", "generator")
    count("_interpreted", "generator")
    yield found


def random_matrices(gemm: Any, random: np.random.Generator, m: int, k: int, n: int) -> tuple[Any, Any, Any]:
    """Operands, and their product. Floats are small integers, so that they are added up without rounding."""
    low, high = (-8, 8) if gemm.operand == "bf16" else (-100, 100)
    a, b = (random.integers(low, high, shape).astype(dtype_map[gemm.operand]) for shape in ((m, k), (k, n)))
    wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype_map[SUMS[gemm.operand]])
    return a, b, wanted


def random_sizes(gemm: Any, random: np.random.Generator) -> tuple[int, int, int]:
    """A few tiles in each dimension."""
    m, k, n = (step * int(random.integers(1, 4)) for step in gemm.multiples)
    return m, k, n


def built_in(gemm: Any, m: int, k: int, n: int) -> tw.Design:
    """The same design with its sizes as constants."""
    program = gemm.program()
    text = str(program.resolve_program() if hasattr(program, "resolve_program") else program)
    numbers = "\n".join(f"%{name} = arith.constant {size} : i32" for name, size in zip("MKN", (m, k, n), strict=True))
    header = re.compile(r", %(\w+): i32, %(\w+): i32, %(\w+): i32\) \{")
    found = header.search(text)
    assert found is not None
    sequence = text[found.end() :]
    for argument, letter in zip(found.groups(), "MKN", strict=True):
        sequence = re.sub(rf"%{argument}\b", f"%{letter}", sequence)
    return tw.compile(f"{text[: found.start()]}) {{\n{numbers}{sequence}")


@pytest.mark.parametrize("gemm", [SingleCoreGemmTasks(f"{device}_1col") for device in DEVICES], ids=name)
def test_tasks_give_their_descriptors_back(gemm: Any) -> None:
    """Products with more tiles than a shim tile has descriptors."""
    loaded = tw.compile(gemm.program()).load(timing="none")
    for sizes in ((128, 64, 128), (128, 128, 128), (1024, 32, 32)):
        a, b, wanted = random_matrices(gemm, np.random.default_rng(5), *sizes)
        result = np.zeros_like(wanted)
        loaded.run(a, b, result, *sizes)
        np.testing.assert_array_equal(result, wanted, str(sizes))


@pytest.mark.parametrize("gemm", ALL if IS_LONG else USUAL, ids=name)
def test_one_build_serves_every_size(gemm: Any, compilations: list[str]) -> None:
    random = np.random.default_rng(7)
    design = tw.compile(gemm.program())
    loaded = design.load()
    for _ in range(SIZES):
        m, k, n = random_sizes(gemm, random)
        a, b, wanted = random_matrices(gemm, random, m, k, n)
        result = np.zeros_like(wanted)
        loaded.run(a, b, result, m, k, n)
        np.testing.assert_array_equal(result, wanted, str((m, k, n)))
    assert compilations == ["design", "generator"]


@pytest.mark.parametrize("gemm", ALL if IS_LONG else [*USUAL[:3], USUAL[-1]], ids=name)
def test_sizes_built_in_have_the_same_effect(gemm: Any) -> None:
    random, design = np.random.default_rng(11), tw.compile(gemm.program())
    for _ in range(SIZES if IS_LONG else 1):
        m, k, n = random_sizes(gemm, random)
        device = model(gemm.device).name
        assert effects(design.txn(M=m, K=k, N=n), device) == effects(built_in(gemm, m, k, n).txn(), device)


OPTIONS = [
    WholeArrayGemm("npu1", 1, "i8", sums="i8", b_col_maj=True, c_depth=1, k_mt=64),
    WholeArrayGemm("npu1", 3, "i8", sums="i16", a_col_maj=True, b_col_maj=True, k_mt=64),
    WholeArrayGemm("npu2", 1, "i16", TileShape(16, 32, 64), sums="i16", k_mt=96),
    WholeArrayGemm("npu1", 2, "bf16", sums="bf16", b_col_maj=True, k_mt=64),
    WholeArrayGemm("npu2", 1, "bf16", TileShape(48, 16, 32), sums="bf16", a_col_maj=True, b_col_maj=True),
    WholeArrayGemm("npu1", 2, "i8", TileShape(32, 32, 32), a_col_maj=True, k_mt=64),
    WholeArrayGemm("npu2", 1, "bf16", block_floats=True),
]


def in_steps(gemm: WholeArrayGemm, a: Any, b: Any) -> Any:
    """The product as cores add it up: wrapped, or rounded for each block to f32, for each tile to the type of C."""
    kind, step, depth = dtype_map[gemm.result], gemm.types.s, gemm.tile.k
    if gemm.operand != "bf16":
        return (a.astype(np.int64) @ b.astype(np.int64)).astype(kind)
    total = np.zeros((a.shape[0], b.shape[1]), kind)
    for tile in range(0, a.shape[1], depth):
        sums = total.astype(np.float32)
        for at in range(tile, tile + depth, step):
            sums += a[:, at : at + step].astype(np.float64) @ b[at : at + step].astype(np.float64)
        total = sums.astype(kind)
    return total


@pytest.mark.parametrize("gemm", OPTIONS, ids=str)
def test_types_orders_and_depths(gemm: WholeArrayGemm) -> None:
    """Blocks at the edges of C overlap: nothing is padded but K."""
    random, product, (rows, depth, columns) = np.random.default_rng(13), Gemm(gemm), gemm.multiples
    for m, k, n in [(rows, depth, columns), (rows + 5, 3 * depth, columns + 12)]:
        a, b = (random.integers(-8, 8, shape).astype(dtype_map[gemm.operand]) for shape in ((m, k), (k, n)))
        if gemm.operand == "bf16" and not gemm.block_floats:
            a, b = (a / 7).astype(a.dtype), (b / 5).astype(b.dtype)
        np.testing.assert_array_equal(product(a, b), in_steps(gemm, a, b))


@pytest.mark.parametrize(
    "gemm",
    [
        WholeArrayGemm("npu1", 1, "i8", any_k=True, k_mt=64),
        WholeArrayGemm("npu2", 1, "bf16", TileShape(16, 16, 32), b_col_maj=True, k_mt=48, any_k=True),
    ],
    ids=str,
)
def test_any_depth(gemm: WholeArrayGemm) -> None:
    """The last piece overlaps the one before: whole tiles of it may be old, or a part of one, or none."""
    random, product, (m, piece, n) = np.random.default_rng(17), Gemm(gemm), gemm.multiples
    for k in (piece, piece + 4, 2 * piece - 12, 3 * piece):
        a, b = (random.integers(-8, 8, shape).astype(dtype_map[gemm.operand]) for shape in ((m, k), (k, n + 8)))
        assert gemm.padded(m, k, n + 8) == (m, k, n + 8)
        wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype_map[gemm.result])
        np.testing.assert_array_equal(product(a, b), wanted, str(k))


@pytest.mark.parametrize(
    "device, types, tile",
    [
        ("npu1", ("i8", "i8"), TileShape(112, 112, 112)),
        ("npu2", ("i8", "i8"), TileShape(160, 64, 144)),
        ("npu1", ("bf16", "bf16"), TileShape(96, 56, 96)),
        ("npu1", ("i8", "i32"), TileShape(80, 88, 96)),
    ],
)
def test_tiles_of_the_literature(device: str, types: tuple[str, str], tile: TileShape) -> None:
    """They nearly fill a core's memory; one column says whether they fit."""
    gemm = WholeArrayGemm(device, 1, types[0], tile, types[1], b_col_maj=True, c_depth=1, k_mt=2 * tile.k)
    assert tw.compile(gemm.program()).sequences


def test_many_matrices_and_vectors() -> None:
    """One sequence for all of them; a vector is a matrix with one column, which the host pads."""
    gemm, random = Gemm(WholeArrayGemm("npu1", 1, "i8", batched=True)), np.random.default_rng(5)
    a, b = (random.integers(-100, 100, shape, np.int8) for shape in ((3, 140, 64), (3, 64, 40)))
    exact = a.astype(np.int32)
    np.testing.assert_array_equal(gemm(a, b), exact @ b)
    np.testing.assert_array_equal(gemm(a, b[:, :, 0]), (exact @ b)[:, :, 0])
    with pytest.raises(ValueError, match=r"no product of matrices of the shapes \(140, 64\) and \(64, 40\)"):
        gemm(a[0], b[0])


def test_a_matrix_times_a_vector_is_turned() -> None:
    """With rows of A and columns of B, one build does C = A B and C' = B' A', whichever is faster."""
    design, random = WholeArrayGemm("npu1", 2, "i8", TileShape(16, 32, 64), b_col_maj=True), np.random.default_rng(8)
    gemm = Gemm(design)
    assert gemm.sizes(600, 64, 1) == (1, 64, 600) and gemm.padded(600, 64, 1) == (33, 64, 600)
    a, x = random.integers(-100, 100, (600, 64), np.int8), random.integers(-100, 100, 64, np.int8)
    np.testing.assert_array_equal(gemm(a, x), a.astype(np.int32) @ x)


def test_any_size_at_all() -> None:
    """The host pads what is not whole tiles."""
    gemm, random = Gemm(WholeArrayGemm("npu1", 1, "i16")), np.random.default_rng(3)
    for m, k, n in [(1, 1, 1), (130, 45, 33), (77, 128, 70)]:
        a, b, wanted = random_matrices(gemm.gemm, random, m, k, n)
        np.testing.assert_array_equal(gemm(a, b), wanted)
    a, b, wanted = random_matrices(gemm.gemm, random, 40, 50, 1)
    np.testing.assert_array_equal(gemm(a, b[:, 0]), wanted[:, 0])
    with pytest.raises(ValueError, match=r"no product of matrices of the shapes \(2, 3\) and \(4, 5\)"):
        gemm(np.zeros((2, 3)), np.zeros((4, 5)))


@pytest.mark.parametrize("style", STYLES)
def test_sizes_are_multiples_of_the_tile(style: Any) -> None:
    """Who calls the sequence itself is told, with the line of the program that says so."""
    design = tw.compile(style().program())
    with pytest.raises(tw.RangeError, match=r"\.py:\d+:\d+: error: K modulo 32 is 1 but must be 0 \(with .*K = 33"):
        design.txn(M=32, K=33, N=32)


def test_bad_products_are_refused() -> None:
    for gemm, complaint in [
        (WholeArrayGemm("npu1", 8), "npu1 has 4 columns"),
        (WholeArrayGemm("npu1", 4, "f64"), "no product of 'f64'; there is i8, i16, bf16"),
        (
            WholeArrayGemm("npu1", 4, "i8", tile=TileShape(24, 32, 32)),
            "m of a tile of i8 is a multiple of 16",
        ),
    ]:
        with pytest.raises(ValueError, match=complaint):
            gemm.program()
