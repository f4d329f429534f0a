"""Gives the buffers of every tile their addresses.

Each scheme gives True, or False after reporting why the buffers do not fit. The bank-aware one spreads buffers over the
memory's banks, so that a core and the DMA seldom want the same bank at once: those that ask for an address or a bank
get it; the others go, the largest first, into one bank after the other. The basic sequential one puts buffers one after
the other, the largest first, around those that have an address.

Upstream's addresses depend on the order of buffers of equal size, which is the program's only for up to 16 of them and
else what the C++ library's `std::sort` leaves. The algorithm is that of GNU libstdc++: it partitions around medians of
three until parts are small, then sorts by insertion, which keeps the order of equal elements. Its way out of unlucky
partitions, which takes thousands of buffers, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32

from tilewright.device import TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma import MemTileDmaOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.ir.diagnostics import emit_op_error, emit_warning, fail_op
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.assign_buffer_addresses.tile_memory import (
    TileMemory,
    bank_map,
    bank_of,
    fits,
    is_sound,
    shown_name,
)
from tilewright.rewrite.pass_bases import DevicePass, ops_of

MOST_BYTES = 1 << 30
"""Behind more than this comes an address that the attribute of a buffer cannot hold."""
SMALL_PART = 16  # from where on libstdc++ leaves the rest to insertion


@dataclass(frozen=True)
class AssignBufferAddressesPass(DevicePass):
    name = "aie-assign-buffer-addresses"

    alloc_scheme: str = field(
        default="",
        metadata={
            "help": "basic-sequential or bank-aware; without it bank-aware, and basic-sequential where that fails"
        },
    )

    def apply_to(self, device: DeviceOp) -> None:
        buffers = ops_of(all_operations(device), BufferOp)
        for buffer in buffers:
            _check_scope(buffer)
        for number, buffer in enumerate(buffer for buffer in buffers if buffer.sym_name is None):
            buffer.sym_name = StringAttr(f"_anonymous{number}")
        for memory in _memories(device, buffers):
            own = memory.tile.allocation_scheme
            _allocate(memory, self.alloc_scheme if own is None else own.data)


def _check_scope(buffer: BufferOp) -> None:
    """A buffer in a core's program is part of the program, unless it says what is in it."""
    tile = buffer.tile_like
    if not isinstance(tile, TileOp):
        fail_op(buffer, "is on a tile that is not placed; run --aie-place-tiles first")
    if isinstance(buffer.parent_op(), DeviceOp | MemTileDmaOp) or buffer.initial_value is not None:
        return
    fail_op(
        tile,
        f"Buffer '{shown_name(buffer)}' must be defined directly under the device scope. "
        "Currently it is nested inside a core tile.",
        (buffer, "move this buffer out of the core, or give it an initial value"),
    )


def _memories(device: DeviceOp, buffers: list[BufferOp]) -> Iterator[TileMemory]:
    """The memories with buffers in them, in the order of the tiles."""
    on_tile: dict[TileId | None, list[BufferOp]] = {}
    for buffer in buffers:
        on_tile.setdefault(buffer.place, []).append(buffer)
    # the stack stands at the start of a core's memory
    stacks = {core.place: core.stack_bytes for core in ops_of(device.body.ops, CoreOp)}
    for tile in device.tiles:
        found = on_tile.pop(tile.place, None)
        if found is not None:
            yield TileMemory(tile, found, stacks.get(tile.place, 0))


def _allocate(memory: TileMemory, scheme: str) -> None:
    if not scheme:
        # In banks if possible; a large buffer may cross them.
        if not allocate_in_banks(memory):
            emit_warning(memory.tile, "Bank-aware allocation failed, trying basic sequential allocation.")
            if not allocate_sequentially(memory):
                fail_op(memory.tile, "Basic sequential allocation also failed.")
        return
    if scheme not in SCHEMES:
        known = ", ".join(f"'{name}'" for name in SCHEMES)
        fail_op(memory.tile, f"unknown allocation scheme '{scheme}'", (memory.tile, f"there are {known}"))
    label, allocate = SCHEMES[scheme]
    if not allocate(memory):
        fail_op(memory.tile, f"{label} allocation failed.")


def allocate_in_banks(memory: TileMemory) -> bool:
    """Give every buffer of a tile a bank and an address in it; if that fails, those that asked for none have none."""
    banks = _Banks(memory)
    free = [buffer for buffer in memory.buffers if buffer.address is None and buffer.mem_bank is None]
    if banks.place_given() and banks.are_kept() and banks.place_others(free) and is_sound(memory):
        return True
    for buffer in free:
        buffer.address = buffer.mem_bank = None  # basic-sequential may be next, and starts afresh
    return False


class _Banks:
    """The banks of a tile, each filled from its start."""

    def __init__(self, memory: TileMemory):
        self._memory = memory
        self._free_from = [max(bank.start, memory.stack_bytes) for bank in memory.banks]

    def place_given(self) -> bool:
        """Place the buffers that have an address, then those that have just a bank."""
        if not all(self._keep_address(placed.buffer, placed.address) for placed in self._memory.placed()):
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
        buffer.mem_bank = IntegerAttr(bank, i32)
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
        if self._fill(buffer, bank):
            return True
        room = max(banks[bank].stop - self._free_from[bank], 0)
        error = emit_op_error(buffer, "would override existing mem_bank")
        error.note(buffer, f"the buffer has {buffer.size_bytes} bytes, bank {bank} has {room} left")
        return False

    def place_others(self, buffers: list[BufferOp]) -> bool:
        """Place buffers in turn, each in the first bank with room for it from the one that follows the last on."""
        count, turn = len(self._free_from), 0
        for buffer in largest_first(buffers):
            order = ((turn + step) % count for step in range(count))
            bank = next((bank for bank in order if self._fill(buffer, bank)), None)
            if bank is None:
                memory, size = self._memory, buffer.size_bytes
                emit_warning(buffer, f"Failed to allocate buffer: {shown_name(buffer)} with size: {size} bytes.")
                warning = emit_warning(memory.tile, "Not all requested buffers fit in the available memory.")
                warning.note(memory.tile, f"Current configuration of buffers in bank(s) : {bank_map(memory)}")
                return False
            turn = (bank + 1) % count  # so that equal buffers alternate between banks
        return True

    def _fill(self, buffer: BufferOp, bank: int) -> bool:
        """Put a buffer behind what is in a bank, if there is room."""
        start = self._memory.aligned(buffer, self._free_from[bank])
        end = start + buffer.size_bytes
        if end > self._memory.banks[bank].stop:
            return False
        buffer.address, buffer.mem_bank = IntegerAttr(start, i32), IntegerAttr(bank, i32)
        self._free_from[bank] = end
        return True

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


def allocate_sequentially(memory: TileMemory) -> bool:
    """Give every buffer of a tile an address; what is in the way has been reported if that fails."""
    if not _accepts_given(memory) or not _have_addresses(memory):
        return False
    _place_others(memory)
    return is_sound(memory) and fits(memory)


def _accepts_given(memory: TileMemory) -> bool:
    for placed in memory.placed():
        if memory.is_misplaced(placed.buffer, placed.address):
            emit_op_error(
                placed.buffer,
                "pre-allocated address must be aligned to tile load/store bus width when aligned attribute is set",
            ).note(
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
        # Never back to gaps: what is before an obstacle stays empty, as in upstream.
        while obstacles and address + size > obstacles[-1].address:
            address = memory.aligned(buffer, max(address, obstacles.pop().end))
        buffer.address = IntegerAttr(address, i32)
        address += size


def largest_first(buffers: Sequence[BufferOp]) -> list[BufferOp]:
    return [buffers[position] for position in descending_order([buffer.size_bytes for buffer in buffers])]


def descending_order(sizes: Sequence[int]) -> list[int]:
    """The positions of `sizes`, the greatest first."""
    order = [(-size, position) for position, size in enumerate(sizes)]
    parts = [(0, len(order))]
    while parts:
        start, end = parts.pop()
        if end - start > SMALL_PART:
            cut = _partition(order, start, end)
            parts += [(start, cut), (cut, end)]
    return [position for _, position in sorted(order, key=lambda entry: entry[0])]


def _partition(order: list[tuple[int, int]], start: int, end: int) -> int:
    """Bring what ranks below the median of three before what ranks above it; gives where the second part begins."""
    median = _median(order, start + 1, start + (end - start) // 2, end - 1)
    order[start], order[median] = order[median], order[start]
    pivot, low, high = order[start][0], start + 1, end
    while True:
        while order[low][0] < pivot:
            low += 1
        high -= 1
        while pivot < order[high][0]:
            high -= 1
        if low >= high:
            return low
        order[low], order[high] = order[high], order[low]
        low += 1


def _median(order: list[tuple[int, int]], a: int, b: int, c: int) -> int:
    """The place of the middle one of three; of equal ones the one that the library takes."""
    first, second, third = (order[place][0] for place in (a, b, c))
    if first < second:
        return b if second < third else c if first < third else a
    return a if first < third else c if second < third else b


SCHEMES: dict[str, tuple[str, Callable[[TileMemory], bool]]] = {
    "basic-sequential": ("Basic sequential", allocate_sequentially),
    "bank-aware": ("Bank-aware", allocate_in_banks),
}
