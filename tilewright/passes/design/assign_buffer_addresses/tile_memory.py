"""The memory of one tile, and the buffers that have to find a place in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import IntegerAttr, i32

from tilewright.device import TileResources
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.tiles import TileOp


def shown_name(buffer: BufferOp) -> str:
    """A buffer's name as messages show it, quotes included."""
    return f'"{buffer.sym_name.data}"' if buffer.sym_name is not None else "<unnamed>"


@dataclass
class Placed:
    """A buffer and where it begins."""

    buffer: BufferOp
    address: int

    @cached_property
    def size(self) -> int:
        return self.buffer.size_bytes

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True)
class TileMemory:
    """Addresses count bytes from the start of the tile's memory; the stack comes first in it."""

    tile: TileOp
    buffers: Sequence[BufferOp]
    stack_bytes: int

    @cached_property
    def resources(self) -> TileResources:
        return self.tile.resources

    @property
    def size(self) -> int:
        return self.resources.data_memory_bytes

    @property
    def bus_bytes(self) -> int:
        return self.resources.bus_bits // 8

    @cached_property
    def banks(self) -> list[range]:
        """The addresses of each bank."""
        size = self.size // self.resources.memory_banks
        return [range(start, start + size) for start in range(0, self.size, size)]

    def aligned(self, buffer: BufferOp, address: int) -> int:
        """The first address from `address` on at which `buffer` may begin."""
        return -(-address // self.bus_bytes) * self.bus_bytes if is_aligned(buffer) else address

    def is_misplaced(self, buffer: BufferOp, address: int) -> bool:
        return self.aligned(buffer, address) != address

    def placed(self) -> list[Placed]:
        """The buffers that have an address, the lowest first."""
        placed = [Placed(b, b.address_bytes) for b in self.buffers if b.address_bytes is not None]
        return sorted(placed, key=lambda each: each.address)


def is_aligned(buffer: BufferOp) -> bool:
    """Whether the tile's load/store bus has to reach the buffer's start in one access."""
    return bool(buffer.aligned.value.data)


def bank_of(buffer: BufferOp) -> int | None:
    return None if buffer.mem_bank is None else buffer.mem_bank.value.data


def set_address(buffer: BufferOp, address: int) -> None:
    buffer.address = IntegerAttr(address, i32)


def set_bank(buffer: BufferOp, bank: int) -> None:
    buffer.mem_bank = IntegerAttr(bank, i32)
