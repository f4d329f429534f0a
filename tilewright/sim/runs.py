"""Runs: a device is loaded, then streams are carried out on it, until they end or nobody can move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.ir.run_errors import Hang, Unfinished
from tilewright.sim.controller import Controller, Images
from tilewright.sim.engine import Actor
from tilewright.sim.faults import place_of
from tilewright.sim.hangs import explain
from tilewright.sim.left_over import report_left_over
from tilewright.sim.machine import Machine
from tilewright.sim.record import RunRecord, begin_record, record_run
from tilewright.sim.scratchpad import Scratchpad
from tilewright.sim.stops import Interrupted, Stopped, state
from tilewright.sim.trace import Rows
from tilewright.txn.stream import Stream

HostArrays: TypeAlias = "Mapping[int, tuple[str, npt.NDArray[np.generic]]]"
"""Host buffers with their names, by the number of the argument."""
SECONDS_BETWEEN_REPORTS = 0.25


@dataclass(frozen=True)
class RunResult:
    """How a run went."""

    cycles: int
    notes: Sequence[Diagnostic]
    trace: Rows
    """What happened when: see `sim.trace`."""
    record: RunRecord
    """All that reports are made of."""


@dataclass(frozen=True)
class Program:
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


@dataclass(frozen=True)
class Watch:
    """Who looks at a run, and how long it may take."""

    max_cycles: int | None = None
    report: Callable[[Progress], None] | None = None
    """Called a few times in a second."""


NOBODY = Watch()


class Runner:
    """A machine with its controller."""

    def __init__(self, machine: Machine, images: Images | None = None):
        self.machine = machine
        self.controller = Controller(machine, images)
        self._start = 0
        self._actor: Actor | None = None

    @property
    def elapsed(self) -> int:
        """Cycles since the last run began."""
        return self.machine.engine.now - self._start

    def configure(self, program: Program) -> None:
        """Carry out a configuration, in no time."""
        self._carry_out(program, NOBODY, cost=0)

    def bind(self, arguments: HostArrays) -> Mapping[int, int]:
        """Let the array see host buffers, and only these; gives their addresses."""
        host = self.machine.host
        host.arguments.clear()
        return {number: host.add(number, name, array).address for number, (name, array) in arguments.items()}

    def run(self, program: Program, scratchpad: Sequence[int] = (), watch: Watch = NOBODY) -> RunResult:
        """Carry out a sequence on the host buffers that were bound."""
        self._start, beginning = self.machine.engine.now, begin_record(self.machine)
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
            self.machine.judge.notes.append(Diagnostic(Severity.REMARK, text, UNKNOWN_LOC))
        record = read()
        self.machine.judge.notes.clear()
        return RunResult(record.cycles, record.notes, record.trace, record)

    def _carry_out(self, program: Program, watch: Watch, cost: int | None = None) -> None:
        self.controller.executed = 0
        process = self.controller.run(program.stream, program.locations, cost)
        actor = self._actor = self.machine.engine.start("the controller", process)
        try:
            ended = self.machine.engine.run(self._until(actor, program, watch))
        except KeyboardInterrupt:
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

    def _state(self, what: str, actor: Actor, program: Program) -> Diagnostic:
        text = f"{what} in cycle {self.elapsed}"
        return state(text, self.machine, self.controller, actor, program.stream, program.locations)

    def _until(self, actor: Actor, program: Program, watch: Watch) -> Callable[[], bool]:
        """What ends a run; whoever does not watch it pays nothing."""
        engine, last = self.machine.engine, self._start + (watch.max_cycles or 0)
        looks = self._looks(program, watch.report) if watch.report is not None else None
        if watch.max_cycles is None and looks is None:
            return lambda: actor.done
        if watch.max_cycles is not None:
            engine.look_after(last)
        if looks is None:
            return lambda: actor.done or engine.now > last
        return lambda: actor.done or looks() or (watch.max_cycles is not None and engine.now > last)

    def _looks(self, program: Program, report: Callable[[Progress], None]) -> Callable[[], bool]:
        """Reports now and then; never true."""
        total = len(program.stream.operations)
        due = perf_counter() + SECONDS_BETWEEN_REPORTS

        def look() -> bool:
            nonlocal due
            if (now := perf_counter()) >= due:
                due = now + SECONDS_BETWEEN_REPORTS
                report(Progress(self.elapsed, self.controller.executed, total))
            return False

        return look
