"""The runtime sequence as an end of ObjectFifos."""

from __future__ import annotations

from tilewright.device import TileType
from tilewright.iron.builders.location import refuse
from tilewright.iron.dataflow.endpoint import ObjectFifoEndpoint
from tilewright.iron.device.tile import SHIM_TYPES, AnyShimTile, Tile


class RuntimeEndpoint(ObjectFifoEndpoint):
    """A shim tile whose DMA the runtime sequence drives. Two at the same place are equal."""

    def __init__(self, tile: Tile | None = AnyShimTile) -> None:
        tile = tile or AnyShimTile
        if tile.tile_type is not None and tile.tile_type not in SHIM_TYPES:
            refuse(f"host buffers are reached from shim tiles, not from {tile}", (None, "such as Tile(0, 0)"))
        super().__init__(tile.with_type(TileType.ShimNOCTile if tile.tile_type is None else tile.tile_type))

    def _place(self) -> tuple[int | None, int | None]:
        return (None, None) if self.tile is None else (self.tile.col, self.tile.row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuntimeEndpoint) and other._place() == self._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def __str__(self) -> str:
        return f"the runtime sequence, through {self.tile}"
