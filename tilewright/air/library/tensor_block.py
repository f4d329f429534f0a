"""The work of a block of a product on tensor cores: one wave has tiles copied, two groups of four multiply them.

What they compute is the transposed tile: their instructions take 64 columns of C as rows, and rows of C as columns, of
which there may be any multiple of 8. So tiles of as many rows are made as divide C well.

Barriers in memory of the block say which of its places for tiles are full and which are empty. They go on counting from
one tile of C to the next, so that tiles for the next one come while sums of the present one are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerAttr, UnitAttr, VectorType, i16, i32, i64

from tilewright.air.dtypes import f32, ui8, value_type
from tilewright.air.levels import cdiv, sequential, yield_
from tilewright.air.library.assembly import (
    ALIGNMENT,
    cluster_pointer,
    elected,
    let_next_launch_begin,
    near_address,
    near_pointer,
    wait_for_last_launch,
)
from tilewright.air.library.operands import ROW_BYTES, Element, descriptor_pointer
from tilewright.air.library.schedules import ALONE, Cluster
from tilewright.air.library.tile_model import Item
from tilewright.air.messages import FlatArray
from tilewright.air.tiles import shared
from tilewright.air.vectors import Vector, vector
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import _nvvm_clusters as clusters
from tilewright.dialects import _nvvm_copies as copies
from tilewright.dialects import _nvvm_matrices as matrices
from tilewright.dialects import llvm
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.handles import Value, value_of
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant

GROUPS, GROUP_COLUMNS, GROUP_WAVES, LANES = 2, 64, 4, 32
COLUMNS = GROUPS * GROUP_COLUMNS
"""Of a tile of C."""
COPIER = GROUPS * GROUP_WAVES
"""The wave behind those that multiply."""
STAGES = 8
"""Places for tiles of a step, at most."""
ROOM = 192 << 10
"""Bytes for all of them."""
WIDEST, MOST_BOX_ROWS = 256, 256
"""Rows of C that one instruction takes, and that the engine copies at a time."""
SWIZZLED = 1 << 62
"""In a matrix descriptor: chunks of 16 bytes are exchanged within 128 bytes."""
GROUP_BYTES = 8 * ROW_BYTES
"""Rows whose chunks are exchanged in all ways."""
STEP_BYTES = 32
"""Of depth, that one instruction multiplies."""
PRODUCTS_LEFT = 1
"""Steps whose products may be on their way when the place of the one before them is given back."""
WAIT_TICKS = 10_000_000
FEW_REGISTERS, MANY_REGISTERS = 40, 232
"""Of each lane of a group of waves that copies, and of those that multiply: together what a multiprocessor has."""
FOUR, SUM_BYTES = 4, 4
"""Sums of f32 that are exchanged at once, and the bytes of one."""
FOUR_BYTES = FOUR * SUM_BYTES
LANES_BYTES = COPIER * LANES * FOUR_BYTES
"""Of fours of all lanes that multiply."""
FEW_ROWS = 128
"""Sums of so many, and what else a lane has, fit into its share of registers."""


@dataclass(frozen=True)
class TensorTile:
    """A tile of C, how the tiles of A and B lie that it is made of, and where in memory of the block they are."""

    element: Element
    rows: int
    a_across: bool
    b_across: bool
    cluster: Cluster = ALONE

    @property
    def part_bytes(self) -> int:
        """Of a part of a tile whose rows lie across the depth: it is as wide as it is deep then."""
        return self.element.row * ROW_BYTES

    @property
    def b_bytes(self) -> int:
        return COLUMNS * ROW_BYTES

    @property
    def a_rows(self) -> int:
        """Rows of A in memory of the block: parts that lie across the depth come whole."""
        row = self.element.row
        return -(-self.rows // row) * row if self.a_across else self.rows

    @property
    def stage_bytes(self) -> int:
        return self.b_bytes + self.a_rows * ROW_BYTES

    @property
    def stages(self) -> int:
        return min((ROOM - self.exchange_bytes) // self.stage_bytes, STAGES)

    @property
    def part_sums(self) -> int:
        """That each lane has in the end, if the depth of a tile is shared."""
        return self.sums // self.cluster.deep

    @property
    def exchange_bytes(self) -> int:
        """For sums of the other blocks that share the depth."""
        return (self.cluster.deep - 1) * self.part_sums * COPIER * LANES * SUM_BYTES

    @property
    def full(self) -> int:
        """Where the barriers are that say that a stage is full, and behind them those that it is empty."""
        return self.stages * self.stage_bytes

    @property
    def empty(self) -> int:
        return self.full + 8 * self.stages

    @property
    def exchange(self) -> int:
        """Where other blocks bring their sums."""
        return self.empty + 8 * self.stages + -16 * self.stages % 128

    @property
    def bytes(self) -> int:
        return self.exchange + self.exchange_bytes + ALIGNMENT

    @property
    def instruction_rows(self) -> int:
        """Rows of C that one instruction takes: as few instructions as can be, all of the same."""
        return self.rows // -(-self.rows // WIDEST)

    @property
    def sums(self) -> int:
        """That each lane has."""
        return sums_of(self.rows)

    @property
    def boxes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """What the engine copies at a time, of A and of B: of a row, and how many rows."""
        row, a_rows, (down, across, _) = self.element.row, self.rows // self.cluster.across, self.cluster
        a_rows //= -(-a_rows // MOST_BOX_ROWS)
        a, b = (row // across if self.a_across else a_rows), (row if self.b_across else COLUMNS) // down
        return (row, a), (row, b)

    def edge(self, number: int, limit: Any) -> tuple[int, Any]:
        """The last box of A or B along the depth, where so many rows or columns of C end."""
        row, rows = self.boxes[number]
        rest = as_index(limit) % rows
        return row, math.where(rest > 0, rest, rows)


@dataclass(frozen=True)
class TileWork:
    """A tile of C, or a part of it: its first row and column and the number of its matrices, and what to compute."""

    row: Any
    column: Any
    matrix: Any
    item: Item

    @property
    def carried(self) -> list[Any]:
        """What says where it is, and which steps it has."""
        return [as_index(place) for place in (self.row, self.column, self.matrix, self.item.first, self.item.last)]

    def of(self, carried: Sequence[Any]) -> TileWork:
        """The one that these say."""
        row, column, matrix, first, last = carried
        return TileWork(row, column, matrix, replace(self.item, first=first, last=last))


@dataclass(frozen=True)
class Brought:
    """What a block has copied of tiles of A or B, in each step of a tile of C."""

    number: int
    """0 is A, 1 is B."""
    across: bool
    step: int
    """From one part to the next."""
    first: Any
    """Where in the matrix the first part begins."""
    own: Any
    """How far behind the tile's beginning is what this block has of it."""
    matrix: Any
    there: Sequence[Any]
    """How much there is of each part."""
    blocks: Any
    """A mask of those that it comes to, unless it is this one alone."""
    bytes: Any
    """That come to this block, from all that share the tile."""


@dataclass(frozen=True)
class Turn:
    """The stage that comes next, and the parity of how often all of them were used before."""

    stage: Any
    parity: Any

    @property
    def carried(self) -> list[Any]:
        return [self.stage, self.parity]

    def next(self, stages: int) -> Turn:
        on = self.stage + 1
        begins = on == stages
        return Turn(math.where(begins, 0, on), math.where(begins, 1 - self.parity, self.parity))

    def before(self, stages: int, count: int) -> Any:
        """The stage so many before."""
        return math.where(self.stage < count, self.stage + stages, self.stage) - count


class TileWriter(Protocol):
    """What brings sums of a tile to C, as each wave that multiplies does it."""

    def begin(self, block: TensorBlock) -> None: ...

    def write(self, work: TileWork, sums: Sequence[Any]) -> None: ...

    def end(self) -> None: ...


EDGES, C_MAP = 2, 4
"""Numbers of descriptions: of A and B by what is left at their ends, and of C; before them are those of A and B."""
WAVES = COPIER + GROUP_WAVES
"""Of a block: those that give registers away are four, of which one copies."""


class TensorBlock:
    """The work of a block, from the place of one lane: items from number `begin` on, by `step`, below `end`.

    Sums of parts of tiles are left in `parts`, as each lane has them.
    """

    def __init__(
        self,
        tile: TensorTile,
        maps: Sequence[Value],
        limits: tuple[Any, Any],
        items: tuple[Any, Any, Any],
        parts: FlatArray,
    ):
        """`maps` are of A and B, of both with boxes as high as what is left at their ends, and of C if it has one;
        `limits` are rows and columns of C."""
        self.tile, self.items, self.parts, self.limits = tile, items, parts, limits
        self.shared = near_address(shared(tile.bytes, ui8))
        self.maps = maps
        self.row: Any = 0
        self.column: Any = 0
        self.layer: Any = 0
        """Of the block in its cluster."""
        down, across, _ = tile.cluster
        if tile.cluster.blocks > 1:
            rank = as_index(ScalarValue(build(clusters.ClusterRankOp, results=[i32]).results[0]))
            self.row, self.column = rank // across % down, rank % across
            self.layer = rank // (down * across)

    def run(self, item_of: Callable[[Any], Item], place_of: Callable[[Item], TileWork], writer: TileWriter) -> None:
        """Compute tiles: `item_of` says what there is to do for a number, and `place_of` where in C that is."""
        writer.begin(self)
        with if_(wave() == COPIER, hasElse=False):
            self._prepare()
        let_next_launch_begin()
        self._meet()
        if self._is_shared:
            self._end_exchange()
        with if_(wave() >= COPIER) as parts:
            self._take_registers(matrices.SetMaxRegisterAction.DECREASE, FEW_REGISTERS)
            with if_((wave() == COPIER) & elected(), hasElse=self._is_shared) as copies_tiles:
                self._copy_all(lambda number: place_of(item_of(number)))
            if self._is_shared:
                with else_(copies_tiles):
                    self._each(lambda number, turn: self._exchanging(turn))
        with else_(parts):
            self._take_registers(matrices.SetMaxRegisterAction.INCREASE, MANY_REGISTERS)
            wait_for_last_launch()
            self._each(lambda number, turn: self._compute(item_of(number), place_of, turn, writer))
            writer.end()
        # memory of a block has to stay while others copy to it and arrive at its barriers
        if self._is_shared:
            self._begin_exchange()
        elif self.tile.cluster.blocks > 1:
            self._meet()

    @property
    def _is_shared(self) -> bool:
        """Whether blocks share the depth of a tile."""
        return self.tile.cluster.deep > 1

    def _copy_all(self, work_of: Callable[[Any], TileWork]) -> None:
        """Copy what tiles of C are made of. Where the next one is, is found before it is needed."""
        begin, end, step = self.items
        work = work_of(begin)
        wait_for_last_launch()
        carried = [as_index(0), as_index(0), *work.carried]
        for number, now, _ in sequential(begin, end, step, iter_args=carried):
            turn = self._exchanging(self._copy(work.of(now[2:]), Turn(*now[:2])))
            yield_([*turn.carried, *work_of(number + step).carried])

    def _exchanging(self, turn: Turn) -> Turn:
        """All of a cluster meet where sums are exchanged, if blocks share the depth of a tile."""
        if self._is_shared:
            self._begin_exchange()
            self._meet()
            self._end_exchange()
        return turn

    def _begin_exchange(self) -> None:
        """Wait until all of the cluster have read what was brought for the tile before."""
        build(clusters.ClusterWaitOp)

    def _end_exchange(self) -> None:
        """Say that this lane has read what was brought to it."""
        build(clusters.ClusterArriveOp)

    def _meet(self) -> None:
        """Wait for all of the block, or of the cluster."""
        if self.tile.cluster.blocks == 1:
            barrier()
            return
        build(clusters.ClusterArriveOp)
        build(clusters.ClusterWaitOp)

    def _take_registers(self, action: matrices.SetMaxRegisterAction, count: int) -> None:
        """Four waves have so many registers from here on, if any of a block needs more than its share."""
        if self.tile.rows <= FEW_ROWS:
            return
        fields: dict[str, Any] = {"action": matrices.SetMaxRegisterActionAttr(action)}
        build(matrices.SetMaxRegisterOp, regCount=IntegerAttr(count, i32), **fields)

    def _each(self, body: Callable[[Any, Turn], Turn]) -> None:
        """Build what is done for each item; `body` takes its number and the stage to begin with, and gives the next."""
        begin, end, step = self.items
        for number, turn, _ in sequential(begin, end, step, iter_args=[as_index(0), as_index(0)]):
            yield_(body(number, Turn(*turn)).carried)

    def _prepare(self) -> None:
        """Barriers, and descriptions that the engine will need."""
        with if_(lane() == 0, hasElse=False):
            for number in range(len(self.maps)):
                build(copies.PrefetchOp, addr=self.map(number), tensormap=UnitAttr())
            for stage in range(self.tile.stages):
                for start, count in ((self.tile.full, 1), (self.tile.empty, COPIER * self._sharers)):
                    place = near_pointer(self.shared + (start + 8 * stage))
                    build(copies.MBarrierInitOp, addr=place, count=constant(count, i32))
        build(copies.FenceMbarrierInitOp)

    def _place(self, offset: int, stage: Any, size: int) -> ScalarValue:
        """Of a stage, among things of that size."""
        return self.shared + (stage * size + offset).astype(i64)

    def _wait(self, barrier: ScalarValue, parity: Any) -> None:
        place, ticks = near_pointer(barrier), constant(WAIT_TICKS, i32)
        build(copies.MBarrierTryWaitParityOp, addr=place, phase=parity.astype(i32), ticks=ticks)

    def _copy(self, work: TileWork, turn: Turn) -> Turn:
        """One lane has all tiles copied, as soon as their places are empty."""
        tile, results = self.tile, list[Any]()
        left, right = self._brought(0, work.row, work.matrix), self._brought(1, work.column, work.matrix)
        size = (left.bytes + right.bytes).astype(i32)
        for step, now, results in sequential(work.item.first, work.item.last, iter_args=turn.carried):  # noqa: B007
            now = Turn(*now)
            self._wait(self._place(tile.empty, now.stage, 8), 1 - now.parity)
            full = self._place(tile.full, now.stage, 8)
            build(copies.MBarrierArriveExpectTxOp, addr=near_pointer(full), txcount=size, predicate=None)
            depth, start = (step * tile.element.row).astype(i32), self._place(0, now.stage, tile.stage_bytes)
            self._bring(right, start, depth, full)
            self._bring(left, start + tile.b_bytes, depth, full)
            yield_(now.next(tile.stages).carried)
        return Turn(*results)

    def _brought(self, number: int, at: Any, matrix: Any) -> Brought:
        """What there is to copy of a tile of A or B in each step, and how much of it comes to this block."""
        tile, at, limit = self.tile, as_index(at), as_index(self.limits[number])
        across, extent = ((tile.a_across, tile.a_rows), (tile.b_across, COLUMNS))[number]
        rows, row = tile.boxes[number][1], tile.element.row
        inside = math.minimum(math.maximum(limit - at, 0), extent)
        # parts as wide as a row, or as high as the engine copies
        step = row if across else rows
        come = cdiv(inside, row) * tile.part_bytes if across else inside * ROW_BYTES
        count, place, sharing = self._sharing[number]
        blocks = sharing if count > 1 else None
        own = 0 if count == 1 else place * (rows if across else extent // count)
        parts = extent // step if across else extent // count // step
        first = at if count == 1 or across else at + own
        there = [math.minimum(math.maximum(limit - first - part * step, 0), step) for part in range(parts)]
        return Brought(number, across, step, first, own, matrix.astype(i32), there, blocks, come)

    def _bring(self, brought: Brought, to: ScalarValue, depth: Any, full: Any) -> None:
        """A tile of A or B; of one that blocks of a cluster share, the part that this one copies to all of them.

        What is beyond the matrix is left out, but for what is beside it in a box: rows that are not there cost the
        cache several times as much as those that are. So sums of what is beyond are of anything, and not stored.
        """
        if brought.blocks is not None:
            to = to + (brought.own * ROW_BYTES).astype(i64)
            depth = depth + brought.own.astype(i32) if brought.across else depth
        step, number = brought.step, brought.number

        def copy(part: int, described: int) -> None:
            begin = (brought.first + part * step if part else brought.first).astype(i32)
            build(
                copies.CpAsyncBulkTensorGlobalToSharedClusterOp,
                dst_mem=cluster_pointer(to + part * step * ROW_BYTES if part else to),
                tma_descriptor=self.map(described),
                coordinates=[begin, depth, brought.matrix] if brought.across else [depth, begin, brought.matrix],
                mbar=near_pointer(full),
                multicast_mask=brought.blocks,
            )

        for part, there in enumerate(brought.there):
            with if_(there > 0 if brought.across else there == step, hasElse=not brought.across) as is_whole:
                copy(part, number)
            if not brought.across:
                with else_(is_whole), if_(there > 0, hasElse=False):
                    copy(part, EDGES + number)

    @property
    def _sharing(self) -> tuple[tuple[int, Any, Any], tuple[int, Any, Any]]:
        """Of A and of B: how many blocks share a tile, the number of this one among them, and a mask of all of them."""
        down, across, deep = self.tile.cluster
        masks = (1 << across) - 1, sum(1 << across * number for number in range(down))
        firsts = self.row * across, self.column
        if deep > 1:
            firsts = tuple(first + self._first_beside for first in firsts)
        beside, below = (
            constant(mask, i32) << as_index(first).astype(i32) for mask, first in zip(masks, firsts, strict=True)
        )
        return (across, self.column, beside.astype(i16)), (down, self.row, below.astype(i16))

    @property
    def _sharers(self) -> int:
        """Blocks that copy to a place for tiles, this one among them."""
        return sum(self.tile.cluster[:2]) - 1

    @property
    def _first_beside(self) -> Any:
        """The rank of the first of the blocks that have the same part of the depth."""
        return self.layer * (self.tile.cluster.down * self.tile.cluster.across)

    def map(self, number: int) -> Value:
        """A pointer to a description."""
        return descriptor_pointer(self.maps[number])

    def _compute(self, item: Item, place_of: Callable[[Item], TileWork], turn: Turn, writer: TileWriter) -> Turn:
        tile = self.tile
        results, turn = self._multiply(item, turn)
        # found while the last products are on their way
        work, steps = place_of(item), as_index(item.last) - item.first
        sums = self._finished(results)
        # the last stages, which no later step gives back
        for left in range(PRODUCTS_LEFT, 0, -1):
            self._give_back(turn.before(tile.stages, left), steps >= left)
        if self._is_shared:
            # a tile is never in parts besides
            rows = tile.rows // tile.cluster.deep
            writer.write(replace(work, row=work.row + self.layer * rows), self._exchanged(sums))
            return turn
        with if_(item.is_whole) as is_whole:
            writer.write(work, sums)
        with else_(is_whole), if_(steps > 0, hasElse=False):
            for place, total in enumerate(sums):
                self.parts[item.part, place, own_thread()] = total
        return turn

    def _multiply(self, item: Item, turn: Turn) -> tuple[list[Value], Turn]:
        """Sums of a tile, whose last products may be on their way, and the stage that comes next."""
        tile = self.tile
        count = tile.rows // tile.instruction_rows
        type = llvm.LLVMStructType.from_type_list([value_type(f32)] * (tile.sums // count))
        starts = [value_of(build(llvm.ZeroOp, results=[type]).results[0]) for _ in range(count)]
        group_bytes = (
            GROUP_COLUMNS // tile.element.row * tile.part_bytes if tile.b_across else GROUP_COLUMNS * ROW_BYTES
        )
        group = (wave() // GROUP_WAVES * group_bytes).astype(i64)
        carried, results = [*starts, *turn.carried], list[Any]()
        for at, now, results in sequential(item.first, item.last, iter_args=carried):  # noqa: B007
            yield_(self._step(Turn(*now[count:]), now[:count], group, as_index(at) - item.first))
        return results[:count], Turn(*results[count:])

    def _finished(self, results: Sequence[Value]) -> list[ScalarValue]:
        """Sums, when all products are added to them."""
        self._wait_for_products(0)
        found = list[ScalarValue]()
        for sums in results:
            for place in range(self.tile.sums // len(results)):
                at = DenseArrayBase.from_list(i64, [place])
                op = build(llvm.ExtractValueOp, results=[value_type(f32)], container=sums, position=at)
                found.append(ScalarValue(op.res))
        return found

    def _exchanged(self, sums: Sequence[ScalarValue]) -> list[Any]:
        """Sums of some rows, over the whole depth: those of the other rows are brought to the blocks that have them."""
        (down, across, deep), count = self.tile.cluster, self.tile.part_sums
        parts = [sums[start : start + count] for start in range(0, len(sums), count)]
        room = self.shared + (as_index(own_thread()) * FOUR_BYTES + self.tile.exchange).astype(i64)
        # a row of places for what each other block brings
        fours = [room + LANES_BYTES * four if four else room for four in range((deep - 1) * count // FOUR)]
        places = [fours[first : first + count // FOUR] for first in range(0, len(fours), count // FOUR)]
        aligned: dict[str, Any] = {"alignment": IntegerAttr(FOUR_BYTES, i64)}
        self._begin_exchange()
        for further, row in enumerate(places, 1):
            layer = (self.layer + further) % deep
            rank = (layer * (down * across) + self.row * across + self.column).astype(i32)
            part = chosen_part(parts, layer)
            for number, place in enumerate(row):
                far = build(clusters.MapaOp, results=[copies.CLUSTER_POINTER], a=near_pointer(place), b=rank)
                build(llvm.StoreOp, value=vector(part[number * FOUR :][:FOUR]), ptr=far.results[0], **aligned)
        self._meet()
        total, type = chosen_part(parts, self.layer), VectorType(value_type(f32), [FOUR])
        for row in places:
            loads = [build(llvm.LoadOp, results=[type], ptr=near_pointer(place), **aligned) for place in row]
            found = [Vector(load.results[0]) for load in loads]
            total = [one + found[at // FOUR][at % FOUR] for at, one in enumerate(total)]
        self._end_exchange()
        return total

    def _step(self, turn: Turn, sums: Sequence[Value], group: Any, done: Any) -> list[Any]:
        """Multiply the tiles of one stage, after `done` others; the place of an earlier one is empty then."""
        tile, after = self.tile, [*sums]
        place = self._place(0, turn.stage, tile.stage_bytes)
        self._wait(self._place(tile.full, turn.stage, 8), turn.parity)
        b = _descriptor(place + group, tile.part_bytes, tile.b_across)
        a = _descriptor(place + tile.b_bytes, tile.part_bytes, tile.a_across)
        build(matrices.WgmmaFenceAlignedOp)
        for number in range(ROW_BYTES // STEP_BYTES):
            a_deeper, b_deeper = (self._deeper(number, across) for across in (tile.a_across, tile.b_across))
            for part, before in enumerate(after):
                further = a_deeper + (part * tile.instruction_rows * ROW_BYTES >> 4)
                after[part] = self._product(b + b_deeper if number else b, a + further if further else a, before)
        build(matrices.WgmmaGroupSyncAlignedOp)
        self._wait_for_products(PRODUCTS_LEFT)
        self._give_back(turn.before(tile.stages, PRODUCTS_LEFT), done >= PRODUCTS_LEFT)
        return [*after, *turn.next(tile.stages).carried]

    def _wait_for_products(self, left: int) -> None:
        """Of all steps but the last ones."""
        build(matrices.WgmmaWaitGroupSyncOp, group=IntegerAttr(left, i64))

    def _give_back(self, stage: Any, where: Any) -> None:
        """Say that a stage is empty, to all blocks that copy to it."""
        free, count = near_pointer(self._place(self.tile.empty, stage, 8)), self._sharers
        if count > 1:
            block = self._sharer(lane() % count).astype(i32)
            free = value_of(build(clusters.MapaOp, results=[copies.CLUSTER_POINTER], a=free, b=block).results[0])
        where = where & (lane() < count)
        build(copies.MBarrierArriveExpectTxOp, addr=free, txcount=constant(0, i32), predicate=where)

    def _sharer(self, number: Any) -> Any:
        """The rank of one of the blocks that copy to a place for tiles: those beside this one, then others below."""
        down, across, _ = self.tile.cluster
        if down > 1:
            below = number - across
            below = below + math.where(below < self.row, 0, 1)
            number = math.where(number < across, self.row * across + number, below * across + self.column)
        return number + self._first_beside if self._is_shared else number

    def _deeper(self, number: int, across: bool) -> int:
        """How much further on a descriptor begins, in chunks."""
        rows = number * self.tile.element.depth * ROW_BYTES
        return (rows if across else number * STEP_BYTES) >> 4

    def _product(self, left: ScalarValue, right: ScalarValue, sums: Value) -> Value:
        """Columns of C by rows of C: B is the left matrix, with its columns as rows, and A the right one."""
        tile, kind = self.tile, matrices.WGMMAType(self.tile.element.name)
        shape = matrices.MMAShapeAttr(*map(IntAttr, (GROUP_COLUMNS, tile.instruction_rows, tile.element.depth)))
        row, column = matrices.MMALayoutAttr(matrices.MMALayout.ROW), matrices.MMALayoutAttr(matrices.MMALayout.COL)
        one = matrices.WGMMAScaleInAttr(matrices.WGMMAScaleIn.ONE)
        fields: dict[str, Any] = {
            "shape": shape,
            "typeA": matrices.WGMMATypeAttr(kind),
            "typeB": matrices.WGMMATypeAttr(kind),
            "typeD": matrices.WGMMATypeAttr(matrices.WGMMAType.F32),
            "scaleD": matrices.WGMMAScaleOutAttr(matrices.WGMMAScaleOut.ONE),
            "scaleA": one,
            "scaleB": one,
            "layoutA": column if tile.b_across else row,
            "layoutB": row if tile.a_across else column,
        }
        op = build(
            matrices.WgmmaMmaAsyncOp, results=[sums.type], inouts=sums, descriptorA=left, descriptorB=right, **fields
        )
        return value_of(op.results[0])


def chosen_part(parts: Sequence[Sequence[ScalarValue]], number: Any) -> list[Any]:
    """The part with a number that is known when the program runs."""
    found = list[Any](parts[-1])
    for at, part in enumerate(parts[:-1]):
        found = [math.where(number == at, one, other) for one, other in zip(part, found, strict=True)]
    return found


def sums_of(rows: Any) -> Any:
    """How many a lane has of so many rows of a tile."""
    return GROUP_COLUMNS * rows // (GROUP_WAVES * LANES)


def own_thread() -> Any:
    """The number of a lane among those that multiply."""
    return wave() * LANES + lane()


def _descriptor(address: ScalarValue, part_bytes: int, across: bool) -> ScalarValue:
    """Of a matrix in memory of the block: where it is, and how far apart its parts are in its two directions."""
    leading = part_bytes if across else 16
    fixed = SWIZZLED | (GROUP_BYTES >> 4) << 32 | (leading >> 4) << 16
    return ((address >> 4) & 0x3FFF) | fixed
