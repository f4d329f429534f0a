"""Trace units: what they record comes back from their packets, cycle by cycle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tilewright.device import TileId, WireBundle, model
from tilewright.device.events import EventModule
from tilewright.device.register_fields import TraceControl1
from tilewright.device.trace_packets import PACKET_WORDS, RecordingMode
from tilewright.report.hardware_trace import TracedModule, TraceSetup, decode_trace, payloads_of
from tilewright.sim.fifo import Fifo
from tilewright.sim.machine import Machine
from tilewright.sim.switch import PortName
from tilewright.sim.trace_unit import TraceEncoder, TraceUnit

SOURCE = TracedModule(EventModule.Core, TileId(0, 2))
NAMES = tuple(f"EVENT_{slot}" for slot in range(8))


def unit(depth: int = 1 << 20) -> tuple[TraceUnit, Fifo]:
    machine = Machine(model("npu1_1col"))
    tile = machine.tiles[SOURCE.tile]
    queue = Fifo(machine.engine, "a trace", depth, 0)
    made = TraceUnit(tile.place, tile.switch.slaves[PortName(WireBundle.Trace, 0)], queue, lambda: machine.engine.now)
    made.control1 = TraceControl1.pack(packet_type=EventModule.Core, id=3)[0]
    return made, queue


def words_in(queue: Fifo) -> np.ndarray:
    return np.array([beat.word for _, beat in queue._beats], np.uint32)


Run = tuple[int, int, int]
"""Cycles in which nothing happens, slots that are active then, and in how many cycles."""
runs = st.lists(
    st.tuples(
        st.one_of(st.just(0), st.integers(0, 20), st.integers(0, 1 << 20)),
        st.integers(1, 255),
        st.one_of(st.just(1), st.integers(1, 3000)),
    ),
    max_size=60,
)


def spans(drawn: list[Run]) -> list[tuple[int, int, int]]:
    """Slot, first cycle and the one behind the last, of each time that a slot is active."""
    found, open, cycle = list[tuple[int, int, int]](), dict[int, int](), 1
    for gap, slots, count in drawn:
        for slot in [slot for slot in open if gap or not slots >> slot & 1]:
            found.append((slot, open.pop(slot), cycle))
        cycle += gap
        for slot in range(8):
            if slots >> slot & 1:
                open.setdefault(slot, cycle)
        cycle += count
    return sorted([*found, *((slot, begin, cycle) for slot, begin in open.items())])


@given(runs)
@example([(0, 1, 1)] * 5)
@example([(3, 4, 1), (3, 4, 1), (3, 4, 1)])
@example([(3, 6, 1), (3, 6, 1), (3, 6, 2)])
@example([((1 << 18) - 1, 1, 1), (1 << 18, 1, 1), (1 << 18, 3, 1)])
def test_a_record_comes_back(drawn: list[Run]) -> None:
    made, queue = unit()
    made.start(RecordingMode.TIME, 0)
    cycle = 1
    for gap, slots, count in drawn:
        made.record(cycle + gap, slots, count, 0)
        cycle += gap + count
    made.stop()
    setups = {SOURCE: TraceSetup(NAMES, RecordingMode.TIME)}
    events = decode_trace(words_in(queue), setups)
    assert sorted((event.slot, event.begin, event.end) for event in events) == spans(drawn)


COUNTS = st.one_of(st.integers(1, 20), st.integers(1, 20), st.just(1030))


@given(st.lists(st.tuples(st.sampled_from([1, 2, 129]), st.integers(0, (1 << 14) - 1), COUNTS), max_size=6))
@settings(max_examples=25)
def test_program_counters_come_back(drawn: list[tuple[int, int, int]]) -> None:
    made, queue = unit()
    made.start(RecordingMode.PROGRAM_COUNTER, 0)
    cycle = 1
    for slots, counter, count in drawn:
        made.record(cycle, slots, count, counter)
        cycle += count
    made.stop()
    setups = {SOURCE: TraceSetup(NAMES, RecordingMode.PROGRAM_COUNTER)}
    events = decode_trace(words_in(queue), setups)
    each = [(slots, counter) for slots, counter, count in drawn for _ in range(count)]
    wanted = [(slot, counter) for slots, counter in each for slot in range(8) if slots >> slot & 1]
    assert [(event.slot, event.counter) for event in events] == wanted


def test_packets_name_their_source() -> None:
    made, queue = unit()
    made.start(RecordingMode.TIME, 0)
    made.record(4, 1, 1, 0)
    made.stop()
    # Row 2, column 0, type 0, id 3; the ones are odd in number without the parity bit.
    assert made.header == 0x00020003
    beats = [beat for _, beat in queue._beats]
    assert len(beats) == PACKET_WORDS and beats[0].word == made.header
    assert [beat.last for beat in beats] == [False] * 7 + [True]
    assert [*payloads_of(words_in(queue))] == [SOURCE]


def test_what_is_not_read_in_time_is_lost_and_the_time_told_anew() -> None:
    made, queue = unit(depth=2 * PACKET_WORDS)
    engine = queue.engine
    made.start(RecordingMode.TIME, 0)
    for cycle in range(1, 200):
        engine._now = cycle * 100
        made.record(cycle * 100, 1 << cycle % 8, 1, 0)
    assert len(queue) == 2 * PACKET_WORDS  # no more than there is room for
    while len(queue):
        queue.pop()
    engine._now = 30_000
    made.record(30_000, 1, 1, 0)
    made.stop()
    events = decode_trace(words_in(queue), {SOURCE: TraceSetup(NAMES, RecordingMode.TIME)})
    starts = [event.begin for event in events]
    assert starts == sorted(starts) and events[-1].slot == 0


@pytest.mark.parametrize("mode", [RecordingMode.TIME, RecordingMode.PROGRAM_COUNTER])
def test_the_start_tells_the_timer_and_the_mode(mode: RecordingMode) -> None:
    encoder = TraceEncoder(mode, cycle=50, timer=0x1234)
    (payload,) = encoder.finish()
    assert payload[:2] == [0xF0000000 | mode << 24, 0x1234]


def test_the_cycle_of_the_start_is_not_recorded() -> None:
    made, queue = unit()
    made.start(RecordingMode.TIME, 10)
    made.record(10, 1, 1, 0)
    made.record(11, 2, 1, 0)
    made.stop()
    (event,) = decode_trace(words_in(queue), {SOURCE: TraceSetup(NAMES, RecordingMode.TIME)})
    assert (event.slot, event.begin) == (1, 1)
