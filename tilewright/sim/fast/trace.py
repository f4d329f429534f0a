"""A trace that native code writes, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.sim.fast.state import ROW
from tilewright.sim.trace import Event, Rows, Trace

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
        self._full.append(state.array("trace_rows")[: state.trace_count * ROW].reshape(-1, ROW).copy())
        state.trace_count = 0

    def __len__(self) -> int:
        return sum(map(len, self._full)) + self._fast.state.trace_count

    def since(self, first: int) -> Rows:
        """Rows in order: words that move in blocks are written down ahead of time, and again after a change."""
        self.drain()
        rows = np.concatenate(self._full)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        again = np.zeros(len(rows), dtype=np.bool_)
        flows = np.flatnonzero(rows[:, 1] == Event.FLOW)
        _, kept = np.unique(rows[flows][:, [0, 2]], axis=0, return_index=True)
        again[flows] = True
        again[flows[kept]] = False
        self._full = [rows[~again]]
        found = self._full[0][first:]
        return found[found[:, 0] <= self._fast.now].copy()

    def replace(self, rows: Rows) -> None:
        """Have these rows only."""
        self._full = [rows]
        self._fast.state.trace_count = 0
