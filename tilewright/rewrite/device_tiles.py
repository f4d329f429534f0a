"""The tiles of a device by place, for passes that need one whether or not the design declares it."""

from __future__ import annotations

from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TileId
from tilewright.dialects.aie.tiles import DeviceOp, TileOp


def tiles_by_place(device: DeviceOp) -> dict[TileId, TileOp]:
    """The declared tiles, in the order of their first declarations."""
    return {tile.place: tile for tile in device.tiles}


def tile_at(device: DeviceOp, column: int, row: int) -> TileOp:
    """The tile at a place; one that the design does not declare yet is added before everything else."""
    for tile in device.tiles:
        if tile.place == (column, row):
            return tile
    # before everything else, so that it is defined wherever the design would use it
    tile = TileOp(column, row)
    tile.location = device.location
    Rewriter.insert_op(tile, InsertPoint.at_start(device.body))
    return tile
