"""The memory that native code of a core works on: registers, what is under way, and what it tells Python."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

import numpy as np

from tilewright.isa.registers import CoreRegister
from tilewright.isa.schedule import WIDE
from tilewright.isa.tables import InstructionSet

WORD_BYTES = 8
ALIGNMENT = 64
WINDOWS = 16
"""Of data memory, each of 64 KiB."""
WINDOW_BITS = 16
STREAM_BYTES = 64
STREAM_PLACES = 2
"""Words of streams that one bundle can move."""
UNDER_WAY_BYTES = 1 << 14


class Leave(IntEnum):
    """Why native code comes back."""

    ELSEWHERE = 0
    """The next block is in another piece of native code."""
    TIME = 1
    """The cycles that it was given are over."""
    TRANSLATE = 2
    """The next block is not native code yet."""
    TARGET = 3
    """A jump leads to where none did before: `a` is the address, `b` the row of what is under way."""
    LOCK = 4
    """A lock: `a` is 1 for an acquire, `b` its number, `c` the value."""
    STREAM = 5
    """The next bundle moves words of streams."""
    DONE = 6
    REFUSED = 7
    """The bundle at `a` cannot be executed."""
    FAULT = 8
    """Something went wrong in a block: see `refused`, or the error that a callback kept."""
    LOOP_END = 9
    """The register `le` was set to what no instruction has as a constant."""


FIELDS = (
    "next", "cycle", "conflicts", "limit", "a", "b", "c", "fault", "refused", "refused_named", "refused_at",
    "entries", "targets", "load", "store", "event",
)  # fmt: skip
"""Numbers at the start of the state, in this order."""


class StateLayout:
    """Where everything is in the state, in bytes."""

    def __init__(self, isa: InstructionSet):
        self.widths = isa.registers.units
        self.fields = {name: WORD_BYTES * at for at, name in enumerate(FIELDS)}
        self.window_data = WORD_BYTES * len(FIELDS)
        self.window_size = self.window_data + WORD_BYTES * WINDOWS
        self.streams = _aligned(self.window_size + WORD_BYTES * WINDOWS)
        self.moved = self.streams + STREAM_BYTES * STREAM_PLACES
        at = _aligned(self.moved + WORD_BYTES * STREAM_PLACES)
        self.units = dict[str, int]()
        # the widest first, so that all are aligned
        for name in sorted(self.widths, key=lambda name: -self.size(name)):
            self.units[name] = at
            at += self.size(name)
        self.under_way = _aligned(at)
        self.size_bytes = self.under_way + UNDER_WAY_BYTES

    def is_data(self, unit: str) -> bool:
        return self.widths[unit] >= WIDE and unit != "cntr"

    def size(self, unit: str) -> int:
        """Of a unit of storage, in bytes."""
        return self.widths[unit] // 8 if self.is_data(unit) else WORD_BYTES

    def data_bytes(self, register: CoreRegister) -> int:
        """Of a register that is data; 0 for words."""
        return sum(self.size(unit) for unit in register.units) if self.is_data(register.units[0]) else 0


def _aligned(at: int) -> int:
    return -(-at // ALIGNMENT) * ALIGNMENT


class NativeState:
    """The state of one core."""

    def __init__(self, layout: StateLayout):
        self.layout = layout
        room = np.zeros(layout.size_bytes + ALIGNMENT, np.uint8)
        first = -room.ctypes.data % ALIGNMENT
        self.memory = room[first : first + layout.size_bytes]
        self.address = self.memory.ctypes.data
        self._fields = (ctypes.c_int64 * len(FIELDS)).from_address(self.address)
        self._words = self.memory[: layout.size_bytes // WORD_BYTES * WORD_BYTES].view(np.uint64)

    def get(self, field: str) -> int:
        return self._fields[self.layout.fields[field] // WORD_BYTES]

    def set(self, field: str, value: int) -> None:
        self._fields[self.layout.fields[field] // WORD_BYTES] = value

    def unit(self, name: str) -> Any:
        """What a unit of storage holds: a word or bytes."""
        at = self.layout.units[name]
        if self.layout.is_data(name):
            return self.memory[at : at + self.layout.size(name)].tobytes()
        return int(self._words[at // WORD_BYTES])

    def set_unit(self, name: str, value: Any) -> None:
        at = self.layout.units[name]
        if self.layout.is_data(name):
            self.memory[at : at + len(value)] = np.frombuffer(value, np.uint8)
        else:
            self._words[at // WORD_BYTES] = value

    def set_window(self, number: int, data: np.ndarray) -> None:
        """Let native code see memory in one of the windows."""
        self._words[self.layout.window_data // WORD_BYTES + number] = data.ctypes.data
        self._words[self.layout.window_size // WORD_BYTES + number] = len(data)

    def set_stream(self, place: int, word: Any, moved: int) -> None:
        data = word if isinstance(word, bytes) else int(word).to_bytes(WORD_BYTES, "little")
        at = self.layout.streams + STREAM_BYTES * place
        self.memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
        self._words[self.layout.moved // WORD_BYTES + place] = moved
