"""Spreads buffers over the memory's banks, so that a core and the DMA seldom want the same bank at once.

Those that ask for an address or a bank get it; the others go, the largest first, into one bank after the other.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr

from tilewright.dialects.aie.buffers import BufferOp
from tilewright.ir.diagnostics import emit_op_error, emit_warning
from tilewright.passes.design.assign_buffer_addresses.checks import is_sound
from tilewright.passes.design.assign_buffer_addresses.largest_first import largest_first
from tilewright.passes.design.assign_buffer_addresses.memory_map import bank_map
from tilewright.passes.design.assign_buffer_addresses.tile_memory import (
    TileMemory,
    bank_of,
    set_address,
    set_bank,
    shown_name,
)


def allocate_in_banks(memory: TileMemory) -> bool:
    """Give every buffer of a tile a bank and an address in it; if that fails, those that asked for none have none."""
    banks = _Banks(memory)
    free = [buffer for buffer in memory.buffers if buffer.address is None and buffer.mem_bank is None]
    if banks.place_given() and banks.are_kept() and banks.place_others(free) and is_sound(memory):
        return True
    for buffer in free:
        buffer.address = buffer.mem_bank = None
    return False


class _Banks:
    """The banks of a tile, each filled from its start."""

    def __init__(self, memory: TileMemory):
        self._memory = memory
        self._free_from = [max(bank.start, memory.stack_bytes) for bank in memory.banks]

    def place_given(self) -> bool:
        """Place the buffers that have an address, then those that have just a bank."""
        at_address = all(self._keep_address(placed.buffer, placed.address) for placed in self._memory.placed())
        if not at_address:
            return False
        waiting = [buffer for buffer in self._memory.buffers if buffer.address is None]
        return all(self._keep_bank(buffer, buffer.mem_bank) for buffer in waiting if buffer.mem_bank is not None)

    def _keep_address(self, buffer: BufferOp, address: int) -> bool:
        bank = next((number for number, bank in enumerate(self._memory.banks) if address in bank), None)
        problem = self._problem_with(buffer, address, bank)
        if problem is not None:
            emit_op_error(buffer, problem)
            return False
        assert bank is not None
        self._free_from[bank] = address + buffer.size_bytes
        set_bank(buffer, bank)
        return True

    def _problem_with(self, buffer: BufferOp, address: int, bank: int | None) -> str | None:
        if self._memory.is_misplaced(buffer, address):
            return "address attribute value must be aligned to tile load/store bus width when aligned attribute is set"
        if bank is None:
            return "address attribute does not fall within any bank range"
        if address < self._free_from[bank]:
            return "would override allocated address"
        if bank_of(buffer) not in (None, bank):
            return "mem_bank attribute is inconsistent with address attribute"
        return None

    def _keep_bank(self, buffer: BufferOp, attribute: IntegerAttr) -> bool:
        bank, banks = attribute.value.data, self._memory.banks
        if not 0 <= bank < len(banks):
            error = emit_op_error(buffer, "mem_bank attribute value is out of range")
            error.note(buffer, f"the tile has banks 0 to {len(banks) - 1}")
            return False
        if not self._fill(buffer, bank):
            error = emit_op_error(buffer, "would override existing mem_bank")
            room = max(banks[bank].stop - self._free_from[bank], 0)
            error.note(buffer, f"the buffer has {buffer.size_bytes} bytes, bank {bank} has {room} left")
            return False
        return True

    def place_others(self, buffers: list[BufferOp]) -> bool:
        """Place buffers in turn, each in the first bank with room for it from the one that follows the last on."""
        count, turn = len(self._free_from), 0
        for buffer in largest_first(buffers):
            order = ((turn + step) % count for step in range(count))
            bank = next((bank for bank in order if self._fill(buffer, bank)), None)
            if bank is None:
                self._report_lack(buffer)
                return False
            turn = (bank + 1) % count
        return True

    def _fill(self, buffer: BufferOp, bank: int) -> bool:
        """Put a buffer behind what is in a bank, if there is room."""
        start = self._memory.aligned(buffer, self._free_from[bank])
        end = start + buffer.size_bytes
        if end > self._memory.banks[bank].stop:
            return False
        set_address(buffer, start)
        set_bank(buffer, bank)
        self._free_from[bank] = end
        return True

    def _report_lack(self, buffer: BufferOp) -> None:
        size = buffer.size_bytes
        emit_warning(buffer, f"Failed to allocate buffer: {shown_name(buffer)} with size: {size} bytes.")
        warning = emit_warning(self._memory.tile, "Not all requested buffers fit in the available memory.")
        warning.note(self._memory.tile, f"Current configuration of buffers in bank(s) : {bank_map(self._memory)}")

    def are_kept(self) -> bool:
        """Whether no buffer that has a place reaches into the bank that follows its own."""
        memory = self._memory
        owned = ((placed, bank_of(placed.buffer)) for placed in memory.placed())
        exceeded = {bank for placed, bank in owned if bank is not None and placed.end > memory.banks[bank].stop}
        if exceeded:
            banks = " ".join(map(str, sorted(exceeded)))
            warning = emit_warning(memory.tile, "allocated buffers exceeded available memory")
            warning.note(memory.tile, f"Error in bank(s) : {banks}\n{bank_map(memory)}")
        return not exceeded
