"""A placed, routed and addressed device in; the register writes that configure it out, in the order the driver makes.

One module for each block of the hardware, cores here: each reads the operations that describe the block and yields
writes. `instructions` puts writes into a runtime sequence, as a transaction or as control packets. Sources of order and
values: AIERT.cpp of mlir-aie at 3ca0193cea9e, and the calls of aie-rt (branch release/main_aig) that it makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, NoReturn

from xdsl.ir import Operation

from tilewright.device import DmaDirection, TileId
from tilewright.device.layout import WORD_BYTES, Field
from tilewright.device.registers import PROGRAM_MEMORY_BYTES, ChannelControl, CoreControl
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.cascade import ConfigureCascadeOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma import DmaBody, MemOp, MemTileDmaOp, ShimDmaOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.switchbox import ShimMuxOp, SwitchboxOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.errors import Error
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.control.configuration.dmas import Slots, configured_dma
from tilewright.passes.control.configuration.memory import cleared_locks, initial_buffers, initial_locks
from tilewright.passes.control.configuration.streams import configured_cascade, configured_shim_mux, configured_switch
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver, words_of
from tilewright.rewrite.pass_bases import ops_of
from tilewright.support.structure import ContainerError
from tilewright.txn.elf import LOAD, Elf

OVERLAY = "is_ctrl_pkt_overlay"
"""Attribute of connections that carry control packets; they are loaded before the rest is sent by packets."""


@dataclass(frozen=True)
class Configuration:
    """What a device needs before it runs: programs into memories, everything else, and the start of its cores."""

    programs: list[Write]
    settings: list[Write]
    start: list[Write]

    @property
    def writes(self) -> list[Write]:
        return [*self.programs, *self.settings, *self.start]


def configuration_of(
    device: DeviceOp,
    elf_directory: Path | None = None,
    overlay: bool = True,
    programs: Mapping[TileId, bytes] | None = None,
) -> Configuration:
    """The configuration of a device.

    Cores that name an ELF file get its contents from `elf_directory`, or from `programs`, which has the contents of ELF
    files; without either, what loads the device loads the programs too. Connections of the control packet overlay are
    left out on request.
    """
    if not device.model.is_npu:
        remedy = (device, "choose an npu device; others are configured by a PDI that their own tools make")
        fail_op(device, f"{device.model} is not configured by register writes", remedy)
    design = _Design(device)
    if programs is not None:
        loaded = list(design.given_programs(programs))
    else:
        loaded = list(design.programs(elf_directory)) if elf_directory is not None else []
    return Configuration(
        loaded,
        list(design.settings(overlay)),
        list(design.start()),
    )


class _Design:
    """A device, its operations read once."""

    def __init__(self, device: DeviceOp):
        self.model = device.model
        self.ops = list[Operation]()
        for op in device.body.ops:
            self.ops += [op, *(op.ops if isinstance(op, DmaBody) else ())]  # locks and buffers may be declared inside
        # In the order of tiles, not of cores, as upstream walks them.
        cores = {core.tile: core for core in ops_of(self.ops, CoreOp)}
        self.cores = [(tile, core) for tile in device.tiles if (core := cores.get(tile.result)) is not None]

    def programs(self, elf_directory: Path) -> Iterator[Write]:
        for tile, core in self.cores:
            if core.elf_file is not None:
                segments = _read(core, elf_directory / core.elf_file.data)
                yield from loaded_program(core, TileWriter(self.model, tile.place, core.location), segments)

    def given_programs(self, programs: Mapping[TileId, bytes]) -> Iterator[Write]:
        for tile, core in self.cores:
            elf = programs.get(tile.place)
            if elf is not None:
                writer = TileWriter(self.model, tile.place, core.location)
                yield from loaded_program(core, writer, _segments(core, elf, f"the program of core {tile.place}"))

    def settings(self, overlay: bool) -> Iterator[Write]:
        for tile, _ in self.cores:
            writer = TileWriter(self.model, tile.place, tile.location)
            # Pulse the reset of a core: it begins at the start of its program once it is enabled.
            yield from (_control(writer, CoreControl.reset, value) for value in (1, 0))
            yield from cleared_locks(writer)
        yield from initial_locks(self.model, ops_of(self.ops, LockOp))
        yield from initial_buffers(self.model, ops_of(self.ops, BufferOp))
        slots: Slots = {}
        # Upstream configures all DMAs of core tiles, then of mem tiles, then of shims.
        for kind in (MemOp, MemTileDmaOp, ShimDmaOp):
            for dma in ops_of(self.ops, kind):
                yield from configured_dma(self.model, dma, slots)
        yield from self.streams(overlay)

    def streams(self, overlay: bool) -> Iterator[Write]:
        for switch in ops_of(self.ops, SwitchboxOp):
            ops = [op for op in switch.connections.ops if overlay or OVERLAY not in op.attributes]
            yield from configured_switch(self.model, switch, ops)
        for mux in ops_of(self.ops, ShimMuxOp):
            yield from configured_shim_mux(self.model, mux)
        for cascade in ops_of(self.ops, ConfigureCascadeOp):
            yield configured_cascade(self.model, cascade)

    def start(self) -> Iterator[Write]:
        for tile, core in self.cores:
            yield _control(TileWriter(self.model, tile.place, core.location), CoreControl.enable, 1)


def reset_channels(tile: TileWriter, reset: bool) -> Iterator[Write]:
    """Hold all channels of a tile's DMA in reset, or let them go."""
    registers, field = tile.model.registers(*tile.place), ChannelControl.reset
    for direction in (DmaDirection.MM2S, DmaDirection.S2MM):
        for channel in range(tile.model.num_dma_channels(*tile.place, direction)):
            yield tile.mask_write(registers.control(direction)[channel], field.place(int(reset)), field.mask)


def _control(tile: TileWriter, field: Field, value: int) -> Write:
    register = tile.model.registers(*tile.place).core_control
    assert register is not None, "the verifier puts cores on core tiles"
    return tile.mask_write(register, field.place(value), field.mask)


def loaded_program(core: CoreOp, tile: TileWriter, segments: Sequence[ElfSegment]) -> Iterator[Write]:
    """Load the segments of a core's program, the core and its DMA standing still."""
    yield _control(tile, CoreControl.enable, 0)
    # A DMA that runs could write into the memory that is being loaded.
    yield from reset_channels(tile, True)
    for segment in segments:
        yield from _loaded(core, tile, segment)
    yield from reset_channels(tile, False)


def _read(core: CoreOp, path: Path) -> list[ElfSegment]:
    try:
        elf = path.read_bytes()
    except OSError as error:
        _refuse(core, f"cannot open '{path}': {error.strerror}", "say where the ELF files are with elf-dir=DIRECTORY")
    return _segments(core, elf, f"'{path}'")


def _segments(core: CoreOp, elf: bytes, name: str) -> list[ElfSegment]:
    try:
        return list(read_segments(elf))
    except ElfError as error:
        _refuse(core, f"cannot load {name}: {error}", "name the ELF file that the core's compiler made")


def _loaded(core: CoreOp, tile: TileWriter, segment: ElfSegment) -> Iterator[Write]:
    # A core sees its program memory at 0 and data memories from 0x40000 on.
    if segment.address < PROGRAM_MEMORY_BYTES:
        yield _program_memory(core, tile, segment)
        return
    while segment.data:
        side, offset = divmod(segment.address, tile.model.local_memory_bytes)
        owner = _memory_owner(core, tile, side, segment.address)
        # A segment may go on into the memory of the next neighbour.
        here = segment.data[: tile.model.local_memory_bytes - offset]
        yield from owner.memory(offset, here)
        segment = ElfSegment(segment.address + len(here), segment.data[len(here) :])


def _program_memory(core: CoreOp, tile: TileWriter, segment: ElfSegment) -> Write:
    end = segment.address + len(segment.data)
    if end > PROGRAM_MEMORY_BYTES:
        _refuse(core, f"the program ends at {end:#x}", f"program memory has {PROGRAM_MEMORY_BYTES:#x} bytes")
    base = tile.model.registers(*tile.place).program_memory
    assert base is not None, "the verifier puts cores on core tiles"
    # the driver writes whole words from the file: the last one goes on with what follows the segment there
    data = segment.data + segment.following[: -len(segment.data) % WORD_BYTES]
    return tile.block_write(base + segment.address, words_of(data))


def _memory_owner(core: CoreOp, tile: TileWriter, window: int, address: int) -> TileWriter:
    """The tile whose memory the core sees at an address, which is in the `window`th 64 KiB."""
    windows = tile.model.architecture.memory_windows
    sides = {base // tile.model.local_memory_bytes: side for side, base in windows.items()}
    side = sides.get(window)
    owner = None if side is None else tile.model.memory_tile(*tile.place, side)
    if owner is None:
        _refuse(core, f"data at {address:#x} is in no memory", "the core reaches its own and its neighbours' memories")
    return replace(tile, place=owner)


def _refuse(core: CoreOp, *why: str) -> NoReturn:
    fail_as_driver(core, "XAie_LoadElf", "XAIE_INVALID_ELF", *((core, text) for text in why))


class ElfError(Error, ValueError):
    """The bytes are not an ELF file of a core."""


class ElfSegment(NamedTuple):
    """Bytes to load, zeros at the end included."""

    address: int
    data: bytes
    following: bytes = b""
    """What comes next in the file, up to a word."""


def read_segments(elf: bytes) -> Iterator[ElfSegment]:
    """The loadable segments, in order."""
    try:
        file = Elf(elf)
        for header in file.segments:
            size = min(header.file_bytes, header.memory_bytes)
            if header.type != LOAD or header.memory_bytes == 0:
                continue
            data = file.span.bytes(header.offset, size, f"the segment at {header.physical_address:#x}")
            end = header.offset + size
            after = b"" if header.memory_bytes > header.file_bytes else elf[end : end + WORD_BYTES - 1]
            yield ElfSegment(header.physical_address, data.ljust(header.memory_bytes, b"\0"), after)
    except ContainerError as error:
        raise ElfError(str(error)) from None
