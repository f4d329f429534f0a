"""The timeline's numbers: exact where they fit, shares of equal stretches of time where they do not."""

from __future__ import annotations

from base64 import b64decode

import numpy as np
import pytest
from run_records import MEM, Row, channel, core, record_of

from tilewright.device import DmaDirection
from tilewright.report import timeline
from tilewright.report.phases import Phase
from tilewright.report.spans import shares_of, spans_of
from tilewright.report.timeline import Timeline, timeline_of
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent

PART = channel(MEM, DmaDirection.S2MM)


def a_run(descriptors: int) -> RunRecord:
    """A channel that moves 50 words in every 100 cycles, and a lock that changes with them."""
    rows: list[Row] = [(0, TraceEvent.CORE, core())]
    for start in range(0, 100 * descriptors, 100):
        rows += [
            (start, TraceEvent.BD, PART, 1),
            (start + 10, TraceEvent.MOVE, PART, 1, 50),
            (start + 50, TraceEvent.FLOW, PART, 1),
            (start + 60, TraceEvent.LOCK, 0, 17, start // 100 % 2),
            (start + 100, TraceEvent.BD_END, PART, 1, 50),
        ]
    return record_of(rows, 100 * descriptors)


def made(record: RunRecord) -> Timeline:
    return timeline_of(record, spans_of(record), [])


def test_tracks_are_grouped_by_tile_with_locks_behind_parts() -> None:
    found = made(a_run(2))
    names = [(found.groups[track["group"]], track["name"]) for track in found.tracks]
    assert names == [("mem (0, 1)", "S2MM 0"), ("mem (0, 1)", "lock 1"), ("core (0, 2)", "core")]


def test_spans_are_gap_cycles_phase_detail_and_words() -> None:
    (track,) = (track for track in made(a_run(1)).tracks if track.get("part") == PART)
    prepare, words, move = ([0, 10, Phase.PREPARE, 1, 0], [0, 40, Phase.WORDS, 1, 0], [0, 50, Phase.MOVE, 1, 50])
    assert track["spans"] == [*prepare, *words, *move]


def test_a_track_that_is_too_long_is_given_as_shares_of_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_SPANS", 100)
    monkeypatch.setattr(timeline, "FINEST_BINS", 10)
    record = a_run(400)
    found = made(record)
    assert found.bin_cycles == 4000
    (track,) = (track for track in found.tracks if track.get("part") == PART)
    bins = np.frombuffer(b64decode(track["bins"]), dtype=np.uint8).reshape(10, -1)
    shares = dict(zip(track["phases"], bins.mean(axis=0) / 255, strict=True))
    total = shares_of(record, spans_of(record))
    for phase, share in shares.items():
        assert share == pytest.approx(total.cycles[PART, phase] / record.cycles, abs=0.01)
    (exact,) = (track for track in found.tracks if track.get("part") == core())
    assert "spans" in exact, "short tracks stay as they are"


def test_locks_that_change_too_often_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_STEPS", 50)
    (track,) = (track for track in made(a_run(400)).tracks if track["kind"] == "lock")
    assert len(track["steps"]) <= 2 * 51 and track["steps"][-2:] == [39960, 1]
