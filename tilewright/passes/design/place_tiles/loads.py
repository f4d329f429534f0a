"""What tiles and FIFOs need at each place of the array, and how much of it is not there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tilewright.device import DeviceModel, TileId, TileType

CHANNEL_COST, KILOBYTE_COST = 20, 30  # more than any wire that breaking a limit could save
KILOBYTE = 1024


class Charge(NamedTuple):
    """What something takes at a place."""

    place: TileId
    inputs: int = 0  # channels of the DMA
    outputs: int = 0
    size_bytes: int = 0
    buffers: int = 0
    movable: bool = False  # to a memory nearby


@dataclass(slots=True)
class Load:
    """The sum of the charges at a place."""

    inputs: int = 0
    outputs: int = 0
    size_bytes: int = 0
    buffers: int = 0
    movable_bytes: int = 0

    def add(self, charge: Charge, sign: int) -> None:
        self.inputs += sign * charge.inputs
        self.outputs += sign * charge.outputs
        self.size_bytes += sign * charge.size_bytes
        self.buffers += sign * charge.buffers
        self.movable_bytes += sign * charge.size_bytes if charge.movable else 0


class Loads:
    """The loads of all places, and their cost; a change costs as much as the places it concerns."""

    def __init__(self, model: DeviceModel):
        self._types = {place: model.tile_type(*place) for place in model.tiles}
        self._resources = {place: model.tile_resources(*place) for place in model.tiles}
        self.neighbours = {place: _neighbours(model, place) for place in model.tiles}
        self._loads = {place: Load() for place in model.tiles}
        self._costs = dict.fromkeys(model.tiles, 0)
        self._changed: set[TileId] = set()

    def __getitem__(self, place: TileId) -> Load:
        return self._loads[place]

    def add(self, charges: Iterable[Charge], sign: int = 1) -> None:
        for charge in charges:
            self._loads[charge.place].add(charge, sign)
            self._changed.add(charge.place)

    def cost(self) -> int:
        for place in self._changed.union(*(self.neighbours[place] for place in self._changed)):
            self._costs[place] = self._cost_at(place)
        self._changed.clear()
        return sum(self._costs.values())

    def spare_bytes(self, place: TileId) -> int:
        return self._resources[place].data_memory_bytes - self._loads[place].size_bytes

    def missing_channels(self, place: TileId) -> int:
        load, resources = self._loads[place], self._resources[place]
        return max(0, load.inputs - resources.s2mm_channels) + max(0, load.outputs - resources.mm2s_channels)

    def _cost_at(self, place: TileId) -> int:
        cost = CHANNEL_COST * self.missing_channels(place)
        tile_type, load = self._types[place], self._loads[place]
        if tile_type is TileType.MemTile:
            cost += CHANNEL_COST * max(0, load.buffers - self._resources[place].bds)
        lacking = -self.spare_bytes(place)
        if lacking > 0:
            elsewhere = sum(max(0, self.spare_bytes(other)) for other in self.neighbours[place])
            movable = load.size_bytes if tile_type is TileType.MemTile else load.movable_bytes
            lacking -= min(movable, elsewhere)
            cost += KILOBYTE_COST * max(0, -(-lacking // KILOBYTE))
        return cost


def _neighbours(model: DeviceModel, place: TileId) -> list[TileId]:
    """Tiles of the same kind whose memory a core, or the DMA of a mem tile, reaches."""
    sides = [TileId(place.column + right, place.row + up) for right, up in ((-1, 0), (1, 0), (0, 1), (0, -1))]
    near = [side for side in sides if model.is_valid_tile(*side)]
    alike = [side for side in near if model.tile_type(*side) is model.tile_type(*place)]
    return [side for side in alike if model.is_legal_memory_affinity(*place, *side)]
