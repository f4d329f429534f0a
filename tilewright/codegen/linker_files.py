"""Files for the linkers of core programs: scripts for LLVM's, BCF files for the vendor's; memory maps and core lists.

Both put the stack at the start of the core's own memory and the buffers where they have been assigned to. Their texts
are those of AIETargetLdScript.cpp and AIETargetBCF.cpp of mlir-aie at 3ca0193cea9e.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.device import DeviceModel, Side, TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.escapes import is_plain_word, python_string, visible

ADDRESS_SPACE_BYTES = 0x100000
PROGRAM_BYTES = 0x20000
SECTIONS = """\
}
ENTRY(__start)
SECTIONS
{
  . = 0x0;
  .text : {
     /* the __start symbol has to come at address zero. */
     *crt0.o(.text*)
     _ctors_start = .;
     _init_array_start = .;
     KEEP(SORT(*.init_array))
     _ctors_end = .;
     _init_array_end = .;
     _dtors_start = .;
     _dtors_end = .;
     *(.text*)
  } > program
  .data : {
     *(.data*)
     *(.rodata*)
  } > data
"""
OTHER_SECTIONS = ("comment", "symtab", "shstrtab", "strtab", "stack_sizes")
WITH_SUFFIXES = ("comment",)


class BufferPlacement(NamedTuple):
    """A buffer with its name, and where a core sees it."""

    buffer: BufferOp
    name: str
    address: int


class Window(NamedTuple):
    """A part of a core's addresses: the memory of the tile on one side of it, if there is one."""

    side: Side
    base: int
    tile: TileId | None
    placements: list[BufferPlacement]


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
        # The order of the enumeration is that of the addresses.
        for side in Side:
            base, owner = self.model.architecture.memory_windows[side], self.model.memory_tile(*place, side)
            placements = [] if owner is None else [_placement(buffer, base) for buffer in self.buffers.get(owner, ())]
            yield Window(side, base, owner, placements)

    def own_window(self, place: TileId) -> Window:
        return next(window for window in self.windows(place) if window.tile == place)

    def largest_gap(self, place: TileId) -> range:
        """The longest run of addresses in a core's own memory that neither its stack nor a buffer takes."""
        own, core = self.own_window(place), self.cores.get(place)
        # The stack is at the start of the memory, before all buffers.
        taken = [(own.base, own.base + (core.stack_bytes if core is not None else 0))]
        taken += [(address, address + buffer.size_bytes) for buffer, _, address in own.placements]
        best, free_from = range(own.base, own.base), own.base
        # An empty part at the end of the memory closes the last gap.
        for start, end in [*sorted(taken), (own.base + self.model.local_memory_bytes,) * 2]:
            best = max(best, range(free_from, max(start, free_from)), key=len)
            free_from = max(free_from, end)
        return best


def _placement(buffer: BufferOp, base: int) -> BufferPlacement:
    if buffer.sym_name is None:
        fail_op(buffer, "has no name that a linker could use", (buffer, "give it a sym_name"))
    if not is_plain_word(buffer.sym_name.data):
        fail_op(
            buffer, "has a name that linkers cannot read", (buffer, "letters, digits, '_', '.' and '$' can be in it")
        )
    if buffer.address_bytes is None:
        fail_op(buffer, "must have address assigned", (buffer, "run --aie-assign-buffer-addresses first"))
    return BufferPlacement(buffer, buffer.sym_name.data, base + buffer.address_bytes)


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


def linker_script(device: DeviceOp, place: TileId, files: Sequence[str] | None = None) -> str:
    """The script for a core, which links it with `files`, or without them with those that the core names."""
    memories = MemoryMap(device)
    core = _core_at(device, memories, place)
    gap = memories.largest_gap(place)
    lines = ["", "MEMORY", "{", f"   program (RX) : ORIGIN = 0, LENGTH = 0x{PROGRAM_BYTES:07X}"]
    lines += [f"   data (!RX) : ORIGIN = 0x{gap.start:X}, LENGTH = 0x{len(gap):X}"]
    lines += SECTIONS.splitlines()
    for section in OTHER_SECTIONS:
        lines += [f"  .{section} : {{", f"     *(.{section}{'*' if section in WITH_SUFFIXES else ''})", "  }"]
    lines += ["", f". = 0x{memories.own_window(place).base:X};", "_sp_start_value_DM_stack = .;"]
    lines.append(f". += 0x{core.stack_bytes:X}; /* stack */")
    for window in memories.windows(place):
        lines += _script_window(window, memories.model.local_memory_bytes)
    lines += ["  .bss : { *(.bss*) } > data", "}"]
    lines += [f"INPUT({file})" for file in (_linked_files(core) if files is None else files)]
    lines.append(f"PROVIDE(main = core_{place.column}_{place.row});")
    return "".join(f"{line}\n" for line in lines)


def _script_window(window: Window, size_bytes: int) -> Iterator[str]:
    if window.tile is None:
        yield f"/* No tile with memory exists to the {_name(window.side)}. */"
        yield from (f". = 0x{window.base:X};", f". += 0x{size_bytes:X};")
    # Names are set to addresses: the buffers are in no object file.
    for buffer, name, address in window.placements:
        yield from (f". = 0x{address:X};", f"{name} = .;", f". += 0x{buffer.size_bytes:X};")


def bcf(device: DeviceOp, place: TileId) -> str:
    memories, function = MemoryMap(device), f"core_{place.column}_{place.row}"
    core = _core_at(device, memories, place)
    size, windows = memories.model.local_memory_bytes, list(memories.windows(place))
    lines = ["_entry_point _main_init", f"_symbol {function} _after _main_init", "_symbol _main_init 0"]
    lines.append(f"_reserved DMb 0x00000 0x{windows[0].base:X} // Don't put data in code memory")
    stack = memories.own_window(place).base
    lines += [f"_stack DM_stack 0x{stack:X} 0x{core.stack_bytes:X} // stack for core", ""]
    lines.append("// mapping neighbors tile memory")
    for window in windows:
        lines += _bcf_window(window, place, size)
    lines += ["// end mapping neighbors tile memory", ""]
    end = windows[-1].base + size
    lines.append(f"_reserved DMb 0x{end:X} 0x{ADDRESS_SPACE_BYTES - end:X} // And everything else the core can't see")
    lines += [f"_include _file {file}" for file in _linked_files(core)]
    lines.append(f"_resolve _main {function}")
    return "".join(f"{line}\n" for line in lines)


def _bcf_window(window: Window, place: TileId, size_bytes: int) -> Iterator[str]:
    side, reserved = _name(window.side), f"_reserved DMb 0x{window.base:X} 0x{size_bytes:X}  //"
    if window.tile is None:
        yield f"{reserved} No tile with memory exists to the {side}."
        return
    yield f"// {side} -------------------------------------------------"
    if window.tile != place:
        yield from (f"{reserved} Don't allocate variables in {side} neighbor", "")
    for buffer, name, address in window.placements:
        if buffer.initial_value is None:
            yield from (f"_symbol {name} 0x{address:X} {buffer.size_bytes}", f"_extern {name}")
            yield f"_reserved DMb 0x{address:X} {buffer.size_bytes}"
        # Data that is set at the start is put there by the program of its own tile alone.
        elif window.tile == place:
            yield f"_overlay {name} 0x{address:X} // {buffer.size_bytes} bytes"
        else:
            yield f"// skip initialization of {name} which is initialized in the neighboring tile"
        yield ""


def core_at(device: DeviceOp, place: TileId) -> CoreOp:
    """The core of a tile; says how to name another one if there is none."""
    return _core_at(device, MemoryMap(device), place)


def _core_at(device: DeviceOp, memories: MemoryMap, place: TileId) -> CoreOp:
    core = memories.cores.get(place)
    if core is None:
        remedy = (device, "say which core to link with --tilecol and --tilerow")
        fail_op(device, f"has no core at ({place.column}, {place.row})", remedy)
    return core


def _linked_files(core: CoreOp) -> list[str]:
    """What the final link of a core takes besides its own program."""
    named = core.link_files if core.link_files is not None else () if core.link_with is None else (core.link_with,)
    files = [file.data for file in named]
    if wrong := next((file for file in files if not is_plain_word(file)), None):
        fail_op(core, f"links a file that linkers cannot read the name of: {visible(wrong)}", (core, "rename the file"))
    return files


def _name(side: Side) -> str:
    return side.name.lower()
