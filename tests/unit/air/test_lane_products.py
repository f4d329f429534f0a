"""Products on lanes: rows of any length are loaded as they lie, tiles are shared, and the model chooses."""

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
from tilewright.air.library.lane_products import COSTS, TILES, lane_product
from tilewright.air.library.tile_model import best_of
from tilewright.cli.main import main
from tilewright.iron.builders.scalars import as_index

SIZES = [
    pytest.param(1, 130, 72, 140, id="tiles with rests, fours"),
    pytest.param(1, 131, 71, 139, id="rows of odd lengths"),
    pytest.param(2, 70, 132, 36, id="two matrices, fours"),
    pytest.param(1, 256, 128, 64, id="whole tiles"),
    pytest.param(1, 3, 5, 300, id="one tile, shared by all"),
    pytest.param(2, 3, 226, 5, id="two matrices, less than a step deep"),
]
NAMES = "large", "half", "small", "tiny"
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
@pytest.mark.parametrize("tile", range(len(TILES)), ids=NAMES)
def test_lanes_share_tiles(few_multiprocessors, monkeypatch, tile: int, batch: int, m: int, n: int, k: int) -> None:
    monkeypatch.setattr(lane_products, "TILES", [TILES[tile]])
    monkeypatch.setattr(lane_products, "COSTS", {width: [costs[tile]] for width, costs in COSTS.items()})
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


@pytest.mark.parametrize("tiles", TILES, ids=NAMES)
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("layout", ["row", "column"])
@pytest.mark.parametrize("at_once", [1, VECTOR])
def test_lanes_copy_each_element_of_a_tile_once(tiles: Tiles, lanes: int, layout: str, at_once: int) -> None:
    """What `_slots` relies on: as many lanes as divide rows, or fours of them, and no more than there are."""
    assert tiles.threads % lanes == 0
    loaded = [(tiles.k, tiles.n)] if layout == "row" or at_once == 1 else []
    if at_once == 1 or (tiles.has_fours_of_a and layout == "row"):
        loaded.append((tiles.m, tiles.k))
    for height, width in loaded:
        inner, outer = (width // at_once, height) if layout == "row" else (height, width)
        assert tiles.threads % inner == 0 and outer % (tiles.threads // inner) == 0


CHOICES = {
    (1024, 1024, 1024): ("half", VECTOR, 3),
    (2048, 2048, 2048): ("large", VECTOR, 1),
    (4096, 4096, 4096): ("large", VECTOR, 1),
    (8192, 8192, 8192): ("large", VECTOR, 5),
    (1000, 1112, 776): ("large", VECTOR, 3),
    (3072, 512, 2000): ("half", VECTOR, 2),
    (256, 256, 4096): ("small", VECTOR, 24),
    (4097, 4095, 4099): ("large", 1, 1),
    (4277, 597, 3107): ("large", 1, 3),
    (2238, 98, 4374): ("half", 1, 11),
    (330, 3650, 134): ("small", 1, 1),
    (244, 292, 284): ("tiny", VECTOR, 3),
}


def width_of(n: int, k: int) -> int:
    return 1 if n % VECTOR or k % VECTOR else VECTOR


def test_the_model_chooses_kernels() -> None:
    found = np.zeros((len(CHOICES), 2), np.int64)

    @jit
    def ask(found):
        chosen = list[tuple[Any, Any]]()
        for m, n, k in CHOICES:
            chosen.append(best_of(COSTS[width_of(n, k)], (as_index(m), as_index(n), as_index(k)), 1))

        @launch(1)
        def _(_):
            for place, values in enumerate(chosen):
                for column, value in enumerate(values):
                    found[place, column] = value.astype(wide)

    ask(found)
    said = {
        sizes: (NAMES[number], width_of(*sizes[1:]), shares)
        for sizes, (number, shares) in zip(CHOICES, found.tolist(), strict=True)
    }
    assert said == CHOICES


def test_kernels_are_few_and_load_as_much_at_once_as_rows_allow(tmp_path: Path) -> None:
    source = tmp_path / "program.mlir"
    source.write_text(lane_product.options(backend="cuda", chip="sm_90").mlir(STACK, STACK, ROW, STACK, 1.0, **PLAIN))
    options = ["--target", "sm_90", "--wave-size", "32", "--entry", "lane_product", "-o", str(tmp_path / "out")]
    assert main(["air", "compile", str(source), *options]) == 0
    kernels = [path.read_text() for path in (tmp_path / "out").glob("*.ptx")]
    # of each tile, for rows of B that are multiples of four and for others; and two that add up its parts
    assert len(kernels) == 4 * len(TILES)
    multiply = [text for text in kernels if "fma.rn" in text]
    assert len(multiply) == 2 * len(TILES) and sum("ld.global.v4" in text for text in multiply) == len(TILES)
    # nothing is kept in memory of a lane
    assert not any(".local" in text for text in kernels)


@pytest.mark.parametrize("chip, begins_early", [("sm_90", True), ("sm_80", False)])
def test_launches_begin_early_where_they_can(chip: str, begins_early: bool) -> None:
    program: Jit = lane_product
    text = program.options(backend="cuda", chip=chip).mlir(STACK, STACK, ROW, STACK, 1.0, **PLAIN)
    kernels = text.count("air.launch ")
    assert kernels and len(re.findall(r"nvvm.griddepcontrol +wait", text)) == (kernels if begins_early else 0)
