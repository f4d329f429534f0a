"""What the bits of a register mean, by its address: the layout it belongs to and the fields in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from .bd import BD_LAYOUTS
from .devices import DEVICES
from .enums import Arch, DeviceName, DmaDirection, TileType
from .event_registers import EVENT_REGISTERS
from .events import MODULES
from .layout import Layout
from .model import DeviceModel
from .registers import (
    CascadeControl,
    CoreControl,
    LockValue,
    MasterPort,
    PacketMasterPort,
    ShimDemux,
    ShimMux,
    SlavePort,
    SlaveSlot,
)
from .vendor_registers import find_register


def fields_at(model: DeviceModel, address: int, value: int) -> dict[str, int]:
    """Fields of the register at an address, as values (biases undone); empty where its bits are not known."""
    (column, row), offset = model.locate(address)
    if not model.is_valid_tile(column, row):
        return {}
    found = layout_at(model, model.tile_type(column, row), offset)
    if found is None:
        return {}
    layout, word = found
    if layout is MasterPort and MasterPort.packet_enable.get([value]):
        layout = PacketMasterPort
    words = [0] * layout.words
    words[word] = value
    return {name: field.get(words) for name, field in layout.fields.items() if field.word == word}


def layout_at(model: DeviceModel, tile_type: TileType, offset: int) -> tuple[type[Layout], int] | None:
    """The layout that a register at an offset in a tile belongs to, and which word of it the register is."""
    return None if model.arch is Arch.AIE1 else _layouts(model.name, tile_type).get(offset)


@cache
def _layouts(device: DeviceName, tile_type: TileType) -> dict[int, tuple[type[Layout], int]]:
    """Byte offset in a tile -> layout and word of it."""
    model = DEVICES[device]
    registers, resources = model.registers(*model.representative_tile(tile_type)), model.resources(tile_type)
    table: dict[int, tuple[type[Layout], int]] = {}
    if layout := BD_LAYOUTS.get(tile_type):
        for bd in range(resources.bds):
            table |= {registers.bds[bd] + 4 * word: (layout, word) for word in range(layout.words)}
    for direction in DmaDirection:
        for channel in range(model.num_dma_channels(*model.representative_tile(tile_type), direction)):
            table[registers.control(direction)[channel]] = registers.channel_control, 0
            table[registers.task_queue(direction)[channel]] = registers.queue, 0
            if status := registers.status(direction):
                table[status[channel]] = registers.channel_status, 0
    if registers.locks:
        table |= {registers.locks[lock]: (LockValue, 0) for lock in range(resources.locks)}
    switch = model.architecture.switches[tile_type]
    if registers.switch_masters and registers.switch_slaves and registers.switch_slots:
        for port in range(sum(switch.masters.values())):
            table[registers.switch_masters[port]] = MasterPort, 0
        for port in range(sum(switch.slaves.values())):
            table[registers.switch_slaves[port]] = SlavePort, 0
            table |= {registers.switch_slots[port] + 4 * slot: (SlaveSlot, 0) for slot in range(4)}
    singles = {
        registers.shim_mux: ShimMux,
        registers.shim_demux: ShimDemux,
        registers.core_control: CoreControl,
        registers.cascade_control: CascadeControl,
    }
    table |= {offset: (layout, 0) for offset, layout in singles.items() if offset is not None}
    return table | dict(_event_layouts(tile_type))


def _event_layouts(tile_type: TileType) -> Iterator[tuple[int, tuple[type[Layout], int]]]:
    for module in MODULES[tile_type]:
        for name, layout in EVENT_REGISTERS[module].items():
            if (offset := find_register(module, name)) is not None:
                yield offset, (layout, 0)
