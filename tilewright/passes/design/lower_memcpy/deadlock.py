"""Deadlock check: simulates a sequence of copies, with the cores that take part, to see whether a wait never ends.

Only tokens count: data move at once, other locks never block, and a source is done as soon as it may start. So what
waits here waits on the hardware, too. Where the outcome depends on a race, or on values that are only known at
run time, nothing is said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import Operation, Region

from tilewright.dialects import scf
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.ir.diagnostics import Where, emit_warning, fail_op, op_text
from tilewright.passes.design.lower_memcpy.copies import Channel, CopySide, LockName, TokenCopy, TokenLockUse
from tilewright.passes.design.lower_memcpy.schedule import ScheduleStep
from tilewright.rewrite.unrolling import iterations

MOST_EVENTS = 100_000
MOST_NOTES = 8
START = "the start of a run"


class Undecided(Exception):
    """What happens depends on something that is not known."""


class TokenEvent(NamedTuple):
    """A core takes from a lock, or gives to it."""

    op: UseLockOp
    name: LockName
    value: int
    is_acquire: bool


@dataclass(eq=False)
class _Queued:
    """A side of a copy in the queue of its channel."""

    copy: TokenCopy
    side: CopySide
    has_acquired: bool = False


class TokenSimulation:
    """The tokens, channels and cores of a design, as far as copies go."""

    def __init__(self, locks: Mapping[LockName, LockOp], starts: Sequence[LockOp], cores: Sequence[CoreOp]):
        self.starts = [LockName(START, lock.place) for lock in starts if lock.place is not None]
        self.locks = {**locks, **dict(zip(self.starts, starts, strict=True))}
        self.values = {name: lock.init.value.data if lock.init else 0 for name, lock in self.locks.items()}
        self.names = {lock: name for name, lock in self.locks.items()}
        self.queues: dict[Channel, deque[_Queued]] = {}
        self.cores = {core: self._events(core.body) for core in cores}
        self.waiting: dict[CoreOp, TokenEvent] = {}
        self.takers: dict[LockName, set[object]] = {}
        self.sent, self.done = set[TokenCopy](), set[CopySide]()
        self.budget = MOST_EVENTS

    def run(self, steps: Sequence[ScheduleStep]) -> TokenCopy | None:
        """Carry out a sequence. Returns the copy that it awaits in vain, if there is one."""
        self.sent.clear()
        self.done.clear()
        self.values.update((name, 1) for name in self.starts)  # as each run of the sequence does
        for copy, is_start in ((step.copy, step.is_start) for step in steps):
            if is_start:
                for side in copy.sides:
                    self.queues.setdefault(side.channel, deque()).append(_Queued(copy, side))
            self._settle()
            if not is_start and not self.done.issuperset(copy.destinations):
                if any(len(takers) > 1 for takers in self.takers.values()):  # two that take from one lock race for it
                    raise Undecided
                return copy
        return None

    def _settle(self) -> None:
        """Let channels and cores go on until none can."""
        moved = True
        while moved:
            moved = False
            for queue in self.queues.values():
                moved |= self._run_channel(queue)
            for core in self.cores:
                moved |= self._run_core(core)

    def _run_channel(self, queue: deque[_Queued]) -> bool:
        moved = False
        while queue and self._run_side(queue[0]):
            queue.popleft()
            moved = True
        return moved

    def _run_side(self, queued: _Queued) -> bool:
        """Whether a side is done."""
        copy, side = queued.copy, queued.side
        if not queued.has_acquired:
            if not all(self._take(name, amount, side.channel) for name, amount in side.acquired):
                return False
            queued.has_acquired = True
        if side is copy.source:
            self.sent.add(copy)
        elif copy not in self.sent:
            return False
        self.done.add(side)
        for name, amount in side.released:
            self.values[name] += amount
        return True

    def _run_core(self, core: CoreOp) -> bool:
        moved = False
        while (event := self.waiting.pop(core, None) or next(self.cores[core], None)) is not None:
            self.budget -= 1
            if self.budget == 0:  # an endless loop that never waits
                raise Undecided
            if not event.is_acquire:
                self.values[event.name] += event.value
            elif not self._take(event.name, event.value, core):
                self.waiting[core] = event
                return moved
            moved = True
        return moved

    def _take(self, name: LockName, value: int, taker: object) -> bool:
        self.takers.setdefault(name, set()).add(taker)
        if self.values[name] < value:
            return False
        self.values[name] -= value
        return True

    def _events(self, region: Region) -> Iterator[TokenEvent]:
        """What a core does about tokens, one after the other."""
        if len(region.blocks) > 1:
            if any(self._concerns_tokens(op) for op in region.walk()):
                raise Undecided
            return
        for op in region.block.ops if region.blocks else ():
            if isinstance(op, UseLockOp):
                if op.lock_op is not None and op.lock_op in self.names:
                    if op.constant is None:
                        raise Undecided
                    yield TokenEvent(op, self.names[op.lock_op], op.constant, op.is_acquire)
            elif op.regions and any(self._concerns_tokens(nested) for nested in op.walk()):
                yield from self._nested_events(op)

    def _nested_events(self, op: Operation) -> Iterator[TokenEvent]:
        count = iterations(op) if isinstance(op, scf.ForOp) else None
        if not isinstance(op, scf.ForOp) or count is None:
            raise Undecided
        for _ in range(count):
            yield from self._events(op.body)

    def _concerns_tokens(self, op: Operation) -> bool:
        return isinstance(op, UseLockOp) and op.lock_op in self.names

    def waits(self) -> Iterator[tuple[Where, str]]:
        """All waits, each for what it waits for."""
        for queue in self.queues.values():
            if queue and not queue[0].has_acquired:
                side = queue[0].side
                yield from ((side.op, f"{side} {self._wanted(use)}") for use in side.acquired)
        for core, event in self.waiting.items():
            wanted = self._wanted(TokenLockUse(event.name, event.value))
            yield event.op, f"the core of tile {tuple(core.place or ())} {wanted}"

    def _wanted(self, use: TokenLockUse) -> str:
        (token, place, _), value = use.name, self.values[use.name]
        return f"waits for {use.amount} of @{token}, which is {value} on tile {tuple(place)}"


def check_for_deadlock(
    locks: Mapping[LockName, LockOp], starts: Sequence[LockOp], cores: Sequence[CoreOp], steps: Sequence[ScheduleStep]
) -> None:
    """Refuse a sequence that waits forever; warn of one that cannot be run again. It sets the locks `starts` to 1."""
    simulation = TokenSimulation(locks, starts, cores)
    try:
        _refuse_endless_wait(simulation, simulation.run(steps))
        # The host may run a sequence again without loading the design anew.
        before = dict(simulation.values)
        _warn_of_second_run(simulation, simulation.run(steps), before)
    except Undecided:
        return


def _refuse_endless_wait(simulation: TokenSimulation, stuck: TokenCopy | None) -> None:
    if stuck is not None:
        notes = list(simulation.waits())[:MOST_NOTES]
        remedy = "give what they wait for before this copy is awaited, or start with a higher value of a token"
        fail_op(stuck.op, "never ends, because all who could go on wait for each other", *notes, (stuck.op, remedy))


def _warn_of_second_run(simulation: TokenSimulation, stuck: TokenCopy | None, before: Mapping[LockName, int]) -> None:
    if stuck is not None:
        text = op_text(stuck.op, "ends in the first run of its sequence, but not in a second")
        warning = emit_warning(stuck.op, text)
        for where, wait in list(simulation.waits())[:MOST_NOTES]:
            warning.note(where, wait)
        return
    for name, value in before.items():
        if (after := simulation.values[name]) != value:
            text = f"each run of the sequence changes @{name.token} by {after - value:+d} on tile {tuple(name.place)}"
            emit_warning(simulation.locks[name], text)
