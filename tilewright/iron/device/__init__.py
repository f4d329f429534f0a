"""Devices and tiles."""

from __future__ import annotations

from tilewright.device import DEVICES, DeviceName
from tilewright.iron.builders.location import refuse
from tilewright.iron.device import device as _devices
from tilewright.iron.device.device import CLASSES, Device, KnownDevice
from tilewright.iron.device.tile import AnyComputeTile, AnyMemTile, AnyShimTile, Tile
from tilewright.support.lazy import listed_names

__all__ = ["AnyComputeTile", "AnyMemTile", "AnyShimTile", "Device", "Tile", "from_name"]

_ALIASES = {"npu": "npu1"}


def __getattr__(name: str) -> type[KnownDevice]:
    return getattr(_devices, name)


__dir__ = listed_names(__name__, *CLASSES)


def from_name(name: str, *, n_cols: int | None = 1) -> Device:
    """A device by the `name` of its family, such as `npu2`, with `n_cols` columns; None means all that it has."""
    family = _ALIASES.get(name.lower(), name.lower())
    if family not in DeviceName.__members__:
        known = sorted({found.name for found in DEVICES if "_" not in found.name} | set(_ALIASES))
        refuse(f"Unknown device name {name!r}; expected one of {known}")
    whole = DEVICES[DeviceName[family]]
    if not whole.is_npu or n_cols in (None, whole.columns):
        return CLASSES[family.upper()]()
    if not 1 <= n_cols < whole.columns:
        refuse(f"n_cols must be in 1..{whole.columns} (or None for max) for {family.upper()}, got {n_cols}")
    return CLASSES[f"{family.upper()}Col{n_cols}"]()
