"""Products on Hopper's tensor cores, for matrices of any size, layout and number, from one build.

A block computes a tile (`tensor_block`): two groups of four waves multiply with `wgmma`, 64 rows each, and one more
wave has the copy engine bring tiles of A and B to places in memory of the block. The host describes A, B and C to the
engine (`operands`), and passes that to the kernel; what is copied from beyond their edges is zero.
Sums are f32. Where there are few tiles, several blocks share the depth of one, and another kernel adds up what they
come to (`tile_model`). What else there is to choose is in `schedules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, sequential, yield_
from tilewright.air.library.assembly import meet_launches
from tilewright.air.library.finishing import Finish
from tilewright.air.library.operands import (
    CHUNK_BYTES,
    ELEMENTS,
    RESULTS,
    ROW_BYTES,
    describe,
    operand,
)
from tilewright.air.library.schedules import BAND, Schedule, TileOrder
from tilewright.air.library.tensor_block import (
    COLUMNS,
    COPIER,
    LANES,
    WAVES,
    TensorBlock,
    TensorTile,
    TileWork,
    TileWriter,
    own_thread,
    sums_of,
)
from tilewright.air.library.tile_model import (
    TENSOR,
    Division,
    Divisor,
    Item,
    TileCost,
    best_of,
    one_of,
)
from tilewright.air.library.tile_writers import BOX_ROWS, EngineWriter, LaneWriter
from tilewright.air.messages import FlatArray, array
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.handles import Value
from tilewright.iron.builders.scalars import as_index, constant

JOINED = 16
"""Rows whose parts a block adds up."""


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
    finish = Finish(c, bias if has_bias else None, scale, function)
    across = left.across, right.across

    def choose_tiles(heights: Sequence[int], writer: TileWriter, result: Sequence[Value]) -> None:
        tiles = [TensorTile(element, rows, *across, schedule.cluster) for rows in heights]
        costs = [cost_of(tile) for tile in tiles]
        best, shares = best_of(costs, (m, n, as_index(left.depth) * element.size), batch)
        sizes = m, n, cdiv(left.depth, element.row)
        work = TensorWork.of(schedule, costs[0].slots, chosen(best, heights), sizes, batch, shares)

        def multiply(number: int) -> None:
            tile = tiles[number]
            maps = [describe(it.matrices, box, element) for it, box in zip((left, right), tile.boxes, strict=True)]
            replace(work, rows=tile.rows).multiply(tile, [*maps, *result], writer)

        one_of(best, len(tiles), multiply)
        with if_(work.division.parts > 0, hasElse=False):
            work.join(LaneWriter(finish))

    with if_(as_index(n) * c.dtype.itemsize % CHUNK_BYTES == 0) as aligned:
        made, few = RESULTS[c.dtype], left.across
        choose_tiles(schedule.heights(few), EngineWriter(finish), [describe(c.ssa, (made.row, BOX_ROWS), made)])
    with else_(aligned):
        choose_tiles(schedule.heights(few=True), LaneWriter(finish), [])


def cost_of(tile: TensorTile) -> TileCost:
    """What a tile takes; its depth is in bytes: a step takes as long whatever the elements are."""
    return TENSOR.cost((tile.rows, COLUMNS), tile.copied_rows, ROW_BYTES, tile.cluster)


@dataclass(frozen=True)
class TensorWork:
    """A product, and how it is divided among blocks; sums of parts of tiles are in `room`."""

    schedule: Schedule
    rows: Any
    """Of a tile."""
    order: TileOrder
    """Of clusters: columns go on before rows do."""
    each: Divisor
    """Clusters of a matrix."""
    division: Division
    """Of clusters."""
    room: Array

    @classmethod
    def of(
        cls, schedule: Schedule, slots: int, rows: Any, sizes: tuple[Any, Any, Any], batch: Any, shares: Any
    ) -> TensorWork:
        """`sizes` are rows and columns of C, and steps of its depth; as many clusters run at a time as are `slots`."""
        (m, n, steps), cluster = sizes, schedule.cluster
        # whole clusters: what is beside C is computed, and not stored
        down, beside = cdiv(m, rows), cdiv(n, COLUMNS * cluster)
        division = Division.of(slots, down * beside * batch, steps, shares)
        order, each = TileOrder.of(beside, down, BAND // cluster), Divisor.of(down * beside)
        room = array((math.maximum(division.parts * cluster, 1) * (rows * COLUMNS),), f32)
        return cls(schedule, rows, order, each, division, room)

    @property
    def parts(self) -> FlatArray:
        """Sums of parts of tiles, as each lane has them."""
        shape = self.division.parts * self.schedule.cluster, sums_of(self.rows), COPIER * LANES
        return FlatArray(self.room.ssa, f32, shape)

    def item(self, number: Any) -> Item:
        """What the block of a number does, among all of all clusters; tiles of a cluster are beside each other."""
        count = self.schedule.cluster
        if count == 1:
            return self.division.item(number)
        item, inside = self.division.item(number // count), number % count
        return replace(item, tile=item.tile * count + inside, part=item.part * count + inside)

    def place(self, item: Item) -> TileWork:
        """Where a tile is."""
        count = self.schedule.cluster
        matrix, cluster = self.each.divide(item.tile // count if count > 1 else item.tile)
        column, row = self.order.place(cluster)
        if count > 1:
            column = column * count + item.tile % count
        return TileWork(row * self.rows, column * COLUMNS, matrix, item)

    def multiply(self, tile: TensorTile, maps: Sequence[Value], writer: TileWriter) -> None:
        """`maps` are of A and B, and of C where the engine stores it."""
        cluster, parts = tile.cluster, self.parts
        total = self.division.items * cluster
        blocks = math.minimum(total, self.schedule.most_blocks())

        @launch(blocks, waves=WAVES, cluster=cluster if cluster > 1 else None)
        def _(block: Any) -> None:
            TensorBlock(tile, maps, (block, total, blocks), parts).run(self.item, self.place, writer)

    def join(self, writer: LaneWriter) -> None:
        """Add up the parts of tiles, some rows in each block."""
        cluster, parts, count = self.schedule.cluster, self.parts, sums_of(JOINED)

        @launch((self.division.left * cluster, self.rows // JOINED), waves=COPIER)
        def _(tile_behind: Any, rows: Any) -> None:
            meet_launches()
            left, inside = tile_behind // cluster, tile_behind % cluster
            shares, part = self.division.parts_of(left)
            results: Any = ()
            start = [constant(0.0) for _ in range(count)]
            for share, sums, results in sequential(0, shares, iter_args=start):  # noqa: B007
                number = part(share) * cluster + inside
                more = [parts[number, rows * count + place, own_thread()] for place in range(count)]
                yield_([total + other for total, other in zip(sums, more, strict=True)])
            behind = self.division.whole * cluster + tile_behind
            whole = self.place(Item(behind, 0, self.division.steps, 0, True))
            writer.write(replace(whole, row=whole.row + rows * JOINED), list(results))


def chosen(number: Any, numbers: Sequence[int]) -> Any:
    """One of the numbers, known when the program runs."""
    found: Any = numbers[-1]
    for place, one in reversed([*enumerate(numbers[:-1])]):
        found = math.where(as_index(number) == place, as_index(one), found)
    return found
