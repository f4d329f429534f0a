"""A run in one small table: for the end of `tilewright run`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilewright.device.register_names import TILE_WORDS
from tilewright.report.phases import LOOKS, WAITS, Phase
from tilewright.report.spans import Shares, shares_of, spans_of
from tilewright.report.tracks import full_name
from tilewright.report.traffic import channel_bytes
from tilewright.sim.parts import ArrayPart, PartKind
from tilewright.sim.record import RunRecord

if TYPE_CHECKING:
    from rich.table import Table

MOST_LINES = 24
"""Beyond this, parts of one kind on tiles of one kind are one line."""
LEAST_SHARE = 0.005
"""Smaller shares of the waiting are not worth a word."""


@dataclass(frozen=True)
class SummaryLine:
    """A part, or several that are alike; shares are of the cycles of the run."""

    name: str
    busy: float
    waiting: float
    cause: Phase | None
    """What it waits for most."""
    moved_bytes: int


@dataclass(frozen=True)
class Summary:
    cycles: int
    seconds: float
    clock_hz: float
    lines: Sequence[SummaryLine]
    causes: Sequence[tuple[Phase, float]]
    """What cores and channels waited for, as shares of all their waiting, largest first."""


def summarise(record: RunRecord) -> Summary:
    shares = shares_of(record, spans_of(record))
    lines = list(_lines(record, shares))
    if len(lines) > MOST_LINES:
        lines = list(_fold(record, shares))
    return Summary(
        cycles=record.cycles,
        seconds=record.cycles / record.clock_hz,
        clock_hz=record.clock_hz,
        lines=lines,
        causes=list(_causes(shares)),
    )


def _active(record: RunRecord, shares: Shares) -> Iterator[tuple[int, ArrayPart]]:
    return ((number, record.parts[number]) for number in np.flatnonzero(shares.cycles.sum(axis=1)).tolist())


def _lines(record: RunRecord, shares: Shares) -> Iterator[SummaryLine]:
    moved, total = channel_bytes(record), max(record.cycles, 1)
    for number, part in _active(record, shares):
        busy, waiting = shares.busy(number) / total, shares.waiting(number) / total
        cause = Phase(WAITS[int(shares.cycles[number, WAITS].argmax())]) if waiting else None
        yield SummaryLine(full_name(record.model, part), busy, waiting, cause, moved.get(number, 0))


def _fold(record: RunRecord, shares: Shares) -> Iterator[SummaryLine]:
    """One line for all parts that are alike: their mean shares, and all their bytes."""
    groups = defaultdict[str, list[tuple[int, SummaryLine]]](list)
    for (number, part), line in zip(_active(record, shares), _lines(record, shares), strict=True):
        groups[_kind_name(record, part)].append((number, line))
    for name, members in groups.items():
        lines = [line for _, line in members]
        # of all members together: what one waits for most need not be what all do
        causes = shares.cycles[[number for number, _ in members]].sum(axis=0)[WAITS]
        busy, waiting = (float(np.mean([getattr(line, share) for line in lines])) for share in ("busy", "waiting"))
        cause = Phase(WAITS[int(causes.argmax())]) if causes.any() else None
        moved = sum(line.moved_bytes for line in lines)
        folded = replace(lines[0], busy=busy, waiting=waiting, cause=cause, moved_bytes=moved)
        yield folded if len(lines) == 1 else replace(folded, name=f"{len(lines)} x {name}")


def _kind_name(record: RunRecord, part: ArrayPart) -> str:
    if part.tile is None:
        return full_name(record.model, part)
    kind = TILE_WORDS[record.model.tile_type(*part.tile)]
    return kind if part.kind is PartKind.CORE or part.detail is None else f"{kind} {part.detail[0].name}"


def _causes(shares: Shares) -> Iterator[tuple[Phase, float]]:
    """The controller waits for all others, so it does not count."""
    cycles = shares.cycles[1:].sum(axis=0)  # part 0 is the controller
    total = int(cycles[WAITS].sum())
    for phase in sorted(WAITS, key=lambda phase: -int(cycles[phase])):
        if cycles[phase]:
            yield phase, float(cycles[phase] / total)


def duration(seconds: float) -> str:
    """A time with three digits and its unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(summary: Summary) -> Table:
    """The parts of the array, what they did and what they waited for."""
    from rich import box
    from rich.table import Table

    clock = f"{summary.clock_hz / 1e9:.2g} GHz"
    title = f"{summary.cycles:,} cycles, {duration(summary.seconds)} at {clock}"
    causes = ", ".join(f"{LOOKS[phase].cause} {share:.0%}" for phase, share in summary.causes if share >= LEAST_SHARE)
    shown = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", caption_justify="left")
    shown.caption = f"waits by cause: {causes}" if causes else None
    for heading in ("part", "busy", "waits", "mostly for", "bytes"):
        shown.add_column(heading, justify="left" if heading in ("part", "mostly for") else "right")
    for line in summary.lines:
        cause = LOOKS[line.cause].cause if line.cause is not None else ""
        moved = f"{line.moved_bytes:,}" if line.moved_bytes else ""
        shown.add_row(line.name, f"{line.busy:.0%}", f"{line.waiting:.0%}", cause, moved)
    return shown
