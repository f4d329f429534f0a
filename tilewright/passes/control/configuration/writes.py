"""A configuration as writes to registers, in the order in which the driver makes them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from tilewright import txn
from tilewright.device import DeviceModel, TileId
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.interfaces import TileElement, TileLike
from tilewright.ir.diagnostics import Where, fail_op


class Write(NamedTuple):
    """An operation that sets registers, and the place in the source that asks for it."""

    operation: txn.Operation
    location: LocationAttr


@dataclass(frozen=True)
class TileWriter:
    """Makes writes to a tile on behalf of one place in the source. Offsets count bytes from the start of the tile."""

    model: DeviceModel
    place: TileId
    location: LocationAttr

    def write(self, offset: int, value: int) -> Write:
        return Write(txn.write(self._address(offset), value), self.location)

    def mask_write(self, offset: int, value: int, mask: int) -> Write:
        return Write(txn.mask_write(self._address(offset), value, mask), self.location)

    def block_write(self, offset: int, words: Sequence[int]) -> Write:
        return Write(txn.block_write(self._address(offset), words), self.location)

    def memory(self, offset: int, data: bytes) -> Iterator[Write]:
        """Set bytes of a memory: whole words at once, the parts of words before and after them under a mask."""
        head = min(-offset % WORD_BYTES, len(data))
        tail = (len(data) - head) % WORD_BYTES
        middle = data[head : len(data) - tail]
        # Memories are written in words; bytes of a word beside the data keep their values.
        if head:
            yield self._part_of_word(offset, data[:head])
        if middle:
            yield self.block_write(offset + head, words_of(middle))
        if tail:
            yield self._part_of_word(offset + len(data) - tail, data[-tail:])

    def _part_of_word(self, offset: int, data: bytes) -> Write:
        before = offset % WORD_BYTES  # bytes of the word that come before the data, and keep their values
        value, mask = (int.from_bytes(bytes(before) + part, "little") for part in (data, b"\xff" * len(data)))
        return self.mask_write(offset - before, value, mask)

    def _address(self, offset: int) -> int:
        return self.model.tile_address(*self.place, offset)


def words_of(data: bytes) -> tuple[int, ...]:
    """The 32-bit words that bytes are in memory; zeros fill up the last one."""
    count = -(-len(data) // WORD_BYTES)
    return struct.unpack(f"<{count}I", data.ljust(count * WORD_BYTES, b"\0"))


def placed(op: Operation, tile: TileLike | None) -> TileId:
    """Where the tile of `op` is on the array; registers belong to places."""
    if tile is None or tile.place is None or not tile.is_placed:
        remedy = (op, "run --aie-place-tiles first, or declare the tile with aie.tile(column, row)")
        fail_op(op, "cannot be configured: its tile is not placed", remedy)
    return tile.place


def writer_for(model: DeviceModel, op: TileElement) -> TileWriter:
    """Writes to the tile that `op` belongs to."""
    return TileWriter(model, placed(op, op.tile_like), op.location)


def fail_as_driver(op: Operation, call: str, code: str, *notes: tuple[Where, str]) -> NoReturn:
    """Stop with what mlir-aie says when the driver's `call` refuses a setting; notes say why, and what to do."""
    fail_op(op, f"{call} failed with {code}", *notes)
