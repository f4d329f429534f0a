"""The work of a block of a product on tensor cores: one wave has tiles copied, two groups of four multiply them.

Barriers in memory of the block say which of its places for tiles are full and which are empty. They go on counting from
one tile of C to the next, so that tiles for the next one come while sums of the present one are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerAttr, i16, i32, i64

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32, ui8, value_type
from tilewright.air.escapes import EMULATOR
from tilewright.air.levels import sequential, yield_
from tilewright.air.library.assembly import (
    ALIGNMENT,
    address_of,
    cluster_pointer,
    effect,
    elected,
    near_address,
    near_pointer,
)
from tilewright.air.library.operands import MAP_BYTES, ROW_BYTES, Element
from tilewright.air.library.tile_model import Item
from tilewright.air.messages import FlatArray
from tilewright.air.tiles import shared
from tilewright.air.trace import current
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import _nvvm_clusters as clusters
from tilewright.dialects import _nvvm_copies as copies
from tilewright.dialects import _nvvm_matrices as matrices
from tilewright.dialects import llvm
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.handles import Value, value_of
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant

GROUPS, GROUP_ROWS, GROUP_WAVES, LANES = 2, 64, 4, 32
ROWS = GROUPS * GROUP_ROWS
COPIER = GROUPS * GROUP_WAVES
"""The wave behind those that multiply."""
STAGES = 4
SWIZZLED = 1 << 62
"""In a matrix descriptor: chunks of 16 bytes are exchanged within 128 bytes."""
GROUP_BYTES = 8 * ROW_BYTES
"""Rows whose chunks are exchanged in all ways."""
STEP_BYTES = 32
"""Of depth, that one instruction multiplies."""
PRODUCTS_LEFT = 1
"""Steps whose products may be on their way when the place of the one before is given back."""
WAIT_TICKS = 10_000_000
FEW_REGISTERS, MANY_REGISTERS = 72, 216
"""Of each lane of a group of waves that copies, and of those that multiply: together what a multiprocessor has."""


@dataclass(frozen=True)
class TensorTile:
    """A tile of C, how the tiles of A and B lie that it is made of, and where in memory of the block they are."""

    element: Element
    columns: int
    a_across: bool
    b_across: bool
    cluster: int = 1
    """Blocks that compute tiles below each other: each has a part of their B copied to all of them."""

    @property
    def part_bytes(self) -> int:
        """Of what the engine copies at a time where rows lie across the depth: a row is as wide as it is deep then."""
        return self.element.row * ROW_BYTES

    @property
    def a_bytes(self) -> int:
        return ROWS * ROW_BYTES

    @property
    def stage_bytes(self) -> int:
        return (ROWS + self.columns) * ROW_BYTES

    @property
    def full(self) -> int:
        """Where the barriers are that say that a stage is full, and behind them those that it is empty."""
        return STAGES * self.stage_bytes

    @property
    def empty(self) -> int:
        return self.full + 8 * STAGES

    @property
    def bytes(self) -> int:
        return self.empty + 8 * STAGES + ALIGNMENT

    @property
    def sums(self) -> int:
        """That each lane has."""
        return GROUP_ROWS * self.columns // (GROUP_WAVES * LANES)

    @property
    def boxes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """What the engine copies at a time, of A and of B: of a row, and how many rows."""
        row = self.element.row
        b_rows = row if self.b_across else self.columns // self.cluster
        return (row, row if self.a_across else ROWS), (row, b_rows)


@dataclass(frozen=True)
class TileWork:
    """A tile of C, or a part of it: its first row and column and the number of its matrices, and what to compute."""

    row: Any
    column: Any
    matrix: Any
    item: Item


class TileWriter(Protocol):
    """What brings sums of a tile to C, as each wave that multiplies does it."""

    def begin(self, block: TensorBlock) -> None: ...

    def write(self, work: TileWork, sums: Sequence[Any]) -> None: ...

    def end(self) -> None: ...


WAVES = COPIER + GROUP_WAVES
"""Of a block: those that give registers away are four, of which one copies."""


class TensorBlock:
    """The work of a block, from the place of one lane: items from number `begin` on, by `step`, below `end`.

    Sums of parts of tiles are left in `parts`, as each lane has them.
    """

    def __init__(self, tile: TensorTile, maps: Array, items: tuple[Any, Any, Any], parts: FlatArray):
        self.tile, self.items, self.parts = tile, items, parts
        self.shared = near_address(shared(tile.bytes, ui8))
        self.maps = address_of(maps)
        self.rank: Any = None
        """The number of the block in its cluster."""
        if tile.cluster > 1:
            self.rank = as_index(ScalarValue(build(clusters.ClusterRankOp, results=[i32]).results[0]))

    def run(self, work_of: Callable[[Any], TileWork], writer: TileWriter) -> None:
        """Compute tiles; `work_of` says what there is to do for a number."""
        writer.begin(self)
        with if_(wave() == COPIER, hasElse=False):
            self._prepare()
        self._meet()
        with if_(wave() >= COPIER) as parts:
            self._take_registers(matrices.SetMaxRegisterAction.DECREASE, FEW_REGISTERS)
            with if_((wave() == COPIER) & elected(), hasElse=False):
                self._each(lambda number, used: self._copy(work_of(number), used))
        with else_(parts):
            self._take_registers(matrices.SetMaxRegisterAction.INCREASE, MANY_REGISTERS)
            self._each(lambda number, used: self._compute(work_of(number), used, writer))
            writer.end()
        if self.tile.cluster > 1:
            # memory of a block has to stay while others copy to it and arrive at its barriers
            self._meet()

    def _meet(self) -> None:
        """Wait for all of the block, or of the cluster."""
        if self.tile.cluster == 1:
            barrier()
            return
        build(clusters.ClusterArriveOp)
        build(clusters.ClusterWaitOp)

    def _take_registers(self, action: matrices.SetMaxRegisterAction, count: int) -> None:
        """Four waves have so many registers from here on."""
        fields: dict[str, Any] = {"action": matrices.SetMaxRegisterActionAttr(action)}
        build(matrices.SetMaxRegisterOp, regCount=IntegerAttr(count, i32), **fields)

    def _each(self, body: Callable[[Any, Any], Any]) -> None:
        """Build what is done for each item; `body` takes its number and how many stages were used before it."""
        begin, end, step = self.items
        for number, used, _ in sequential(begin, end, step, iter_args=[as_index(0)]):
            yield_([body(number, used)])

    def _prepare(self) -> None:
        """Barriers, and the descriptions as they are now."""
        with if_(lane() == 0, hasElse=False):
            for stage in range(STAGES):
                for start, count in ((self.tile.full, 1), (self.tile.empty, COPIER * self.tile.cluster)):
                    place = near_pointer(self.shared + (start + 8 * stage))
                    build(copies.MBarrierInitOp, addr=place, count=constant(count, i32))
        build(copies.FenceMbarrierInitOp)
        self.see_maps(range(2))

    def see_maps(self, numbers: Iterable[int]) -> None:
        """Let the engine see descriptions as they are now, where this wave asks it for something."""
        if current().backend != EMULATOR:
            lines = [".reg .b64 far;"]
            for number in numbers:
                lines.append(f"add.s64 far, $0, {MAP_BYTES * number};")
                lines.append(f"fence.proxy.tensormap::generic.acquire.gpu [far], {MAP_BYTES};")
            effect(lines, "l", [self.maps])

    def _turn(self, work: TileWork, used: Any, step: Any) -> tuple[Any, Any]:
        """The stage of a step, and the parity of how often the stage was used before."""
        number = step - work.item.first + used
        return number % STAGES, number // STAGES % 2

    def _used(self, work: TileWork, used: Any) -> Any:
        """Stages that were used up to the end of a tile."""
        return used + (as_index(work.item.last) - work.item.first)

    def _place(self, offset: int, stage: Any, size: int) -> ScalarValue:
        """Of a stage, among things of that size."""
        return self.shared + (stage * size + offset).astype(i64)

    def _wait(self, barrier: ScalarValue, parity: Any) -> None:
        place, ticks = near_pointer(barrier), constant(WAIT_TICKS, i32)
        build(copies.MBarrierTryWaitParityOp, addr=place, phase=parity.astype(i32), ticks=ticks)

    def _copy(self, work: TileWork, used: Any) -> Any:
        """One lane has all tiles copied, as soon as their places are empty."""
        tile = self.tile
        row, column, matrix = (as_index(place).astype(i32) for place in (work.row, work.column, work.matrix))
        for step in sequential(work.item.first, work.item.last):
            stage, parity = self._turn(work, used, step)
            self._wait(self._place(tile.empty, stage, 8), 1 - parity)
            full = self._place(tile.full, stage, 8)
            size = constant(tile.stage_bytes, i32)
            build(copies.MBarrierArriveExpectTxOp, addr=near_pointer(full), txcount=size, predicate=None)
            depth, start = (step * tile.element.row).astype(i32), self._place(0, stage, tile.stage_bytes)
            self._bring(0, start, row, depth, matrix, full, tile.a_across, ROWS, None)
            to, own = start + tile.a_bytes, tile.columns // tile.cluster
            everywhere = None
            if self.rank is not None:
                # each block brings a part for all of them
                to, column = to + self.rank.astype(i64) * (own * ROW_BYTES), column + self.rank.astype(i32) * own
                everywhere = constant((1 << tile.cluster) - 1, i16)
            self._bring(1, to, column, depth, matrix, full, tile.b_across, own, everywhere)
        return self._used(work, used)

    def _bring(
        self,
        number: int,
        to: ScalarValue,
        first: Any,
        depth: Any,
        matrix: Any,
        full: Any,
        across: bool,
        extent: int,
        blocks: Any,
    ) -> None:
        """A tile of one matrix: whole if its rows lie along the depth, else in parts as wide as a row."""
        row = self.tile.element.row
        parts = range(extent // row) if across else range(1)
        for part in parts:
            at = first + part * row if part else first
            places = [at, depth, matrix] if across else [depth, at, matrix]
            target = to + part * self.tile.part_bytes if part else to
            build(
                copies.CpAsyncBulkTensorGlobalToSharedClusterOp,
                dst_mem=cluster_pointer(target),
                tma_descriptor=self.map(number),
                coordinates=places,
                mbar=near_pointer(full),
                multicast_mask=blocks,
            )

    def map(self, number: int) -> Value:
        """A pointer to a description."""
        address = self.maps + MAP_BYTES * number if number else self.maps
        return value_of(build(llvm.IntToPtrOp, results=[llvm.LLVMPointerType()], input=address).results[0])

    def _compute(self, work: TileWork, used: Any, writer: TileWriter) -> Any:
        sums, item = self._multiply(work, used), work.item
        # the last stage, which no later step gives back
        stage, _ = self._turn(work, used, as_index(item.last) - 1)
        self._give_back(stage, as_index(item.last) > item.first)
        with if_(item.is_whole) as is_whole:
            writer.write(work, sums)
        with else_(is_whole), if_(as_index(item.last) > item.first, hasElse=False):
            for place, total in enumerate(sums):
                self.parts[item.part, place, own_thread()] = total
        return self._used(work, used)

    def _multiply(self, work: TileWork, used: Any) -> list[ScalarValue]:
        tile = self.tile
        type = llvm.LLVMStructType.from_type_list([value_type(f32)] * tile.sums)
        start = value_of(build(llvm.ZeroOp, results=[type]).results[0])
        group_bytes = tile.part_bytes * (GROUP_ROWS // tile.element.row) if tile.a_across else GROUP_ROWS * ROW_BYTES
        group = (wave() // GROUP_WAVES * group_bytes).astype(i64)
        results: Any = ()
        for at, sums, results in sequential(work.item.first, work.item.last, iter_args=[start]):  # noqa: B007
            yield_([self._step(work, used, at, sums, group)])
        build(matrices.WgmmaWaitGroupSyncOp, group=IntegerAttr(0, i64))
        return [
            ScalarValue(
                build(
                    llvm.ExtractValueOp,
                    results=[value_type(f32)],
                    container=results,
                    position=DenseArrayBase.from_list(i64, [place]),
                ).res
            )
            for place in range(tile.sums)
        ]

    def _step(self, work: TileWork, used: Any, at: Any, sums: Value, group: Any) -> Value:
        """Multiply the tiles of one stage; when the ones before are multiplied, their place is empty."""
        tile = self.tile
        stage, parity = self._turn(work, used, at)
        place = self._place(0, stage, tile.stage_bytes)
        self._wait(self._place(tile.full, stage, 8), parity)
        a = _descriptor(place + group, tile.part_bytes, tile.a_across)
        b = _descriptor(place + tile.a_bytes, tile.part_bytes, tile.b_across)
        build(matrices.WgmmaFenceAlignedOp)
        for number in range(ROW_BYTES // STEP_BYTES):
            deeper = [self._deeper(number, across) for across in (tile.a_across, tile.b_across)]
            sums = self._product(a + deeper[0] if number else a, b + deeper[1] if number else b, sums)
        build(matrices.WgmmaGroupSyncAlignedOp)
        build(matrices.WgmmaWaitGroupSyncOp, group=IntegerAttr(PRODUCTS_LEFT, i64))
        # in the first step there is none before
        self._give_back((stage + (STAGES - 1)) % STAGES, at != work.item.first)
        return sums

    def _give_back(self, stage: Any, where: Any) -> None:
        """Say that a stage is empty, to all blocks that copy to it."""
        free, count = near_pointer(self._place(self.tile.empty, stage, 8)), self.tile.cluster
        if count > 1:
            block = (lane() % count).astype(i32)
            free = value_of(build(clusters.MapaOp, results=[copies.CLUSTER_POINTER], a=free, b=block).results[0])
        where = where & (lane() < count)
        build(copies.MBarrierArriveExpectTxOp, addr=free, txcount=constant(0, i32), predicate=where)

    def _deeper(self, number: int, across: bool) -> int:
        """How much further on a descriptor begins, in chunks."""
        rows = number * self.tile.element.depth * ROW_BYTES
        return (rows if across else number * STEP_BYTES) >> 4

    def _product(self, a: ScalarValue, b: ScalarValue, sums: Value) -> Value:
        tile, kind = self.tile, matrices.WGMMAType(self.tile.element.name)
        shape = matrices.MMAShapeAttr(*(IntAttr(n) for n in (GROUP_ROWS, tile.columns, tile.element.depth)))
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
            "layoutA": column if tile.a_across else row,
            "layoutB": row if tile.b_across else column,
        }
        op = build(matrices.WgmmaMmaAsyncOp, results=[sums.type], inouts=sums, descriptorA=a, descriptorB=b, **fields)
        return value_of(op.results[0])


def own_thread() -> Any:
    """The number of a lane among those that multiply."""
    return wave() * LANES + lane()


def _descriptor(address: ScalarValue, part_bytes: int, across: bool) -> ScalarValue:
    """Of a matrix in memory of the block: where it is, and how far apart its parts are in its two directions."""
    leading = part_bytes if across else 16
    fixed = SWIZZLED | (GROUP_BYTES >> 4) << 32 | (leading >> 4) << 16
    return ((address >> 4) & 0x3FFF) | fixed
