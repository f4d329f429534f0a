"""The text that shows what is where in a tile's memory."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.passes.design.assign_buffer_addresses.tile_memory import Placed, TileMemory, bank_of

NO_STACK = "(no stack allocated)"


def memory_map(memory: TileMemory) -> str:
    """One line for the stack and for each buffer that has an address, the lowest first."""
    stack = [_line("\t", "(stack)", 0, memory.stack_bytes)] if memory.stack_bytes else []
    return "\n".join(["MemoryMap:", *stack, *(_buffer_line("\t", each) for each in memory.placed())])


def bank_map(memory: TileMemory) -> str:
    """The same, bank by bank."""
    return "\n".join(["MemoryMap:", *_bank_lines(memory)])


def _bank_lines(memory: TileMemory) -> Iterator[str]:
    yield _line("\t\t", "(stack)", 0, memory.stack_bytes) if memory.stack_bytes else NO_STACK
    placed = memory.placed()
    for number, bank in enumerate(memory.banks):
        yield f"\tbank : {number}\t0x{bank.start:X}-0x{bank.stop - 1:X}"
        yield from (_buffer_line("\t\t", each) for each in placed if bank_of(each.buffer) == number)


def _buffer_line(indent: str, placed: Placed) -> str:
    name = placed.buffer.sym_name
    return _line(indent, name.data if name is not None else "", placed.address, placed.size)


def _line(indent: str, name: str, address: int, size: int) -> str:
    return f"{indent}{name} \t: 0x{address:X}-0x{address + size - 1:X} \t({size} bytes)"
