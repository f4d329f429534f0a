"""Transfers of a stream as one page: on the array, and in the order of its operations. Nothing was run for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tilewright.device import DmaDirection, TileId
from tilewright.device.dma_registers import ChannelId
from tilewright.device.layout import WORD_BYTES
from tilewright.device.register_names import short_tile_name
from tilewright.report.array_picture import (
    CHANNEL_HEIGHT,
    GAP,
    HEIGHT,
    HOST_HEIGHT,
    LARGEST,
    MARGIN,
    SMALLEST,
    Floor,
    Point,
    arrow_to,
)
from tilewright.report.markup import Markup, disclosure, element, headings_of, join, size, table
from tilewright.report.page import PageSection, fill_page
from tilewright.report.tracks import tile_name
from tilewright.txn.intent_text import argument_uses, intent_lines, places_text
from tilewright.txn.transfers import Intent, Step, StepKind, TransferStep

COLOURS = ("move", "words", "compute", "host", "cascade", "kernel", "token", "room")
"""Of arguments, in their order; what stays on the array is `prepare`."""
INSIDE = "prepare"
MOST_BARS, MOST_ROWS, MOST_LINES = 6000, 1000, 4000
ROW, LABELS, PLOT = 15, 125, 1000
"""Of the picture of the order, in pixels: the height of a row, the width of names and that of bars."""
LEAST_BAR = 1.5
READY = 'document.documentElement.dataset.ready = "yes";\n'
"""What programs that look into the page wait for."""


def transfers_html(intent: Intent, name: str) -> str:
    """The whole page."""
    page = _TransfersPage(intent)
    title, command = f"{name} · tilewright txn", "tilewright txn dis --html"
    return fill_page(title, page.head(name), page.sections(), command=command, script=READY)


class ChannelUse(NamedTuple):
    """What a channel is asked for by a stream."""

    transfers: list[TransferStep]

    @property
    def bytes(self) -> int:
        return WORD_BYTES * sum(step.words for step in self.transfers)

    @property
    def arguments(self) -> list[int]:
        return sorted({part.host.argument for step in self.transfers for part in step.parts if part.host is not None})

    @property
    def colour(self) -> str:
        return _colour(self.arguments)


def _colour(arguments: Sequence[int]) -> str:
    return COLOURS[arguments[0] % len(COLOURS)] if arguments else INSIDE


def _from_below(channel: ChannelId) -> tuple[int, ChannelId]:
    return channel.tile.row, channel


def _arguments_text(arguments: Sequence[int]) -> str:
    return "argument " + " and ".join(map(str, arguments)) if arguments else ""


class _TransfersPage:
    def __init__(self, intent: Intent):
        self.intent, self.model = intent, intent.model
        self.transfers = intent.transfers
        found = defaultdict[ChannelId, list[TransferStep]](list)
        for step in self.transfers:
            found[step.channel].append(step)
        self.uses = {channel: ChannelUse(found[channel]) for channel in sorted(found)}
        self.others = defaultdict[str, list[Step]](list)
        """Data and settings by place."""
        for step in intent.steps:
            if step.kind in (StepKind.DATA, StepKind.SETTING):
                self.others[step.place].append(step)
        used = {channel.tile.column for channel in self.uses}
        self.floor = Floor(self.model, frozenset(range(self.model.columns)) - used)

    def head(self, name: str) -> Markup:
        facts = join(element("div", element("dt", what), element("dd", value)) for what, value in self._facts())
        lead = f"a stream of instructions for {self.model}, as it stands: nothing was run"
        return join([element("h1", name), element("p", lead, class_="lead"), element("dl", facts, class_="facts")])

    def _facts(self) -> Iterator[tuple[str, str]]:
        uses = argument_uses(self.intent).values()
        yield "steps", f"{len(self.intent.steps):,}"
        yield "transfers", f"{len(self.transfers):,}"
        yield "channels", f"{len(self.uses):,}"
        yield "waits", f"{sum(step.kind is StepKind.WAIT for step in self.intent.steps):,}"
        yield "read from the host", size(sum(use.read for use in uses))
        yield "written to the host", size(sum(use.written for use in uses))

    def sections(self) -> Iterator[PageSection]:
        yield self._array()
        yield self._order()
        yield self._words()
        yield self._table()

    def _array(self) -> PageSection:
        lead = (
            "Channels that the stream starts are filled, in the colour of the argument that they read or write; those "
            "that move words inside of the array are grey. Routes belong to the design and are not in a stream."
        )
        svg = self._picture()
        rows = [
            [f"argument {number}", size(use.read), size(use.written), str(use.transfers), self._over(number)]
            for number, use in argument_uses(self.intent).items()
        ]
        headings = headings_of("argument", "read#", "written#", "transfers#", "over")
        listed = table("Arguments", headings, rows, "arguments-table")
        figure = element("figure", svg, class_="picture")
        return PageSection("array", "On the array", lead, join([self._legend(), figure, listed]))

    def _over(self, argument: int) -> str:
        places = defaultdict[str, list[str]](list)
        for channel, use in self.uses.items():
            if argument in use.arguments:
                places[channel.short_name].append(short_tile_name(self.model, channel.tile))
        return "; ".join(f"{channel} of {places_text(tiles)}" for channel, tiles in places.items())

    def _legend(self) -> Markup:
        entries = [(f"argument {number}", _colour([number])) for number in argument_uses(self.intent)]
        swatches = (
            element("li", element("span", class_=f"swatch back-{colour}", aria_hidden="true"), label)
            for label, colour in [*entries, ("inside of the array", INSIDE)]
        )
        return element("ul", *swatches, class_="legend")

    def _picture(self) -> Markup:
        tiles = list(self.model.tiles)
        top, width = self.floor.host_top, self.floor.width
        host = element("rect", x=MARGIN, y=top, width=width - 2 * MARGIN, height=HOST_HEIGHT, rx=6, class_="host")
        said = element("text", "host memory", x=width / 2, y=top + 24, text_anchor="middle", class_="host-text")
        wires = (wire for channel, use in self.uses.items() for wire in self._wire(channel, use))
        box = f"0 0 {width:g} {self.floor.height:g}"
        most = f"max-width: {width * LARGEST:g}px; min-width: {width * SMALLEST:g}px"
        label = "The array with the channels that the stream starts. The tables say the same."
        parts = (host, said, *wires, *map(self._tile, tiles))  # tiles hide wires behind the names of their channels
        return element("svg", *parts, class_="array", viewBox=box, role="group", aria_label=label, style=most)

    def _tile(self, tile: TileId) -> Markup:
        x, y = self.floor.corner(tile)
        width, kind = self.floor.tile_width(tile.column), self.model.tile_type(*tile).name
        box = element("rect", x=x, y=y, width=width, height=HEIGHT, rx=8, class_=f"box {kind}")
        if tile.column in self.floor.idle:
            word = element("text", f"({tile.column}, {tile.row})", x=x + 6, y=y + 17, class_="small")
            return element("g", box, word, class_="tile idle", role="img", aria_label=tile_name(self.model, tile))
        name = element("text", tile_name(self.model, tile), x=x + 10, y=y + 18, class_="name")
        parts = [box, name, *self._contents(tile), *self._channels(tile)]
        mine = [f"{c.short_name}: {size(use.bytes)}" for c, use in self.uses.items() if c.tile == tile]
        label = f"{tile_name(self.model, tile)}: {', '.join(mine) or 'nothing'}"
        return element("g", *parts, class_="tile", role="img", aria_label=label)

    def _contents(self, tile: TileId) -> Iterator[Markup]:
        """What is written to a tile beside descriptors."""
        x, y = self.floor.corner(tile)
        steps = [step for place, found in self.others.items() if place.endswith(f"({tile.column},{tile.row})")
                 for step in found]  # fmt: skip
        words = sum(len(step.data) for step in steps)
        settings = sum(step.kind is StepKind.SETTING for step in steps)
        counts = ((words, "words of data"), (settings, "settings"))
        if said := ", ".join(f"{count:,} {what}" for count, what in counts if count):
            yield element("text", said, x=x + 10, y=y + 34, class_="small")

    def _channels(self, tile: TileId) -> Iterator[Markup]:
        width = self.floor.channel_width(tile)
        for direction in DmaDirection:
            count = self.model.num_dma_channels(*tile, direction)
            for number in range(count):
                channel = ChannelId(tile, direction, number)
                x, y = self.floor.channel(tile, direction, number)
                shape = {"x": x, "y": y, "width": width, "height": CHANNEL_HEIGHT, "rx": 2}
                use = self.uses.get(channel)
                if use is None:
                    yield element("rect", class_="gauge unused", **shape)
                else:
                    title = element("title", f"{channel.name(self.model)}: {self._said(use)}")
                    yield element("rect", title, class_=f"fill-{use.colour}", **shape)
            if count:
                x, y = self.floor.channel(tile, direction, 0)
                yield element("text", direction.name, x=x, y=y + CHANNEL_HEIGHT + 11, class_="small")

    def _said(self, use: ChannelUse) -> str:
        count = len(use.transfers)
        tasks = f"{count} transfer{'s' * (count != 1)}, {size(use.bytes)}"
        return ", ".join(filter(None, [tasks, _arguments_text(use.arguments)]))

    def _wire(self, channel: ChannelId, use: ChannelUse) -> Iterator[Markup]:
        """Between host memory and a channel of a shim tile."""
        if not self.model.is_shim_noc(*channel.tile):
            return
        x, y = self.floor.channel(channel.tile, channel.direction, channel.number)
        middle, bottom = x + self.floor.channel_width(channel.tile) / 2, self.floor.host_top
        is_down = channel.direction is DmaDirection.S2MM
        tip = Point(middle, bottom) if is_down else Point(middle, bottom - GAP + 8)
        arrow = arrow_to(tip, Point(0, 1 if is_down else -1))
        line = f"M{middle:.1f},{y + CHANNEL_HEIGHT:.1f}L{middle:.1f},{bottom:.1f}"
        pen = {"stroke": f"var(--{use.colour})", "stroke_width": 2.5, "fill": "none"}
        title = element("title", f"{channel.name(self.model)} and host memory: {self._said(use)}")
        yield element("g", title, element("path", d=line, **pen), element("path", d=arrow, class_=f"fill-{use.colour}"))

    def _order(self) -> PageSection:
        lead = (
            "From left to right the operations of the stream, evenly: how long they take is not in it. A bar begins "
            "where its transfer is started and ends where it is known to be done; bars that nothing waits for go on "
            "to the end, pale. Marks are waits."
        )
        shown = self.transfers[:MOST_BARS]
        contents = [self._legend(), element("figure", self._bars(shown), class_="picture")]
        if len(shown) < len(self.transfers):
            limit = f"The first {len(shown):,} of {len(self.transfers):,} transfers are drawn."
            contents.insert(0, element("p", limit, class_="limit"))
        return PageSection("order", "In order", lead, join(contents))

    def _bars(self, shown: Sequence[TransferStep]) -> Markup:
        last = max(shown[-1].operation if shown else 0, max((step.done_by or 0 for step in shown), default=0)) + 1
        rows = {channel: row for row, channel in enumerate(sorted({step.channel for step in shown}, key=_from_below))}
        across = PLOT / last
        parts = list[Markup]()
        for channel, row in rows.items():
            label = f"{channel.name(self.model).replace(' tile', '')}"
            parts.append(element("text", label, x=0, y=ROW * row + 11, font_size=11, fill="currentColor"))
            parts.append(element("rect", x=LABELS, y=ROW * row + 2, width=PLOT, height=ROW - 4, class_="groove"))
        for step in shown:
            end = last if step.done_by is None else step.done_by
            left, width = LABELS + step.operation * across, max((end - step.operation) * across, LEAST_BAR)
            title = element("title", f"operation {step.operation}: {step.sentence}")
            place = {"x": f"{left:.1f}", "y": ROW * rows[step.channel] + 3, "width": f"{width:.1f}", "height": ROW - 6}
            colour = _colour([part.host.argument for part in step.parts if part.host is not None])
            fade = {"fill_opacity": 0.35} if step.done_by is None else {}
            edge = {"stroke": "var(--paper)", "stroke_width": 0.6}
            parts.append(element("rect", title, class_=f"fill-{colour}", **place, **fade, **edge))
        parts += self._marks(rows, across, last)
        box = {"viewBox": f"0 0 {LABELS + PLOT} {ROW * max(len(rows), 1)}", "role": "img"}
        label = "Transfers by channel, in the order of operations"
        style = f"min-width: {LABELS + PLOT * SMALLEST:g}px"
        return element("svg", *parts, class_="array order", aria_label=label, style=style, **box)

    def _marks(self, rows: dict[ChannelId, int], across: float, last: int) -> Iterator[Markup]:
        names = {f"{step.place} {c.direction.name}{c.number}": row for c, row in rows.items() for step in self._one(c)}
        for step in self.intent.steps:
            row = names.get(f"{step.place} {step.text.partition(':')[0]}") if step.kind is StepKind.WAIT else None
            if row is not None and step.operation <= last:
                x = f"{LABELS + step.operation * across:.1f}"
                title = element("title", f"operation {step.operation}: {step.sentence}")
                yield element("rect", title, x=x, y=ROW * row, width=1.5, height=ROW, fill="var(--bad)")

    def _one(self, channel: ChannelId) -> Iterator[TransferStep]:
        return islice(self.uses[channel].transfers, 1)

    def _words(self) -> PageSection:
        lines = list(islice(intent_lines(self.intent), MOST_LINES + 1))
        cut = ["..."] if len(lines) > MOST_LINES else []
        listed = element("pre", "\n".join([*lines[:MOST_LINES], *cut]))
        scroll = element("div", listed, class_="scroll tall", tabindex=0, role="region", aria_label="steps in words")
        return PageSection("words", "In words", "Steps in order; what repeats over tiles is said once.", scroll)

    def _table(self) -> PageSection:
        rows = [
            [
                str(step.operation),
                step.channel.name(self.model),
                step.text.replace("{}", str(step.offset)),
                f"{step.words:,}",
                "" if step.done_by is None else str(step.done_by),
            ]
            for step in self.transfers[:MOST_ROWS]
        ]
        headings = headings_of("operation", "channel", "what", "words#", "done by operation#")
        rest = len(self.transfers) - len(rows)
        lead = f"{len(self.transfers):,} transfers." + (f" The table has the first {len(rows):,}." if rest else "")
        listed = disclosure("All of them, as a table", table("Transfers", headings, rows, "transfers-table"))
        return PageSection("transfers", "Transfers", lead, listed)
