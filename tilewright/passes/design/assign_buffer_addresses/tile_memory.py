"""Memory of one tile: the buffers in it, what must hold once each has an address, and the map that messages show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tilewright.device import TileResources
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.tiles import TileOp
from tilewright.ir.diagnostics import emit_op_error

NO_STACK = "(no stack allocated)"


def shown_name(buffer: BufferOp) -> str:
    """A buffer's name as messages show it, quotes included."""
    return f'"{buffer.sym_name.data}"' if buffer.sym_name is not None else "<unnamed>"


@dataclass
class PlacedBuffer:
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
        return self.tile.resources  # looked up by place, and asked for at every buffer

    @property
    def size(self) -> int:
        return self.resources.data_memory_bytes

    @cached_property
    def banks(self) -> list[range]:
        """The addresses of each bank."""
        size = self.size // self.resources.memory_banks
        return [range(start, start + size) for start in range(0, self.size, size)]

    def aligned(self, buffer: BufferOp, address: int) -> int:
        """The first address from `address` on at which `buffer` may begin: vectors are loaded in one bus access."""
        bus_bytes = self.resources.bus_bits // 8
        return -(-address // bus_bytes) * bus_bytes if buffer.aligned.value.data else address

    def is_misplaced(self, buffer: BufferOp, address: int) -> bool:
        return self.aligned(buffer, address) != address

    def placed(self) -> list[PlacedBuffer]:
        """The buffers that have an address, the lowest first."""
        # anew each time: schemes set addresses as they go
        placed = [PlacedBuffer(b, b.address_bytes) for b in self.buffers if b.address_bytes is not None]
        return sorted(placed, key=lambda each: each.address)


def bank_of(buffer: BufferOp) -> int | None:
    return None if buffer.mem_bank is None else buffer.mem_bank.value.data


def is_sound(memory: TileMemory) -> bool:
    """Whether no buffer lies in the stack, is misaligned, or overlaps another."""
    placed = memory.placed()
    return (
        all(_is_above_stack(memory, each) for each in placed)
        and all(_is_on_bus(memory, each) for each in placed)
        and all(_is_apart(lower, upper) for lower, upper in pairwise(placed))
    )


def fits(memory: TileMemory) -> bool:
    """Whether the last buffer ends inside the tile's memory."""
    end = max((each.end for each in memory.placed()), default=memory.stack_bytes)  # the stack is there anyway
    if end <= memory.size:
        return True
    stack = "" if memory.stack_bytes else f"\n{NO_STACK}"
    error = emit_op_error(memory.tile, f"allocated buffers exceeded available memory{stack}")
    error.note(memory.tile, memory_map(memory))
    error.note(memory.tile, f"the tile has {memory.size} bytes, {end - memory.size} less than these buffers take up")
    return False


def _where(placed: PlacedBuffer) -> str:
    return f"buffer '{shown_name(placed.buffer)}' at address 0x{placed.address:X}"


def _is_above_stack(memory: TileMemory, placed: PlacedBuffer) -> bool:
    if placed.address >= memory.stack_bytes:
        return True
    error = emit_op_error(placed.buffer, f"{_where(placed)} overlaps with stack (size: {memory.stack_bytes} bytes)")
    error.note(placed.buffer, "move the buffer up, or lower `stack_size` of the tile's core")
    return False


def _is_on_bus(memory: TileMemory, placed: PlacedBuffer) -> bool:
    if not memory.is_misplaced(placed.buffer, placed.address):
        return True
    bits = memory.resources.bus_bits
    emit_op_error(placed.buffer, f"{_where(placed)} is not aligned to tile load/store bus width ({bits} bits)")
    return False


def _is_apart(lower: PlacedBuffer, upper: PlacedBuffer) -> bool:
    if lower.end <= upper.address:
        return True
    emit_op_error(
        upper.buffer,
        f"{_where(upper)} overlaps with '{shown_name(lower.buffer)}' at address 0x{lower.address:X} "
        f"(size: {lower.size} bytes)",
    ).note(lower.buffer, f"which ends at 0x{lower.end:X}; leave out the address of one to have a free one found")
    return False


def memory_map(memory: TileMemory) -> str:
    """One line for the stack and for each buffer that has an address, the lowest first."""
    stack = [_line("\t", "(stack)", 0, memory.stack_bytes)] if memory.stack_bytes else []
    return "\n".join(["MemoryMap:", *stack, *(_buffer_line("\t", each) for each in memory.placed())])


def bank_map(memory: TileMemory) -> str:
    """The same, bank by bank."""
    lines = ["MemoryMap:", _line("\t\t", "(stack)", 0, memory.stack_bytes) if memory.stack_bytes else NO_STACK]
    placed = memory.placed()
    for number, bank in enumerate(memory.banks):
        lines.append(f"\tbank : {number}\t0x{bank.start:X}-0x{bank.stop - 1:X}")
        lines += [_buffer_line("\t\t", each) for each in placed if bank_of(each.buffer) == number]
    return "\n".join(lines)


def _buffer_line(indent: str, placed: PlacedBuffer) -> str:
    name = placed.buffer.sym_name
    return _line(indent, name.data if name is not None else "", placed.address, placed.size)


def _line(indent: str, name: str, address: int, size: int) -> str:
    return f"{indent}{name} \t: 0x{address:X}-0x{address + size - 1:X} \t({size} bytes)"
