"""The trace of a run, rows of numbers that reports are made of, and the lines that cores print.

A row is (cycle, event, part, a, b). Parts are numbered by `PartIds`; what a and b are is said at each event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tilewright.device import TileId
from tilewright.sim.engine import Engine

Rows = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]


class TraceEvent(IntEnum):
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
    FLOW = 16
    """The first word that a descriptor moves is taken, be it a packet's header [BD]."""


LIMIT = 2_000_000
"""Rows that a trace keeps; what happens later is not written down, so that long runs do not fill the memory."""


class Trace:
    """The rows of a run, in the order in which things happened."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self.ends_at: int | None = None
        """The cycle from which on there was no more room."""
        self._rows: list[tuple[int, int, int, int, int]] = []
        self.listener: Callable[[TraceEvent, int, int, int], None] | None = None
        """Hears of every row as it is written."""

    def record(self, event: TraceEvent, part: int, a: int = 0, b: int = 0) -> None:
        if self.listener is not None:
            self.listener(event, part, a, b)
        if len(self._rows) < LIMIT:
            self._rows.append((self._engine.now, event, part, a, b))
        elif self.ends_at is None:
            self.ends_at = self._engine.now

    def __len__(self) -> int:
        return len(self._rows)

    def since(self, first: int) -> Rows:
        """The rows from a number on; an array of shape (rows, 5)."""
        return np.array(self._rows[first:], dtype=np.int64).reshape(-1, 5)

    def clear(self) -> None:
        self.replace(np.empty((0, 5), dtype=np.int64))

    def replace(self, rows: Rows) -> None:
        """Have these rows only."""
        # Python's integers: rows that follow are tuples of those.
        self._rows = [(row[0], row[1], row[2], row[3], row[4]) for row in rows.tolist()]

    def restart(self) -> None:
        """Forget what is over; what still goes on is written down again, as of now."""
        self.ends_at = None
        rows = standing(self.since(0))
        # As of now, since cycles before the run are not in its record.
        rows[:, 0] = self._engine.now
        self.replace(rows)


def standing(rows: Rows) -> Rows:
    """The rows that tell how things stand in the end: values of locks, tasks in queues, what each part is at."""
    event, part = rows[:, 1], rows[:, 2]
    is_lock = event == TraceEvent.LOCK
    kept = [_last(np.flatnonzero(is_lock), rows[is_lock, 3]), _queued(event, part)]
    states = np.flatnonzero(_IS_STATE[event])
    last = _last(states, part[states])
    at_work = part[last[event[last] != TraceEvent.TASK_END]]
    for beginning in (TraceEvent.TASK, TraceEvent.BD):
        begun = np.flatnonzero(event == beginning)
        begun = begun[np.isin(part[begun], at_work)]
        kept.append(_last(begun, part[begun]))
    return rows[np.unique(np.concatenate([*kept, last[event[last] != TraceEvent.TASK_END]]))]


_STATES = (
    *(
        TraceEvent.TASK,
        TraceEvent.TASK_END,
        TraceEvent.BD,
        TraceEvent.MOVE,
        TraceEvent.FLOW,
        TraceEvent.BD_END,
        TraceEvent.LOCK_WAIT,
        TraceEvent.LOCK_GO,
    ),
    *(TraceEvent.CORE, TraceEvent.CORE_END, TraceEvent.WAIT, TraceEvent.GO),
)
"""Events after which a channel or a core is at something else."""
_IS_STATE = np.isin(np.arange(max(TraceEvent) + 1), _STATES)


def _last(indices: Indices, keys: Indices) -> Indices:
    """Of the indices with the same key the last one."""
    found = np.full(int(keys.max(initial=-1)) + 1, -1)
    found[keys] = indices  # of several with the same key the last one stays
    return found[found >= 0]


def _queued(event: Indices, part: Indices) -> Indices:
    """Pushes whose task has not begun: each channel takes them in order."""
    pushes, begun = np.flatnonzero(event == TraceEvent.PUSH), np.bincount(part[event == TraceEvent.TASK], minlength=1)
    order = pushes[np.argsort(part[pushes], kind="stable")]
    channels = part[order]
    starts = np.flatnonzero(np.diff(channels, prepend=-1))
    # The place of each push among those of its channel.
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    # Channels beyond the last one that began a task have begun none.
    taken = begun[np.minimum(channels, len(begun) - 1)] * (channels < len(begun))
    return order[rank >= taken]


@dataclass(frozen=True)
class Printed:
    """A line that a core printed."""

    cycle: int
    """Since the run began; 0 for what a core printed before it."""
    tile: TileId
    text: str

    def __str__(self) -> str:
        return f"core ({self.tile.column}, {self.tile.row}) at cycle {self.cycle:,}: {self.text}"


class Output:
    """Shows what cores print as they do, and keeps it for the record of the run."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._began = 0
        self._lines: list[Printed] = []

    def begin_run(self) -> None:
        """Count cycles from now on."""
        self._began = self._engine.now

    def say(self, place: TileId, text: str) -> None:
        """Print a line of a core's."""
        line = Printed(max(self._engine.now - self._began, 0), place, text)
        self._lines.append(line)
        print(line)

    def take(self) -> list[Printed]:
        """The lines since the last time."""
        lines, self._lines = self._lines, []
        return lines
