"""Roles of the registers of a tile: from the tables of `device`, once for each kind of tile."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from functools import cache
from typing import NamedTuple

from tilewright.device import DeviceModel, DmaDirection, TileType
from tilewright.device.architecture import NUM_SLAVE_SLOTS
from tilewright.device.devices import DEVICES
from tilewright.device.enums import Arch, DeviceName
from tilewright.device.events import MODULES, EventModule
from tilewright.device.layout import WORD_BYTES
from tilewright.device.register_fields import EVENT_REGISTERS
from tilewright.device.registers import TileRegisters
from tilewright.device.vendor_registers import find_register


class RegisterEffect(Enum):
    """What happens when a register is written or read."""

    DESCRIPTOR = auto()
    QUEUE = auto()
    CONTROL = auto()
    STATUS = auto()
    LOCK = auto()
    SWITCH = auto()
    SHIM_MUX = auto()
    CORE_CONTROL = auto()
    CORE_STATUS = auto()
    EVENT = auto()
    """Sets up what a module makes of events; the number is that of `event_registers`."""
    PLAIN = auto()
    """Holds what was written; other blocks read it when they need it."""


class RegisterRole(NamedTuple):
    effect: RegisterEffect
    number: int = 0
    """Which descriptor, channel or lock."""
    direction: DmaDirection | None = None


@cache
def register_roles(device: DeviceName, tile_type: TileType) -> dict[int, RegisterRole]:
    """By byte offset inside the tile."""
    model = DEVICES[device]
    return dict(_roles(model, tile_type, model.registers(*model.representative_tile(tile_type))))


def _roles(model: DeviceModel, tile_type: TileType, table: TileRegisters) -> Iterator[tuple[int, RegisterRole]]:
    resources = model.resources(tile_type)
    for bd in range(resources.bds):
        for word in range(resources.bd_words):
            yield table.bds[bd] + WORD_BYTES * word, RegisterRole(RegisterEffect.DESCRIPTOR, bd)
    for direction in DmaDirection:
        channels = resources.s2mm_channels if direction is DmaDirection.S2MM else resources.mm2s_channels
        for channel in range(channels):
            yield table.control(direction)[channel], RegisterRole(RegisterEffect.CONTROL, channel, direction)
            yield table.task_queue(direction)[channel], RegisterRole(RegisterEffect.QUEUE, channel, direction)
            if (status := table.status(direction)) is not None:
                yield status[channel], RegisterRole(RegisterEffect.STATUS, channel, direction)
    if table.mm2s_pad_value is not None and model.architecture.mem_tile_pad_value:
        for channel in range(resources.mm2s_channels):
            yield table.mm2s_pad_value[channel], RegisterRole(RegisterEffect.PLAIN)
    if table.locks is not None:
        for lock in range(resources.locks):
            yield table.locks[lock], RegisterRole(RegisterEffect.LOCK, lock)
    yield from _event_roles(model, tile_type)
    yield from _switch_roles(model, tile_type, table)
    for offset in (table.shim_mux, table.shim_demux):
        if offset is not None:
            yield offset, RegisterRole(RegisterEffect.SHIM_MUX)
    if table.core_control is not None and table.core_status is not None:
        yield table.core_control, RegisterRole(RegisterEffect.CORE_CONTROL)
        yield table.core_status, RegisterRole(RegisterEffect.CORE_STATUS)
    if table.cascade_control is not None:
        yield table.cascade_control, RegisterRole(RegisterEffect.PLAIN)


def _event_roles(model: DeviceModel, tile_type: TileType) -> Iterator[tuple[int, RegisterRole]]:
    # AIE1 has other registers.
    if model.arch is not Arch.AIE1:
        for number, (_, _, offset) in enumerate(event_registers(tile_type)):
            yield offset, RegisterRole(RegisterEffect.EVENT, number)


@cache
def event_registers(tile_type: TileType) -> list[tuple[EventModule, str, int]]:
    """The registers of a tile's event units: module, name and offset."""
    named = ((module, name) for module in MODULES[tile_type] for name in EVENT_REGISTERS[module])
    found = ((module, name, find_register(module, name)) for module, name in named)
    return [(module, name, offset) for module, name, offset in found if offset is not None]


def _switch_roles(model: DeviceModel, tile_type: TileType, table: TileRegisters) -> Iterator[tuple[int, RegisterRole]]:
    switch = model.architecture.switches[tile_type]
    if table.switch_masters is None or table.switch_slaves is None or table.switch_slots is None:
        return
    for number in range(sum(switch.masters.values())):
        yield table.switch_masters[number], RegisterRole(RegisterEffect.SWITCH)
    for number in range(sum(switch.slaves.values())):
        yield table.switch_slaves[number], RegisterRole(RegisterEffect.SWITCH)
        for slot in range(NUM_SLAVE_SLOTS):
            yield table.switch_slots[number] + WORD_BYTES * slot, RegisterRole(RegisterEffect.SWITCH)
