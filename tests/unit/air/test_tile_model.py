"""How tiles of a product are divided among blocks, and chosen: on few multiprocessors, with costs that call for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright.air import jit, launch, library
from tilewright.air.dtypes import i64 as wide
from tilewright.air.library import tile_model
from tilewright.air.library.operands import ELEMENTS
from tilewright.air.library.schedules import HEIGHTS
from tilewright.air.library.tensor_block import TensorTile
from tilewright.air.library.tensor_cost import Reading, tensor_cost
from tilewright.air.library.tile_model import Division, Item, TileCost, best_of
from tilewright.errors import ArgumentError
from tilewright.iron import math
from tilewright.iron.builders.scalars import as_index

SIZES = [
    pytest.param(1, 130, 72, 140, id="tiles with rests, fours"),
    pytest.param(1, 131, 71, 139, id="rows of odd lengths, copied"),
    pytest.param(2, 200, 132, 72, id="two matrices"),
    pytest.param(1, 256, 128, 64, id="whole tiles"),
    pytest.param(1, 3, 5, 300, id="one tile, shared by all"),
]


@pytest.fixture
def few_multiprocessors(monkeypatch) -> None:
    """So few that products of tests have tiles left over, and sharing them costs nothing."""
    monkeypatch.setattr(tile_model, "MULTIPROCESSORS", 2)
    monkeypatch.setattr(tile_model, "JOIN_NS", 1)
    monkeypatch.setattr(tile_model, "JOINED_BYTES_PER_NS", 1 << 40)


def drawn(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("cluster", [1, 2, (2, 1), (2, 2), (1, 1, 4)], ids=str)
@pytest.mark.parametrize("batch, m, n, k", SIZES)
def test_tensor_cores_share_tiles(few_multiprocessors, cluster, batch: int, m: int, n: int, k: int) -> None:
    a, b = drawn(batch, m, k, dtype=ml_dtypes.bfloat16), drawn(batch, k, n, dtype=ml_dtypes.bfloat16)
    schedule = library.Schedule(blocks=4, cluster=cluster)
    found = library.matmul(a, b, out_dtype=np.float32, chip="sm_90a", schedule=schedule)
    assert np.allclose(found, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)


def items_of(tiles: int, steps: int, shares: int) -> tuple[list[list[int]], list[int], int]:
    """The items of a division on four slots, as a kernel sees them: tile, first and last step, part, and if whole.

    With how many parts each tile behind the whole ones has, and how many tiles are whole.
    """
    found, counts = np.full((64, 5), -1, np.int64), np.full(64, -1, np.int64)
    whole = np.zeros(1, np.int64)

    @jit
    def listed(found, counts, whole, tiles, steps, shares):
        division = Division.of(4, tiles, steps, shares)

        @launch(division.items)
        def _(number):
            item: Item = division.item(number)
            fields = item.tile, item.first, item.last, item.part, math.where(item.is_whole, 1, 0)
            for place, value in enumerate(fields):
                found[number, place] = as_index(value).astype(wide)
            whole[0] = as_index(division.whole).astype(wide)

        @launch(division.left)
        def _(left):
            counts[left] = as_index(division.parts_of(left)[0]).astype(wide)

    listed(found, counts, whole, tiles, steps, shares)
    return found[found[:, 0] >= 0].tolist(), counts[counts >= 0].tolist(), int(whole[0])


@pytest.mark.parametrize("tiles, steps, shares", [(10, 5, 1), (10, 5, 2), (4, 3, 2), (6, 7, 3), (2, 2, 6)])
def test_each_step_of_each_tile_is_done_once(tiles, steps, shares) -> None:
    items, counts, whole = items_of(tiles, steps, shares)
    done = sorted((tile, step) for tile, first, last, _, _ in items for step in range(first, last))
    assert done == [(tile, step) for tile in range(tiles) for step in range(steps)]
    assert whole == (tiles if shares == 1 else tiles // 4 * 4)
    assert all((first, last) == (0, steps) and tile < whole for tile, first, last, _, is_whole in items if is_whole)
    # parts of a tile are those that have steps
    parts = [
        sum(tile == whole + left and first < last for tile, first, last, *_ in items) for left in range(tiles - whole)
    ]
    assert counts == parts
    # blocks that run at the same time do the same steps of neighbouring tiles, which have rows or columns in common
    behind = [(first, tile) for tile, first, _, _, is_whole in items if not is_whole]
    assert behind == sorted(behind)


def chosen(costs: Sequence[TileCost], m: int, n: int, k: int) -> tuple[int, int]:
    """Rows of the tiles that the model chooses, and among how many blocks those that are left are shared."""
    found = np.zeros(2, np.int64)

    @jit
    def ask(found, m, n, k):
        best, shares = best_of(costs, (m, n, k), 1)

        @launch(1)
        def _(_):
            found[0], found[1] = best.astype(wide), shares.astype(wide)

    ask(found, m, n, k)
    return costs[int(found[0])].rows, int(found[1])


@pytest.mark.parametrize(
    "m, n, k, rows, shares",
    [
        pytest.param(4096, 4096, 8192, 256, 1, id="nearly four whole rounds"),
        pytest.param(4096, 1536, 4096, 192, 1, id="two whole rounds, nearly"),
        pytest.param(1564, 3264, 3888, 320, 1, id="one round, of the highest"),
        pytest.param(128 * 169, 256, 8192, 176, 1, id="a round and a quarter of the highest, two of lower ones"),
        pytest.param(512, 512, 16384, 128, 8, id="few and deep"),
    ],
)
def test_tiles_of_tensor_cores_fill_rounds(m: int, n: int, k: int, rows: int, shares: int) -> None:
    tiles = [TensorTile(ELEMENTS["bf16"], height, False, False) for height in HEIGHTS]
    assert chosen([tensor_cost(tile, Reading((5900, 5900), 117)) for tile in tiles], m, n, 2 * k) == (rows, shares)


def test_sizes_that_numbers_of_tiles_do_not_hold_are_refused(monkeypatch) -> None:
    from tilewright.air.library import products

    monkeypatch.setattr(products, "MOST_ITEMS", 40)
    with pytest.raises(ArgumentError, match="3 products of 64 x 64 are more tiles than"):
        library.matmul(drawn(3, 64, 8), drawn(3, 8, 64))
