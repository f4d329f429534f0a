"""What the linkers of core programs read: scripts for LLVM's, BCF files for the vendor's.

Both put the stack at the start of the core's own memory and the buffers where they have been assigned to. Their texts
are those of AIETargetLdScript.cpp and AIETargetBCF.cpp of mlir-aie at 3ca0193cea9e.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.codegen.memory_map import MemoryMap, Window
from tilewright.device import Side, TileId
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.escapes import is_plain_word, visible

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


def linker_script(device: DeviceOp, place: TileId) -> str:
    memories, core = MemoryMap(device), _core_at(device, place)
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
    lines += [f"INPUT({file})" for file in _linked_files(core)]
    lines.append(f"PROVIDE(main = core_{place.column}_{place.row});")
    return "".join(f"{line}\n" for line in lines)


def _script_window(window: Window, size_bytes: int) -> Iterator[str]:
    if window.tile is None:
        yield f"/* No tile with memory exists to the {_name(window.side)}. */"
        yield from (f". = 0x{window.base:X};", f". += 0x{size_bytes:X};")
    for buffer, name, address in window.placements:
        yield from (f". = 0x{address:X};", f"{name} = .;", f". += 0x{buffer.size_bytes:X};")


def bcf(device: DeviceOp, place: TileId) -> str:
    memories, core, function = MemoryMap(device), _core_at(device, place), f"core_{place.column}_{place.row}"
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
        elif window.tile == place:
            yield f"_overlay {name} 0x{address:X} // {buffer.size_bytes} bytes"
        else:
            yield f"// skip initialization of {name} which is initialized in the neighboring tile"
        yield ""


def _core_at(device: DeviceOp, place: TileId) -> CoreOp:
    core = MemoryMap(device).cores.get(place)
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
