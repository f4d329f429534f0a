"""A trace that native code writes, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.sim.fast.state import ROW
from tilewright.sim.trace import LIMIT, Event, Rows, Trace

if TYPE_CHECKING:
    from tilewright.sim.fast.engine import FastEngine


class FastTrace(Trace):
    """Its rows are in the state until there is no more room."""

    def __init__(self, engine: FastEngine):
        super().__init__(engine)
        self._fast = engine
        self._full: list[Rows] = []

    def record(self, event: Event, part: int, a: int = 0, b: int = 0) -> None:
        if self._fast.state.trace_count >= self._fast.state.trace_limit:
            self.drain()
        self._fast.record(event, part, a, b)

    def drain(self) -> None:
        """Take the rows out of the state."""
        state = self._fast.state
        if sum(map(len, self._full)) >= LIMIT:
            self.ends_at = self._fast.now if self.ends_at is None else self.ends_at
            state.trace_count = 0
            return
        self._full.append(state.array("trace_rows")[: state.trace_count * ROW].reshape(-1, ROW).copy())
        state.trace_count = 0

    def __len__(self) -> int:
        return sum(map(len, self._full)) + self._fast.state.trace_count

    def since(self, first: int) -> Rows:
        """Rows in order: moves of words in blocks are written down ahead of time."""
        if self._fast.state.trace_count or len(self._full) != 1:
            self.drain()
            rows = np.concatenate(self._full)
            time = rows[:, 0]
            is_ordered = bool((time[1:] >= time[:-1]).all())
            self._full = [rows if is_ordered else rows[np.argsort(time, kind="stable")]]
        return self._full[0][first:].copy()

    def forget_ahead(self, acting: int) -> None:
        """Strike out what has not happened in the turn of the part that acts: it will be written down again."""
        self.drain()
        now = self._fast.now
        for number, rows in enumerate(self._full):
            time, part = rows[:, 0], rows[:, 2]
            ahead = (rows[:, 1] == Event.FLOW) & ((time > now) | (time == now) & (part >= acting))
            if ahead.any():
                self._full[number] = rows[~ahead]

    def replace(self, rows: Rows) -> None:
        """Have these rows only."""
        self._full = [rows]
        self._fast.state.trace_count = 0
