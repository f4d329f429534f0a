"""Packets that trace units send: eight words, a header and the frames of what was recorded.

A frame is one or more bytes, the first bits of which tell its kind, and does not cross the end of a word unless it is
longer than one. Bytes of a word are in order from its upper end. Source: the decoders of mlir-aie (python/utils/trace,
4a9829608 for those with program counters), and records of hardware in its test/parse-trace. Frames of execution are of
half bytes; source: mlir-aie's issue 3047 and the decoder and the records behind it (FIM43-Redeye/xdna-emu,
tools/trace_decoder), which agree with AM020's list of what is sent.
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
    def digits(self) -> int:
        """How long it is, in half bytes."""
        return len(self.bits) // 4

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


EVENT, EVENTS, CYCLES, REPEATS, COUNTER, TIMER, TURNS = "ewcrptn"
"""Fields: number of a slot, set of slots, cycles since the last frame, repeats, counter, timer, turns of a loop."""
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
START_EXECUTION = FrameKind("start of execution", "11110-10" + "-" * 10 + "p" * 14)
NOT_TAKEN, TAKEN = FrameKind("branch not taken", "0000"), FrameKind("branch taken", "0001")
"""Of conditional branches; the vendor's N and E atoms."""
NEW_COUNTER = FrameKind("new counter", "10" + "p" * 14)
"""Where a branch leads whose target is not in the program, such as a return."""
LOOP = FrameKind("loop", "010-" + "n" * 28)
"""A loop without branches begins, which goes round so often."""
HALF_FILL = FrameKind("half fill", "0010")
REPEAT_KINDS = (FrameKind("repeat0", "1110rrrr"), FrameKind("repeat1", "110110rr" + "r" * 8))
SKIP = FrameKind("skip", "110111--" + "-" * 24)
SYNC = FrameKind("sync", "11111111")
FILL = FrameKind("fill", "11111110")

_SHARED = (*REPEAT_KINDS, SKIP, SYNC, FILL)
KINDS: Mapping[RecordingMode, Sequence[FrameKind]] = {
    RecordingMode.TIME: (START, *SINGLES, *MULTIPLES, *_SHARED),
    RecordingMode.PROGRAM_COUNTER: (START_COUNTERS, WITH_COUNTER, *_SHARED),
    RecordingMode.EXECUTION: (START_EXECUTION, NOT_TAKEN, TAKEN, NEW_COUNTER, LOOP, HALF_FILL, *_SHARED),
}
"""The frames of each mode."""


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

    def encode(self) -> str:
        """Its half bytes, in hexadecimal."""
        word = int("".join(bit if bit in "01" else "0" for bit in self.kind.bits), 2)
        for field, (low, width) in self.kind.fields.items():
            value = self[field]
            assert value >> width == 0, f"{self.kind.name} has no room for {value}"
            word |= value << low
        return f"{word:0{self.kind.digits}x}"


def frames_of(data: bytes, mode: RecordingMode) -> Iterator[TraceFrame]:
    """The frames in the payload of packets; a byte that begins none is passed over, and so is a frame cut off."""
    digits, at = data.hex(), 0
    unit = 1 if mode is RecordingMode.EXECUTION else 2
    while at < len(digits):
        kind = _FIRST_BYTES[mode].get(int(digits[at : at + 2].ljust(2, "0"), 16))
        if kind is None:
            at += unit
            continue
        if at + kind.digits > len(digits):
            return
        word = int(digits[at : at + kind.digits], 16)
        yield TraceFrame(kind, {name: word >> low & (1 << width) - 1 for name, (low, width) in kind.fields.items()})
        at += kind.digits


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

    def __init__(self, mode: RecordingMode) -> None:
        self._digits = ""
        # What the end of a word is filled with that the next frame does not fit into.
        self._filler = TraceFrame(HALF_FILL if mode is RecordingMode.EXECUTION else FILL, {}).encode()

    def add(self, frames: Iterable[TraceFrame]) -> list[list[int]]:
        """Put frames behind what is there; gives the payloads that are full."""
        for frame in frames:
            digits = frame.encode()
            if len(digits) > -len(self._digits) % _WORD_DIGITS and len(self._digits) % _WORD_DIGITS:
                self._fill(-(-len(self._digits) // _WORD_DIGITS) * _WORD_DIGITS)
            self._digits += digits
        return list(self._full())

    def finish(self) -> list[list[int]]:
        """The payloads to the end; the last one is filled up."""
        self._fill(-(-len(self._digits) // _PAYLOAD_DIGITS) * _PAYLOAD_DIGITS)
        return list(self._full())

    def _fill(self, size: int) -> None:
        self._digits += self._filler * ((size - len(self._digits)) // len(self._filler))

    def _full(self) -> Iterator[list[int]]:
        while len(self._digits) >= _PAYLOAD_DIGITS:
            payload, self._digits = self._digits[:_PAYLOAD_DIGITS], self._digits[_PAYLOAD_DIGITS:]
            yield [int(payload[at : at + _WORD_DIGITS], 16) for at in range(0, len(payload), _WORD_DIGITS)]


_WORD_DIGITS = 2 * WORD_BYTES
_PAYLOAD_DIGITS = PAYLOAD_WORDS * _WORD_DIGITS
