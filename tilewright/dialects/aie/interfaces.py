"""Interfaces of the dialect's operations: being a device, being a tile, being in a tile."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DeviceModel, TileId, TileResources, TileType


class Target(IRDLOperation):
    """An operation that says which device its body is for."""

    @property
    @abstractmethod
    def model(self) -> DeviceModel: ...


class TileLike(IRDLOperation):
    """A tile, placed on the array or still to be."""

    @property
    @abstractmethod
    def tile_type(self) -> TileType: ...

    @property
    @abstractmethod
    def place(self) -> TileId | None:
        """Column and row, if both are known."""

    @property
    @abstractmethod
    def is_placed(self) -> bool:
        """Whether placement is done: a logical tile is not placed, even where it asks for a column and a row."""

    @property
    @abstractmethod
    def resources(self) -> TileResources: ...

    @property
    def is_core(self) -> bool:
        return self.tile_type is TileType.CoreTile

    @property
    def is_mem(self) -> bool:
        return self.tile_type is TileType.MemTile

    @property
    def is_shim_noc(self) -> bool:
        return self.tile_type is TileType.ShimNOCTile

    @property
    def is_shim_pl(self) -> bool:
        return self.tile_type is TileType.ShimPLTile

    @property
    def is_shim(self) -> bool:
        return self.is_shim_noc or self.is_shim_pl


class TileElement(IRDLOperation):
    """Something that belongs to a tile: subclasses have an operand `tile`."""

    @property
    def tile_value(self) -> SSAValue:
        return getattr(self, "tile")  # noqa: B009, the operand is declared by subclasses

    @property
    def tile_like(self) -> TileLike | None:
        owner = self.tile_value.owner
        return owner if isinstance(owner, TileLike) else None

    @property
    def place(self) -> TileId | None:
        tile = self.tile_like
        return tile.place if tile is not None else None

    # a logical tile has a type before it has a place, so this holds before placement too
    def require_tile(self, where: str, *types: TileType) -> TileLike:
        """The tile, which must be of one of these types; `where` is how upstream calls such a tile."""
        tile = self.tile_like
        if tile is None or tile.tile_type not in types:
            raise VerifyException(f"failed to verify that op exists in a {where}")
        return tile

    def result_names(self) -> Sequence[str | None]:
        return [name_at(self, self.place)]


def name_at(op: Operation, place: TileId | None) -> str | None:
    """`core_1_2` for an `aie.core` at column 1, row 2; unplaced operations have no name of their own."""
    return None if place is None else f"{op.name.partition('.')[2]}_{place.column}_{place.row}"


# a trait and not a list of names: operations of other dialects have it too
class SkipAccessibilityCheck(OpTrait):
    """What happens inside is not tied to a tile yet, so it may name any buffer and lock."""
