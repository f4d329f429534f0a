"""Products on Hopper's tensor cores, for matrices of any size, layout and number, from one build.

A block computes a tile (`tensor_block`): two groups of four waves multiply with `wgmma`, 64 rows each, and one more
wave has the copy engine bring tiles of A and B to places in memory of the block. The engine reads the shapes of A and B
from descriptions, which a kernel of its own writes first (`operands`); what it copies from beyond their edges is zero.
Sums are f32. Where there are few tiles, several blocks share the depth of one, and another kernel adds up what they
come to (`tile_model`). What else there is to choose is in `schedules`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32
from tilewright.air.dtypes import i64 as wide
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch
from tilewright.air.library.finishing import Finish, join
from tilewright.air.library.operands import (
    CHUNK_BYTES,
    ELEMENTS,
    MAP_BYTES,
    ROW_BYTES,
    Described,
    describe,
    described_result,
    operand,
)
from tilewright.air.library.schedules import Schedule, tile_of
from tilewright.air.library.tensor_block import ROWS, TensorBlock, TensorTile, TileWork, TileWriter, waves_of
from tilewright.air.library.tile_model import TileCost, choose
from tilewright.air.library.tile_writers import WAVE_ROWS, EngineWriter, LaneWriter
from tilewright.air.messages import FlatArray, array
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.scalars import as_index

LARGE = TileCost(ROWS, 256, ROW_BYTES, 720, 720, 4000)
SMALL = TileCost(ROWS, 128, ROW_BYTES, 400, 400, 3500, (1, 2, 3, 4, 6, 8, 16))
"""Their depths are in bytes: a step takes as long whatever the elements are."""


@jit
def tensor_product(
    a: Any,
    b: Any,
    bias: Any,
    c: Any,
    scale: Any,
    *,
    computed_in: str,
    layouts: tuple[str, str],
    has_bias: bool,
    function: Callable[[Any], Any] | None,
    schedule: Schedule = Schedule(),  # noqa: B008
) -> None:
    """`c = function(scale * a b + bias)` for stacks of matrices; those of 8 bits come as their bytes."""
    element = ELEMENTS[computed_in]
    batch, m, n = c.shape
    # rows of A and columns of B lie along the depth, or across
    left = operand(a, layouts[0] == "column", element, 0)
    right = operand(b, layouts[1] == "row", element, 1)
    maps = array((4, MAP_BYTES // 8), wide)
    finish = Finish(c, bias if has_bias else None, scale, function)

    def emit(cost: TileCost, shares: Any) -> None:
        tile = TensorTile(element, cost.columns, left.across, right.across, schedule.cluster)
        steps = cdiv(left.depth, element.row)
        described = [Described(left, tile.boxes[0], element), Described(right, tile.boxes[1], element)]

        def by_lanes(shares: Any, finish: Finish) -> None:
            describe(maps, described)
            _multiply(tile, schedule, maps, steps, shares, LaneWriter(finish), c.shape)

        def whole() -> None:
            if not schedule.engine_stores:
                by_lanes(1, finish)
                return
            with if_(as_index(n) * c.dtype.itemsize % CHUNK_BYTES == 0) as aligned:
                describe(maps, [*described, described_result(c, WAVE_ROWS)])
                _multiply(tile, schedule, maps, steps, 1, EngineWriter(finish), c.shape)
            with else_(aligned):
                by_lanes(1, finish)

        if cost is LARGE:
            whole()
            return
        with if_(as_index(shares) == 1) as alone:
            whole()
        with else_(alone):
            memory = array((as_index(shares) * batch * m * n,), f32)
            parts = FlatArray(memory.ssa, f32, (shares * batch, m, n))
            by_lanes(shares, Finish(parts, None, None, None))
            join(parts, shares, finish)

    choose((LARGE, SMALL), (m, n, as_index(left.depth) * element.size), batch, emit)


def _multiply(
    tile: TensorTile,
    schedule: Schedule,
    maps: Array,
    steps: Any,
    shares: Any,
    writer: TileWriter,
    shape: tuple[Any, Any, Any],
) -> None:
    batch, m, n = shape
    # whole clusters: what is below C is computed, and not stored
    down, across = cdiv(m, ROWS * tile.cluster) * tile.cluster, cdiv(n, tile.columns)
    each = cdiv(steps, shares)
    tiles = down * across
    clustered = tile.cluster if tile.cluster > 1 else None

    def work_of(place: Any, number: Any) -> TileWork:
        row, column = tile_of(place, down, across)
        share, matrix = number // batch, number % batch
        first = share * each
        # none are left for the last ones if shares are not even
        last = math.maximum(math.minimum(first + each, as_index(steps)), first)
        return TileWork(row * ROWS, column * tile.columns, matrix, number, first, last)

    if not schedule.persistent:

        @launch((tiles, as_index(shares) * batch), waves=waves_of(schedule), cluster=clustered)
        def _(block: Any, number: Any) -> None:
            TensorBlock(tile, schedule, maps, (block, None, None)).run(lambda place: work_of(place, number), writer)

        return
    total = as_index(tiles) * shares * batch
    blocks = math.minimum(total, schedule.most_blocks())

    @launch(blocks, waves=waves_of(schedule), cluster=clustered)
    def _(block: Any) -> None:
        work = TensorBlock(tile, schedule, maps, (block, total, blocks))
        work.run(lambda number: work_of(number % tiles, number // tiles), writer)
