"""The timeline of a page: tracks of spans and of lock values, as numbers for its script.

A run may have millions of events and a page must stay small. Tracks that are too long are given as shares of phases in
equal bins; the page says so.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.device import TileId
from tilewright.ir.diagnostics import file_position
from tilewright.report.phases import Phase
from tilewright.report.spans import Column, Spans
from tilewright.report.tasks import TaskSpan
from tilewright.report.tracks import (
    CONTROLLER_NAME,
    file_name,
    full_lock_name,
    lock_name,
    lock_places,
    part_name,
    tile_name,
    used_locks,
)
from tilewright.sim.parts import ArrayPart, PartKind
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent

MOST_SPANS = 60_000
"""Spans that a page has one by one."""
MOST_STEPS = 20_000
"""Changes of locks that a page has one by one."""
MOST_TASKS = 4_000
BINNED_BYTES = 2_000_000
"""What the bins of all tracks together may take."""
FINEST_BINS = 4096
Track = dict[str, Any]


@dataclass(frozen=True)
class Timeline:
    """Tracks in groups, one for each tile; and whether they are all that happened."""

    groups: list[str]
    tracks: list[Track]
    tasks: list[list[int | None]]
    """Track, push, start, end, token, operation of each task that the controller pushed; None: it did not happen."""
    bin_cycles: int | None
    """How many cycles one bin has, where tracks are given as bins."""


def timeline_of(record: RunRecord, spans: Spans, tasks: list[TaskSpan]) -> Timeline:
    return _Builder(record, spans).build(tasks)


class _Builder:
    def __init__(self, record: RunRecord, spans: Spans):
        self.record, self.spans = record, spans
        self.parts = record.parts
        self.counts = np.bincount(spans.part, minlength=len(self.parts))
        self.limit = self._longest_exact()
        self.bins = self._count_bins()
        self.lock_rows = record.trace[record.trace[:, 1] == TraceEvent.LOCK]
        self.locks = used_locks(record)
        self.groups = self._find_groups()

    def build(self, tasks: list[TaskSpan]) -> Timeline:
        tracks = sorted([*self._part_tracks(), *self._lock_tracks()], key=lambda track: track["group"])
        numbers = {track["part"]: number for number, track in enumerate(tracks) if "part" in track}
        pushed = [task for task in tasks if task.part in numbers and task.operation is not None]
        # the script of the page knows their places
        shown = [[numbers[t.part], t.pushed, t.start, t.end, t.token, t.operation] for t in pushed]
        names = [CONTROLLER_NAME if tile is None else tile_name(self.record.model, tile) for tile in self.groups]
        return Timeline(names, tracks, shown[:MOST_TASKS], self.bin_cycles if self.bins else None)

    @property
    def bin_cycles(self) -> int:
        return -(-self.record.cycles // self.bins)

    def _find_groups(self) -> list[TileId | None]:
        """The tiles that have something to show, the controller in front."""
        places = lock_places(self.record.model.name)
        tiles = {self.parts[part].tile for part in np.flatnonzero(self.counts).tolist()}
        return sorted(tiles | {places[lock].tile for lock in self.locks}, key=lambda tile: tile or TileId(-1, -1))

    def _longest_exact(self) -> int:
        """How many spans a track may have to be given one by one, so that all such have no more than the page takes."""
        counts = np.sort(self.counts)
        fitting = counts[np.cumsum(counts) <= MOST_SPANS]
        return int(fitting[-1]) if len(fitting) else 0

    def _count_bins(self) -> int:
        """As many bins as fit; tracks have few phases each, and a share is a byte."""
        binned = int(np.count_nonzero(self.counts > self.limit))
        return min(FINEST_BINS, BINNED_BYTES // (6 * binned), self.record.cycles) if binned else 0

    def _part_tracks(self) -> Iterator[Track]:
        # spans are ordered by part
        edges = np.searchsorted(self.spans.part, np.arange(len(self.parts) + 1))
        for part in np.flatnonzero(self.counts).tolist():
            mine, actor = self.spans[slice(int(edges[part]), int(edges[part + 1]))], self.parts[part]
            track = self._track(actor.tile, part_name(actor), actor.kind.name.lower()) | {"part": part}
            contents: Track = {"spans": _flat(mine)} if self.counts[part] <= self.limit else self._binned(mine)
            yield track | contents | self._sources(actor, mine)

    def _track(self, tile: TileId | None, name: str, kind: str) -> Track:
        return {"name": name, "tile": tile, "group": self.groups.index(tile), "kind": kind}

    def _binned(self, spans: Spans) -> Track:
        """For each bin the share of each phase, in 255ths."""
        width = self.bin_cycles
        phases = np.unique(spans.phase).tolist()
        shares = np.stack([cover(spans[spans.phase == phase], width, self.bins) for phase in phases], axis=1)
        return {"phases": phases, "bins": b64encode(np.rint(shares * 255 / width).astype(np.uint8).tobytes()).decode()}

    def _sources(self, part: ArrayPart, spans: Spans) -> Track:
        """What the numbers in a track's spans mean."""
        if part.tile is None:
            return {}
        about = dict[str, str]()
        for phase, detail in np.unique(np.stack([spans.phase, spans.detail], axis=1), axis=0).tolist():
            if label := self._label(part, Phase(phase), int(detail), part.tile):
                about[f"{phase}:{detail}"] = label
        return {"about": about}

    def _label(self, part: ArrayPart, phase: Phase, detail: int, tile: TileId) -> str:
        if phase is Phase.LOCK:
            return full_lock_name(self.record, detail)
        if part.kind is PartKind.CORE:
            stops = self.record.names.stops.get(tile, ())
            return stops[detail].operation if phase is not Phase.COMPUTE and detail < len(stops) else ""
        is_rewritten = self.record.model.is_shim_noc(*tile)  # by the sequence, run by run: its task tells more
        location = None if is_rewritten else self.record.descriptors.get((tile, detail))
        position = file_position(location) if location else None
        return f"BD {detail}" + (f", {file_name(position[0])}:{position[1]}" if position else "")

    def _lock_tracks(self) -> Iterator[Track]:
        places = lock_places(self.record.model.name)
        sampled = len(self.lock_rows) > MOST_STEPS  # all locks or none, so that they can be compared
        for lock in self.locks:
            steps = self.lock_rows[self.lock_rows[:, 3] == lock][:, [0, 4]]
            if sampled:
                steps = _sample(steps, MOST_STEPS // len(self.locks), self.record.cycles)
            track = self._track(places[lock].tile, lock_name(self.record, lock), "lock")
            yield track | {"steps": steps.ravel().tolist()}


def _flat(spans: Spans) -> list[int]:
    """Gap before each span, its cycles, phase, detail and words, one span after the other."""
    gaps = spans.start - np.append(0, spans.end[:-1])
    return np.stack([gaps, spans.cycles, spans.phase, spans.detail, spans.words], axis=1).ravel().tolist()


def cover(spans: Spans, width: int, bins: int) -> Column:
    """How many cycles of each bin the spans cover."""
    marks = np.zeros(bins + 2)
    whole = np.zeros(bins + 2)
    for sign, at in ((1, spans.start), (-1, spans.end)):
        index, rest = np.divmod(at, width)
        np.add.at(marks, index, sign * (width - rest))
        # From the next bin on all of it counts, until the end takes it away again.
        np.add.at(whole, index + 1, sign * width)
    return (marks + np.cumsum(whole))[:bins].astype(np.int64)


def _sample(steps: Column, most: int, cycles: int) -> Column:
    """The last value in each of some equal stretches of time."""
    stretch = steps[:, 0] * max(most, 1) // max(cycles, 1)
    return steps[np.append(stretch[1:] != stretch[:-1], True)]
