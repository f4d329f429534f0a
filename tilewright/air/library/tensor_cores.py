"""Products on Hopper's tensor cores, for matrices of any size, layout and number, from one build.

A block computes a tile (`tensor_block`): two groups of four waves multiply with `wgmma`, 64 rows each, and one more
wave has the copy engine bring tiles of A and B to places in memory of the block. The engine reads the shapes of A and B
from descriptions, which a kernel of its own writes first (`operands`); what it copies from beyond their edges is zero.
Sums are f32. Where there are few tiles, several blocks share the depth of one, and another kernel adds up what they
come to (`tile_model`). What else there is to choose is in `schedules`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32
from tilewright.air.dtypes import i64 as wide
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, sequential, yield_
from tilewright.air.library.finishing import Finish
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
from tilewright.air.library.tensor_block import (
    COPIER,
    ROWS,
    WAVES,
    TensorBlock,
    TensorTile,
    TileWork,
    TileWriter,
    own_thread,
)
from tilewright.air.library.tile_model import Division, Item, TileCost, choose, quotient
from tilewright.air.library.tile_writers import WAVE_ROWS, EngineWriter, LaneWriter
from tilewright.air.messages import FlatArray, array
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.scalars import as_index, constant

LARGE = TileCost(ROWS, 256, ROW_BYTES, 660, 600, 3000)
SMALL = TileCost(ROWS, 128, ROW_BYTES, 370, 330, 2500)
"""Their depths are in bytes: a step takes as long whatever the elements are."""
JOINED = 16
"""Columns whose parts a block adds up."""


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
        # whole clusters: what is below C is computed, and not stored
        down, across = cdiv(m, ROWS * tile.cluster) * tile.cluster, cdiv(n, tile.columns)
        count, steps = down * across * batch, cdiv(left.depth, element.row)
        division = Division.of(cost, count, steps, shares, tile.cluster)
        room = array((math.maximum(division.parts, 1) * (ROWS * tile.columns),), f32)
        parts = FlatArray(room.ssa, f32, (division.parts, tile.sums, ROWS * tile.columns // tile.sums))
        work = TensorWork(tile, schedule, maps, (down, across), down * across, division, parts)
        described = [Described(left, tile.boxes[0], element), Described(right, tile.boxes[1], element)]
        with if_(as_index(n) * c.dtype.itemsize % CHUNK_BYTES == 0) as aligned:
            describe(maps, [*described, described_result(c, WAVE_ROWS)])
            work.multiply(EngineWriter(finish))
        with else_(aligned):
            describe(maps, described)
            work.multiply(LaneWriter(finish))
        with if_(division.parts > 0, hasElse=False):
            work.join(LaneWriter(finish))

    choose((LARGE, SMALL), (m, n, as_index(left.depth) * element.size), batch, emit)


@dataclass(frozen=True)
class TensorWork:
    """A product, and how it is divided among blocks; sums of parts of tiles are in `parts`."""

    tile: TensorTile
    schedule: Schedule
    maps: Array
    grid: tuple[Any, Any]
    """Tiles below and beside each other."""
    each: Any
    """Tiles of a matrix."""
    division: Division
    parts: FlatArray

    def of(self, item: Item) -> TileWork:
        """Where a tile is."""
        matrix, tile = quotient(item.tile, self.each)
        row, column = tile_of(tile, *self.grid)
        return TileWork(row * ROWS, column * self.tile.columns, matrix, item)

    def multiply(self, writer: TileWriter) -> None:
        total, cluster = self.division.items, self.tile.cluster
        blocks = math.minimum(total, self.schedule.most_blocks())

        @launch(blocks, waves=WAVES, cluster=cluster if cluster > 1 else None)
        def _(block: Any) -> None:
            work = TensorBlock(self.tile, self.maps, (block, total, blocks), self.parts)
            work.run(lambda number: self.of(self.division.item(number)), writer)

    def join(self, writer: LaneWriter) -> None:
        """Add up the parts of tiles, some columns in each block."""

        @launch((self.division.left, self.tile.columns // JOINED), waves=COPIER)
        def _(left: Any, columns: Any) -> None:
            shares, part = self.division.parts_of(left)
            count = self.tile.sums * JOINED // self.tile.columns
            results: Any = ()
            start = [constant(0.0) for _ in range(count)]
            for share, sums, results in sequential(0, shares, iter_args=start):  # noqa: B007
                number = part(share)
                places = [columns * count + place for place in range(count)]
                more = [self.parts[number, place, own_thread()] for place in places]
                yield_([total + other for total, other in zip(sums, more, strict=True)])
            whole = self.of(Item(self.division.whole + left, 0, self.division.steps, 0, True))
            writer.write(replace(whole, column=whole.column + columns * JOINED), list(results))
