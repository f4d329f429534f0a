"""How sums of a tile come to C: stored by the lanes that have them, or by the copy engine from memory of the block.

A wave has sums of 16 columns of C. Of each eight rows a lane has those of two columns, eight apart, and of two rows
that are neighbours: four sums, one column after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import IntAttr, IntegerAttr, UnitAttr, i32, i64

from tilewright.air.dtypes import f32, ui8
from tilewright.air.library.assembly import ALIGNMENT, elected, near_address, near_pointer, warp_sync
from tilewright.air.library.finishing import Finish
from tilewright.air.library.operands import CHUNK_BYTES, ROW_BYTES
from tilewright.air.library.tensor_block import (
    C_MAP,
    COPIER,
    GROUP_COLUMNS,
    GROUP_WAVES,
    GROUPS,
    WAIT_TICKS,
    TensorBlock,
    TileWork,
)
from tilewright.air.tiles import shared
from tilewright.air.vectors import Vector
from tilewright.air.waves import lane, wave
from tilewright.dialects import _nvvm_copies as copies
from tilewright.dialects import _nvvm_matrices as matrices
from tilewright.dialects import _nvvm_stores as stores
from tilewright.dialects import llvm
from tilewright.iron import math
from tilewright.iron.builders.control import if_
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant

WAVE_COLUMNS, HALF_COLUMNS = GROUP_COLUMNS // GROUP_WAVES, 8
SUM_ROWS = 8
"""Rows of which a lane has four sums."""
BOX_ROWS = 16
"""Of C, that the engine stores at a time: 128 bytes of each."""
BOX_BYTES = BOX_ROWS * ROW_BYTES
BOXES = GROUP_WAVES
"""That a group of waves fills together, and each of them has one stored."""
PLACES = 2
"""For boxes of a group: one is filled while the engine stores the others."""


def own_column(work: TileWork, half: int) -> Any:
    """The column of a lane's sums, the first or the second one."""
    column = work.column + wave() * WAVE_COLUMNS + lane() // 4
    return column + HALF_COLUMNS if half else column


class LaneWriter:
    """Lanes store each sum by itself, as far as C has it."""

    def __init__(self, finish: Finish):
        self.finish = finish

    def begin(self, block: TensorBlock) -> None:
        """Nothing is needed."""

    def write(self, work: TileWork, sums: Sequence[Any]) -> None:
        c = self.finish.c
        _, m, n = c.shape
        row0 = work.row + lane() % 4 * 2
        for half in range(2):
            column = own_column(work, half)
            with if_(column < n, hasElse=False):
                for place in range(len(sums) // 2):
                    number, inside = place // 2, place % 2
                    row = row0 + (SUM_ROWS * number + inside)
                    with if_(row < m, hasElse=False):
                        c[work.matrix, row, column] = self.finish.value(sums[4 * number + 2 * half + inside], column)

    def end(self) -> None:
        """Nothing is under way."""


class EngineWriter:
    """Groups of waves put their sums into boxes in memory of the block; the engine stores these as far as C reaches.

    Chunks of 16 bytes are exchanged by the number of their row, as the engine wants it, so that the lanes of a store
    meet in no bank.
    """

    def __init__(self, finish: Finish):
        self.finish, self.size = finish, finish.c.dtype.itemsize
        self.halves = GROUP_COLUMNS * self.size // ROW_BYTES
        """Boxes beside each other that a group fills."""
        self.rows = BOXES // self.halves * BOX_ROWS
        """That a group fills at a time."""

    def begin(self, block: TensorBlock) -> None:
        """Find room."""
        self.block = block
        place_bytes = BOXES * BOX_BYTES
        room = near_address(shared(GROUPS * PLACES * place_bytes + 8 * GROUPS + ALIGNMENT, ui8))
        self.group, self.own = wave() // GROUP_WAVES, wave() % GROUP_WAVES
        self.start = room + (self.group * (PLACES * place_bytes)).astype(i64)
        self.barrier = near_pointer(room + (GROUPS * PLACES * place_bytes + self.group * 8).astype(i64))
        with if_((lane() == 0) & (wave() < COPIER) & (self.own == 0), hasElse=False):
            build(copies.MBarrierInitOp, addr=self.barrier, count=constant(GROUP_WAVES, i32))
            build(copies.FenceMbarrierInitOp)

    def write(self, work: TileWork, sums: Sequence[Any]) -> None:
        rows = len(sums) // 4 * SUM_ROWS
        firsts = range(0, rows, self.rows)
        for turn, first in enumerate(firsts):
            some = min(self.rows, rows - first)
            place = self.start + turn % PLACES * (BOXES * BOX_BYTES) if turn % PLACES else self.start
            begin = first // SUM_ROWS * 4
            self._fill(work, place, sums[begin : begin + some // SUM_ROWS * 4])
            self._meet(turn % 2)
            self._store(work, place, first, some)
        if len(firsts) % 2:
            # what is filled first in the next tile is read, and as many meetings are even as odd
            self._meet(1)

    def end(self) -> None:
        """Memory of the block has to stay until the engine has read it."""
        self._wait()

    def _fill(self, work: TileWork, place: ScalarValue, sums: Sequence[Any]) -> None:
        """Sums of all waves of the group, each of which has 16 columns."""
        if self.finish.c.dtype == f32:
            self._fill_numbers(work, place, sums)
        else:
            self._fill_pairs(work, place, sums)
        self._show()

    def _show(self) -> None:
        """Let the engine see what this lane has stored."""
        fields: dict[str, Any] = {
            "kind": stores.ProxyKindAttr(stores.ProxyKind.ASYNC_SHARED),
            "space": stores.SharedSpaceAttr(stores.SharedSpace.CTA),
        }
        build(stores.FenceProxyOp, **fields)

    def _fill_pairs(self, work: TileWork, place: ScalarValue, sums: Sequence[Any]) -> None:
        """Elements of two bytes: four matrices of 8 x 8 at a time, transposed, of 16 rows and 16 columns."""
        inside, half, lower = lane() % 8, lane() // 8 % 2, lane() // 16
        chunk = (self.own * 2 + half) ^ inside
        at = place + ((lower * 8 + inside) * ROW_BYTES + chunk * CHUNK_BYTES).astype(i64)
        fields: dict[str, Any] = {
            "layout": matrices.MMALayoutAttr(matrices.MMALayout.COL),
            "shape": stores.LdStMatrixShapeAttr(IntAttr(8), IntAttr(8)),
            "eltType": stores.LdStMatrixEltTypeAttr(stores.LdStMatrixEltType.B16),
        }
        for box in range(len(sums) // 8):
            pairs = [self._values(work, sums[8 * box + 2 * pair :][:2], pair % 2) for pair in range(4)]
            words = [pair.bitcast(i32)[0] for pair in pairs]
            build(stores.StMatrixOp, ptr=near_pointer(at + box * BOX_BYTES if box else at), sources=words, **fields)

    def _fill_numbers(self, work: TileWork, place: ScalarValue, sums: Sequence[Any]) -> None:
        """Elements of four bytes, each by itself; two waves fill a box."""
        columns, beside = ROW_BYTES // self.size, self.own // 2
        for number in range(len(sums) // 4):
            box, above = number * SUM_ROWS // BOX_ROWS * self.halves, number * SUM_ROWS % BOX_ROWS
            for half in range(2):
                pair = self._values(work, sums[4 * number + 2 * half :][:2], half)
                column = (self.own % 2 * WAVE_COLUMNS + HALF_COLUMNS * half + lane() // 4) % columns
                for inside in range(2):
                    row = lane() % 4 * 2 + inside
                    chunk = (column * self.size // CHUNK_BYTES) ^ row
                    byte = (row + above) * ROW_BYTES + chunk * CHUNK_BYTES + column * self.size % CHUNK_BYTES
                    at = place + ((beside + box) * BOX_BYTES + byte).astype(i64)
                    build(llvm.StoreOp, value=pair[inside], ptr=near_pointer(at))

    def _values(self, work: TileWork, pair: Sequence[Any], half: int) -> Vector:
        """Two sums of a column, as C has them; there is a bias up to the last column alone."""
        column = own_column(work, half)
        if self.finish.bias is not None:
            column = math.minimum(column, as_index(self.finish.c.shape[2]) - 1)
        return self.finish.values(pair, [column, column])

    def _meet(self, parity: int) -> None:
        """Wait for the waves of the group: they have filled their parts of boxes, and those stored before are read."""
        self._wait()
        warp_sync()
        with if_(elected(), hasElse=False):
            build(copies.MBarrierArriveOp, results=[i64], addr=self.barrier)
        ticks, phase = constant(WAIT_TICKS, i32), constant(parity, i32)
        build(copies.MBarrierTryWaitParityOp, addr=self.barrier, phase=phase, ticks=ticks)

    def _store(self, work: TileWork, place: ScalarValue, first: int, rows: int) -> None:
        """Each wave has one of the boxes stored."""
        beside, below = (self.own % self.halves, self.own // self.halves) if self.halves > 1 else (0, self.own)
        columns = ROW_BYTES // self.size
        with if_(elected() & (below < rows // BOX_ROWS), hasElse=False):
            column = work.column + self.group * GROUP_COLUMNS + beside * columns
            row = work.row + below * BOX_ROWS + first
            build(
                stores.CpAsyncBulkTensorSharedCTAToGlobalOp,
                tma_descriptor=self.block.map(C_MAP),
                src_mem=near_pointer(place + (self.own * BOX_BYTES).astype(i64)),
                coordinates=[as_index(at).astype(i32) for at in (column, row, work.matrix)],
            )
            build(stores.CpAsyncBulkCommitGroupOp)

    def _wait(self) -> None:
        """The lane that asks for stores waits until the engine has read them."""
        with if_(elected(), hasElse=False):
            build(stores.CpAsyncBulkWaitGroupOp, group=IntegerAttr(0, i32), read=UnitAttr())
