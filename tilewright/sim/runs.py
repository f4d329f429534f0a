"""Runs: a device is loaded, then streams are carried out on it, until they end or nobody can move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from tilewright.ir.diagnostics import Diagnostic
from tilewright.sim.controller import Controller, Images
from tilewright.sim.faults import Hang, place_of
from tilewright.sim.hangs import explain
from tilewright.sim.machine import Machine
from tilewright.sim.trace import Rows
from tilewright.txn.stream import Stream


@dataclass(frozen=True)
class RunResult:
    """How a run went."""

    cycles: int
    notes: Sequence[Diagnostic]
    trace: Rows
    """What happened when: see `sim.trace`."""


@dataclass(frozen=True)
class Program:
    """A stream, and the source of each of its operations."""

    stream: Stream
    locations: Sequence[LocationAttr] = ()


class Runner:
    """A machine with its controller."""

    def __init__(self, machine: Machine, images: Images | None = None):
        self.machine = machine
        self.controller = Controller(machine, images)

    def configure(self, program: Program) -> None:
        """Carry out a configuration, in no time."""
        self._carry_out(program, cost=0)

    def run(self, program: Program, arguments: Mapping[int, tuple[str, npt.NDArray[np.generic]]]) -> RunResult:
        """Carry out a sequence with host arrays by number of the argument."""
        host, start = self.machine.host, self.machine.engine.now
        self.machine.trace.clear()
        host.arguments.clear()
        for number, (name, array) in arguments.items():
            host.add(number, name, array)
        self._carry_out(program)
        rows = self.machine.trace.since(0)
        rows[:, 0] -= start
        return RunResult(self.machine.engine.now - start, self.machine.judge.notes, rows)

    def _carry_out(self, program: Program, cost: int | None = None) -> None:
        process = self.controller.run(program.stream, program.locations, cost)
        actor = self.machine.engine.start("the controller", process)
        if not self.machine.engine.run(lambda: actor.done):
            reason = actor.wait.reason() if actor.wait else "the controller cannot go on"
            raise Hang(f"hang: {reason}", place_of(self.controller), explain(self.machine, actor))
