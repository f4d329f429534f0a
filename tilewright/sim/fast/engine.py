"""The engine of the fast model: turns are given by native code, which comes back for what only Python can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tilewright.sim.engine import PATIENCE, Actor, Engine, Wait
from tilewright.sim.fast import agenda, loop, streams, tree_words, trees
from tilewright.sim.fast.state import NONE, ROW, Exit, FastState, TurnKind, native
from tilewright.sim.trace import LIMIT, Rows, Trace, TraceEvent

if TYPE_CHECKING:
    from tilewright.sim.fast.blocks import FastFifo, FastSlave

FOR_EVER = 1 << 62
Handler = Callable[[int, int], int]
"""Does what native code came back for, given the part and a number; gives the part that goes on at once, or NONE."""


class FastEngine(Engine):
    """Time, and the turns of all parts, are in the state."""

    def __init__(self, state: FastState):
        self.state = state
        state.patience = PATIENCE
        state.breath = loop.BREATH
        state.last = FOR_EVER
        self.slaves: dict[int, FastSlave] = {}
        self.fifos: dict[int, FastFifo] = {}
        self.by_part: dict[int, Actor] = {}
        """The processes of Python."""
        self.acting = 0
        """The part whose turn it is."""
        self.handlers: dict[int, Handler] = {}
        self.find_route: Callable[[int], None]
        self.wait_of: Callable[[int, object], Wait | None]
        self.views: Callable[[], Sequence[Actor]] = list
        self.after_step: Callable[[int, Actor], int]
        self.before_run: Callable[[], None]
        self.after_run: Callable[[], None] = lambda: None
        self.before_settling: Callable[[int], None]
        self._go = self.native(loop.go)
        self.schedule_part = self.native(agenda.schedule)
        self.wait_for = self.native(agenda.wait_for)
        self.fire = self.native(agenda.fire)
        self.forget = self.native(agenda.forget)
        self.record = self.native(agenda.record)
        self.push_beat = self.native(streams.push_beat)
        self.pop_beat = self.native(streams.pop_beat)
        self._finish_cycle = self.native(loop.finish_cycle)
        self._dissolve_all = self.native(trees.dissolve_all)
        self._moves_ahead = self.native(trees.moves_ahead)
        self._pass_on = self.native(streams.pass_on)
        self.spill = self.native(tree_words.spill)
        super().__init__()

    def native(self, entry: Callable[..., int]) -> Callable[..., int]:
        """Machine code of an entry, to be called on the state of this engine."""
        return partial(native[entry], self.state.address)

    @property
    def now(self) -> int:
        return self.state.now

    @property
    def events(self) -> int:
        return self.state.events

    @property
    def actors(self) -> Sequence[Actor]:
        return [*self.processes, *self.views()]

    def schedule(self, at: int, actor: Actor) -> None:
        self.state.part_kind[actor.rank] = TurnKind.PYTHON
        self.state.part_looks[actor.rank] = int(actor.looks)
        self.by_part[actor.rank] = actor
        self.schedule_part(actor.rank, at)

    def pass_on(self, part: int, slave: int, word: int, last: int) -> int:
        return self._pass_on(part, slave, word, last, NONE)

    def count_look(self, looks: bool) -> None:
        """Native code counts."""

    def run(self, until: Callable[[], bool], last: int | None = None) -> bool:
        self.before_run()
        blocks = self.state.blocks
        self.state.last = FOR_EVER if last is None else min(last, FOR_EVER)
        self.state.looks = 0
        try:
            return self._run(until)
        finally:
            # Blocks were switched off if the run came to a stop: the next one may use them again.
            self.state.blocks = blocks
            self.settle()
            self.after_run()

    def _run(self, until: Callable[[], bool]) -> bool:
        first = NONE
        while not until():
            code = self._go(first)
            # It has had its turn: after words in blocks were put back, it must not have another one.
            first = NONE
            # Words in blocks are known ahead of time: bring them back to the last cycle.
            if code == Exit.LATER:
                self._end_cycle_by_words()
                return True
            if code != Exit.STUCK:
                first = self._serve(code)
            elif not self._goes_on_by_words():
                return False
        return True

    def _serve(self, code: int) -> int:
        part, value = self.state.exit_part, self.state.exit_value
        return self.step(part) if code == Exit.STEP else self.handlers[code](part, value)

    def _goes_on_by_words(self) -> bool:
        """No part moves: let words in blocks go on one by one, so that each finds out what it waits for, and when.

        A part that looks again and again goes on for ever, so then only what happens in this cycle matters.
        """
        if not self.state.adopted:
            return False
        if self.state.looks > self.state.patience:
            self._end_cycle_by_words()
            return False
        self.settle()
        self.state.blocks = 0
        return True

    def _end_cycle_by_words(self) -> None:
        """Let words in blocks come to where they are at the end of this cycle, and all parts to what they wait for."""
        self.state.exit_part = len(self.state.part_kind)
        self.settle()
        self.state.blocks = 0
        first = NONE
        while (code := self._finish_cycle(first)) != Exit.STUCK:
            first = self._serve(code)

    def settle(self) -> None:
        """Put every word where it is in this turn: what native code knows ahead is forgotten."""
        if self.state.adopted:
            self.before_settling(self.state.exit_part)
            self._dissolve_all(self.state.exit_part)

    def moves_ahead(self, channel: int) -> int:
        return self._moves_ahead(channel, self.state.exit_part)

    def step(self, part: int) -> int:
        """Let a process have its turn."""
        self.acting = part
        actor = self.by_part[part]
        actor.step()
        return self.after_step(part, actor)


class FastTrace(Trace):
    """Its rows are in the state until there is no more room."""

    def __init__(self, engine: FastEngine):
        super().__init__(engine)
        self._fast = engine
        self._full: list[Rows] = []

    def record(self, event: TraceEvent, part: int, a: int = 0, b: int = 0) -> None:
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
        room = state.array("trace_rows")
        rows = room[: state.trace_count * ROW].reshape(-1, ROW)
        is_full = state.trace_count >= state.trace_limit
        # A copy of few: they would keep all the room.
        self._full.append(rows if is_full else rows.copy())
        if is_full:
            state.replace("trace_rows", np.empty_like(room))
        state.trace_count = 0

    def __len__(self) -> int:
        return sum(map(len, self._full)) + self._fast.state.trace_count

    def since(self, first: int) -> Rows:
        """Rows in order: moves of words in blocks are written down ahead of time."""
        self.drain()
        rows = np.concatenate([np.empty((0, ROW), np.int64), *self._full])
        time = rows[:, 0]
        # Sorting two million rows takes longer than looking.
        if not (time[1:] >= time[:-1]).all():
            rows = rows.take(np.argsort(time, kind="stable"), axis=0)
            # so that the next one who asks need not sort them again
            self._full = [rows]
            rows = rows.copy()
        return rows[first:]

    def forget_ahead(self, acting: int) -> None:
        """Strike out what has not happened in the turn of the part that acts: it will be written down again."""
        self.drain()
        now = self._fast.now
        for number, rows in enumerate(self._full):
            time, part = rows[:, 0], rows[:, 2]
            ahead = (rows[:, 1] == TraceEvent.FLOW) & ((time > now) | (time == now) & (part >= acting))
            if ahead.any():
                self._full[number] = rows[~ahead]

    def replace(self, rows: Rows) -> None:
        """Have these rows only."""
        self._full = [rows]
        self._fast.state.trace_count = 0
