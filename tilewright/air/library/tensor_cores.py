"""Products on Hopper's tensor cores, for matrices of any size, layout and number, from one build.

A block computes a tile: two groups of four waves multiply with `wgmma`, 64 rows each, and one more wave has the copy
engine bring tiles of A and B to places in memory of the block. Barriers there say which places are full and which are
empty. The engine reads the shapes of A and B from descriptions, which a kernel of its own writes first (`operands`);
what it copies from beyond their edges is zero. Sums are f32. Where there are few tiles, several blocks share the depth
of one, and another kernel adds up what they come to (`tile_model`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerAttr, i32, i64

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32, ui8, value_type
from tilewright.air.dtypes import i64 as wide
from tilewright.air.escapes import EMULATOR
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, sequential, yield_
from tilewright.air.library.assembly import (
    ALIGNMENT,
    address_of,
    cluster_pointer,
    effect,
    near_address,
    near_pointer,
)
from tilewright.air.library.finishing import Finish, join
from tilewright.air.library.operands import (
    ELEMENTS,
    MAP_BYTES,
    ROW_BYTES,
    Element,
    describe,
    operand,
)
from tilewright.air.library.tile_model import TileCost, choose
from tilewright.air.messages import FlatArray, array
from tilewright.air.tiles import shared
from tilewright.air.trace import current
from tilewright.air.vectors import vector, vstore
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import _nvvm_copies as copies
from tilewright.dialects import _nvvm_matrices as matrices
from tilewright.dialects import llvm
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.handles import Value, value_of
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant

GROUPS, GROUP_ROWS, GROUP_WAVES, LANES = 2, 64, 4, 32
ROWS = GROUPS * GROUP_ROWS
COPIER = GROUPS * GROUP_WAVES
"""The wave behind those that multiply."""
STAGES = 4
BAND = 16
"""Blocks that run at the same time share this many rows of tiles."""
SWIZZLED = 1 << 62
"""In a matrix descriptor: chunks of 16 bytes are exchanged within 128 bytes."""
GROUP_BYTES = 8 * ROW_BYTES
"""Rows whose chunks are exchanged in all ways."""
STEP_BYTES = 32
"""Of depth, that one instruction multiplies."""
PRODUCTS_LEFT = 1
"""Steps whose products may be on their way when the place of the one before is given back."""
WAIT_TICKS = 10_000_000
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
        tile = TensorTile(element, cost.columns, left.across, right.across)
        describe(maps, (left, right), tile.boxes, element)
        steps = cdiv(left.depth, element.row)
        if cost is LARGE:
            _multiply(tile, maps, steps, 1, finish, c.shape)
            return
        with if_(as_index(shares) == 1) as alone:
            _multiply(tile, maps, steps, 1, finish, c.shape)
        with else_(alone):
            memory = array((as_index(shares) * batch * m * n,), f32)
            parts = FlatArray(memory.ssa, f32, (shares * batch, m, n))
            _multiply(tile, maps, steps, shares, Finish(parts, None, None, None), c.shape)
            join(parts, shares, finish)

    choose((LARGE, SMALL), (m, n, as_index(left.depth) * element.size), batch, emit)


def _multiply(
    tile: TensorTile, maps: Array, steps: Any, shares: Any, finish: Finish, shape: tuple[Any, Any, Any]
) -> None:
    batch, m, n = shape
    down, across = cdiv(m, ROWS), cdiv(n, tile.columns)
    each = cdiv(steps, shares)

    @launch((down * across, as_index(shares) * batch), waves=COPIER + 1)
    def _(block: Any, number: Any) -> None:
        row, column = _tile_of(block, down, across)
        share, matrix = number // batch, number % batch
        first = share * each
        # none are left for the last ones if shares are not even
        last = math.maximum(math.minimum(first + each, as_index(steps)), first)
        work = TensorBlock(tile, maps, (row * ROWS, column * tile.columns, matrix), first, last)
        work.run(lambda pair, y, x: _store(finish, number, pair, y, x, (m, n)))


def _tile_of(block: Any, down: Any, across: Any) -> tuple[Any, Any]:
    """Blocks go down bands of tiles, so that those that run at the same time read few rows and columns."""
    size = across * BAND
    band, inside = block // size, block % size
    high = math.minimum(as_index(down) - band * BAND, BAND)
    return band * BAND + inside % high, inside // high


def _store(finish: Finish, number: Any, pair: tuple[Any, Any], row: Any, column: Any, sizes: tuple[Any, Any]) -> None:
    """Two neighbouring elements of C, as far as it has them."""
    c, (m, n) = finish.c, sizes

    def value(place: int) -> Any:
        at = column + place if place else column
        return finish.value(pair[place], at)

    with if_((row < m) & (column < n), hasElse=False):
        # rows of an odd number of elements do not all begin at a multiple of two
        with if_(as_index(n) % 2 == 0) as even:
            vstore(vector([value(0), value(1)]), c, (number, row, column), alignment=2 * c.dtype.itemsize)
        with else_(even):
            c[number, row, column] = value(0)
            with if_(column + 1 < n, hasElse=False):
                c[number, row, column + 1] = value(1)


@dataclass(frozen=True)
class TensorTile:
    """A tile of C, how the tiles of A and B lie that it is made of, and where in memory of the block they are."""

    element: Element
    columns: int
    a_across: bool
    b_across: bool

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
        return (row, row if self.a_across else ROWS), (row, row if self.b_across else self.columns)


class TensorBlock:
    """The work of a block, from the place of one lane: steps in depth from `first` to below `last`."""

    def __init__(self, tile: TensorTile, maps: Array, place: tuple[Any, Any, Any], first: Any, last: Any):
        self.tile, self.place, self.first, self.last = tile, place, first, last
        self.shared = near_address(shared(tile.bytes, ui8))
        self.maps = address_of(maps)

    def run(self, store: Callable[[tuple[Any, Any], Any, Any], None]) -> None:
        """Compute the tile; `store` takes two neighbouring elements and their place."""
        copies_tiles = wave() == COPIER
        with if_(copies_tiles, hasElse=False):
            self._prepare()
        barrier()
        with if_(copies_tiles) as parts, if_(lane() == 0, hasElse=False):
            self._copy()
        with else_(parts):
            self._write(self._multiply(), store)

    def _prepare(self) -> None:
        """Barriers, and the descriptions as they are now."""
        with if_(lane() == 0, hasElse=False):
            for stage in range(STAGES):
                for start, count in ((self.tile.full, 1), (self.tile.empty, COPIER)):
                    place = near_pointer(self.shared + (start + 8 * stage))
                    build(copies.MBarrierInitOp, addr=place, count=constant(count, i32))
        build(copies.FenceMbarrierInitOp)
        if current().backend != EMULATOR:
            lines = [".reg .b64 far;"]
            for number in range(2):
                lines.append(f"add.s64 far, $0, {MAP_BYTES * number};")
                lines.append(f"fence.proxy.tensormap::generic.acquire.gpu [far], {MAP_BYTES};")
            effect(lines, "l", [self.maps])

    def _turn(self, step: Any) -> tuple[Any, Any]:
        """The stage of a step, and the parity of how often the stage was used before."""
        number = step - self.first
        return number % STAGES, number // STAGES % 2

    def _place(self, offset: int, stage: Any, size: int) -> ScalarValue:
        """Of a stage, among things of that size."""
        return self.shared + (stage * size + offset).astype(i64)

    def _wait(self, barrier: ScalarValue, parity: Any) -> None:
        place, ticks = near_pointer(barrier), constant(WAIT_TICKS, i32)
        build(copies.MBarrierTryWaitParityOp, addr=place, phase=parity.astype(i32), ticks=ticks)

    def _copy(self) -> None:
        """One lane has all tiles copied, as soon as their places are empty."""
        tile = self.tile
        row, column, matrix = (as_index(place).astype(i32) for place in self.place)
        for step in sequential(self.first, self.last):
            stage, parity = self._turn(step)
            self._wait(self._place(tile.empty, stage, 8), 1 - parity)
            full = self._place(tile.full, stage, 8)
            size = constant(tile.stage_bytes, i32)
            build(copies.MBarrierArriveExpectTxOp, addr=near_pointer(full), txcount=size, predicate=None)
            depth, start = (step * tile.element.row).astype(i32), self._place(0, stage, tile.stage_bytes)
            self._bring(0, start, row, depth, matrix, full, tile.a_across, ROWS)
            self._bring(1, start + tile.a_bytes, column, depth, matrix, full, tile.b_across, tile.columns)

    def _bring(
        self, number: int, to: ScalarValue, first: Any, depth: Any, matrix: Any, full: Any, across: bool, extent: int
    ) -> None:
        """A tile of one matrix: whole if its rows lie along the depth, else in parts as wide as a row."""
        row = self.tile.element.row
        parts = range(extent // row) if across else range(1)
        for part in parts:
            at = first + part * row if part else first
            places = [at, depth, matrix] if across else [depth, at, matrix]
            target = to + part * self.tile.part_bytes if part else to
            address = self.maps + MAP_BYTES * number if number else self.maps
            pointer = build(llvm.IntToPtrOp, results=[llvm.LLVMPointerType()], input=address).results[0]
            build(
                copies.CpAsyncBulkTensorGlobalToSharedClusterOp,
                dst_mem=cluster_pointer(target),
                tma_descriptor=value_of(pointer),
                coordinates=places,
                mbar=near_pointer(full),
                multicast_mask=None,
            )

    def _multiply(self) -> list[ScalarValue]:
        tile = self.tile
        type = llvm.LLVMStructType.from_type_list([value_type(f32)] * tile.sums)
        start = value_of(build(llvm.ZeroOp, results=[type]).results[0])
        group_bytes = tile.part_bytes * (GROUP_ROWS // tile.element.row) if tile.a_across else GROUP_ROWS * ROW_BYTES
        group = (wave() // GROUP_WAVES * group_bytes).astype(i64)
        results: Any = ()
        for at, sums, results in sequential(self.first, self.last, iter_args=[start]):  # noqa: B007
            yield_([self._step(at, sums, group)])
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

    def _step(self, at: Any, sums: Value, group: Any) -> Value:
        """Multiply the tiles of one stage; when the ones before are multiplied, their place is empty."""
        tile = self.tile
        stage, parity = self._turn(at)
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
        free = near_pointer(self._place(tile.empty, (stage + (STAGES - 1)) % STAGES, 8))
        # in the first step there is none before
        one = (at != self.first) & (lane() == 0)
        build(copies.MBarrierArriveExpectTxOp, addr=free, txcount=constant(0, i32), predicate=one)
        return sums

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

    def _write(self, sums: Sequence[Any], store: Callable[[tuple[Any, Any], Any, Any], None]) -> None:
        row0, column0, _ = self.place
        row0 = row0 + wave() * 16 + lane() // 4
        column0 = column0 + lane() % 4 * 2
        for half in range(2):
            row = row0 + 8 * half if half else row0
            for column in range(self.tile.columns // 8):
                low, high = sums[4 * column + 2 * half :][:2]
                store((low, high), row, column0 + 8 * column if column else column0)


def _descriptor(address: ScalarValue, part_bytes: int, across: bool) -> ScalarValue:
    """Of a matrix in memory of the block: where it is, and how far apart its parts are in its two directions."""
    leading = part_bytes if across else 16
    fixed = SWIZZLED | (GROUP_BYTES >> 4) << 32 | (leading >> 4) << 16
    return ((address >> 4) & 0x3FFF) | fixed
