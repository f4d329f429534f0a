"""Waves that run side by side in step, and what they know of themselves.

Lanes of a group that are in different blocks of the program wait until those behind have caught up (see `order`). Waves
that would have to wait for waves in a loop that waits itself leave the group and become one of their own.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright.gpu.emulator.barriers import Held
from tilewright.gpu.emulator.lane_operations import LaneOperations
from tilewright.gpu.emulator.memory import Array
from tilewright.gpu.emulator.plain_access import Private
from tilewright.gpu.emulator.program import Goto
from tilewright.gpu.emulator.tensor_cores import TensorCores
from tilewright.gpu.emulator.write import BARRIER, EXIT, TURN
from tilewright.ir.run_errors import Fault

if TYPE_CHECKING:
    from tilewright.gpu.emulator.launch import BlockBatch


class Outcome(Enum):
    """Why a group stopped."""

    DONE = "done"
    TURN = "turn"
    HELD = "held"


class LockstepGroup(TensorCores, LaneOperations):
    """Some waves of a launch: registers, private memory, and where their lanes are."""

    def __init__(self, batch: BlockBatch, waves: Array):
        """`waves` are numbers of waves in the launch, counted block by block."""
        launch = batch.launch
        self.batch, self.plan, self.waves, self.wave_size = batch, launch.plan, waves, launch.wave_size
        self.lanes = len(waves) * self.wave_size
        self.memory, self.access, self.profiler = launch.memory, launch.access, launch.profiler
        self.changes, self.counts = launch.changes, launch.counts
        self.slots = np.repeat(batch.slot_of_wave(waves), self.wave_size)
        self.lds, self.lds_bytes = batch.lds, launch.lds_bytes
        self._lds_starts = {}
        self.frame: list[Any] = [None] * len(self.plan.program.registers)
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
        program, launch = self.plan.program, self.batch.launch
        for register, value in launch.arguments:
            self.frame[register.number] = value
        known = self.batch.inputs(self.waves)
        for name, register in program.inputs.items():
            self.frame[register.number] = known[name]
        self.private = [
            Private(buffer.kind.dtype, buffer.elements, self.lanes, self.outside) for buffer in program.private
        ]
        # the last wave of a block may have lanes without threads
        if launch.block_threads % self.wave_size:
            self._activate(known["thread_number"] < launch.block_threads)

    def _activate(self, mask: Array) -> None:
        self.n = int(np.count_nonzero(mask))
        # code without a mask is faster
        self.m = None if self.n == self.lanes else mask

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
                # some of the waves may have become a group of their own
                frame, pending = self.frame, self.pending

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
            # NVIDIA's lanes make progress by themselves, AMD's wait for the rest of their wave
            if self.pending and self.batch.launch.target.lanes_are_free and self.idle_since == self.changes[0]:
                self._let_lanes_go()
            if self.pending:
                self._park(self.pc, self.active(self.m), self.n)
                self.resume()
        return Outcome.TURN

    def _go_on(self) -> Outcome | None:
        # barriers that have opened meanwhile, or before
        if not self.pending:
            self.release()
        self.resume()
        return None if self.n else Outcome.HELD if self.held else Outcome.DONE

    def _at_barrier(self, target: int) -> Outcome | None:
        end = self.plan.program.blocks[self.pc].end
        assert isinstance(end, Goto) and end.barrier is not None
        barriers = self.batch.clusters if end.of_cluster else self.batch.barriers
        if self.pending:
            numbers = barriers.of(self.slots)
            # waves of other blocks need not wait until this barrier opens
            waiting = np.isin(numbers, numbers[self.active(self.m)])
            self._leave_behind(waiting.reshape(-1, self.wave_size)[:, 0])
        self.batch.launch.barriers += len(self.waves)
        # no lane of these blocks is elsewhere, so there is nothing to wait for
        if self.whole and not self.pending and not self.held and not end.of_cluster:
            self.batch.barriers.met(self.waves)
            self.pc = target
            return None
        mask = self.active(self.m)
        come = self.batch.clusters.wait if end.of_cluster else self.batch.barriers.arrive
        self.held.append(Held(target, mask, self.n, come(self, mask, end.barrier), barriers, end.barrier))
        return self._go_on()

    def release(self) -> bool:
        """Take lanes back from barriers that have opened; whether there were any."""
        waiting = list[Held]()
        for held in self.held:
            free = held.free(self.slots)
            count = int(np.count_nonzero(free))
            if count:
                held.barriers.passed(self, free, held.wanted)
                self._park(held.target, free, count)
            if count < held.count:
                waiting.append(replace(held, mask=held.mask & ~free, count=held.count - count))
        self.held = waiting
        return bool(self.pending)

    def resume(self) -> None:
        """Begin again with the lanes that wait first, if any do."""
        if self.pending:
            self.pc, self.m, self.n = self._next()
        else:
            self.m, self.n = np.zeros(self.lanes, bool), 0

    def _leave_behind(self, stay: Array) -> None:
        """Let waves that do not stay become a group of their own."""
        if stay.all():
            return
        other = self.part(~stay)
        other.resume()
        self.batch.add(other)
        mask = self.active(self.m)[np.repeat(stay, self.wave_size)]
        self._become(self.part(stay))
        self._activate(mask)

    def _let_lanes_go(self) -> None:
        """Lanes that wait behind a loop for others of their waves go on without them, as a group of their own."""
        other = self.part(np.ones(len(self.waves), bool))
        other.held, self.pending = [], {}
        self.scattered = other.scattered = True
        self.whole = other.whole = False
        other.resume()
        self.batch.add(other)

    def _become(self, other: LockstepGroup) -> None:
        # the launch and its lists know this object, so the other one's parts come here
        names = "waves", "lanes", "slots", "frame", "private", "pending", "held", "whole", "scattered", "_lds_starts"
        for name in names:
            setattr(self, name, getattr(other, name))
        for private in self.private:
            private.outside = self.outside

    def part(self, chosen: Array) -> LockstepGroup:
        """Some of the waves, with what they have; where their active lanes are is for the caller to say."""
        made = LockstepGroup(self.batch, self.waves[chosen])
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
                made.held.append(replace(held, mask=part, count=int(np.count_nonzero(part)), wanted=held.wanted[lanes]))
        return made

    def fault(self, site: int, text: str, m: Any = None, *notes: str) -> NoReturn:
        where = self.plan.sites[site].where
        # without a mask it is about the wave
        who = f"{self.batch.who(self.waves[0])}: " if m is None else f"{self.batch.thread(self, m)} "
        raise Fault(f"{who}{text}", where, [(where, note) for note in notes])
