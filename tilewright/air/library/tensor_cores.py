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
from tilewright.air.escapes import EMULATOR
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch
from tilewright.air.library.assembly import meet_launches
from tilewright.air.library.finishing import Finish
from tilewright.air.library.operands import (
    CHUNK_BYTES,
    ELEMENTS,
    RESULTS,
    describe,
    operand,
)
from tilewright.air.library.schedules import BAND, Cluster, Schedule, TileOrder
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
from tilewright.air.library.tensor_cost import Reading, tensor_cost
from tilewright.air.library.tile_model import (
    Division,
    Divisor,
    Item,
    best_of,
    chosen,
    one_of,
    quotient,
    sum_of_parts,
)
from tilewright.air.library.tile_writers import BOX_ROWS, EngineWriter, LaneWriter
from tilewright.air.messages import FlatArray, array
from tilewright.air.trace import current
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.handles import Value
from tilewright.iron.builders.scalars import as_index, constant
from tilewright.iron.builders.types import is_integer

JOINED = 16
"""Rows whose parts a block adds up."""


@jit(opt_level=0)
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
    reading = Reading.of((left, right), (as_index(m) + n) * left.depth * element.size * batch)

    def choose_tiles(known: Sequence[tuple[int, Cluster]], writer: TileWriter, result: Sequence[Value]) -> None:
        tiles = [TensorTile(element, rows, *across, cluster) for rows, cluster in known]
        costs = [tensor_cost(tile, reading) for tile in tiles]
        best, shares = best_of(costs, (m, n, as_index(left.depth) * element.size), batch)
        sizes = m, n, cdiv(left.depth, element.row)
        rows, *cluster = (chosen(best, each) for each in zip(*((it.rows, *it.cluster) for it in tiles), strict=True))
        slots = chosen(best, [cost.slots for cost in costs])
        work = TensorWork.of(schedule, slots, rows, Cluster(*cluster), sizes, batch, shares)

        def multiply(number: int) -> None:
            tile = tiles[number]
            maps = [describe(it.matrices, box, element) for it, box in zip((left, right), tile.boxes, strict=True)]
            # boxes across the depth are all as high as a step
            edges = [
                maps[number] if it.across else describe(it.matrices, tile.edge(number, limit), element)
                for number, (it, limit) in enumerate(((left, m), (right, n)))
            ]
            replace(work, rows=tile.rows, cluster=tile.cluster).multiply(tile, [*maps, *edges, *result], (m, n), writer)

        one_of(best, len(tiles), multiply)
        with if_(work.division.parts > 0, hasElse=False):
            work.join(LaneWriter(finish))

    with if_(as_index(n) * c.dtype.itemsize % CHUNK_BYTES == 0) as aligned:
        # on the emulator tiles take no time, but each of their kernels does to be made
        made, few = RESULTS[c.dtype], left.across or current().backend == EMULATOR
        choose_tiles(schedule.tiles(few), EngineWriter(finish), [describe(c.ssa, (made.row, BOX_ROWS), made)])
    with else_(aligned):
        choose_tiles(schedule.tiles(few=True), LaneWriter(finish), [])


@dataclass(frozen=True)
class TensorWork:
    """A product, and how it is divided among blocks; sums of parts of tiles are in `room`."""

    schedule: Schedule
    rows: Any
    """Of a tile."""
    cluster: Cluster
    order: TileOrder
    """Of clusters: columns go on before rows do."""
    each: Divisor
    """Clusters of a matrix."""
    division: Division
    """Of clusters."""
    room: Array

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        slots: Any,
        rows: Any,
        cluster: Cluster,
        sizes: tuple[Any, Any, Any],
        batch: Any,
        shares: Any,
    ) -> TensorWork:
        """`sizes` are rows and columns of C, and steps of its depth; as many clusters run at a time as are `slots`."""
        m, n, steps = sizes
        # whole clusters: what is beside C is computed, and not stored
        down, beside = cdiv(m, rows * cluster.down), cdiv(n, COLUMNS * cluster.across)
        # blocks of a cluster that share the depth of a tile do it alone
        shares = math.where(as_index(cluster.deep) > 1, 1, shares)
        division = Division.of(slots, down * beside * batch, steps, shares)
        order, each = TileOrder.of(beside, down, BAND // cluster.across), Divisor.of(down * beside)
        room = array((math.maximum(division.parts * cluster.blocks, 1) * (rows * COLUMNS),), f32)
        return cls(schedule, rows, cluster, order, each, division, room)

    @property
    def parts(self) -> FlatArray:
        """Sums of parts of tiles, as each lane has them."""
        shape = self.division.parts * self.cluster.blocks, sums_of(self.rows), COPIER * LANES
        return FlatArray(self.room.ssa, f32, shape)

    def item(self, number: Any) -> Item:
        """What the block of a number does, among all of all clusters."""
        count = self.cluster.blocks
        if is_one(count):
            return self.division.item(number)
        cluster, inside = quotient(number, count)
        item = self.division.item(cluster)
        item = replace(item, tile=item.tile * count + inside, part=item.part * count + inside)
        if is_one(self.cluster.deep):
            return item
        layer, _ = quotient(inside, self.cluster.down * self.cluster.across)
        each = cdiv(item.last - item.first, self.cluster.deep)
        first = math.minimum(item.first + layer * each, item.last)
        return replace(item, first=first, last=math.minimum(first + each, item.last))

    def place(self, item: Item) -> TileWork:
        """Where a tile is."""
        count = self.cluster.blocks
        if is_one(count):
            matrix, cluster = self.each.divide(item.tile)
            column, row = self.order.place(cluster)
            return TileWork(row * self.rows, column * COLUMNS, matrix, item)
        tile, inside = quotient(item.tile, count)
        matrix, cluster = self.each.divide(tile)
        column, row = self.order.place(cluster)
        if not is_one(self.cluster.deep):
            _, inside = quotient(inside, self.cluster.down * self.cluster.across)
        below, beside = quotient(inside, self.cluster.across)
        row, column = row * self.cluster.down + below, column * self.cluster.across + beside
        return TileWork(row * self.rows, column * COLUMNS, matrix, item)

    def multiply(self, tile: TensorTile, maps: Sequence[Value], limits: tuple[Any, Any], writer: TileWriter) -> None:
        count, parts = tile.cluster.blocks, self.parts
        total = self.division.items * count
        blocks = math.minimum(total, self.schedule.most_blocks(tile.cluster))

        @launch(blocks, waves=WAVES, cluster=count if count > 1 else None)
        def _(block: Any) -> None:
            TensorBlock(tile, maps, limits, (block, total, blocks), parts).run(self.item, self.place, writer)

    def join(self, writer: LaneWriter) -> None:
        """Add up the parts of tiles, some rows in each block."""
        blocks, parts, count = self.cluster.blocks, self.parts, sums_of(JOINED)

        @launch((self.division.left * blocks, self.rows // JOINED), waves=COPIER)
        def _(tile_behind: Any, rows: Any) -> None:
            meet_launches()
            left, inside = quotient(tile_behind, blocks)
            shares, part = self.division.parts_of(left)

            def load(share: Any) -> list[Any]:
                number = part(share) * blocks + inside
                return [parts[number, rows * count + place, own_thread()] for place in range(count)]

            sums = sum_of_parts(shares, load, [constant(0.0) for _ in range(count)])
            behind = self.division.whole * blocks + tile_behind
            whole = self.place(Item(behind, 0, self.division.steps, 0, True))
            writer.write(replace(whole, row=whole.row + rows * JOINED), sums)


def is_one(number: Any) -> bool:
    """Whether it is certain to be."""
    return is_integer(number) and int(number) == 1
