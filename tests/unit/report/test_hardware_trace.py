"""Decoding of trace buffers: what a design says of its trace units, packets among other words, and mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.device import TileId
from tilewright.device.events import EventModule
from tilewright.device.packets import PacketHeader, with_parity
from tilewright.device.trace_packets import RecordingMode
from tilewright.driver.compiled_design import design_from_text
from tilewright.errors import ArgumentError
from tilewright.report.hardware_trace import (
    EXECUTED,
    TracedModule,
    TraceSetup,
    decode_trace,
    payloads_of,
    trace_entries,
    trace_setups,
)

CORE = TracedModule(EventModule.Core, TileId(0, 2))
EVENTS = ("INSTR_EVENT_0", "INSTR_EVENT_1", *["NONE"] * 6)
SETUPS = {CORE: TraceSetup(EVENTS, RecordingMode.TIME)}


def packet(*words: int, source: TracedModule = CORE) -> list[int]:
    column, row = source.tile
    header = PacketHeader.encode(id=1, type=source.module, source_column=column, source_row=row)[0]
    return [with_parity(header), *words, *[0xFEFEFEFE] * (7 - len(words))]


def spans(words: list[int], setups: dict[TracedModule, TraceSetup] | None = None) -> list[tuple[str, int, int]]:
    events = decode_trace(np.array(words, np.uint32), SETUPS if setups is None else setups)
    return [(event.name, event.begin, event.end) for event in events]


START = (0xF0000000, 0)


@pytest.mark.parametrize(
    "words, events",
    [
        pytest.param((0x00FEFEFE,), [("INSTR_EVENT_0", 1, 2)], id="the cycle after the start"),
        pytest.param((0x05FEFEFE,), [("INSTR_EVENT_0", 6, 7)], id="after five cycles without"),
        pytest.param((0x00E3FEFE,), [("INSTR_EVENT_0", 1, 5)], id="three more cycles without a gap"),
        pytest.param((0x02E1FEFE,), [("INSTR_EVENT_0", 3, 4), ("INSTR_EVENT_0", 6, 7)], id="once more after two"),
        pytest.param((0xC030FEFE,), [("INSTR_EVENT_0", 1, 2), ("INSTR_EVENT_1", 1, 2)], id="two at once"),
        pytest.param((0xC03000FE,), [("INSTR_EVENT_1", 1, 2), ("INSTR_EVENT_0", 1, 3)], id="one of two goes on"),
        pytest.param((0xFFFF00FE,), [("INSTR_EVENT_0", 2 * 0x3FFFF + 1, 2 * 0x3FFFF + 2)], id="a long time"),
        pytest.param((0xE5FEFEFE,), [], id="a repeat of nothing"),
        pytest.param((0xDC000000, 0x00FEFEFE), [("INSTR_EVENT_0", 1, 2)], id="bytes to be skipped"),
    ],
)
def test_events(words: tuple[int, ...], events: list[tuple[str, int, int]]) -> None:
    assert spans(packet(*START, *words)) == events


def test_packets_of_several_modules_are_told_apart() -> None:
    memory = TracedModule(EventModule.Mem, TileId(0, 2))
    setups = SETUPS | {memory: TraceSetup(("LOCK_0_REL", *["NONE"] * 7), RecordingMode.TIME)}
    words = packet(*START, 0x00FEFEFE) + packet(0xF0000000, 4, 0x00FEFEFE, source=memory) + packet(0x10FEFEFE)
    # The timer of the memory had 4 when its trace began.
    assert spans(words, setups) == [("INSTR_EVENT_0", 1, 2), ("INSTR_EVENT_1", 2, 3), ("LOCK_0_REL", 5, 6)]


def test_words_that_are_no_packets_are_passed_over() -> None:
    around = [0] * 5 + packet(*START, 0x00FEFEFE) + [0] * 3 + packet(0x00FEFEFE) + [0, 0xFFFFFFFF]
    assert spans(around) == [("INSTR_EVENT_0", 1, 3)]
    assert payloads_of(np.zeros(64, np.uint8)) == {}


def test_a_design_that_was_put_elsewhere() -> None:
    moved = CORE._replace(tile=TileId(3, 2))
    words = np.array(packet(*START, 0x00FEFEFE, source=moved), np.uint32)
    assert [event.source for event in decode_trace(words, SETUPS)] == [CORE]
    assert [event.source for event in decode_trace(words, SETUPS, column_shift=3)] == [CORE]
    with pytest.raises(ArgumentError, match=r"packets of the Core module of tile \(3, 2\)"):
        decode_trace(words, SETUPS, column_shift=0)


def test_a_trace_of_another_design_is_refused() -> None:
    with pytest.raises(ArgumentError, match="which the design does not trace"):
        spans(packet(*START, source=TracedModule(EventModule.MemTile, TileId(0, 1))))


def test_execution() -> None:
    """Where calls return to, the turns of a loop, and branches, of which the last is repeated."""
    words = packet(0xF2000010, 0x80208030, 0x40000040, 0x1E280222)
    setups = {CORE: TraceSetup(EVENTS, RecordingMode.EXECUTION)}
    events = decode_trace(np.array(words, np.uint32), setups)
    assert [(e.name, e.begin, e.counter) for e in events] == [
        *[("NEW_PC", 0, 0x20), ("NEW_PC", 1, 0x30), ("LOOP_COUNT", 2, 64)],
        *[("BRANCH_TAKEN", number, None) for number in (3, 4, 5)],
        ("NEW_PC", 6, 0x22),
    ]
    entries = [entry for entry in trace_entries(events, setups) if entry["ph"] == "i"]
    assert [entry["args"]["name"] for entry in trace_entries(events, setups)[1:5]] == [*EXECUTED]
    assert [entry["args"] for entry in entries] == [{"pc": 0x20}, {"pc": 0x30}, {"turns": 64}, {}, {}, {}, {"pc": 0x22}]


def test_program_counters() -> None:
    words = packet(0xF1000000, 0, 0xC4040150, 0xE1FEFEFE, 0xC4080160)
    setups = {CORE: TraceSetup(EVENTS, RecordingMode.PROGRAM_COUNTER)}
    events = decode_trace(np.array(words, np.uint32), setups)
    assert [(e.name, e.begin, e.counter) for e in events] == [
        ("INSTR_EVENT_0", 0, 0x150),
        ("INSTR_EVENT_0", 1, 0x150),
        ("INSTR_EVENT_1", 2, 0x160),
    ]
    entries = [entry for entry in trace_entries(events, setups) if entry["ph"] == "i"]
    assert entries[0] == {
        "name": "INSTR_EVENT_0",
        "ts": 0,
        "ph": "i",
        "s": "t",
        "pid": 0,
        "tid": 0,
        "args": {"pc": 0x150},
    }


def test_entries_name_processes_and_threads_and_pair_begins_with_ends() -> None:
    events = decode_trace(np.array(packet(*START, 0xC03000FE), np.uint32), SETUPS)
    entries = trace_entries(events, SETUPS)
    assert entries[0]["args"]["name"] == "core_trace for tile2,0"
    assert [entry["args"]["name"] for entry in entries[1:9]] == [*EVENTS]
    assert [(entry["ph"], entry["ts"], entry["tid"]) for entry in entries[9:]] == [
        *[("B", 1, 0), ("B", 1, 1)],
        *[("E", 2, 1), ("E", 3, 0)],
    ]


def test_setups_come_from_register_writes() -> None:
    text = """
    module {
      aie.device(npu2_1col) {
        aie.runtime_sequence @sequence() {
          %control = arith.constant 213200 : i32
          %mode = arith.constant 1 : i32
          aiex.npu.write32(%control, %mode) {column = 0 : i32, row = 3 : i32} : i32, i32
          %events = arith.constant 213216 : i32
          %numbers = arith.constant 8737 : i32
          aiex.npu.write32(%events, %numbers) {column = 0 : i32, row = 3 : i32} : i32, i32
          %absolute = arith.constant 1655008 : i32
          %second = arith.constant 80 : i32
          aiex.npu.write_words(%absolute, %second, %mode) : i32, i32, i32
        }
      }
    }
    """
    setups = trace_setups(design_from_text(text, "design").device())
    core, memory = TracedModule(EventModule.Core, TileId(0, 3)), TracedModule(EventModule.MemTile, TileId(0, 1))
    assert [*setups] == [core, memory]
    assert setups[core] == TraceSetup(("INSTR_EVENT_0", "INSTR_EVENT_1", *["NONE"] * 6), RecordingMode.PROGRAM_COUNTER)
    assert setups[memory].events[0] == "PORT_RUNNING_0" and setups[memory].events[4] == "TRUE"
