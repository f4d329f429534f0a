"""How sums of a tile come to C: stored by the lanes that have them, or by the copy engine from memory of the block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32

from tilewright.air.library.assembly import ALIGNMENT, elected, near_address, near_pointer, warp_sync
from tilewright.air.library.finishing import Finish
from tilewright.air.library.operands import CHUNK_BYTES, ROW_BYTES
from tilewright.air.library.tensor_block import COPIER, TensorBlock, TileWork
from tilewright.air.tiles import shared
from tilewright.air.vectors import vstore
from tilewright.air.waves import lane, wave
from tilewright.dialects import _nvvm_stores as stores
from tilewright.dialects._syntax import INDEX
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import as_index

WAVE_ROWS, HALF_ROWS = 16, 8
"""A wave has sums of 16 rows; a lane those of two, eight apart: of each row pairs that are eight columns apart."""
PAIR_COLUMNS = 8
BOXES = 2
"""Of a wave: it fills one while the engine stores the other."""
BOX_BYTES = WAVE_ROWS * ROW_BYTES
C_MAP = 2
"""The number of the description of C: those before are of A and B."""


class LaneWriter:
    """Lanes store pairs of neighbours, as far as C has them."""

    def __init__(self, finish: Finish):
        self.finish = finish

    def begin(self, block: TensorBlock) -> None:
        """Nothing is needed."""

    def write(self, work: TileWork, sums: Sequence[Any]) -> None:
        row0 = work.row + wave() * WAVE_ROWS + lane() // 4
        column0 = work.column + lane() % 4 * 2
        for half in range(2):
            row = row0 + HALF_ROWS * half if half else row0
            for number in range(len(sums) // 4):
                column = column0 + PAIR_COLUMNS * number if number else column0
                self._store(work.matrix, sums[4 * number + 2 * half :][:2], row, column)

    def end(self) -> None:
        """Nothing is under way."""

    def _store(self, number: Any, pair: Sequence[Any], row: Any, column: Any) -> None:
        c = self.finish.c
        _, m, n = c.shape

        def value(place: int) -> Any:
            return self.finish.value(pair[place], column + place if place else column)

        with if_((row < m) & (column < n), hasElse=False):
            # rows of an odd number of elements do not all begin at a multiple of two
            with if_(as_index(n) % 2 == 0) as even:
                both = self.finish.values(pair, [column, column + 1])
                vstore(both, c, (number, row, column), alignment=2 * c.dtype.itemsize)
            with else_(even):
                c[number, row, column] = value(0)
                with if_(column + 1 < n, hasElse=False):
                    c[number, row, column + 1] = value(1)


class EngineWriter:
    """Waves put their sums into boxes in memory of the block, and the engine stores these as far as C reaches.

    A box is 128 bytes of 16 rows. Its chunks of 16 bytes are exchanged by the number of their row, as the engine wants
    it, so that the lanes of a store meet in no bank.
    """

    def __init__(self, finish: Finish):
        self.finish, self.size = finish, finish.c.dtype.itemsize

    def begin(self, block: TensorBlock) -> None:
        """Find room; the lane that asks for stores has to see the description of C as it is now."""
        self.block = block
        count = COPIER * BOXES * BOX_BYTES + ALIGNMENT
        self.room = shared(count // self.size, self.finish.c.dtype)
        self.start = near_address(self.room)
        self.skipped = (self.start - near_address(self.room, alignment=1)).astype(INDEX) // self.size
        block.see_maps([C_MAP])

    def write(self, work: TileWork, sums: Sequence[Any]) -> None:
        row_elements = ROW_BYTES // self.size
        groups = row_elements // PAIR_COLUMNS
        for box in range(len(sums) // 4 // groups):
            self._wait(BOXES - 1)
            warp_sync()
            place = (wave() * BOXES + box % BOXES) * BOX_BYTES
            for number in range(groups):
                column = work.column + (box * row_elements + number * PAIR_COLUMNS)
                pairs = sums[4 * (box * groups + number) :][:4]
                self._fill(place, number, [self._pair(pairs[2 * half :][:2], column) for half in range(2)])
            self._show()
            warp_sync()
            with if_(elected(), hasElse=False):
                self._store(work, place, box * row_elements)

    def end(self) -> None:
        """Memory of the block has to stay until the engine has read it."""
        self._wait(0)

    def _pair(self, pair: Sequence[Any], column: Any) -> Any:
        """Two neighbours, as C has them; there is a bias up to the last column alone."""
        first, last = column + lane() % 4 * 2, as_index(self.finish.c.shape[2]) - 1
        at = [math.minimum(first + place, last) if self.finish.bias is not None else first for place in range(2)]
        return self.finish.values(pair, at)

    def _fill(self, place: Any, number: int, halves: Sequence[Any]) -> None:
        """Pairs of both rows that a lane has, into their chunks."""
        row, byte = lane() // 4, lane() % 4 * (2 * self.size)
        first = number * PAIR_COLUMNS * self.size // CHUNK_BYTES
        chunk = (byte // CHUNK_BYTES) ^ row ^ first
        at = place + row * ROW_BYTES + chunk * CHUNK_BYTES + byte % CHUNK_BYTES
        for half, pair in enumerate(halves):
            inside = (at + half * HALF_ROWS * ROW_BYTES if half else at) // self.size
            vstore(pair, self.room, (self.skipped + inside,), alignment=2 * self.size)

    def _show(self) -> None:
        """Let the engine see what this lane has stored."""
        fields: dict[str, Any] = {
            "kind": stores.ProxyKindAttr(stores.ProxyKind.ASYNC_SHARED),
            "space": stores.SharedSpaceAttr(stores.SharedSpace.CTA),
        }
        build(stores.FenceProxyOp, **fields)

    def _store(self, work: TileWork, place: Any, column: int) -> None:
        places = [work.column + column if column else work.column, work.row + wave() * WAVE_ROWS, work.matrix]
        build(
            stores.CpAsyncBulkTensorSharedCTAToGlobalOp,
            tma_descriptor=self.block.map(C_MAP),
            src_mem=near_pointer(self.start + place.astype(self.start.type)),
            coordinates=[as_index(at).astype(i32) for at in places],
        )
        build(stores.CpAsyncBulkCommitGroupOp)

    def _wait(self, left: int) -> None:
        """The lane that asks for stores waits until the engine has read all but so many."""
        with if_(elected(), hasElse=False):
            build(stores.CpAsyncBulkWaitGroupOp, group=IntegerAttr(left, i32), read=UnitAttr())
