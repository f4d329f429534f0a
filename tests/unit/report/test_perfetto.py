"""Traces are what the Trace Event Format says: slices nest, arrows have both ends, tracks have names."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from run_records import CORE, SHIM, Row, channel, core, record_of

from tilewright.device import DmaDirection
from tilewright.report.perfetto import perfetto_json
from tilewright.sim.record import RunRecord, SourceNames
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import sync, write

PART = channel(SHIM, DmaDirection.S2MM)
FIELDS = {
    "M": {"name", "pid", "args"},
    "X": {"name", "cat", "ts", "dur", "pid", "tid", "args"},
    "C": {"name", "ts", "pid", "args"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "t": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
}
"""What an event of each phase must have; the format's description, "Trace Event Format", Google, 2016."""
LOCK = 82  # lock 2 of the first core tile: 16 of the shim and 64 of the mem tile come before it


def a_run() -> RunRecord:
    rows: list[Row] = [
        (0, TraceEvent.LOCK, 0, LOCK, 1),
        (0, TraceEvent.CORE, core()),
        (0, TraceEvent.OPERATION, 0, 0, Opcode.WRITE),
        (10, TraceEvent.PUSH, PART, 1, 1),
        (10, TraceEvent.OPERATION_END, 0, 0),
        (10, TraceEvent.OPERATION, 0, 1, Opcode.TCT),
        (10, TraceEvent.TASK, PART, 1),
        (10, TraceEvent.BD, PART, 1),
        (15, TraceEvent.LOCK_WAIT, core(), LOCK),
        (18, TraceEvent.MOVE, PART, 1, 64),
        (25, TraceEvent.LOCK, 0, LOCK, 0),
        (25, TraceEvent.LOCK_GO, core(), LOCK),
        (30, TraceEvent.FLOW, PART, 1),
        (94, TraceEvent.BD_END, PART, 1, 64),
        (95, TraceEvent.TASK_END, PART, 1, 1),
        (99, TraceEvent.TOKEN, 0, PART),
        (99, TraceEvent.OPERATION_END, 0, 1),
    ]
    names = SourceNames(locks={(CORE, 2): "full"})
    return record_of(rows, 99, [write(0x1D204, 1), sync(0, 0, 0, 0)], names=names)


def events() -> list[dict[str, Any]]:
    return json.loads(perfetto_json(a_run()))["traceEvents"]


def test_every_event_has_the_fields_of_its_phase() -> None:
    for event in events():
        assert FIELDS[event["ph"]] <= event.keys(), event


def test_times_never_go_back() -> None:
    times = [event["ts"] for event in events() if "ts" in event]
    assert times == sorted(times) and times[0] >= 0


def test_slices_of_a_track_nest() -> None:
    tracks = defaultdict[tuple[int, int], list[tuple[float, float]]](list)
    for event in events():
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for slices in tracks.values():
        open_ends: list[float] = []
        for start, end in slices:
            while open_ends and open_ends[-1] <= start + 1e-9:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + 1e-9
            open_ends.append(end)


def test_an_arrow_leads_from_the_push_over_the_task_to_the_wait_for_its_token() -> None:
    arrow = [event for event in events() if event["ph"] in "stf"]
    assert [event["ph"] for event in arrow] == ["s", "t", "f"] and len({event["id"] for event in arrow}) == 1
    assert [event["tid"] for event in arrow] == [0, PART, 0]
    slices = [event for event in events() if event["ph"] == "X"]
    for end in arrow:
        around = [s for s in slices if s["tid"] == end["tid"] and s["ts"] <= end["ts"] <= s["ts"] + s["dur"]]
        assert around, "an arrow is drawn between slices"


def test_every_track_has_a_name_in_the_process_of_its_tile() -> None:
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events() if e["name"] == "thread_name"}
    tiles = {e["pid"]: e["args"]["name"] for e in events() if e["name"] == "process_name"}
    used = {(e["pid"], e["tid"]) for e in events() if e["ph"] == "X"}
    assert {(tiles[pid], named[pid, tid]) for pid, tid in used} == {
        ("controller", "controller"),
        ("shim (0, 0)", "S2MM 0"),
        ("core (0, 2)", "core"),
    }


def test_stalls_have_a_category_and_the_colour_and_name_of_their_cause() -> None:
    stalls = {event["name"]: event for event in events() if event.get("cat") == "stall"}
    assert stalls.keys() == {"waits for a lock", "waits for words", "waits for a token"}
    assert len({event["cname"] for event in stalls.values()}) == 3
    assert stalls["waits for a lock"]["args"]["lock"] == "lock 2 full of core (0, 2)"


def test_a_lock_is_a_counter_on_its_tile() -> None:
    values = [(e["ts"], e["args"]["value"]) for e in events() if e["ph"] == "C" and e["name"] == "lock 2 full"]
    assert values == [(0, 1), (0.025, 0)]
