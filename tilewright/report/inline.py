"""Runs and designs as notebooks show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from tilewright.device import TileId, WireBundle
from tilewright.device.register_names import TILE_WORDS
from tilewright.device.stream_switch import STEPS
from tilewright.report.floor_plan import FloorPlan, Occupant
from tilewright.report.markup import (
    Markup,
    card,
    disclosure,
    element,
    headings_of,
    join,
    percent,
    size,
    table,
)
from tilewright.report.phases import LOOKS, Phase, PhaseKind
from tilewright.report.spans import Spans, cores_busy, shares_of, spans_of
from tilewright.report.summary import LEAST_SHARE, duration, summarise
from tilewright.report.timeline import cover
from tilewright.report.tracks import full_name
from tilewright.sim.parts import ArrayPart, PartKind
from tilewright.sim.record import RunRecord

MOST_TRACKS = 18
BINS = 150
ROW, LABELS, PLOT = 15, 150, 640
"""Of the timeline, in pixels: the height of a track, the width of names and that of bars."""
TILE, TILE_GAP = (96, 34), 16
ORDER = {PartKind.CORE: 0, PartKind.CHANNEL: 1}


def result_html(record: RunRecord) -> str:
    """A run: how long it took, how busy parts were and what they waited for, its timeline."""
    summary = summarise(record)
    busy = cores_busy(record, shares_of(record, spans_of(record)))
    facts = [f"{record.cycles:,} cycles", f"{duration(summary.seconds)} at {record.clock_hz / 1e9:.2g} GHz"]
    if busy.cores:
        facts.append(f"{busy.cores} core{'s' * (busy.cores != 1)} busy {percent(busy.share)}")
    title = " · ".join([*facts, str(record.model)])
    headings = headings_of("part", "busy#", "waits#", "mostly for", "bytes#")
    rows = [
        [line.name, percent(line.busy), percent(line.waiting), _cause(line.cause), f"{line.moved_bytes:,}"]
        for line in summary.lines
    ]
    causes = ", ".join(f"{_cause(phase)} {percent(share)}" for phase, share in summary.causes if share >= LEAST_SHARE)
    waits = element("div", f"waits by cause: {causes}", class_="quiet") if causes else ""
    parts = disclosure("busy shares, part by part", table("", headings, rows))
    return card(title, *_error(record), _timeline(record), waits, parts, *_notes(record))


def _cause(phase: Phase | None) -> str:
    return "" if phase is None else LOOKS[phase].cause


def _error(record: RunRecord) -> Iterator[Markup]:
    if record.error is not None:
        first, *others = record.error.lines()
        yield element("div", first, class_="bad")
        if others:
            yield disclosure("what waits for what", element("pre", "\n".join(others)))


def _notes(record: RunRecord) -> Iterator[Markup]:
    for note in record.notes[:3]:
        yield element("div", note.text, class_="quiet")
    if len(record.notes) > 3:
        yield element("div", f"and {len(record.notes) - 3} more notes", class_="quiet")


def _timeline(record: RunRecord) -> Markup:
    """What parts were at over time: tall bars work, low ones wait."""
    spans, parts = spans_of(record), record.parts
    active: list[int] = np.unique(spans.part).tolist()
    shown = sorted(active, key=lambda number: _rank(parts[number]))[:MOST_TRACKS]
    paths, names = dict[Phase, list[str]](), list[Markup]()
    # chosen by rank, but shown in the order of their tiles
    for row, number in enumerate(sorted(shown)):
        middle = ROW * row + ROW / 2
        names.append(element("text", full_name(record.model, parts[number]), x=0, y=f"{middle + 3:g}", class_="quiet"))
        for phase, start, length in _bars(record, spans[spans.part == number]):
            paths.setdefault(phase, []).append(
                f"M{LABELS + start * PLOT / BINS:.0f},{middle:g}h{length * PLOT / BINS:.1f}"
            )
    bars = [_path(phase, "".join(path)) for phase, path in paths.items()]
    height = ROW * len(shown)
    keys = join(_key(phase) for phase in sorted(paths))
    more = f"{len(shown)} of {len(active)} tracks; " if len(shown) < len(active) else ""
    said = [
        element("div", keys, class_="quiet"),
        element("div", f"{more}result.report(path) has all of it", class_="quiet"),
    ]
    box = {"viewBox": f"0 0 {LABELS + PLOT} {height}", "width": LABELS + PLOT, "role": "img"}
    return join([element("svg", *names, *bars, aria_label="timeline of the run", class_="wide", **box), *said])


def _path(phase: Phase, path: str) -> Markup:
    look = LOOKS[phase]
    width = 4 if look.kind is PhaseKind.WAIT else 11
    return element("path", element("title", look.label), d=path, stroke=f"var(--{look.colour})", stroke_width=width)


def _key(phase: Phase) -> Markup:
    colour = f"color:var(--{LOOKS[phase].colour})"
    return join([element("span", element("span", "■", style=colour), f" {LOOKS[phase].label}", class_="key"), "  "])


def _rank(part: ArrayPart) -> tuple[int, int]:
    """The controller first, then cores, then channels of shim tiles, which are in row 0."""
    # with few tracks to show, these tell most
    return (ORDER.get(part.kind, 0), part.tile.row) if part.tile is not None else (-1, 0)


def _bars(record: RunRecord, spans: Spans) -> Iterator[tuple[Phase, int, int]]:
    """For stretches of bins the phase that most of their time went to, idle ones left out."""
    width = -(-max(record.cycles, 1) // BINS)
    phases = [Phase(phase) for phase in np.unique(spans.phase).tolist()]
    covered = np.stack([cover(spans[spans.phase == phase], width, BINS) for phase in phases])
    # bins that are mostly idle stay empty
    best = np.where(covered.sum(axis=0) * 2 > width, covered.argmax(axis=0), -1)
    for start, end in pairwise([0, *(np.flatnonzero(np.diff(best)) + 1).tolist(), BINS]):
        if best[start] >= 0:
            yield phases[int(best[start])], start, end - start


def design_html(plans: Sequence[FloorPlan], sequences: Mapping[str, str]) -> str:
    """A compiled design: its devices with what is on which tile, and its sequences."""
    title = " · ".join(f"design @{plan.name} on {plan.model}" for plan in plans) or "design without a device"
    rows = [[name, signature] for name, signature in sequences.items()]
    listed = table("", headings_of("sequence", "arguments"), rows) if rows else ""
    return card(title, listed, *(_device(plan) for plan in plans if plan.tiles))


def _device(plan: FloorPlan) -> Markup:
    """The used columns of an array: what is on each tile, and how many streams go between tiles."""
    columns = sorted({place.column for place in plan.tiles})
    (width, height), rows = TILE, plan.model.rows
    spots = {
        TileId(column, row): ((width + TILE_GAP) * at, (height + TILE_GAP) * (rows - 1 - row))
        for at, column in enumerate(columns)
        for row in range(rows)
    }
    parts = [*_wires(plan.streams, spots), *(_tile(plan, place, *spot) for place, spot in spots.items())]
    box = ((width + TILE_GAP) * len(columns) - TILE_GAP, (height + TILE_GAP) * rows - TILE_GAP)
    label = f"tiles of @{plan.name}"
    picture = element("svg", *parts, viewBox=f"0 0 {box[0]} {box[1]}", width=box[0], role="img", aria_label=label)
    idle = plan.model.columns - len(columns)
    said = f"{idle} of {plan.model.columns} columns have nothing on them and are left out" if idle else ""
    return join([picture, element("div", said, class_="quiet")])


def _tile(plan: FloorPlan, place: TileId, x: int, y: int) -> Markup:
    kind, occupant = TILE_WORDS[plan.model.tile_type(*place)], plan.tiles.get(place)
    fill = {"core": "core-box", "mem": "mem-box"}.get(kind, "shim-box") if occupant else "paper"
    shape = element("rect", x=x, y=y, width=TILE[0], height=TILE[1], rx=4, fill=f"var(--{fill})", stroke="var(--line)")
    quiet = None if occupant else "quiet"
    name = element("text", f"{kind} ({place.column}, {place.row})", x=x + 5, y=y + 14, class_=quiet)
    what = element("text", _contents(occupant), x=x + 5, y=y + 27, class_="quiet") if occupant else ""
    return element("g", element("title", _describe(occupant)), shape, name, what)


def _contents(occupant: Occupant) -> str:
    buffers = sum(size for _, size in occupant.buffers)
    return " ".join(filter(None, ["program" if occupant.programs else "", size(buffers) if buffers else ""]))


def _describe(occupant: Occupant | None) -> str:
    if occupant is None:
        return "nothing"
    counts = ((len(occupant.programs), "program"), (len(occupant.buffers), "buffer"), (occupant.locks, "lock"))
    return ", ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in counts if count) or "streams only"


def _wires(streams: Counter[tuple[TileId, WireBundle]], spots: Mapping[TileId, tuple[int, int]]) -> Iterator[Markup]:
    """Streams from tiles to their neighbours; what goes the other way is beside them."""
    for (place, bundle), count in sorted(streams.items()):
        columns, rows = STEPS[bundle]
        neighbour = TileId(place.column + columns, place.row + rows)
        if place in spots and neighbour in spots:
            aside = 9 if columns + rows > 0 else -9  # north and east on one side, their opposites on the other
            ends = [_centre(spots[tile], aside * abs(rows), aside * abs(columns)) for tile in (place, neighbour)]
            title = element("title", f"{count} stream{'s' * (count != 1)} from {tuple(place)} to {tuple(neighbour)}")
            pen = {"stroke": "var(--move)", "stroke_width": f"{min(1 + count / 2, 5):g}"}
            yield element("path", title, d=f"M{ends[0]}L{ends[1]}", **pen)


def _centre(corner: tuple[int, int], right: int, down: int) -> str:
    return f"{corner[0] + TILE[0] / 2 + right:g},{corner[1] + TILE[1] / 2 + down:g}"
