"""What the bits of a register mean, by its address: the layout it belongs to and the fields in it."""

from __future__ import annotations

from functools import cache

from .bd import BD_LAYOUTS
from .devices import DEVICES
from .enums import Arch, DeviceName, DmaDirection, TileType
from .layout import Layout
from .model import DeviceModel
from .registers import CascadeControl, CoreControl, LockValue, MasterPort, ShimDemux, ShimMux, SlavePort, SlaveSlot


def fields_at(model: DeviceModel, address: int, value: int) -> dict[str, int]:
    """Fields of the register at an address, as values (biases undone); empty where its bits are not known."""
    (column, row), offset = model.locate(address)
    if model.arch is Arch.AIE1 or not model.is_valid_tile(column, row):
        return {}
    found = _layouts(model.name, model.tile_type(column, row)).get(offset)
    if found is None:
        return {}
    layout, word = found
    words = [0] * layout.words
    words[word] = value
    return {name: field.get(words) for name, field in layout.fields.items() if field.word == word}


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
    return table | {offset: (layout, 0) for offset, layout in singles.items() if offset is not None}
