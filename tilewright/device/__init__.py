"""The hardware as data: name of a device in; its tiles, limits, registers and descriptor layouts out."""

from .architecture import (
    GRANULE_BITS,
    MAX_PACKET_ID,
    MAX_PACKET_TYPE,
    MAX_TASK_REPEAT,
    NUM_ARBITERS,
    NUM_MSELS,
    NUM_SLAVE_SLOTS,
    TASK_QUEUE_DEPTH,
    Architecture,
    BlockFormat,
    TileResources,
)
from .devices import DEVICES
from .enums import (
    Arch,
    CascadeDirection,
    DeviceName,
    DmaDirection,
    Keyword,
    LockAction,
    LockBlocking,
    ObjectFifoPort,
    Side,
    TileType,
    WireBundle,
)
from .model import DeviceModel, TileId

NAMES = tuple(name.name for name in DEVICES)


def model(name: str | DeviceName) -> DeviceModel:
    """The model of a device, by the name programs use for it."""
    return DEVICES[DeviceName[name] if isinstance(name, str) else name]


__all__ = [
    "DEVICES",
    "GRANULE_BITS",
    "MAX_PACKET_ID",
    "MAX_PACKET_TYPE",
    "MAX_TASK_REPEAT",
    "NAMES",
    "NUM_ARBITERS",
    "NUM_MSELS",
    "NUM_SLAVE_SLOTS",
    "TASK_QUEUE_DEPTH",
    "Arch",
    "Architecture",
    "BlockFormat",
    "CascadeDirection",
    "DeviceModel",
    "DeviceName",
    "DmaDirection",
    "Keyword",
    "LockAction",
    "LockBlocking",
    "ObjectFifoPort",
    "Side",
    "TileId",
    "TileResources",
    "TileType",
    "WireBundle",
    "model",
]
