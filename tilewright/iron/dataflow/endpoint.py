"""Ends of an ObjectFifo: a worker, a link, or the runtime sequence."""

from __future__ import annotations

from tilewright.iron.device.tile import Tile


class ObjectFifoEndpoint:
    """Something on a tile that produces or consumes objects."""

    def __init__(self, tile: Tile | None):
        self._tile = tile

    @property
    def tile(self) -> Tile | None:
        """Where it is; None while it is open."""
        return self._tile
