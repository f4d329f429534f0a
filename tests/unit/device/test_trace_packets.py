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
    KINDS,
    MULTIPLES,
    PAYLOAD_WORDS,
    REPEAT_KINDS,
    REPEATS,
    SINGLES,
    SKIP,
    START,
    START_COUNTERS,
    SYNC,
    SYNC_CYCLES,
    TIMER,
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
        (TraceFrame(SKIP, {}), "dc000000"),
        (TraceFrame(SYNC, {}), "ff"),
        (TraceFrame(FILL, {}), "fe"),
    ],
    ids=lambda value: value.kind.name if isinstance(value, TraceFrame) else None,
)
def test_bytes(frame: TraceFrame, data: str) -> None:
    assert frame.encode().hex() == data
    mode = RecordingMode.PROGRAM_COUNTER if frame.kind in KINDS[RecordingMode.PROGRAM_COUNTER] else RecordingMode.TIME
    assert list(frames_of(bytes.fromhex(data), mode)) == [frame]


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
    writer = PayloadWriter()
    payloads = writer.add(given_frames) + writer.finish()
    assert all(len(payload) == PAYLOAD_WORDS for payload in payloads)
    data = b"".join(word.to_bytes(4, "big") for payload in payloads for word in payload)
    read = [frame for frame in frames_of(data, mode) if frame.kind is not FILL]
    assert read == [frame for frame in given_frames if frame.kind is not FILL]


@given(st.lists(frames(RecordingMode.TIME), max_size=40))
def test_no_frame_crosses_the_end_of_a_word_unless_it_is_longer(drawn: list[TraceFrame]) -> None:
    writer = PayloadWriter()
    payloads = writer.add(drawn) + writer.finish()
    data = b"".join(word.to_bytes(4, "big") for payload in payloads for word in payload)
    at = 0
    for frame in frames_of(data, RecordingMode.TIME):
        assert at % 4 + min(frame.kind.size, 4) <= 4
        at += frame.kind.size


@given(st.binary(max_size=60), st.sampled_from([*KINDS]))
def test_any_bytes_can_be_read(data: bytes, mode: RecordingMode) -> None:
    assert sum(frame.kind.size for frame in frames_of(data, mode)) <= len(data)


@given(st.integers(1, 255), st.integers(0, 1 << 20))
def test_event_frames_tell_slots_and_cycles(slots: int, cycles: int) -> None:
    *syncs, event = event_frames(slots, cycles)
    assert all(frame.kind is SYNC for frame in syncs)
    assert (event.slots, event[CYCLES] + len(syncs) * SYNC_CYCLES) == (slots, cycles)


@given(st.integers(0, 5000))
def test_repeat_frames_add_up(count: int) -> None:
    assert sum(frame[REPEATS] for frame in repeat_frames(count)) == count
