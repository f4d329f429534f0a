"""Packets that trace units send: eight words, a header and the frames of what was recorded.

A frame is one or more bytes, the first bits of which tell its kind, and does not cross the end of a word unless it is
longer than one. Bytes of a word are in order from its upper end. Source: the decoders of mlir-aie (python/utils/trace,
4a9829608 for those with program counters), and records of hardware in its test/parse-trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from .layout import WORD_BYTES

PACKET_WORDS = 8
PAYLOAD_WORDS = PACKET_WORDS - 1
SLOTS = 8
"""Events that a trace unit records."""
SYNC_CYCLES = (1 << 18) - 1
"""What a frame without an event stands for: more cycles than frames with one can count."""
FILLER = 0xFE


class RecordingMode(IntEnum):
    """What a trace unit writes down of an event; all but the time only in cores."""

    TIME = 0
    PROGRAM_COUNTER = 1
    EXECUTION = 2


class FrameKind(NamedTuple):
    """One kind of frame: its bits as 0, 1 and letters, upper end first; a letter stands for a bit of a field."""

    name: str
    bits: str

    @property
    def size(self) -> int:
        return len(self.bits) // 8

    @property
    def fields(self) -> Mapping[str, tuple[int, int]]:
        """The lowest bit and the width of each letter."""
        letters = sorted(set(self.bits) - set("01-"))
        return {letter: (self.bits[::-1].index(letter), self.bits.count(letter)) for letter in letters}

    def room(self, field: str) -> int:
        """The largest number that a field holds."""
        return (1 << self.fields[field][1]) - 1


EVENT, EVENTS, CYCLES, REPEATS, COUNTER, TIMER = "ewcrpt"
"""Fields: number of a slot, set of slots, cycles since the last frame, repeats, program counter, timer."""
START = FrameKind("start", "11110-00" + "t" * 56)
START_COUNTERS = FrameKind("start with counters", "11110-01" + "t" * 56)
SINGLES = (
    FrameKind("single0", "0eeecccc"),
    FrameKind("single1", "100eeecc" + "c" * 8),
    FrameKind("single2", "101eeecc" + "c" * 16),
)
MULTIPLES = (
    FrameKind("multiple0", "1100wwwwwwwwcccc"),
    FrameKind("multiple1", "110100wwwwwwwwcc" + "c" * 8),
    FrameKind("multiple2", "110101wwwwwwwwcc" + "c" * 16),
)
WITH_COUNTER = FrameKind("counter", "110001wwwwwwww----" + "p" * 14)
REPEAT_KINDS = (FrameKind("repeat0", "1110rrrr"), FrameKind("repeat1", "110110rr" + "r" * 8))
SKIP = FrameKind("skip", "110111--" + "-" * 24)
SYNC = FrameKind("sync", "11111111")
FILL = FrameKind("fill", "11111110")

_SHARED = (*REPEAT_KINDS, SKIP, SYNC, FILL)
KINDS: Mapping[RecordingMode, Sequence[FrameKind]] = {
    RecordingMode.TIME: (START, *SINGLES, *MULTIPLES, *_SHARED),
    RecordingMode.PROGRAM_COUNTER: (START_COUNTERS, WITH_COUNTER, *_SHARED),
}
"""The frames of each mode; those of execution are not public."""


@dataclass(frozen=True)
class TraceFrame:
    """A frame with its numbers, by field."""

    kind: FrameKind
    values: Mapping[str, int]

    def __getitem__(self, field: str) -> int:
        return self.values.get(field, 0)

    @property
    def slots(self) -> int:
        """The slots that it is about, a bit for each."""
        return 1 << self[EVENT] if EVENT in self.values else self[EVENTS]

    def encode(self) -> bytes:
        word = int("".join(bit if bit in "01" else "0" for bit in self.kind.bits), 2)
        for field, (low, width) in self.kind.fields.items():
            value = self[field]
            assert value >> width == 0, f"{self.kind.name} has no room for {value}"
            word |= value << low
        return word.to_bytes(self.kind.size, "big")


def frames_of(data: bytes, mode: RecordingMode) -> Iterator[TraceFrame]:
    """The frames in the payload of packets; a byte that begins none is passed over, and so is a frame cut off."""
    at = 0
    while at < len(data):
        kind = _FIRST_BYTES[mode].get(data[at])
        if kind is None:
            at += 1
            continue
        if at + kind.size > len(data):
            return
        word = int.from_bytes(data[at : at + kind.size], "big")
        yield TraceFrame(kind, {name: word >> low & (1 << width) - 1 for name, (low, width) in kind.fields.items()})
        at += kind.size


def _first_bytes(kinds: Sequence[FrameKind]) -> dict[int, FrameKind]:
    """The kind of frame that each byte begins."""
    found = dict[int, FrameKind]()
    for byte in range(256):
        bits = f"{byte:08b}"
        for kind in kinds:
            if all(known not in "01" or known == bit for known, bit in zip(kind.bits, bits, strict=False)):
                found.setdefault(byte, kind)
    return found


_FIRST_BYTES = {mode: _first_bytes(kinds) for mode, kinds in KINDS.items()}


def event_frames(slots: int, cycles: int) -> list[TraceFrame]:
    """The frames that say that events happened, so many cycles after the cycle that follows the last frame."""
    frames = list[TraceFrame]()
    kinds = MULTIPLES if slots & slots - 1 else SINGLES
    while cycles > kinds[-1].room(CYCLES):
        frames.append(TraceFrame(SYNC, {}))
        cycles -= SYNC_CYCLES
    kind = next(kind for kind in kinds if cycles <= kind.room(CYCLES))
    what = {EVENTS: slots} if kinds is MULTIPLES else {EVENT: slots.bit_length() - 1}
    return [*frames, TraceFrame(kind, {**what, CYCLES: cycles})]


def repeat_frames(count: int) -> list[TraceFrame]:
    """The frames that say that the last one happened again so often."""
    short, long = REPEAT_KINDS
    frames = [TraceFrame(long, {REPEATS: long.room(REPEATS)})] * (count // long.room(REPEATS))
    if rest := count % long.room(REPEATS):
        frames.append(TraceFrame(short if rest <= short.room(REPEATS) else long, {REPEATS: rest}))
    return frames


class PayloadWriter:
    """Lays frames out in words, and words in payloads."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, frames: Iterable[TraceFrame]) -> list[list[int]]:
        """Put frames behind what is there; gives the payloads that are full."""
        for frame in frames:
            data = frame.encode()
            if len(data) > WORD_BYTES - len(self._bytes) % WORD_BYTES:
                self._fill(-(-len(self._bytes) // WORD_BYTES) * WORD_BYTES)
            self._bytes += data
        return list(self._full())

    def finish(self) -> list[list[int]]:
        """The payloads to the end; the last one is filled up."""
        if not self._bytes:
            return []
        whole = -(-len(self._bytes) // _PAYLOAD_BYTES) * _PAYLOAD_BYTES
        self._fill(whole)
        return list(self._full())

    def _fill(self, size: int) -> None:
        self._bytes += bytes([FILLER]) * (size - len(self._bytes))

    def _full(self) -> Iterator[list[int]]:
        while len(self._bytes) >= _PAYLOAD_BYTES:
            payload = self._bytes[:_PAYLOAD_BYTES]
            del self._bytes[:_PAYLOAD_BYTES]
            yield [int.from_bytes(payload[at : at + WORD_BYTES], "big") for at in range(0, len(payload), WORD_BYTES)]


_PAYLOAD_BYTES = PAYLOAD_WORDS * WORD_BYTES
