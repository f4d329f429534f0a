"""Names and places of everything that has a track of its own: parts of the array, and locks."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.device.devices import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.device.register_names import TILE_WORDS
from tilewright.ir.escapes import visible
from tilewright.sim.parts import ArrayPart, PartKind
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent

CONTROLLER_NAME = "controller"


class LockPlace(NamedTuple):
    tile: TileId
    number: int


@cache  # it is asked for each lock of a trace
def lock_places(device: DeviceName) -> list[LockPlace]:
    """Where each lock is, in the order in which traces number them."""
    model = DEVICES[device]
    return [LockPlace(tile, n) for tile in model.tiles for n in range(model.tile_resources(*tile).locks)]


def used_locks(record: RunRecord) -> list[int]:
    """The locks that change in a run; rows of cycle 0 have what they hold at first."""
    rows = record.trace
    return np.unique(rows[(rows[:, 1] == TraceEvent.LOCK) & (rows[:, 0] > 0), 3]).tolist()


def tile_name(model: DeviceModel, tile: TileId) -> str:
    return f"{TILE_WORDS[model.tile_type(*tile)]} ({tile.column}, {tile.row})"


def part_name(part: ArrayPart) -> str:
    """What a part is called on its tile."""
    match part.kind, part.detail:
        case PartKind.CHANNEL, (DmaDirection() as direction, int() as channel):
            return f"{direction.name} {channel}"
        case _:
            return part.kind.name.lower().replace("_", " ")


def full_name(model: DeviceModel, part: ArrayPart) -> str:
    """What a part is called anywhere."""
    if part.tile is None:
        return CONTROLLER_NAME
    if part.kind is PartKind.CORE:
        return tile_name(model, part.tile)
    return f"{tile_name(model, part.tile)} {part_name(part)}"


def lock_name(record: RunRecord, lock: int) -> str:
    """A lock on its tile, with the source's name for it where that is known."""
    place = lock_places(record.model.name)[lock]
    known = record.names.locks.get(place)
    return f"lock {place.number} {known}" if known else f"lock {place.number}"


def full_lock_name(record: RunRecord, lock: int) -> str:
    return f"{lock_name(record, lock)} of {tile_name(record.model, lock_places(record.model.name)[lock].tile)}"


def file_name(path: str) -> str:
    """The last part of a path, which is enough beside a line number."""
    return visible(path.replace("\\", "/").rsplit("/", 1)[-1])
