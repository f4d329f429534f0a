"""Names of registers by their place in a tile, and back: `DMA.BD3.word2`, `Switch.master.North0`, `Memory+0x400`.

Made from the tables of this package, so a name exists for what the encoder, the decoder and the simulator know. What
only the vendor's table has goes by module and vendor's name: `memory.Trace_Control0`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .architecture import NUM_SLAVE_SLOTS
from .devices import DEVICES
from .enums import Arch, DeviceName, DmaDirection, TileType
from .model import DeviceModel, TileId
from .registers import PROGRAM_MEMORY_BYTES, TileRegisters
from .vendor_registers import modules_of, registers_of

TILE_WORDS = {
    TileType.ShimNOCTile: "shim",
    TileType.ShimPLTile: "shim",
    TileType.MemTile: "mem",
    TileType.CoreTile: "core",
}
_TILE = re.compile(r"(shim|mem|core)\((\d+),(\d+)\)")
_AREA = re.compile(r"(\w+)?\+(0[xX][0-9a-fA-F]+|\d+)")
_SINGLES = {
    "tile_control": "Tile.control",
    "timer_low": "Tile.timer_low",
    "shim_mux": "ShimMux",
    "shim_demux": "ShimDemux",
    "column_clock": "Column.clock",
    "column_reset": "Column.reset",
    "core_pc": "Core.pc",
    "core_sp": "Core.sp",
    "core_lr": "Core.lr",
    "core_control": "Core.control",
    "core_status": "Core.status",
    "enable_events": "Core.enable_events",
    "reset_event": "Core.reset_event",
    "cascade_control": "Core.cascade_control",
}


def name_address(model: DeviceModel, address: int) -> str | None:
    """`core(0,2) DMA.BD1.word0`, or None where the address is on no tile of the device."""
    (column, row), offset = model.locate(address)
    if not model.is_valid_tile(column, row):
        return None
    tile = TileId(column, row)
    return f"{short_tile_name(model, tile)} {_name_offset(model, model.tile_type(*tile), offset)}"


def short_tile_name(model: DeviceModel, tile: TileId) -> str:
    """`core(0,2)`."""
    return f"{TILE_WORDS[model.tile_type(*tile)]}({tile.column},{tile.row})"


def read_tile(model: DeviceModel, text: str) -> TileId:
    """The tile that `short_tile_name` gave this name; ValueError if there is none."""
    found = _TILE.fullmatch(text)
    if not found:
        raise ValueError(f"expected a tile like shim(0,0), got {text!r}")
    column, row = int(found[2]), int(found[3])
    if not model.is_valid_tile(column, row) or TILE_WORDS[model.tile_type(column, row)] != found[1]:
        raise ValueError(f"the device has no {text}")
    return TileId(column, row)


def find_address(model: DeviceModel, text: str) -> int:
    """The address that `name_address` gave this name; ValueError if nothing has it."""
    place, _, register = text.partition(" ")
    tile = read_tile(model, place)
    return model.tile_address(*tile, _find_offset(model, model.tile_type(*tile), register))


def _name_offset(model: DeviceModel, tile_type: TileType, offset: int) -> str:
    name = named_registers(model.name, tile_type).get(offset)
    if name is not None:
        return name
    for area, base, size in areas(model, tile_type):
        if base <= offset < base + size:
            return f"{area}+{offset - base:#x}"
    return f"+{offset:#x}"


def _find_offset(model: DeviceModel, tile_type: TileType, name: str) -> int:
    offsets = _offsets(model.name, tile_type)
    if name in offsets:
        return offsets[name]
    if found := _AREA.fullmatch(name):
        bases = {area: base for area, base, _ in areas(model, tile_type)} | {None: 0}
        if found[1] in bases:
            return bases[found[1]] + int(found[2], 0)
    raise ValueError(f"a {TILE_WORDS[tile_type]} tile has no register {name!r}")


@cache
def named_registers(device: DeviceName, tile_type: TileType) -> dict[int, str]:
    """Every register of a tile: offset and name. Memories are not among them."""
    model = DEVICES[device]
    # our names go before the vendor's
    return dict(_other_registers(model, tile_type)) | dict(_registers(model, tile_type))


@cache
def _offsets(device: DeviceName, tile_type: TileType) -> dict[str, int]:
    return {name: offset for offset, name in named_registers(device, tile_type).items()}


def _table(model: DeviceModel, tile_type: TileType) -> TileRegisters:
    return model.registers(*model.representative_tile(tile_type))


def areas(model: DeviceModel, tile_type: TileType) -> Iterator[tuple[str, int, int]]:
    """Memories: name, first offset, bytes."""
    if size := model.resources(tile_type).data_memory_bytes:
        yield "Memory", 0, size
    if (program := _table(model, tile_type).program_memory) is not None:
        yield "Program", program, PROGRAM_MEMORY_BYTES


def _registers(model: DeviceModel, tile_type: TileType) -> Iterator[tuple[int, str]]:
    registers, resources = _table(model, tile_type), model.resources(tile_type)
    for bd in range(resources.bds):
        for word in range(resources.bd_words):
            yield registers.bds[bd] + 4 * word, f"DMA.BD{bd}.word{word}"
    for direction in DmaDirection:
        for channel in range(resources.channels(direction)):
            place = f"DMA.{direction.name}{channel}"
            yield registers.control(direction)[channel], f"{place}.control"
            yield registers.task_queue(direction)[channel], f"{place}.queue"
            if status := registers.status(direction):
                yield status[channel], f"{place}.status"
    if registers.mm2s_pad_value and model.architecture.mem_tile_pad_value:
        for channel in range(resources.mm2s_channels):
            yield registers.mm2s_pad_value[channel], f"DMA.MM2S{channel}.pad_value"
    if registers.locks:
        for lock in range(resources.locks):
            yield registers.locks[lock], f"Lock{lock}"
    for attribute, name in _SINGLES.items():
        if (offset := getattr(registers, attribute)) is not None:
            yield offset, name
    yield from _switch(model, tile_type)


def _switch(model: DeviceModel, tile_type: TileType) -> Iterator[tuple[int, str]]:
    registers, switch = _table(model, tile_type), model.architecture.switches[tile_type]
    if not (registers.switch_masters and registers.switch_slaves and registers.switch_slots):
        return
    ports = [f"{bundle.name}{channel}" for bundle, count in switch.masters.items() for channel in range(count)]
    for number, port in enumerate(ports):
        yield registers.switch_masters[number], f"Switch.master.{port}"
    ports = [f"{bundle.name}{channel}" for bundle, count in switch.slaves.items() for channel in range(count)]
    for number, port in enumerate(ports):
        yield registers.switch_slaves[number], f"Switch.slave.{port}"
        for slot in range(NUM_SLAVE_SLOTS):
            yield registers.switch_slots[number] + 4 * slot, f"Switch.slot.{port}.{slot}"


def _other_registers(model: DeviceModel, tile_type: TileType) -> Iterator[tuple[int, str]]:
    """All registers that the vendor names, by module: `memory.Trace_Control0`. AIE1 has others."""
    if model.arch is Arch.AIE1:
        return
    memories = [range(base, base + size) for _, base, size in areas(model, tile_type)]
    for module in modules_of(tile_type):
        for offset, name in registers_of(module).items():
            if not any(offset in memory for memory in memories):  # the vendor's list has memories as registers
                yield offset, f"{module}.{name}"
