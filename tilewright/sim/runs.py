"""Runs: a device is loaded, then streams are carried out on it, until they end, hang, or are stopped."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import index
from time import perf_counter
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection
from tilewright.errors import ArgumentError, MissingResultsWarning, restored
from tilewright.ir.diagnostics import Diagnostic, Severity, Where, place
from tilewright.ir.run_errors import Hang, Unfinished
from tilewright.sim.controller import Controller, Images, TokenSource
from tilewright.sim.dma import Channel, QueuedTask
from tilewright.sim.engine import Actor
from tilewright.sim.faults import At, FaultKind, FaultLevel, place_of
from tilewright.sim.hangs import explain
from tilewright.sim.host_needs import awaited_words
from tilewright.sim.machine import Machine
from tilewright.sim.record import RunRecord, begin_record, record_run
from tilewright.sim.scratchpad import Scratchpad
from tilewright.support.tracebacks import user_stack_level
from tilewright.txn.stream import Stream

HostArrays: TypeAlias = "Mapping[int, tuple[str, npt.NDArray[np.uint8]]]"
"""Bytes of host buffers with their names, by the number of the argument."""
SECONDS_BETWEEN_REPORTS = 0.25
REMEDIES = {
    DmaDirection.S2MM: "wait for it before the sequence ends, so that all its words are there",
    DmaDirection.MM2S: "nobody has taken the rest: send only what is taken, or wait for it",
}
Note: TypeAlias = "tuple[LocationAttr, str]"
MOST_NOTES = 40
"""Of what is busy so much is told; the rest is counted."""


@dataclass(frozen=True)
class LocatedStream:
    """A stream, and the source of each of its operations."""

    stream: Stream
    locations: Sequence[LocationAttr] = ()
    is_patched: bool = False
    """Whether the host has put its addresses into the words already, so that the controller need not."""


class Progress(NamedTuple):
    """How far a run has come."""

    cycles: int
    executed: int
    total: int
    """Operations of the stream."""
    received: int = 0
    expected: int = 0
    """Words that the host has got, and those that it gets in all."""

    @property
    def share(self) -> float:
        """How much of the run is done. What comes back tells it better than operations, the last of which wait."""
        done, all = (self.received, self.expected) if self.expected else (self.executed, self.total)
        return min(done / max(all, 1), 1.0)


@dataclass(frozen=True)
class Watch:
    """Who looks at a run, and how long it may take."""

    max_cycles: int | None = None
    report: Callable[[Progress], None] | None = None
    """Called a few times in a second."""

    def __post_init__(self) -> None:
        given: object = self.max_cycles
        is_number = isinstance(given, SupportsIndex) and not isinstance(given, bool | np.ndarray)
        if given is not None and (not is_number or index(given) <= 0):
            raise ArgumentError(f"max_cycles is a whole number of cycles above 0, or None for no limit, got {given!r}")


UNWATCHED = Watch()


class Runner:
    """A machine with its controller."""

    def __init__(self, machine: Machine, images: Images | None = None):
        self.machine = machine
        self.controller = Controller(machine, images)
        self.is_spent = False
        """Whether a run ended in the middle of a turn, so that nothing can go on from there."""
        self._start = 0
        self._actor: Actor | None = None

    @property
    def elapsed(self) -> int:
        """Cycles since the last run began."""
        return self.machine.engine.now - self._start

    def configure(self, program: LocatedStream) -> None:
        """Carry out a configuration, in no time."""
        # Cycles of a run are counted from its sequence on: how long loading takes is another question.
        self._carry_out(program, UNWATCHED, cost=0)

    def bind(self, arguments: HostArrays) -> Mapping[int, int]:
        """Let the array see host buffers, and only these; gives their addresses."""
        host = self.machine.host
        # What an earlier run left in flight may still touch its addresses, and is told so.
        host.arguments.clear()
        return {number: host.add(number, name, data).address for number, (name, data) in arguments.items()}

    def run(self, program: LocatedStream, scratchpad: Sequence[int] = (), watch: Watch = UNWATCHED) -> RunRecord:
        """Carry out a sequence on the host buffers that were bound."""
        try:
            return self._run(program, scratchpad, watch)
        except (Hang, Stopped):  # between two turns: what is in flight goes on in the next run
            raise
        # Interrupts and faults too: a turn that is cut off cannot be taken up.
        except BaseException:
            self.is_spent = True
            raise

    def _run(self, program: LocatedStream, scratchpad: Sequence[int], watch: Watch) -> RunRecord:
        self._start, beginning = self.machine.engine.now, begin_record(self.machine)
        # After the beginning is known: what is in flight is written down again as of this cycle.
        self.machine.trace.restart()
        self.controller.scratchpad = Scratchpad(scratchpad)
        self.controller.is_patched = program.is_patched
        read = partial(record_run, self.machine, beginning, program.stream, program.locations)
        try:
            self._carry_out(program, watch)
        except (Unfinished, Interrupted) as error:
            error.record = read(error.diagnostics[0], isinstance(error, Hang))
            raise
        finally:
            self._let_go()
        report_left_over(self.machine, self.controller)
        if (end := self.machine.trace.ends_at) is not None:
            text = f"the trace of this run ends in cycle {end - self._start}: it has as many rows as are kept"
            self.machine.policy.notes.append(Diagnostic(Severity.REMARK, text, UNKNOWN_LOC))
        record = read()
        if self.machine.events is not None:
            self.machine.events.settle()
        # They are in the record now; the next run begins with none.
        self.machine.policy.notes.clear()
        return record

    def _carry_out(self, program: LocatedStream, watch: Watch, cost: int | None = None) -> None:
        self.controller.executed = 0
        process = self.controller.run(program.stream, program.locations, cost)
        actor = self._actor = self.machine.engine.start("the controller", process)
        try:
            # Counted from the run's own beginning, since a loaded device goes on counting.
            last = None if watch.max_cycles is None else self._start + index(watch.max_cycles)
            ended = self.machine.engine.run(self._until(actor, program, watch), last)
        except KeyboardInterrupt:
            # `from None`: where in the simulator it was caught says nothing to a user.
            raise Interrupted(self._state("interrupted", actor, program)) from None
        if not ended:
            reason = actor.wait.reason() if actor.wait else "the controller cannot go on"
            raise Hang(f"hang: {reason}", place_of(self.controller), explain(self.machine, actor))
        if not actor.done:
            raise Stopped(self._state("stopped", actor, program))

    def _let_go(self) -> None:
        """A controller that did not come to its end does not go on in the next run."""
        if self._actor is not None and not self._actor.done:
            self._actor.stop()
        self._actor = None

    def _state(self, what: str, actor: Actor, program: LocatedStream) -> Diagnostic:
        text = f"{what} in cycle {self.elapsed}"
        return state(text, self.machine, self.controller, actor, program.stream, program.locations)

    def _until(self, actor: Actor, program: LocatedStream, watch: Watch) -> Callable[[], bool]:
        """What ends a run; one that is not watched pays nothing."""
        if watch.report is None:
            return lambda: actor.done
        looks = self._looks(program, watch.report)
        return lambda: actor.done or looks()

    def _looks(self, program: LocatedStream, report: Callable[[Progress], None]) -> Callable[[], bool]:
        """Reports now and then; never true."""
        total, awaited = len(program.stream.operations), awaited_words(program.stream, self.machine.model)
        due, expected = perf_counter() + SECONDS_BETWEEN_REPORTS, sum(words for _, words in awaited)

        received = 0

        def look() -> bool:
            nonlocal due, received
            if (now := perf_counter()) >= due:
                due = now + SECONDS_BETWEEN_REPORTS
                executed = self.controller.executed
                pushed = sum(words for position, words in awaited if position < executed)
                received = max(pushed - self._outstanding(), received)  # of a repeated task not all is known
                report(Progress(self.elapsed, executed, total, received, expected))
            return False

        return look

    def _outstanding(self) -> int:
        """Words that tasks which were pushed have yet to write to the host."""
        left = 0
        for tile in self.machine.shim_tiles():
            for channel in tile.channels.values():
                if channel.direction is DmaDirection.S2MM:
                    left += sum(map(channel.words_left, pending_tasks(channel)))
        return left


def report_left_over(machine: Machine, controller: Controller) -> None:
    """Say what the sequence should have waited for, or need not have asked for."""
    traces = machine.events.channels() if machine.events is not None else set[Channel]()
    for source, count in controller.tokens.items():
        # A trace that fills its buffer sends a token that no sequence waits for.
        if count and machine.find_channel(source.tile, source.direction, source.channel) not in traces:
            _report_tokens(machine, controller, source, count)
    for tile in machine.shim_tiles():
        for channel in tile.channels.values():
            if is_unfinished(channel) and channel not in traces:
                _report_transfer(channel)
                _warn_of_missing_results(machine, channel)


def _report_tokens(machine: Machine, controller: Controller, source: TokenSource, count: int) -> None:
    tokens = "a token" if count == 1 else f"{count} tokens"
    text = f"nobody waited for {tokens} of {source}"
    first = controller.awaited[source]
    channel = machine.find_channel(source.tile, source.direction, source.channel)
    sent = channel.with_token[first : first + count] if channel else []
    notes: list[tuple[Where, str]] = [(task.location, "wait for this task, or issue no token") for task in sent]
    machine.policy.fault(FaultKind.LEFT_OVER, text, sent[0] if sent else controller, *notes)


def is_unfinished(channel: Channel) -> bool:
    """Whether a channel has tasks that should have ended. One that goes round for ever only waits for more."""
    # Inner tiles of most designs go round for ever, and so may a shim channel that feeds them.
    if channel.is_idle or any(_goes_round(channel, task) for task in pending_tasks(channel)):
        return False
    transfer = channel.transfer
    if channel.direction is DmaDirection.S2MM or channel.queue or channel.to_load or transfer is None:
        return True
    # A sender whose last word is out is as good as done: only its end is not written down yet.
    return channel.moved < channel.tile.descriptor(transfer.bd).length


def pending_tasks(channel: Channel) -> Iterator[QueuedTask]:
    """What a channel has yet to finish, in order."""
    if channel.running is not None:
        yield channel.running
    yield from channel.queue


def _goes_round(channel: Channel, task: QueuedTask) -> bool:
    *_, last = channel.chain(task.start_bd)
    return channel.tile.descriptor(last).next is not None


def _report_transfer(channel: Channel) -> None:
    oldest, *others = pending_tasks(channel)
    more = f", and {len(others)} behind it" if others else ""
    at = At(oldest.location)
    text = f"the task that starts with BD {oldest.start_bd} on {channel} is not done at the end of the run{more}"
    notes: list[tuple[Where, str]] = []
    if channel.transfer is not None:
        moved = f"{channel.moved} of {channel.tile.descriptor(channel.transfer.bd).length} words"
        has_moved = "have come" if channel.direction is DmaDirection.S2MM else "are sent"
        notes.append((channel.transfer.location, f"it is at BD {channel.transfer.bd}, of which {moved} {has_moved}"))
    notes.append((oldest.location, REMEDIES[channel.direction]))
    channel.tile.policy.fault(FaultKind.LEFT_OVER, text, at, *notes)


def _warn_of_missing_results(machine: Machine, channel: Channel) -> None:
    """Say so where a program does not look at the notes: the array has what it had before."""
    if channel.direction is not DmaDirection.S2MM or machine.policy.level(FaultKind.LEFT_OVER) is not FaultLevel.NOTE:
        return
    oldest, *others = pending_tasks(channel)
    names = ", ".join(dict.fromkeys(name for task in (oldest, *others) for name in _arguments(machine, channel, task)))
    text = (
        f"{place(oldest.location)}results of argument {names or '(unknown)'} are missing: the sequence ended before "
        f"{channel} had written them, and did not wait for it; wait in the sequence (drain(..., wait=True), or "
        "aiex.dma_await_task or aiex.npu.dma_wait)"
    )
    warnings.warn(text, MissingResultsWarning, stacklevel=user_stack_level())


def _arguments(machine: Machine, channel: Channel, task: QueuedTask) -> Iterator[str]:
    """Names of the host buffers that the descriptors of a task are about."""
    for bd in channel.chain(task.start_bd):
        if (buffer := machine.host.at(channel.tile.descriptor(bd).base)) is not None:
            yield buffer.name


class Stopped(Unfinished):
    """The run took more cycles than it was given; the notes say what everybody was doing."""

    def __init__(self, state: Diagnostic):
        super().__init__([state])


class Interrupted(KeyboardInterrupt):
    """Somebody interrupted the run; `diagnostics` say what everybody was doing. The next run loads it afresh."""

    record: RunRecord | None = None

    def __init__(self, state: Diagnostic):
        self.diagnostics = [state]
        super().__init__(str(state))

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), self.args, self.__dict__)


def state(
    text: str, machine: Machine, controller: Controller, actor: Actor, stream: Stream, locations: Sequence[LocationAttr]
) -> Diagnostic:
    """How far a run has come."""
    number, total = controller.executed, len(stream.operations)
    # The operation that is under way has not been counted yet.
    at = locations[number] if number < len(locations) else controller.location
    found = Diagnostic(Severity.ERROR, text, at)
    if number < total:
        doing = actor.wait.reason() if actor.wait else f"the controller carries out {stream.operations[number].name}"
        found.note(at, f"operation {number} of {total}: {doing}")
    busy = list(_busy(machine))
    for at, note in busy[:MOST_NOTES]:
        found.note(at, note)
    if len(busy) > MOST_NOTES:
        found.note(UNKNOWN_LOC, f"and {len(busy) - MOST_NOTES} more are busy")
    return found


def _busy(machine: Machine) -> Iterator[Note]:
    """What channels and cores do that have something to do."""
    actors = {actor.name: actor for actor in machine.engine.actors if not actor.done}
    for channel in machine.channels():
        if not channel.is_idle:
            so_far = f"{channel.transfer} moves words, {channel.moved} so far"
            moves = so_far if channel.transfer else f"{channel} takes up a task"
            yield place_of(channel), _doing(actors.get(str(channel)), moves)
    for tile in machine.tiles.values():
        if (core := actors.get(f"the core of {tile}")) is not None:
            yield place_of(core.wait.by if core.wait else None), _doing(core, f"the core of {tile} computes")


def _doing(actor: Actor | None, otherwise: str) -> str:
    return actor.wait.reason() if actor is not None and actor.wait is not None else otherwise
