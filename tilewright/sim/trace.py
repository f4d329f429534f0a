"""What happened when: rows of numbers that reports are made of, written by whoever acts.

A row is (cycle, event, part, a, b). Parts are numbered by the `Roster`; what a and b are is said at each event.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.sim.engine import Engine

Rows = npt.NDArray[np.int64]


class Event(IntEnum):
    """What a row is about; `a` and `b` in brackets."""

    OPERATION = 0
    """The controller begins an operation [number in the stream, its opcode]."""
    OPERATION_END = 1
    """[number in the stream]"""
    PUSH = 2
    """A task enters a channel's queue [first BD, runs]."""
    TASK = 3
    """A channel begins a task [first BD]."""
    TASK_END = 4
    """[first BD, 1 if a token is sent]"""
    BD = 5
    """A channel begins a descriptor [BD]."""
    MOVE = 6
    """Its lock, if any, is acquired; it begins to move words [BD, words]."""
    BD_END = 7
    """[BD, words]"""
    LOCK_WAIT = 8
    """A channel or a core has to wait for a lock [lock]. Locks are numbered tile by tile."""
    LOCK_GO = 9
    """[lock]"""
    LOCK = 10
    """A lock has a new value [lock, value]. The part is 0: rows before it say who did it."""
    CORE = 11
    """A core starts."""
    CORE_END = 12
    WAIT = 13
    """A core waits for a stream, the cascade or a kernel that waits [number of the wait in its program]."""
    GO = 14
    """[number of the wait in its program]"""
    TOKEN = 15
    """The controller takes in a token [part that sent it]."""


class Row(NamedTuple):
    time: int
    event: Event
    part: int
    a: int
    b: int


class Trace:
    """The rows of a run, in the order in which things happened."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._rows: list[tuple[int, int, int, int, int]] = []

    def record(self, event: Event, part: int, a: int = 0, b: int = 0) -> None:
        self._rows.append((self._engine.now, event, part, a, b))

    def __len__(self) -> int:
        return len(self._rows)

    def since(self, first: int) -> Rows:
        """The rows from a number on; an array of shape (rows, 5)."""
        return np.array(self._rows[first:], dtype=np.int64).reshape(-1, 5)

    def clear(self) -> None:
        self._rows.clear()
