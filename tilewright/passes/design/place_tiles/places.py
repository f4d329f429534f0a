"""Who is where, and which DMA channels are taken there."""

from __future__ import annotations

from collections import defaultdict

from tilewright.device import TileId
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.tiles import LogicalTileOp
from tilewright.ir.diagnostics import fail
from tilewright.passes.design.place_tiles.problem import Channels, Design

LOGICAL_TILE = "an LTO is a logical tile, one without coordinates: `aie.logical_tile`, or a Worker without `tile=`"
"""What upstream's notes call the tiles that are to be placed."""


class Places:
    def __init__(self, design: Design):
        self.design = design
        self.placed: dict[LogicalTileOp, TileId] = {}
        self.taken: dict[TileId, Channels] = defaultdict(Channels)

    def position(self, tile: TileLike) -> TileId | None:
        """Where a tile is or has asked to be."""
        return self.placed.get(tile, tile.place) if isinstance(tile, LogicalTileOp) else tile.place

    def spare(self, place: TileId) -> Channels:
        resources = self.design.model.tile_resources(*place)
        return Channels(resources.s2mm_channels, resources.mm2s_channels) - self.taken[place]

    def has_room(self, place: TileId, tile: LogicalTileOp) -> bool:
        return self.design.need(tile).fits(self.spare(place))

    def put(self, tile: LogicalTileOp, place: TileId, advice: str | None = None) -> None:
        """Place a tile and take its channels; `advice` is added to the error if there are not enough."""
        need = self.design.need(tile)
        if not self.has_room(place, tile):
            spare = self.spare(place)
            fail(
                tile,
                f"tile ({place.column}, {place.row}) requires {need.inputs} input/{need.outputs} output DMA channels, "
                f"but only {spare.inputs} input/{spare.outputs} output available",
                *([] if advice is None else [(tile, advice), (tile, LOGICAL_TILE)]),
            )
        self.taken[place] += need
        self.placed[tile] = place
