"""Waves that run side by side in step, and what they know of themselves.

Lanes of a group that are in different blocks of the program wait until those behind have caught up (see `order`). Waves
that would have to wait for waves in a loop that waits itself leave the group and become one of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright.gpu.emulator.lane_operations import LaneOperations
from tilewright.gpu.emulator.plain_access import FARTHEST, PlainAccess, Private
from tilewright.gpu.emulator.plan import Plan
from tilewright.gpu.emulator.program import Goto
from tilewright.gpu.emulator.write import BARRIER, EXIT, TURN
from tilewright.ir.run_errors import Fault

if TYPE_CHECKING:
    from tilewright.gpu.emulator.launch import BlockBatch

Array = np.ndarray[Any, np.dtype[Any]]


class Outcome(Enum):
    """Why a group stopped."""

    DONE = "done"
    TURN = "turn"
    HELD = "held"


@dataclass(eq=False)
class Held:
    """Lanes at a barrier: where they go on, and how often the barriers of their blocks had opened before."""

    target: int
    mask: Array
    count: int
    opened: Array


class LockstepGroup(PlainAccess, LaneOperations):
    """Some waves of a launch: registers, private memory, and where their lanes are."""

    def __init__(self, batch: BlockBatch, plan: Plan, waves: Array):
        """`waves` are numbers of waves in the launch, counted block by block."""
        self.batch, self.plan = batch, plan
        self.waves, self.wave_size = waves, batch.wave_size
        self.lanes = len(waves) * batch.wave_size
        self.memory, self.changes = batch.memory, batch.changes
        self.access, self.counts = batch.access, batch.counts
        self.slots = np.repeat(batch.slot_of_wave(waves), batch.wave_size)
        self.lds, self.lds_bytes = batch.lds, batch.lds_bytes
        self._lds_starts = {}
        self.frame: list[Any] = [None] * len(plan.program.registers)
        self.private: list[Private] = []
        self.pc, self.m, self.n = 0, None, self.lanes
        self.pending: dict[int, tuple[Array, int]] = {}
        self.held: list[Held] = []
        self.whole = batch.is_whole(waves)
        self.scattered = False
        """Whether other lanes of these waves are in another group."""
        self.spinning_at: int | None = None
        self.idle_since = -1
        """The count of changes when this group last went round a loop that waits without any effect; or -1."""
        self.last_changes = -1
        self.passes = 0
        """Rounds of a loop that waits since anyone last changed anything."""
        self.carried: list[Any] = []

    def start(self) -> None:
        """Fill in what a group begins with."""
        program, batch = self.plan.program, self.batch
        for register, value in batch.arguments:
            self.frame[register.number] = value
        known = batch.inputs(self.waves)
        for name, register in program.inputs.items():
            self.frame[register.number] = known[name]
        self.private = [
            Private(buffer.kind.dtype, buffer.elements, self.lanes, self.outside) for buffer in program.private
        ]
        if batch.partial:
            there = known["thread_number"] < batch.block_threads
            self.m, self.n = there, int(np.count_nonzero(there))
            if self.n == self.lanes:
                self.m = None

    # Control

    def run(self) -> Outcome:
        """Go on until others have to do something, or all is done."""
        functions, frame, counts, pending = self.plan.functions, self.frame, self.counts, self.pending
        pc, m, n = self.pc, self.m, self.n
        while True:
            counts[pc] += n
            way = functions[pc](frame, m, n, self)
            if way.__class__ is not int:
                yes, y, k, no, o, j = way
                self._park(yes, y, k)
                self._park(no, o, j)
                pc, m, n = self._next()
            elif way >= 0:
                if pending:
                    self._park(way, self.active(m), n)
                    pc, m, n = self._next()
                else:
                    pc = way
            else:
                self.pc, self.m, self.n = pc, m, n
                outcome = self._special(way)
                if outcome is not None:
                    return outcome
                pc, m, n = self.pc, self.m, self.n
                pending = self.pending

    def _park(self, pc: int, mask: Array, count: int) -> None:
        if pc in self.pending:
            other, before = self.pending[pc]
            mask, count = mask | other, count + before
        self.pending[pc] = mask, count

    def _next(self) -> tuple[int, Any, int]:
        """The first block, in the program's order, that has lanes."""
        pc = min(self.pending)
        mask, count = self.pending.pop(pc)
        return pc, None if count == self.lanes else mask, count

    def _special(self, way: int) -> Outcome | None:
        """A turn for others, a barrier, or the end; None if the group can go on."""
        if way <= EXIT:
            self.batch.left(self, self.m)
            return self._go_on()
        if way < TURN:
            return self._at_barrier(way - BARRIER)
        latch, self.pc = self.pc, way - TURN
        self.batch.took_turn(self, latch)
        if self.pending:
            there: Array = self.active(self.m).reshape(-1, self.wave_size)
            self._leave_behind(np.asarray(there.any(1)))
            if self.pending and self.batch.lanes_are_free and self.idle_since == self.changes[0]:
                self._let_lanes_go()
            if self.pending:
                self._park(self.pc, self.active(self.m), self.n)
                self.pc, self.m, self.n = self._next()
        return Outcome.TURN

    def _go_on(self) -> Outcome | None:
        if self.pending:
            self.pc, self.m, self.n = self._next()
            return None
        self.m, self.n = np.zeros(self.lanes, bool), 0
        return Outcome.HELD if self.held else Outcome.DONE

    def _at_barrier(self, target: int) -> Outcome | None:
        if self.pending:
            slots = np.unique(self.slots[self.active(self.m)])
            self._leave_behind(np.isin(self.slots.reshape(-1, self.wave_size)[:, 0], slots))
        end = self.plan.program.blocks[self.pc].end
        assert isinstance(end, Goto) and end.barrier is not None
        self.batch.count_barrier(self)
        if self.whole and not self.pending and not self.held:
            self.batch.passed_barrier(self)
            self.pc = target
            return None
        mask = self.active(self.m)
        opened = self.batch.arrive(self, mask, end.barrier)
        self.held.append(Held(target, mask, self.n, opened))
        return self._go_on() if self.pending else self._opened()

    def _opened(self) -> Outcome | None:
        """Let lanes go on whose barriers have opened."""
        self.release()
        return self._go_on()

    def release(self) -> bool:
        """Take lanes back from barriers that have opened; whether there were any."""
        waiting = list[Held]()
        for held in self.held:
            free = held.mask & (self.batch.opened[self.slots] > held.opened[self.slots])
            count = int(np.count_nonzero(free))
            if count:
                self._park(held.target, free, count)
            if count < held.count:
                rest = held.mask & ~free
                waiting.append(Held(held.target, rest, held.count - count, held.opened))
        self.held = waiting
        return bool(self.pending)

    def resume(self) -> None:
        """Begin again after a barrier."""
        self.pc, self.m, self.n = self._next()

    # Waves that leave

    def _leave_behind(self, stay: Array) -> None:
        """Let waves that do not stay become a group of their own."""
        if stay.all():
            return
        other = self.part(~stay)
        other._take_first()
        self.batch.add(other)
        kept = self.part(stay)
        pc, m = self.pc, self.m
        lanes = np.repeat(stay, self.wave_size)
        self._become(kept)
        self.pc, self.m = pc, None if m is None else m[lanes]
        self.n = self.lanes if self.m is None else int(np.count_nonzero(self.m))
        if self.n == self.lanes:
            self.m = None

    def _let_lanes_go(self) -> None:
        """Lanes that wait behind a loop for others of their waves go on without them, as a group of their own."""
        other = self.part(np.ones(len(self.waves), bool))
        other.held, self.pending = [], {}
        self.scattered = other.scattered = True
        self.whole = other.whole = False
        other._take_first()
        self.batch.add(other)

    def _become(self, other: LockstepGroup) -> None:
        names = "waves", "lanes", "slots", "frame", "private", "pending", "held", "whole", "scattered", "_lds_starts"
        for name in names:
            setattr(self, name, getattr(other, name))
        for private in self.private:
            private.outside = self.outside

    def _take_first(self) -> None:
        if self.pending:
            self.pc, self.m, self.n = self._next()
        else:
            self.m, self.n = np.zeros(self.lanes, bool), 0

    def part(self, chosen: Array) -> LockstepGroup:
        """Some of the waves, with what they have; where their active lanes are is for the caller to say."""
        made = LockstepGroup(self.batch, self.plan, self.waves[chosen])
        made.scattered = self.scattered
        made.whole = made.whole and not self.scattered
        lanes = np.repeat(chosen, self.wave_size)
        made.frame = list(self.frame)
        for register in self.plan.arrays:
            value = made.frame[register.number]
            if value is not None:
                made.frame[register.number] = value[..., lanes]
        made.private = [private.part(lanes, made.outside) for private in self.private]
        for pc, (mask, _) in self.pending.items():
            part = mask[lanes]
            if part.any():
                made.pending[pc] = part, int(np.count_nonzero(part))
        for held in self.held:
            part = held.mask[lanes]
            if part.any():
                made.held.append(Held(held.target, part, int(np.count_nonzero(part)), held.opened))
        return made

    # Reports

    def fault(self, site: int, text: str, m: Any = None, *notes: str) -> NoReturn:
        where = self.plan.sites[site].where
        who = f"{self.batch.who(self.waves[0])}: " if m is None else f"{self.batch.thread(self, m)} "
        raise Fault(f"{who}{text}", where, [(where, note) for note in notes])

    def outside(self, places: Any, m: Any, size: int | None, site: int) -> NoReturn:
        wrong = np.atleast_1d(places)
        lane_mask = None
        bad = (wrong < 0) | (wrong >= (FARTHEST if size is None else size))
        if wrong.shape[-1] == self.lanes:
            lane_mask = np.asarray(bad.reshape(-1, self.lanes).any(0))
        elif m is not None and wrong.shape[-1] == int(np.count_nonzero(m)):
            lane_mask = np.zeros(self.lanes, bool)
            lane_mask[np.flatnonzero(m)[bad.reshape(-1, wrong.shape[-1]).any(0)]] = True
        name = self.plan.sites[site].name
        verb = {"load": "reads", "store": "writes"}.get(name, "updates")
        who = self.batch.thread(self, lane_mask if lane_mask is not None else self.active(m))
        where = self.plan.sites[site].where
        raise Fault(
            f"{who} {verb} element {int(wrong[bad].flat[0])} of a buffer{'' if size is None else f' that has {size}'}",
            where,
            [(where, "check the index, or guard the access with a condition")],
        )

    def unmapped(self, address: Any, m: Any, site: int) -> NoReturn:
        where = self.plan.sites[site].where
        note = "memory of the host has to be copied to the device first (gpu.alloc and gpu.memcpy, or mgpuMemcpy)"
        thread = self.batch.thread(self, self.active(m))
        raise Fault(
            f"{thread} accesses address {int(address):#x}, which is not the device's",
            where,
            [(where, note)],
        )
