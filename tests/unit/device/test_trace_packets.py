"""Frames of trace packets: their bytes, pinned by what decoders of others expect, and how they lie in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.device.trace_packets import (
    COUNTER,
    CYCLES,
    EVENT,
    EVENTS,
    FILL,
    HALF_FILL,
    KINDS,
    LOOP,
    MULTIPLES,
    NEW_COUNTER,
    NOT_TAKEN,
    PAYLOAD_WORDS,
    REPEAT_KINDS,
    REPEATS,
    SINGLES,
    SKIP,
    START,
    START_COUNTERS,
    START_EXECUTION,
    SYNC,
    SYNC_CYCLES,
    TAKEN,
    TIMER,
    TURNS,
    WITH_COUNTER,
    PayloadWriter,
    RecordingMode,
    TraceFrame,
    event_frames,
    frames_of,
    repeat_frames,
)


@pytest.mark.parametrize(
    "frame, data",
    [
        (TraceFrame(START, {TIMER: 0x010203}), "f000000000010203"),
        (TraceFrame(START_COUNTERS, {TIMER: 7}), "f100000000000007"),
        (TraceFrame(SINGLES[0], {EVENT: 5, CYCLES: 10}), "5a"),
        (TraceFrame(SINGLES[1], {EVENT: 7, CYCLES: 0x123}), "9d23"),
        (TraceFrame(SINGLES[2], {EVENT: 1, CYCLES: 0x2ABCD}), "a6abcd"),
        (TraceFrame(MULTIPLES[0], {EVENTS: 0b10010001, CYCLES: 3}), "c913"),
        (TraceFrame(MULTIPLES[1], {EVENTS: 0b11000000, CYCLES: 0x155}), "d30155"),
        (TraceFrame(MULTIPLES[2], {EVENTS: 0b00000011, CYCLES: 0x30001}), "d40f0001"),
        (TraceFrame(REPEAT_KINDS[0], {REPEATS: 9}), "e9"),
        (TraceFrame(REPEAT_KINDS[1], {REPEATS: 1000}), "dbe8"),
        (TraceFrame(WITH_COUNTER, {EVENTS: 0b10001001, COUNTER: 0x2F0}), "c62402f0"),
        (TraceFrame(START_EXECUTION, {COUNTER: 816}), "f2000330"),
        (TraceFrame(NEW_COUNTER, {COUNTER: 368}), "8170"),
        (TraceFrame(LOOP, {TURNS: 16384}), "40004000"),
        (TraceFrame(SKIP, {}), "dc000000"),
        (TraceFrame(SYNC, {}), "ff"),
        (TraceFrame(FILL, {}), "fe"),
    ],
    ids=lambda value: value.kind.name if isinstance(value, TraceFrame) else None,
)
def test_bytes(frame: TraceFrame, data: str) -> None:
    assert frame.encode() == data
    mode = next(mode for mode in RecordingMode if frame.kind in KINDS[mode])
    assert list(frames_of(bytes.fromhex(data), mode)) == [frame]


EXECUTION = """
f2000330 817081e0 82008220 824082b0 82d01222 81508170 81e08200 82208240 82b082d0 18150222 817081e0 82008220 824082b0
82d01222 81508170 81e08200 82208240 82b082d0 08090222 83601222 84900222
"""
"""The core's packets of a run on an NPU of the first generation, without their headers, as published by
FIM43-Redeye/xdna-emu (tools/trace_decoder/fixtures/mode2_mixed_r0.bin)."""
TURN = [368, 480, 512, 544, 576, 688, 720]
"""Where calls in a turn of its loop return to."""


def test_execution_as_hardware_writes_it() -> None:
    """Four turns of a loop with seven calls each, and an eighth in all but the first; then the end of the program."""
    data = bytes.fromhex(EXECUTION)
    frames = [frame for frame in frames_of(data, RecordingMode.EXECUTION) if frame.kind is not HALF_FILL]
    told = [frame[COUNTER] if COUNTER in frame.values else frame.kind for frame in frames]
    again = [336, *TURN]
    assert told == [
        816,
        *TURN,
        TAKEN,
        *again,
        TAKEN,
        *again,
        TAKEN,
        *again,
        NOT_TAKEN,
        144,
        864,
        TAKEN,
        1168,
        NOT_TAKEN,
    ]
    assert [frame.kind for frame in frames[:2]] == [START_EXECUTION, NEW_COUNTER]
    writer = PayloadWriter(RecordingMode.EXECUTION)
    payloads = writer.add(frames) + writer.finish()
    assert b"".join(word.to_bytes(4, "big") for payload in payloads for word in payload) == data


@pytest.mark.parametrize("mode", KINDS)
def test_no_byte_begins_two_kinds(mode: RecordingMode) -> None:
    def fits(bits: str, byte: int) -> bool:
        return all(known not in "01" or known == bit for known, bit in zip(bits, f"{byte:08b}", strict=False))

    for byte in range(256):
        assert sum(fits(kind.bits, byte) for kind in KINDS[mode]) <= 1


def frames(mode: RecordingMode) -> st.SearchStrategy[TraceFrame]:
    def filled(kind: object) -> st.SearchStrategy[TraceFrame]:
        of = next(known for known in KINDS[mode] if known is kind)
        numbers = {field: st.integers(0, of.room(field)) for field in of.fields}
        return st.fixed_dictionaries(numbers).map(lambda values: TraceFrame(of, values))

    return st.sampled_from(KINDS[mode]).flatmap(filled)


@given(st.sampled_from([*KINDS]).flatmap(lambda mode: st.tuples(st.just(mode), st.lists(frames(mode), max_size=40))))
def test_frames_come_back_from_payloads(drawn: tuple[RecordingMode, list[TraceFrame]]) -> None:
    mode, given_frames = drawn
    writer = PayloadWriter(mode)
    payloads = writer.add(given_frames) + writer.finish()
    assert all(len(payload) == PAYLOAD_WORDS for payload in payloads)
    data = b"".join(word.to_bytes(4, "big") for payload in payloads for word in payload)
    fillers = FILL, HALF_FILL
    read = [frame for frame in frames_of(data, mode) if frame.kind not in fillers]
    assert read == [frame for frame in given_frames if frame.kind not in fillers]


@given(st.lists(frames(RecordingMode.TIME), max_size=40))
def test_no_frame_crosses_the_end_of_a_word_unless_it_is_longer(drawn: list[TraceFrame]) -> None:
    writer = PayloadWriter(RecordingMode.TIME)
    payloads = writer.add(drawn) + writer.finish()
    data = b"".join(word.to_bytes(4, "big") for payload in payloads for word in payload)
    at = 0
    for frame in frames_of(data, RecordingMode.TIME):
        assert at % 4 + min(frame.kind.size, 4) <= 4
        at += frame.kind.size


@given(st.binary(max_size=60), st.sampled_from([*KINDS]))
def test_any_bytes_can_be_read(data: bytes, mode: RecordingMode) -> None:
    assert sum(frame.kind.digits for frame in frames_of(data, mode)) <= 2 * len(data)


@given(st.integers(1, 255), st.integers(0, 1 << 20))
def test_event_frames_tell_slots_and_cycles(slots: int, cycles: int) -> None:
    *syncs, event = event_frames(slots, cycles)
    assert all(frame.kind is SYNC for frame in syncs)
    assert (event.slots, event[CYCLES] + len(syncs) * SYNC_CYCLES) == (slots, cycles)


@given(st.integers(0, 5000))
def test_repeat_frames_add_up(count: int) -> None:
    assert sum(frame[REPEATS] for frame in repeat_frames(count)) == count
