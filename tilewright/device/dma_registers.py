"""Registers of DMAs by address: a word of a descriptor, or the queue, control or status of a channel."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from functools import cache
from typing import NamedTuple

from .bd import BD_LAYOUTS
from .devices import DEVICES
from .enums import Arch, DeviceName, DmaDirection, TileType
from .layout import WORD_BYTES
from .model import DeviceModel, TileId
from .register_names import TILE_WORDS
from .registers import TileRegisters


class ChannelId(NamedTuple):
    """One channel of a tile's DMA."""

    tile: TileId
    direction: DmaDirection
    number: int

    def name(self, model: DeviceModel) -> str:
        return f"{tile_name(model, self.tile)} {self.short_name}"

    @property
    def short_name(self) -> str:
        return f"{self.direction.name} {self.number}"


def tile_name(model: DeviceModel, tile: TileId) -> str:
    """A tile as messages name it."""
    return f"{TILE_WORDS[model.tile_type(*tile)]} tile ({tile.column}, {tile.row})"


class ChannelRegisterRole(Enum):
    """What a register of a channel is for."""

    CONTROL = auto()
    QUEUE = auto()
    STATUS = auto()


class DescriptorWord(NamedTuple):
    tile: TileId
    bd: int
    word: int


class ChannelRegister(NamedTuple):
    channel: ChannelId
    role: ChannelRegisterRole


def dma_register(model: DeviceModel, address: int) -> DescriptorWord | ChannelRegister | None:
    """What an address of the array is to the DMA of its tile; None for all other registers."""
    tile, offset = model.locate(address)
    if not model.is_valid_tile(*tile):
        return None
    found = dma_registers(model.name, model.tile_type(*tile)).get(offset)
    match found:
        case (int(bd), int(word)):
            return DescriptorWord(tile, bd, word)
        case (DmaDirection() as direction, int(number), ChannelRegisterRole() as role):
            return ChannelRegister(ChannelId(tile, direction, number), role)
        case _:
            return None


def descriptors_between(model: DeviceModel, address: int, end: int) -> Iterator[DescriptorWord]:
    """The words of descriptors among the registers from `address` up to `end`, in order."""
    tile, offset = model.locate(address)
    if not model.is_valid_tile(*tile):
        return
    tile_type = model.tile_type(*tile)
    first, last = _descriptor_area(model.name, tile_type)
    words = dma_registers(model.name, tile_type)
    for at in range(max(offset, first), min(offset + end - address, last), WORD_BYTES):
        match words.get(at):
            case (int(bd), int(word)):
                yield DescriptorWord(tile, bd, word)
            case _:
                pass


@cache
def _descriptor_area(device: DeviceName, tile_type: TileType) -> tuple[int, int]:
    model = DEVICES[device]
    bds = _table(model, tile_type).bds
    return bds[0], bds[model.resources(tile_type).bds]  # up to where one more would be


@cache
def dma_registers(
    device: DeviceName, tile_type: TileType
) -> dict[int, tuple[int, int] | tuple[DmaDirection, int, ChannelRegisterRole]]:
    """By offset in a tile: descriptor and word of it, or direction, number and role of a channel's register."""
    model = DEVICES[device]
    if tile_type not in BD_LAYOUTS or model.arch is Arch.AIE1:
        return {}
    registers, resources = _table(model, tile_type), model.resources(tile_type)
    found: dict[int, tuple[int, int] | tuple[DmaDirection, int, ChannelRegisterRole]] = {
        registers.bds[bd] + WORD_BYTES * word: (bd, word)
        for bd in range(resources.bds)
        for word in range(BD_LAYOUTS[tile_type].words)
    }
    for direction in DmaDirection:
        banks = {
            ChannelRegisterRole.CONTROL: registers.control(direction),
            ChannelRegisterRole.QUEUE: registers.task_queue(direction),
            ChannelRegisterRole.STATUS: registers.status(direction),
        }
        for role, bank in banks.items():
            found |= {bank[n]: (direction, n, role) for n in range(resources.channels(direction)) if bank is not None}
    return found


def _table(model: DeviceModel, tile_type: TileType) -> TileRegisters:
    return model.registers(*model.representative_tile(tile_type))
