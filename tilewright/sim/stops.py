"""Runs that end before their end, interrupted or too long, with what each part was doing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.errors import restored
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.ir.run_errors import Unfinished
from tilewright.sim.controller import Controller
from tilewright.sim.engine import Actor
from tilewright.sim.faults import place_of
from tilewright.sim.machine import Machine
from tilewright.txn.stream import Stream

if TYPE_CHECKING:
    from tilewright.sim.record import RunRecord

Note: TypeAlias = "tuple[LocationAttr, str]"
MOST_NOTES = 40
"""Of what is busy so much is told; the rest is counted."""


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
