"""What a core sees in its data memories: its own buffers and those of its neighbours, at addresses of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tilewright.device import DeviceModel, Side, TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.escapes import is_plain_word, python_string


class Placement(NamedTuple):
    """A buffer with its name, and where a core sees it."""

    buffer: BufferOp
    name: str
    address: int


class Window(NamedTuple):
    """A part of a core's addresses: the memory of the tile on one side of it, if there is one."""

    side: Side
    base: int
    tile: TileId | None
    placements: list[Placement]


class MemoryMap:
    """The memories of a device, and how its cores see them."""

    def __init__(self, device: DeviceOp):
        self.model: DeviceModel = device.model
        self.tiles = sorted({tile.place for tile in device.tiles})
        self.cores = {core.place: core for core in device.body.ops if isinstance(core, CoreOp)}
        self.buffers = dict[TileId, list[BufferOp]]()
        for op in device.body.ops:
            if isinstance(op, BufferOp) and op.place is not None:
                self.buffers.setdefault(op.place, []).append(op)

    def windows(self, place: TileId) -> Iterator[Window]:
        """South, west, north, east: in the order of their addresses."""
        for side in Side:
            base, owner = self.model.architecture.memory_windows[side], self.model.memory_tile(*place, side)
            placements = [] if owner is None else [_placement(buffer, base) for buffer in self.buffers.get(owner, ())]
            yield Window(side, base, owner, placements)

    def own_window(self, place: TileId) -> Window:
        return next(window for window in self.windows(place) if window.tile == place)

    def largest_gap(self, place: TileId) -> range:
        """The longest run of addresses in a core's own memory that neither its stack nor a buffer takes."""
        own, core = self.own_window(place), self.cores.get(place)
        taken = [(own.base, own.base + (core.stack_bytes if core is not None else 0))]
        taken += [(address, address + buffer.size_bytes) for buffer, _, address in own.placements]
        best, free_from = range(own.base, own.base), own.base
        for start, end in [*sorted(taken), (own.base + self.model.local_memory_bytes,) * 2]:
            best = max(best, range(free_from, max(start, free_from)), key=len)
            free_from = max(free_from, end)
        return best


def _placement(buffer: BufferOp, base: int) -> Placement:
    if buffer.sym_name is None:
        fail_op(buffer, "has no name that a linker could use", (buffer, "give it a sym_name"))
    if not is_plain_word(buffer.sym_name.data):
        fail_op(
            buffer, "has a name that linkers cannot read", (buffer, "letters, digits, '_', '.' and '$' can be in it")
        )
    if buffer.address_bytes is None:
        fail_op(buffer, "must have address assigned", (buffer, "run --aie-assign-buffer-addresses first"))
    return Placement(buffer, buffer.sym_name.data, base + buffer.address_bytes)


def memory_map_text(device: DeviceOp) -> str:
    """All buffers that each tile sees: name, address and size in bytes."""
    memories, lines = MemoryMap(device), list[str]()
    for place in memories.tiles:
        lines += [f"// Tile({place.column}, {place.row})", "// Memory map: name base_address num_bytes"]
        for window in memories.windows(place):
            lines += [f"_symbol {name} 0x{address:X} {b.size_bytes}" for b, name, address in window.placements]
    return "".join(f"{line}\n" for line in lines)


def core_list_text(device: DeviceOp) -> str:
    """A Python list of the cores: column, row, and the ELF file that holds the program."""
    cores, rows = MemoryMap(device).cores, list[str]()
    for place in (tile.place for tile in device.tiles if tile.place in cores):
        elf = cores[place].elf_file
        file = "None" if elf is None else python_string(elf.data)
        rows.append(f"({place.column},{place.row},{file}),")
    return f"[{''.join(rows)}]\n"
