"""From rows to what parts were at: every cycle of a part that is not idle belongs to one span."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from run_records import CORE, MEM, SHIM, Row, channel, core, record_of
from xdsl.dialects.builtin import UNKNOWN_LOC

from tilewright.device import DmaDirection, WireBundle
from tilewright.report.phases import Phase
from tilewright.report.spans import shares_of, spans_of
from tilewright.sim.record import CoreStop, RunRecord, SourceNames, SwitchConnection
from tilewright.sim.switch import PortName
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import sync, write

S2MM, MM2S = DmaDirection.S2MM, DmaDirection.MM2S


def told(record: RunRecord) -> list[tuple[str, int, int]]:
    """Phase, start and end of each span."""
    spans = spans_of(record)
    phases = [Phase(phase).name for phase in spans.phase.tolist()]
    return list(zip(phases, spans.start.tolist(), spans.end.tolist(), strict=True))


def descriptor(part: int, start: int, flow: int, end: int, words: int) -> list[Row]:
    """A task of one descriptor that is loaded in eight cycles."""
    return [
        (start, TraceEvent.TASK, part, 3),
        (start, TraceEvent.BD, part, 3),
        (start + 8, TraceEvent.MOVE, part, 3, words),
        (flow, TraceEvent.FLOW, part, 3),
        (end, TraceEvent.BD_END, part, 3, words),
        (end, TraceEvent.TASK_END, part, 3),
    ]


def test_a_receiving_channel_prepares_then_waits_for_words_then_moves_them() -> None:
    record = record_of(descriptor(channel(MEM, S2MM), 0, 50, 114, 64), 200)
    assert told(record) == [("PREPARE", 0, 8), ("WORDS", 8, 50), ("MOVE", 50, 114)]


def test_a_shim_channel_that_reads_waits_for_host_memory_then_for_room() -> None:
    record = record_of(descriptor(channel(SHIM, MM2S), 0, 40, 104, 64), 200)
    assert told(record) == [("PREPARE", 0, 8), ("HOST", 8, 28), ("ROOM", 28, 40), ("MOVE", 40, 104)]


def test_the_controller_waits_for_a_token_after_what_each_operation_costs() -> None:
    rows: list[Row] = [
        (0, TraceEvent.OPERATION, 0, 0, Opcode.WRITE),
        (10, TraceEvent.OPERATION_END, 0, 0),
        (10, TraceEvent.OPERATION, 0, 1, Opcode.TCT),
        (70, TraceEvent.OPERATION_END, 0, 1),
    ]
    record = record_of(rows, 70, [write(0x1D000, 1), sync(0, 0, 0, 0)])
    assert told(record) == [("EXECUTE", 0, 10), ("EXECUTE", 10, 20), ("TOKEN", 20, 70)]


def test_a_core_waits_for_a_lock_until_the_end_if_nobody_releases_it() -> None:
    record = record_of([(0, TraceEvent.CORE, core()), (30, TraceEvent.LOCK_WAIT, core(), 80)], 100)
    assert told(record) == [("COMPUTE", 0, 30), ("LOCK", 30, 100)]


def test_what_a_core_stops_for_tells_kernels_from_waits() -> None:
    stops = [CoreStop("matmul", True, UNKNOWN_LOC), CoreStop("aie.get_cascade", False, UNKNOWN_LOC)]
    rows: list[Row] = [
        (0, TraceEvent.WAIT, core(), 0),
        (20, TraceEvent.GO, core(), 0),
        (25, TraceEvent.WAIT, core(), 1),
        (40, TraceEvent.GO, core(), 1),
    ]
    record = record_of(rows, 50, names=SourceNames(stops={CORE: stops}))
    assert told(record) == [("KERNEL", 0, 20), ("COMPUTE", 20, 25), ("CASCADE", 25, 40), ("COMPUTE", 40, 50)]


def test_a_slow_transfer_counts_as_waiting_for_what_is_missing() -> None:
    part = channel(MEM, S2MM)
    record = record_of(descriptor(part, 0, 8, 208, 50), 208)
    cycles = shares_of(record, spans_of(record)).cycles[part]
    assert (cycles[Phase.MOVE], cycles[Phase.WORDS], cycles[Phase.PREPARE]) == (50, 150, 8)


def test_the_end_of_a_write_to_the_host_is_the_host_s() -> None:
    part = channel(SHIM, S2MM)
    record = record_of(descriptor(part, 0, 8, 68, 50), 68)
    cycles = shares_of(record, spans_of(record)).cycles[part]
    assert (cycles[Phase.MOVE], cycles[Phase.HOST], cycles[Phase.WORDS]) == (50, 5, 5)


def test_a_slow_transfer_to_the_host_is_the_host_s_unless_the_sender_is_away() -> None:
    part, sender = channel(SHIM, S2MM), channel(MEM, MM2S)
    up, down = PortName(WireBundle.North, 1), PortName(WireBundle.South, 1)
    connections = [
        SwitchConnection(MEM, PortName(WireBundle.DMA, 0), down, False),
        SwitchConnection(SHIM, up, PortName(WireBundle.South, 2), False),
    ]
    away: list[Row] = [
        (0, TraceEvent.LOCK_WAIT, sender, 17),
        (38, TraceEvent.LOCK_GO, sender, 17),
        (38, TraceEvent.FLOW, sender, 1),
    ]
    rows = sorted([*descriptor(part, 0, 8, 168, 50), *away], key=lambda row: row[0])
    cycles = shares_of(record_of(rows, 168, connections=connections), spans_of(record_of(rows, 168))).cycles[part]
    assert (cycles[Phase.MOVE], cycles[Phase.WORDS], cycles[Phase.HOST]) == (50, 30, 80)


def test_a_transfer_that_is_not_over_has_moved_what_went_over_its_port() -> None:
    part = channel(MEM, S2MM)
    rows = descriptor(part, 0, 8, 0, 50)[:4]
    record = record_of(rows, 108, carried={(MEM, PortName(WireBundle.DMA, 0)): 20})
    cycles = shares_of(record, spans_of(record)).cycles[part]
    assert (cycles[Phase.MOVE], cycles[Phase.WORDS]) == (20, 80)


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 60), st.integers(1, 80), st.integers(0, 40)),
        min_size=1,
        max_size=12,
    )
)
def test_spans_never_overlap_and_shares_account_for_all_of_them(tasks: list[tuple[int, int, int, int]]) -> None:
    at, rows = 0, list[Row]()
    for idle, starved, words, slow in tasks:
        start = at + idle
        at = start + 8 + starved + words + slow
        rows += descriptor(channel(MEM, S2MM), start, start + 8 + starved, at, words)
    record = record_of(rows, at)
    spans = spans_of(record)
    assert (spans.start[1:] >= spans.end[:-1]).all() and (spans.cycles > 0).all()
    assert shares_of(record, spans).cycles.sum() == spans.cycles.sum() == at - sum(idle for idle, *_ in tasks)
    assert shares_of(record, spans).cycles[channel(MEM, S2MM), Phase.MOVE] == sum(words for _, _, words, _ in tasks)


def test_nothing_happened() -> None:
    assert len(spans_of(record_of([], 0))) == 0
    assert not np.any(shares_of(record_of([], 0), spans_of(record_of([], 0))).cycles)
