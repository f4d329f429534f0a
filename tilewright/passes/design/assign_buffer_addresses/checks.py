"""What must hold once every buffer of a tile has an address; each check reports the first offence."""

from __future__ import annotations

from itertools import pairwise

from tilewright.ir.diagnostics import emit_op_error
from tilewright.passes.design.assign_buffer_addresses.memory_map import NO_STACK, memory_map
from tilewright.passes.design.assign_buffer_addresses.tile_memory import Placed, TileMemory, shown_name


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
    end = max((each.end for each in memory.placed()), default=memory.stack_bytes)
    if end <= memory.size:
        return True
    stack = "" if memory.stack_bytes else f"\n{NO_STACK}"
    error = emit_op_error(memory.tile, f"allocated buffers exceeded available memory{stack}")
    error.note(memory.tile, memory_map(memory))
    error.note(memory.tile, f"the tile has {memory.size} bytes, {end - memory.size} less than these buffers take up")
    return False


def _where(placed: Placed) -> str:
    return f"buffer '{shown_name(placed.buffer)}' at address 0x{placed.address:X}"


def _is_above_stack(memory: TileMemory, placed: Placed) -> bool:
    if placed.address >= memory.stack_bytes:
        return True
    error = emit_op_error(placed.buffer, f"{_where(placed)} overlaps with stack (size: {memory.stack_bytes} bytes)")
    error.note(placed.buffer, "move the buffer up, or lower `stack_size` of the tile's core")
    return False


def _is_on_bus(memory: TileMemory, placed: Placed) -> bool:
    if not memory.is_misplaced(placed.buffer, placed.address):
        return True
    bits = memory.resources.bus_bits
    emit_op_error(placed.buffer, f"{_where(placed)} is not aligned to tile load/store bus width ({bits} bits)")
    return False


def _is_apart(lower: Placed, upper: Placed) -> bool:
    if lower.end <= upper.address:
        return True
    error = emit_op_error(
        upper.buffer,
        f"{_where(upper)} overlaps with '{shown_name(lower.buffer)}' at address 0x{lower.address:X} "
        f"(size: {lower.size} bytes)",
    )
    error.note(lower.buffer, f"which ends at 0x{lower.end:X}; leave out the address of one to have a free one found")
    return False
