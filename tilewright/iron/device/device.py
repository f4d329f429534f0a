"""Devices as programs name them: `NPU1()`, `NPU1Col2()`, `NPU2Col4()`, ..."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from tilewright.device import DEVICES, Arch, DeviceName, TileType, model
from tilewright.iron.builders.location import at, refuse
from tilewright.iron.device.tile import Tile
from tilewright.iron.resolvable import Resolvable, current_resolution


class Device(Resolvable):
    """A device, and what its array looks like."""

    def __init__(self, device: DeviceName | str) -> None:
        self.model = model(device)

    @property
    def name(self) -> str:
        """What `aie.device` calls it."""
        return self.model.name.name

    @property
    def cols(self) -> int:
        """Columns of the array."""
        return self.model.columns

    @property
    def rows(self) -> int:
        """Rows of the array, that of the shim tiles among them."""
        return self.model.rows

    @property
    def arch(self) -> Arch:
        return self.model.arch

    def get_tile_type(self, col: int, row: int) -> TileType:
        """The type of the tile in a column, `col`, and a `row`."""
        if not self.model.is_valid_tile(col, row):
            refuse(
                f"tile ({col}, {row}) is out of range: there is no such tile on {self.name}",
                (None, f"columns are 0 to {self.cols - 1}, rows 0 to {self.rows - 1}"),
            )
        return self.model.tile_type(col, row)

    def resolve(self, loc: Any = None, ip: Any = None) -> DeviceName:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The device as an attribute."""
        return self.model.name

    def resolve_tile(self, tile: Tile, loc: Any = None, ip: Any = None) -> None:
        """Build a tile; placement decides later what it leaves open."""
        from tilewright.iron.dialects.aie import logical_tile

        if tile in current_resolution().built:
            return  # several parts may be on one tile
        with at(loc or tile.where):
            kind = self._type(tile)
            tile.op = logical_tile(kind, col=tile.col, row=tile.row, allocation_scheme=tile.allocation_scheme)

    def _type(self, tile: Tile) -> TileType:
        if tile.col is not None and tile.row is not None:
            found = self.get_tile_type(tile.col, tile.row)
            return tile.tile_type if tile.tile_type is not None else found
        if tile.tile_type is None:
            refuse(
                f"cannot tell what type {tile} has to be of",
                (None, "give column and row, or a type: tile_type=AIETileType.CoreTile"),
            )
        return tile.tile_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class KnownDevice(Device):
    """A device by name; `NPU1` and the others are made from this."""

    NAME: ClassVar[DeviceName]

    def __init__(self) -> None:
        super().__init__(self.NAME)


def _class_name(name: DeviceName) -> str:
    return re.sub(r"_(\d+)COL", r"Col\1", name.name.upper())


def _class(name: DeviceName) -> type[KnownDevice]:
    doc = f"`{name.name}`: {DEVICES[name].columns} columns, {DEVICES[name].rows} rows."
    return type(_class_name(name), (KnownDevice,), {"NAME": name, "__doc__": doc, "__module__": __name__})


# a class for each row of the device table: upstream's programs name them, and new rows have one at once
CLASSES = {_class_name(name): _class(name) for name in DEVICES}
globals().update(CLASSES)


def __getattr__(name: str) -> type[KnownDevice]:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; devices are {', '.join(CLASSES)}")
