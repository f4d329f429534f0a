"""Places on the array, settled or not."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import LocationAttr, UnknownLoc

from tilewright.device import TileType
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.resolvable import current_resolution


class Tile:
    """A tile: `Tile(0, 2)` is that one, `Tile(col=0)` one of a column; what is left out, placement decides.

    Whoever uses a tile says of which type it has to be: workers need compute tiles, links mem tiles, the runtime
    sequence shim tiles. Two tiles are the same if they are the same object.
    """

    def __init__(
        self,
        col: int | None = None,
        row: int | None = None,
        *,
        tile_type: TileType | None = None,
        allocation_scheme: str | None = None,
    ) -> None:
        """A tile, as much of it as is decided: the rest is found when the program is placed.

        Args:
            col: its column
            row: its row; 0 are shim tiles
            tile_type: which kind of tile
            allocation_scheme: how its memory is given out, 'basic-sequential' or 'bank-aware'
        """
        self.col, self.row = col, row
        self.tile_type = tile_type
        self.allocation_scheme = allocation_scheme
        self.where: LocationAttr = user_location()

    def copy(self) -> Tile:
        """Another tile that is asked for in the same way."""
        return self._again(self.tile_type, self.allocation_scheme)

    def with_type(
        self, tile_type: TileType, *, allocation_scheme: str | None = None, mismatch_msg: str | None = None
    ) -> Tile:
        """Another tile, asked for likewise, of this `tile_type` and `allocation_scheme`; or refused: `mismatch_msg`."""
        if self.tile_type not in (None, tile_type):
            refuse(
                mismatch_msg or f"expected a tile of type {tile_type}, got {self}",
                (None, f"leave the type out, or give {_EXAMPLES[tile_type]}"),
            )
        return self._again(tile_type, allocation_scheme or self.allocation_scheme)

    def _again(self, tile_type: TileType | None, allocation_scheme: str | None) -> Tile:
        tile = Tile(self.col, self.row, tile_type=tile_type, allocation_scheme=allocation_scheme)
        # `AnyMemTile` and its like are made here, so the line that uses them counts
        tile.where = user_location() if isinstance(self.where, UnknownLoc) else self.where
        return tile

    @property
    def op(self) -> Any:
        """The tile in the program that is being resolved."""
        built = current_resolution().built
        if self not in built:
            # a ValueError, as upstream's
            raise ValueError(f"{self} has no operation yet: only tiles of workers, fifos and `tiles()` have one")
        return built[self]

    @op.setter
    def op(self, op: Any) -> None:
        current_resolution().built[self] = op

    def __str__(self) -> str:
        kind = "" if self.tile_type is None else f"<{self.tile_type}>"
        return f"Tile{kind}({'?' if self.col is None else self.col}, {'?' if self.row is None else self.row})"

    __repr__ = __str__


_EXAMPLES = {
    TileType.CoreTile: "AnyComputeTile",
    TileType.MemTile: "AnyMemTile",
    TileType.ShimNOCTile: "AnyShimTile",
    TileType.ShimPLTile: "Tile(col, 0)",
}


def _any(tile_type: TileType) -> Tile:
    tile = Tile(tile_type=tile_type)
    tile.where = UnknownLoc()
    return tile


AnyShimTile = _any(TileType.ShimNOCTile)
AnyMemTile = _any(TileType.MemTile)
AnyComputeTile = _any(TileType.CoreTile)
SHIM_TYPES = (TileType.ShimNOCTile, TileType.ShimPLTile)
