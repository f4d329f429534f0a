"""The programs of cores: what the ELF files that cores name put into program and data memories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from tilewright.device import Side
from tilewright.device.registers import PROGRAM_MEMORY_BYTES
from tilewright.dialects.aie.core import CoreOp
from tilewright.passes.control.configuration.cores import reset_channels, stopped_core
from tilewright.passes.control.configuration.elf import ElfError, Segment, read_segments
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver, words_of


def loaded_program(core: CoreOp, tile: TileWriter, directory: Path) -> Iterator[Write]:
    """Load the file that a core names, the core and its DMA standing still; nothing for a core that names none."""
    if core.elf_file is None:
        return
    segments = _read(core, directory / core.elf_file.data)
    yield stopped_core(tile)
    yield from reset_channels(tile, True)
    for segment in segments:
        yield from _loaded(core, tile, segment)
    yield from reset_channels(tile, False)


def _read(core: CoreOp, path: Path) -> list[Segment]:
    try:
        return list(read_segments(path.read_bytes()))
    except OSError as error:
        _refuse(core, f"cannot open '{path}': {error.strerror}", "say where the ELF files are with elf-dir=DIRECTORY")
    except ElfError as error:
        _refuse(core, f"cannot load '{path}': {error}", "name the ELF file that the core's compiler made")


def _loaded(core: CoreOp, tile: TileWriter, segment: Segment) -> Iterator[Write]:
    if segment.address < PROGRAM_MEMORY_BYTES:
        yield _program_memory(core, tile, segment)
        return
    while segment.data:
        side, offset = divmod(segment.address, tile.model.local_memory_bytes)
        owner = _memory_owner(core, tile, side, segment.address)
        here = segment.data[: tile.model.local_memory_bytes - offset]
        yield from owner.memory(offset, here)
        segment = Segment(segment.address + len(here), segment.data[len(here) :])


def _program_memory(core: CoreOp, tile: TileWriter, segment: Segment) -> Write:
    end = segment.address + len(segment.data)
    if end > PROGRAM_MEMORY_BYTES:
        _refuse(core, f"the program ends at {end:#x}", f"program memory has {PROGRAM_MEMORY_BYTES:#x} bytes")
    base = tile.model.registers(*tile.place).program_memory
    assert base is not None, "the verifier puts cores on core tiles"
    return tile.block_write(base + segment.address, words_of(segment.data))


def _memory_owner(core: CoreOp, tile: TileWriter, window: int, address: int) -> TileWriter:
    """The tile whose memory the core sees at an address, which is in the `window`th 64 KiB."""
    windows = tile.model.architecture.memory_windows
    sides = {base // tile.model.local_memory_bytes: side for side, base in windows.items()}
    side: Side | None = sides.get(window)
    owner = None if side is None else tile.model.memory_tile(*tile.place, side)
    if owner is None:
        _refuse(core, f"data at {address:#x} is in no memory", "the core reaches its own and its neighbours' memories")
    return replace(tile, place=owner)


def _refuse(core: CoreOp, *why: str) -> NoReturn:
    fail_as_driver(core, "XAie_LoadElf", "XAIE_INVALID_ELF", *((core, text) for text in why))
