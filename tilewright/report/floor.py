"""Where things are in the picture of the array: tiles in rows and columns, row 0 at the bottom, ports along edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.sim.switch import PortName

WIDTH, HEIGHT = 152, 104
IDLE_WIDTH = 44
"""Of tiles in columns where nothing is: they are shown, but the room is for the others."""
GAP, IDLE_GAP = 46, 8
MARGIN = 14
HOST_HEIGHT = 40
PORT_STEP = 10
CHANNEL_HEIGHT = 28
CHANNEL_WIDTHS = {TileType.MemTile: 8}
CHANNEL_WIDTH = 14
CHANNEL_GAP = 3


class Point(NamedTuple):
    x: float
    y: float

    def moved(self, x: float, y: float) -> Point:
        return Point(self.x + x, self.y + y)


class End(NamedTuple):
    """An end of a line: where it is, and the direction in which the line leaves it."""

    at: Point
    away: Point


@dataclass(frozen=True)
class Floor:
    """The plan of a device."""

    model: DeviceModel
    idle: frozenset[int] = frozenset()
    """Columns where nothing is."""

    @property
    def width(self) -> float:
        last = self.model.columns - 1
        return self._left(last) + self.tile_width(last) + MARGIN

    def tile_width(self, column: int) -> int:
        return IDLE_WIDTH if column in self.idle else WIDTH

    def _left(self, column: int) -> float:
        before = (self.tile_width(c) + (IDLE_GAP if {c, c + 1} <= self.idle else GAP) for c in range(column))
        return MARGIN + sum(before)

    @property
    def height(self) -> float:
        return self.host_top + HOST_HEIGHT + MARGIN

    @property
    def host_top(self) -> float:
        return MARGIN + self.model.rows * (HEIGHT + GAP)

    def corner(self, tile: TileId) -> Point:
        """The upper left corner of a tile."""
        up = self.model.rows - 1 - tile.row
        return Point(self._left(tile.column), MARGIN + up * (HEIGHT + GAP))

    def channel(self, tile: TileId, direction: DmaDirection, number: int) -> Point:
        """The upper left corner of a DMA channel: those that receive on the left, those that send on the right."""
        width, count = self.channel_width(tile), self.model.num_dma_channels(*tile, direction)
        left = 10.0 if direction is DmaDirection.S2MM else WIDTH - 10 - count * (width + CHANNEL_GAP) + CHANNEL_GAP
        return self.corner(tile).moved(left + number * (width + CHANNEL_GAP), HEIGHT - CHANNEL_HEIGHT - 18)

    def channel_width(self, tile: TileId) -> int:
        return CHANNEL_WIDTHS.get(self.model.tile_type(*tile), CHANNEL_WIDTH)

    def slave(self, tile: TileId, port: PortName) -> End | None:
        """Where words come into a switch."""
        if port.bundle in (WireBundle.Core, WireBundle.DMA) or self._is_shim_channel(tile, port, DmaDirection.MM2S):
            return self._block(tile, port, DmaDirection.MM2S)
        return self._edge(tile, port, is_master=False)

    def master(self, tile: TileId, port: PortName) -> End | None:
        """Where words go out of a switch."""
        if port.bundle in (WireBundle.Core, WireBundle.DMA) or self._is_shim_channel(tile, port, DmaDirection.S2MM):
            return self._block(tile, port, DmaDirection.S2MM)
        return self._edge(tile, port, is_master=True)

    def _is_shim_channel(self, tile: TileId, port: PortName, direction: DmaDirection) -> bool:
        is_shim = self.model.tile_type(*tile) is TileType.ShimNOCTile
        return is_shim and port.bundle is WireBundle.South and port.channel in SHIM_DMA_PORTS[direction]

    def _block(self, tile: TileId, port: PortName, direction: DmaDirection) -> End:
        """The end at a DMA channel or the core."""
        if port.bundle is WireBundle.Core:
            return End(self.corner(tile).moved(WIDTH / 2 + PORT_STEP * port.channel, 36), Point(0, 1))
        is_south = port.bundle is WireBundle.South
        number = SHIM_DMA_PORTS[direction].index(port.channel) if is_south else port.channel
        corner = self.channel(tile, direction, number)
        return End(corner.moved(self.channel_width(tile) / 2, 0), Point(0, -1))

    def _edge(self, tile: TileId, port: PortName, *, is_master: bool) -> End | None:
        """The end at an edge of the tile: upward streams on the left, eastward ones above, the others opposite."""
        along = PORT_STEP * port.channel
        up, right = 14.0 + along, 24.0 + along * 0.7
        down, left = WIDTH - up, HEIGHT - 16 - along * 0.7
        places = {
            (WireBundle.North, True): End(Point(up, 0), Point(0, 1)),
            (WireBundle.South, False): End(Point(up, HEIGHT), Point(0, -1)),
            (WireBundle.South, True): End(Point(down, HEIGHT), Point(0, -1)),
            (WireBundle.North, False): End(Point(down, 0), Point(0, 1)),
            (WireBundle.East, True): End(Point(WIDTH, right), Point(-1, 0)),
            (WireBundle.West, False): End(Point(0, right), Point(1, 0)),
            (WireBundle.West, True): End(Point(0, left), Point(1, 0)),
            (WireBundle.East, False): End(Point(WIDTH, left), Point(-1, 0)),
        }
        found = places.get((port.bundle, is_master))
        return End(self.corner(tile).moved(*found.at), found.away) if found else None
