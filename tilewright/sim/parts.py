"""Everything on an array that acts on its own, in one fixed order: what acts first of those that act in one cycle."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import cache
from typing import NamedTuple

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType, WireBundle
from tilewright.device.devices import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.device.stream_switch import STEPS
from tilewright.sim.switch import PortName, names_of


class PartKind(IntEnum):
    """What a part of the machine is."""

    CONTROLLER = 0
    TOKENS = 1
    """Takes the completion tokens that come out of a shim tile."""
    CONTROL_PORT = 2
    CHANNEL = 3
    CORE = 4
    STREAM = 5
    """Carries words from a master port over the wire into the switch at its other end."""


class ArrayPart(NamedTuple):
    """One actor. `detail` tells the channels and streams of a tile apart."""

    kind: PartKind
    tile: TileId | None = None
    detail: tuple[DmaDirection, int] | PortName | None = None


CONTROLLER = ArrayPart(PartKind.CONTROLLER)


class PartIds:
    """The parts of one device, and the number of each."""

    def __init__(self, model: DeviceModel):
        self.parts = list(_parts(model))
        self._numbers = {part: number for number, part in enumerate(self.parts)}

    def number(self, kind: PartKind, tile: TileId, detail: tuple[DmaDirection, int] | PortName | None = None) -> int:
        return self._numbers[ArrayPart(kind, tile, detail)]

    def find(
        self, kind: PartKind, tile: TileId, detail: tuple[DmaDirection, int] | PortName | None = None
    ) -> int | None:
        return self._numbers.get(ArrayPart(kind, tile, detail))

    def __len__(self) -> int:
        return len(self.parts)


@cache
def part_ids_of(device: DeviceName) -> PartIds:
    return PartIds(DEVICES[device])


def _parts(model: DeviceModel) -> Iterator[ArrayPart]:
    yield CONTROLLER
    for tile in model.tiles:
        if model.tile_type(*tile) is TileType.ShimNOCTile:
            yield ArrayPart(PartKind.TOKENS, tile)
        yield ArrayPart(PartKind.CONTROL_PORT, tile)
    for tile in model.tiles:
        for direction in DmaDirection:
            for channel in range(model.num_dma_channels(*tile, direction)):
                yield ArrayPart(PartKind.CHANNEL, tile, (direction, channel))
        if model.tile_type(*tile) is TileType.CoreTile:
            yield ArrayPart(PartKind.CORE, tile)
    for tile in model.tiles:
        # Last: in a cycle a word moves over a wire after the blocks have put theirs on it.
        for name in names_of(model.architecture.switches[model.tile_type(*tile)].masters):
            if name.bundle in STEPS or name.bundle is WireBundle.FIFO:
                yield ArrayPart(PartKind.STREAM, tile, name)
