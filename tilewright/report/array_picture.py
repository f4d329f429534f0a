"""The array as a picture: tiles with what their cores and channels did, streams with how full they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType, WireBundle
from tilewright.device.layout import WORD_BYTES
from tilewright.device.stream_switch import SHIM_DMA_PORTS, STEPS
from tilewright.report.markup import Markup, element, headings_of, percent, size, table
from tilewright.report.phases import LOOKS, WAITS, Phase
from tilewright.report.spans import Shares
from tilewright.report.tracks import part_name, tile_name
from tilewright.report.traffic import channel_bytes
from tilewright.sim.parts import PartKind, part_ids_of
from tilewright.sim.record import RunRecord, SwitchConnection
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
BAR_WIDTH = WIDTH - 20
LARGEST, SMALLEST = 1.15, 0.7
"""How much larger than drawn the picture may get, and how much smaller before it has to be scrolled."""
CURVE = 22
"""How far a line goes straight on before it turns."""


class Point(NamedTuple):
    x: float
    y: float

    def moved(self, x: float, y: float) -> Point:
        return Point(self.x + x, self.y + y)


class WireEnd(NamedTuple):
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
        return MARGIN + sum(self.tile_width(c) + (IDLE_GAP if {c, c + 1} <= self.idle else GAP) for c in range(column))

    @property
    def height(self) -> float:
        return self.host_top + HOST_HEIGHT + MARGIN

    @property
    def host_top(self) -> float:
        return MARGIN + self.model.rows * (HEIGHT + GAP)

    def corner(self, tile: TileId) -> Point:
        """The upper left corner of a tile."""
        return Point(self._left(tile.column), MARGIN + (self.model.rows - 1 - tile.row) * (HEIGHT + GAP))

    def channel(self, tile: TileId, direction: DmaDirection, number: int) -> Point:
        """The upper left corner of a DMA channel: those that receive on the left, those that send on the right."""
        width, count = self.channel_width(tile), self.model.num_dma_channels(*tile, direction)
        left = 10.0 if direction is DmaDirection.S2MM else WIDTH - 10 - count * (width + CHANNEL_GAP) + CHANNEL_GAP
        return self.corner(tile).moved(left + number * (width + CHANNEL_GAP), HEIGHT - CHANNEL_HEIGHT - 18)

    def channel_width(self, tile: TileId) -> int:
        return CHANNEL_WIDTHS.get(self.model.tile_type(*tile), CHANNEL_WIDTH)

    def end(self, tile: TileId, port: PortName, *, is_master: bool) -> WireEnd | None:
        """Where words go out of a switch, by a master port, or come into it, by a slave port."""
        direction = DmaDirection.S2MM if is_master else DmaDirection.MM2S
        if port.bundle in (WireBundle.Core, WireBundle.DMA) or self._is_shim_channel(tile, port, direction):
            return self._block(tile, port, direction)
        return self._edge(tile, port, is_master=is_master)

    def _is_shim_channel(self, tile: TileId, port: PortName, direction: DmaDirection) -> bool:
        # ports to the south of a shim tile lead to its DMA, or to the programmable logic
        is_shim = self.model.tile_type(*tile) is TileType.ShimNOCTile
        return is_shim and port.bundle is WireBundle.South and port.channel in SHIM_DMA_PORTS[direction]

    def _block(self, tile: TileId, port: PortName, direction: DmaDirection) -> WireEnd:
        """The end at a DMA channel or the core."""
        if port.bundle is WireBundle.Core:
            return WireEnd(self.corner(tile).moved(WIDTH / 2 + PORT_STEP * port.channel, 36), Point(0, 1))
        number = SHIM_DMA_PORTS[direction].index(port.channel) if port.bundle is WireBundle.South else port.channel
        return WireEnd(self.channel(tile, direction, number).moved(self.channel_width(tile) / 2, 0), Point(0, -1))

    def _edge(self, tile: TileId, port: PortName, *, is_master: bool) -> WireEnd | None:
        """The end at an edge of the tile: upward streams on the left, eastward ones above, the others opposite."""
        along = PORT_STEP * port.channel  # ports of a side lie next to each other
        up, right = 14.0 + along, 24.0 + along * 0.7
        down, left = WIDTH - up, HEIGHT - 16 - along * 0.7
        places = {
            (WireBundle.North, True): WireEnd(Point(up, 0), Point(0, 1)),
            (WireBundle.South, False): WireEnd(Point(up, HEIGHT), Point(0, -1)),
            (WireBundle.South, True): WireEnd(Point(down, HEIGHT), Point(0, -1)),
            (WireBundle.North, False): WireEnd(Point(down, 0), Point(0, 1)),
            (WireBundle.East, True): WireEnd(Point(WIDTH, right), Point(-1, 0)),
            (WireBundle.West, False): WireEnd(Point(0, right), Point(1, 0)),
            (WireBundle.West, True): WireEnd(Point(0, left), Point(1, 0)),
            (WireBundle.East, False): WireEnd(Point(WIDTH, left), Point(-1, 0)),
        }
        found = places.get((port.bundle, is_master))
        return WireEnd(self.corner(tile).moved(*found.at), found.away) if found else None


class ArrayPicture:
    """Draws one run."""

    def __init__(self, record: RunRecord, shares: Shares):
        self.record, self.shares = record, shares
        self.model, self.part_ids = record.model, part_ids_of(record.model.name)
        self.floor = Floor(record.model, self._idle_columns())
        self.moved = channel_bytes(record)  # by part

    def _idle_columns(self) -> frozenset[int]:
        """Columns that no stream goes through and no part of which did anything."""
        active = (self.record.parts[number].tile for number in np.flatnonzero(self.shares.cycles.sum(axis=1)).tolist())
        used = {*active, *self.record.names.stops, *(connection.tile for connection in self.record.connections)}
        return frozenset(range(self.model.columns)) - {tile.column for tile in used if tile is not None}

    def svg(self) -> Markup:
        tiles = list(self.model.tiles)
        # streams lie over the boxes of tiles, but under what is on these
        parts = (
            self._host(),
            *(self._tile_box(tile) for tile in tiles),
            element("g", *self._streams(), class_="streams"),
            *(self._tile(tile) for tile in tiles),
        )
        box = f"0 0 {self.floor.width:g} {self.floor.height:g}"
        most = f"max-width: {self.floor.width * LARGEST:g}px; min-width: {self.floor.width * SMALLEST:g}px"
        label = "The array: tiles with their cores, DMA channels and streams. The tables below say the same."
        return element("svg", *parts, class_="array", viewBox=box, role="group", aria_label=label, style=most)

    def _busy(self, part: int) -> float:
        return self.shares.busy(part) / max(self.shares.total, 1)  # a run that faults at once has no cycles

    def _share(self, words: int) -> float:
        return words / max(self.record.cycles, 1)

    def _host(self) -> Markup:
        """Host memory, below all columns, and what went there and came from there."""
        top, width = self.floor.host_top, self.floor.width - 2 * MARGIN
        bar = element("rect", x=MARGIN, y=top, width=width, height=HOST_HEIGHT, rx=6, class_="host")
        sums = {direction: self._host_bytes(direction) for direction in DmaDirection}
        said = ("host memory", f"{size(sums[DmaDirection.MM2S])} read, {size(sums[DmaDirection.S2MM])} written")
        middle = self.floor.width / 2
        labels = [
            element("text", line, x=middle, y=top + 17 * number, text_anchor="middle", class_=f"host-text line{number}")
            for number, line in enumerate(said, 1)
        ]
        return element("g", bar, *labels)

    def _host_bytes(self, direction: DmaDirection) -> int:
        found = ((number, self.record.parts[number]) for number in self.moved)
        return sum(
            self.moved[number]
            for number, part in found
            if part.tile and part.detail and part.detail[0] is direction and self._is_shim(part.tile)
        )

    def _is_shim(self, tile: TileId) -> bool:
        return self.model.tile_type(*tile) is TileType.ShimNOCTile

    def _tile_box(self, tile: TileId) -> Markup:
        x, y = self.floor.corner(tile)
        kind = self.model.tile_type(*tile).name
        width = self.floor.tile_width(tile.column)
        return element("rect", x=x, y=y, width=width, height=HEIGHT, rx=8, class_=f"box {kind}")

    def _tile(self, tile: TileId) -> Markup:
        """What is on a tile, as one thing that can be chosen."""
        x, y = self.floor.corner(tile)
        name, place = tile_name(self.model, tile), f"{tile.column},{tile.row}"
        if tile.column in self.floor.idle:
            reach = element("rect", x=x, y=y, width=IDLE_WIDTH, height=HEIGHT, rx=8, class_="reach")
            word = element("text", f"({tile.column}, {tile.row})", x=x + 6, y=y + 17, class_="small")
            said = {"role": "img", "aria_label": f"{name}: idle"}
            return element(
                "g", element("title", f"{name}: idle"), reach, word, class_="tile idle", data_tile=place, **said
            )
        parts = [
            element("rect", x=x, y=y, width=WIDTH, height=HEIGHT, rx=8, class_="reach"),
            element("text", name, x=x + 10, y=y + 18, class_="name"),
            *self._core(tile),
            *self._channels(tile),
        ]
        label = f"{name}: {self._describe(tile)}. Show it in the timeline"
        return element("g", *parts, class_="tile", tabindex=0, role="button", aria_label=label, data_tile=place)

    def _describe(self, tile: TileId) -> str:
        core = self.part_ids.find(PartKind.CORE, tile)
        busy = [f"core busy {percent(self._busy(core))}"] if core is not None else []
        moved = sum(self.moved.get(number, 0) for number, _ in self._used_channels(tile))
        return ", ".join([*busy, f"DMA moved {size(moved)}"])

    def _core(self, tile: TileId) -> Iterator[Markup]:
        """A bar of what the core was at."""
        number = self.part_ids.find(PartKind.CORE, tile)
        if number is None or not self.shares.cycles[number].any():
            return
        x, y = self.floor.corner(tile)
        yield element(
            "text", percent(self._busy(number)), x=x + WIDTH - 10, y=y + 18, text_anchor="end", class_="value"
        )
        yield element("rect", x=x + 10, y=y + 26, width=BAR_WIDTH, height=9, rx=2, class_="groove")
        at = x + 10.0  # pieces of the bar follow each other
        for phase in np.flatnonzero(self.shares.cycles[number]).tolist():
            share = int(self.shares.cycles[number, phase]) / max(self.shares.total, 1)
            look = LOOKS[Phase(phase)]
            title = element("title", f"{look.label} {percent(share)}")
            width = f"{share * BAR_WIDTH:.1f}"
            yield element("rect", title, x=f"{at:.1f}", y=y + 26, width=width, height=9, class_=f"fill-{look.colour}")
            at += share * BAR_WIDTH

    def _used_channels(self, tile: TileId) -> Iterator[tuple[int, tuple[DmaDirection, int]]]:
        for direction in DmaDirection:
            for channel in range(self.model.num_dma_channels(*tile, direction)):
                yield self.part_ids.number(PartKind.CHANNEL, tile, (direction, channel)), (direction, channel)

    def _channels(self, tile: TileId) -> Iterator[Markup]:
        """A gauge for each channel: how much of the time it moves words."""
        width = self.floor.channel_width(tile)
        for number, (direction, channel) in self._used_channels(tile):
            x, y = self.floor.channel(tile, direction, channel)
            cycles = self.shares.cycles[number]
            used = "used" if cycles.any() else "unused"
            moving = min(int(cycles[Phase.MOVE]) / max(self.shares.total, 1), 1)
            said = f"{direction.name} {channel}: {size(self.moved.get(number, 0))}, moves {percent(moving)} of the time"
            title = element("title", said)
            yield element("rect", title, x=x, y=y, width=width, height=CHANNEL_HEIGHT, rx=2, class_=f"gauge {used}")
            if moving:
                filled = moving * CHANNEL_HEIGHT
                top = f"{y + CHANNEL_HEIGHT - filled:.1f}"
                yield element("rect", x=x, y=top, width=width, height=f"{filled:.1f}", rx=2, class_="fill-move level")
        for direction in DmaDirection:
            if self.model.num_dma_channels(*tile, direction):
                x, y = self.floor.channel(tile, direction, 0)
                yield element("text", direction.name, x=x, y=y + CHANNEL_HEIGHT + 11, class_="small")

    def _streams(self) -> Iterator[Markup]:
        for connection in self.record.connections:
            yield from self._inside(connection)
        for tile, port in sorted({(c.tile, c.target) for c in self.record.connections}):
            yield from self._between(tile, port)
        for tile in self.model.tiles:
            if self._is_shim(tile):
                yield from self._to_host(tile)

    def _inside(self, connection: SwitchConnection) -> Iterator[Markup]:
        """A way through a switch, drawn across its tile."""
        source = self.floor.end(connection.tile, connection.source, is_master=False)
        target = self.floor.end(connection.tile, connection.target, is_master=True)
        if source is not None and target is not None:
            words = self.record.carried.get((connection.tile, connection.target), 0)
            said = f"{connection.source} to {connection.target} of {tile_name(self.model, connection.tile)}"
            yield self._line(_curve(source, target), said, words, "packet" if connection.is_packet else "circuit")

    def _between(self, tile: TileId, port: PortName) -> Iterator[Markup]:
        """The wire from a master port to the neighbour."""
        start = self.floor.end(tile, port, is_master=True)
        if port.bundle not in STEPS or start is None:
            return
        columns, rows = STEPS[port.bundle]
        neighbour = TileId(tile.column + columns, tile.row + rows)
        if self.model.is_valid_tile(*neighbour):
            end = start.at.moved(columns * GAP, -rows * GAP)  # y grows downwards in SVG
            said = f"{port} of {tile_name(self.model, tile)} to {tile_name(self.model, neighbour)}"
            words = self.record.carried.get((tile, port), 0)
            yield self._line(
                f"M{_xy(start.at)}L{_xy(end)}", said, words, "wire", arrow=arrow_to(end, Point(columns, -rows))
            )

    def _to_host(self, tile: TileId) -> Iterator[Markup]:
        """What a shim tile's channels exchange with host memory."""
        for number, (direction, channel) in self._used_channels(tile):
            if words := self.moved.get(number, 0) // WORD_BYTES:
                x, y = self.floor.channel(tile, direction, channel)
                middle, bottom = x + self.floor.channel_width(tile) / 2, self.floor.host_top
                ends = [Point(middle, y + CHANNEL_HEIGHT), Point(middle, bottom)]
                down = direction is DmaDirection.S2MM
                arrow = (
                    arrow_to(ends[1], Point(0, 1)) if down else arrow_to(Point(middle, bottom - GAP + 8), Point(0, -1))
                )
                said = f"{direction.name} {channel} of {tile_name(self.model, tile)} and host memory"
                yield self._line(f"M{_xy(ends[0])}L{_xy(ends[1])}", said, words, "wire", arrow)

    def _line(self, path: str, said: str, words: int, kind: str, arrow: str = "") -> Markup:
        share = min(self._share(words), 1.0)
        title = element("title", f"{said}: {words:,} words, {percent(share)} of the cycles")
        lines = [element("path", title, d=path, class_=f"stream {kind}")]
        if arrow:
            lines.append(element("path", d=arrow, class_="arrow"))
        return element("g", *lines, class_="carries" if words else "silent", style=f"--use:{share:.3f}")

    def tile_table(self) -> Markup:
        """What the picture shows of tiles, in words and numbers."""
        headings = headings_of("tile", "part", "busy#", "waits#", "mostly for", "bytes#")
        rows = list[list[str]]()
        for number in np.flatnonzero(self.shares.cycles.sum(axis=1)).tolist():
            part, total = self.record.parts[number], max(self.shares.total, 1)
            waits = self.shares.waiting(number)
            cause = LOOKS[Phase(WAITS[int(self.shares.cycles[number, WAITS].argmax())])].cause if waits else ""
            place = tile_name(self.model, part.tile) if part.tile else ""
            moved = f"{self.moved[number]:,}" if number in self.moved else ""
            shares = percent(self._busy(number)), percent(waits / total)
            rows.append([place or "controller", part_name(part), *shares, cause, moved])
        return table("Cores and channels", headings, rows, "tiles-table")

    def stream_table(self) -> Markup:
        """What the picture shows of streams."""
        headings = headings_of("switch of", "from", "to", "kind", "words#", "of the cycles#")
        rows = list[list[str]]()
        for c in self.record.connections:
            words = self.record.carried.get((c.tile, c.target), 0)
            kind = "packets" if c.is_packet else "circuit"
            place = tile_name(self.model, c.tile)
            rows.append([place, str(c.source), str(c.target), kind, f"{words:,}", percent(self._share(words))])
        return table("Ways through switches; words are those that left by the port on the right", headings, rows)


def _xy(point: Point) -> str:
    return f"{point.x:.1f},{point.y:.1f}"


def _curve(source: WireEnd, target: WireEnd) -> str:
    """A curve that leaves both its ends straight."""
    first = source.at.moved(source.away.x * CURVE, source.away.y * CURVE)
    second = target.at.moved(target.away.x * CURVE, target.away.y * CURVE)
    return f"M{_xy(source.at)}C{_xy(first)} {_xy(second)} {_xy(target.at)}"


def arrow_to(tip: Point, way: Point) -> str:
    """A triangle that points the way that words go."""
    back = tip.moved(-7 * way.x, -7 * way.y)
    across = Point(-way.y * 3.2, way.x * 3.2)
    return f"M{_xy(tip)}L{_xy(back.moved(*across))}L{_xy(back.moved(-across.x, -across.y))}Z"
