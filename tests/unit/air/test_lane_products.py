"""Products on lanes: rows of any length are loaded as they lie or copied, tiles are shared, and the model chooses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.air import jit, launch, library
from tilewright.air.dtypes import i64 as wide
from tilewright.air.functions import Jit
from tilewright.air.library import lane_products, tile_model
from tilewright.air.library.lane_block import VECTOR, Tiles
from tilewright.air.library.lane_products import COSTS, DEEP, LARGE, LOOSE, NARROW, PAIR, SMALL, lane_product
from tilewright.air.library.tile_model import best_of
from tilewright.cli.main import main
from tilewright.iron.builders.scalars import as_index

SIZES = [
    pytest.param(1, 130, 72, 140, id="tiles with rests, fours"),
    pytest.param(1, 131, 71, 139, id="rows of odd lengths, copied"),
    pytest.param(1, 131, 98, 70, id="pairs"),
    pytest.param(2, 70, 132, 36, id="two matrices"),
    pytest.param(1, 256, 128, 64, id="whole tiles"),
    pytest.param(1, 3, 5, 300, id="one tile, shared by all"),
    pytest.param(2, 3, 226, 42, id="two matrices, pairs"),
]
NAMES = {LARGE: "large", SMALL: "small", DEEP: "deep", NARROW: "narrow"}
STACK, ROW = np.zeros((1, 4, 4), np.float32), np.zeros(4, np.float32)
PLAIN = {"has_bias": False, "function": None, "layouts": ("row", "row")}
RACES = {"check": "races"}


@pytest.fixture
def few_multiprocessors(monkeypatch) -> None:
    """So few that products of tests have tiles left over, and sharing them costs nothing."""
    monkeypatch.setattr(tile_model, "MULTIPROCESSORS", 2)
    monkeypatch.setattr(tile_model, "JOIN_NS", 1)
    monkeypatch.setattr(tile_model, "JOINED_BYTES_PER_NS", 1 << 40)


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("batch, m, n, k", SIZES)
@pytest.mark.parametrize("cost", LOOSE, ids=[f"{NAMES[tiles]}, {width} at once" for tiles, width in LOOSE.values()])
def test_lanes_share_tiles(few_multiprocessors, monkeypatch, cost, batch: int, m: int, n: int, k: int) -> None:
    tiles, _ = LOOSE[cost]
    monkeypatch.setattr(lane_products, "COSTS", {cost: tiles})
    monkeypatch.setattr(lane_products, "LOOSE", {cost: LOOSE[cost]})
    a, b, bias = drawn(batch, m, k), drawn(batch, k, n), drawn(n)
    exact = a @ b
    assert np.allclose(library.matmul(a, b, settings=RACES), exact, atol=1e-4)
    assert np.allclose(library.matmul(a, b, bias, "relu", 0.5), np.maximum(0.5 * exact + bias, 0), atol=1e-4)


@pytest.mark.parametrize("layouts", [("row", "row"), ("row", "column"), ("column", "row")])
@pytest.mark.parametrize(
    "n, k", [*((n, k) for n in (24, 26, 27) for k in (20, 22, 21)), (1, 3), (3, 1), (5, 131), (131, 6)]
)
def test_rows_of_each_matrix_have_any_length(n: int, k: int, layouts: tuple[str, str]) -> None:
    """Multiples of four, even, and odd; arrays that begin in the midst of others; accesses that nothing orders."""
    batch, m = 2, 19
    a, b = drawn(batch * m * k + 1)[1:].reshape(batch, m, k), drawn(batch * k * n + 3)[3:].reshape(batch, k, n)
    turned = [
        x if layout == "row" else np.ascontiguousarray(x.transpose(0, 2, 1))
        for x, layout in zip((a, b), layouts, strict=True)
    ]
    found = library.matmul(turned[0], turned[1], layouts=layouts, settings=RACES)
    assert np.allclose(found, a @ b, atol=1e-4)


@pytest.mark.parametrize("k", [30, 31, 32])
def test_what_is_beside_a_matrix_does_not_count(k: int) -> None:
    """Infinite numbers in the last row of B come to their own column alone, and not as infinity times zero."""
    a, b = drawn(9, k), drawn(k, 10)
    b[-1, 3] = np.inf
    found = library.matmul(a, b)
    assert np.array_equal(np.isinf(found), np.broadcast_to(np.arange(10) == 3, (9, 10)))
    assert np.allclose(found[:, 4:], (a @ b)[:, 4:], atol=1e-4)


@pytest.mark.parametrize("columns", range(1, 9))
def test_lanes_divide_the_columns_of_a_tile(columns: int) -> None:
    tiles = Tiles(128, 16 * columns, 8, 16, columns)
    taken = [
        first + lane * width + place for first, width in tiles.pieces for lane in range(16) for place in range(width)
    ]
    assert sorted(taken) == list(range(tiles.n))
    # vectors begin at multiples of their width
    assert all(first % width == 0 for first, width in tiles.pieces)


CHOICES = {
    (1024, 1024, 1024): ("small", VECTOR, 1),
    (2048, 2048, 2048): ("large", VECTOR, 1),
    (4096, 4096, 4096): ("large", VECTOR, 1),
    (8192, 8192, 8192): ("large", VECTOR, 5),
    (1000, 1112, 776): ("large", VECTOR, 3),
    (3072, 512, 2000): ("small", VECTOR, 1),
    (256, 256, 4096): ("small", VECTOR, 16),
    (4097, 4095, 4099): ("large", VECTOR, 1),
    # the last 96 blocks would be two on a multiprocessor
    (4578, 4091, 375): ("large", VECTOR, 2),
    # A is as deep as whole steps, and stays where it is
    (2949, 2169, 560): ("large", VECTOR, 3),
    (2238, 98, 4374): ("narrow", PAIR, 14),
    (4300, 4890, 786): ("large", VECTOR, 22),
    (129, 5000, 333): ("small", PAIR, 1),
    (777, 1555, 2222): ("narrow", PAIR, 5),
    (2000, 126, 2222): ("small", PAIR, 6),
}


def test_the_model_chooses_kernels() -> None:
    ways = [*LOOSE.values()]
    found = np.zeros((len(CHOICES), 2), np.int64)

    @jit
    def ask(found):
        chosen = list[tuple[Any, Any]]()
        for m, n, k in CHOICES:
            sizes = as_index(m), as_index(n), as_index(k)
            if n % VECTOR or k % VECTOR:
                besides = [lane_products._copy_ns(sizes, 1, lane_products._lengths(sizes, *way)) for way in ways]
                chosen.append(best_of([*LOOSE], sizes, 1, besides))
            else:
                chosen.append(best_of([*COSTS], sizes, 1))

        @launch(1)
        def _(_):
            for place, values in enumerate(chosen):
                for column, value in enumerate(values):
                    found[place, column] = value.astype(wide)

    ask(found)
    said = {}
    for (sizes, _), (number, shares) in zip(CHOICES.items(), found.tolist(), strict=True):
        is_aligned = sizes[1] % VECTOR == 0 and sizes[2] % VECTOR == 0
        tiles, width = ([*COSTS.values()][number], VECTOR) if is_aligned else ways[number]
        said[sizes] = NAMES[tiles], width, shares
    assert said == CHOICES


def test_kernels_are_few_and_load_as_much_at_once_as_rows_allow(tmp_path: Path) -> None:
    source = tmp_path / "program.mlir"
    source.write_text(lane_product.options(backend="cuda", chip="sm_90").mlir(STACK, STACK, ROW, STACK, 1.0, **PLAIN))
    options = ["--target", "sm_90", "--wave-size", "32", "--entry", "lane_product", "-o", str(tmp_path / "out")]
    assert main(["air", "compile", str(source), *options]) == 0
    kernels = [path.read_text() for path in (tmp_path / "out").glob("*.ptx")]
    # three of aligned rows with large tiles, one with others; those of LOOSE; two that join each tile, one that copies
    assert len(kernels) == (len(COSTS) + 2) + len(LOOSE) + 2 * len(NAMES) + 1
    assert sum("ld.global.v2" in text for text in kernels) == sum(width == PAIR for _, width in LOOSE.values())
    # those of lanes load nothing by itself but bias, which there is none of
    multiply = [text for text in kernels if "fma.rn" in text]
    assert len(multiply) == len(COSTS) + 2 + len(LOOSE) and not any("ld.global.b32" in text for text in multiply)


@pytest.mark.parametrize("chip, begins_early", [("sm_90", True), ("sm_80", False)])
def test_launches_begin_early_where_they_can(chip: str, begins_early: bool) -> None:
    program: Jit = lane_product
    text = program.options(backend="cuda", chip=chip).mlir(STACK, STACK, ROW, STACK, 1.0, **PLAIN)
    kernels = text.count("air.launch ")
    assert kernels and len(re.findall(r"nvvm.griddepcontrol +wait", text)) == (kernels if begins_early else 0)
