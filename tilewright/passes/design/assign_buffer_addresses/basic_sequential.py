"""Puts buffers one after the other, the largest first, around those that have an address."""

from __future__ import annotations

from tilewright.ir.diagnostics import emit_op_error
from tilewright.passes.design.assign_buffer_addresses.checks import fits, is_sound
from tilewright.passes.design.assign_buffer_addresses.largest_first import largest_first
from tilewright.passes.design.assign_buffer_addresses.tile_memory import TileMemory, set_address

MOST_BYTES = 1 << 30
"""Behind more than this comes an address that the attribute of a buffer cannot hold."""


def allocate_sequentially(memory: TileMemory) -> bool:
    """Give every buffer of a tile an address; what is in the way has been reported if that fails."""
    if not _accepts_given(memory) or not _have_addresses(memory):
        return False
    _place_others(memory)
    return is_sound(memory) and fits(memory)


def _accepts_given(memory: TileMemory) -> bool:
    for placed in memory.placed():
        if memory.is_misplaced(placed.buffer, placed.address):
            error = emit_op_error(
                placed.buffer,
                "pre-allocated address must be aligned to tile load/store bus width when aligned attribute is set",
            )
            error.note(
                placed.buffer,
                f"the next such address is {memory.aligned(placed.buffer, placed.address)}; "
                f"or set `aligned = false` if no vector access goes to the buffer",
            )
            return False
    return True


def _have_addresses(memory: TileMemory) -> bool:
    """Whether there are addresses for all of it; most tiles have far less memory than that."""
    total = sum(buffer.size_bytes for buffer in memory.buffers)
    if total > MOST_BYTES:
        emit_op_error(memory.tile, f"has buffers of {total} bytes together, and {memory.size} bytes of memory")
    return total <= MOST_BYTES


def _place_others(memory: TileMemory) -> None:
    address, obstacles = memory.stack_bytes, memory.placed()[::-1]
    for buffer in largest_first([b for b in memory.buffers if b.address is None]):
        address = memory.aligned(buffer, address)
        size = buffer.size_bytes
        while obstacles and address + size > obstacles[-1].address:
            address = memory.aligned(buffer, max(address, obstacles.pop().end))
        set_address(buffer, address)
        address += size
