"""Phases that a part of the array can be in, with names and colours: one table for all reports."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple


class PhaseKind(Enum):
    """What a phase counts as."""

    BUSY = "busy"
    WAIT = "waiting"
    IDLE = "idle"


# numbers are columns of `Shares` and places in the page's list of looks, so they have no gaps
class Phase(IntEnum):
    """What a part is at. Every cycle of a part belongs to one of these."""

    IDLE = 0
    """No task, or the program is over."""
    EXECUTE = 1
    COMPUTE = 2
    KERNEL = 3
    MOVE = 4
    PREPARE = 5
    HOST = 6
    LOCK = 7
    WORDS = 8
    ROOM = 9
    CASCADE = 10
    TOKEN = 11
    POLL = 12


class Look(NamedTuple):
    """How a phase is shown."""

    label: str
    kind: PhaseKind
    colour: str
    """Its colour on the page, by name; the style sheet has one for light and one for dark."""
    chrome: str
    """The nearest of the colour names that trace viewers know."""
    meaning: str

    @property
    def cause(self) -> str:
        """What is waited for."""
        return self.label.removeprefix("waits for ")


LOOKS: dict[Phase, Look] = {
    Phase.IDLE: Look(
        "idle", PhaseKind.IDLE, "idle", "grey", "nothing to do: no task is queued, or the program has ended"
    ),
    Phase.EXECUTE: Look("executes", PhaseKind.BUSY, "execute", "thread_state_runnable", "the controller's own time"),
    Phase.COMPUTE: Look("computes", PhaseKind.BUSY, "compute", "thread_state_running", "a core runs its program"),
    Phase.KERNEL: Look("kernel", PhaseKind.BUSY, "kernel", "good", "a core is in an external kernel"),
    Phase.MOVE: Look("moves words", PhaseKind.BUSY, "move", "rail_response", "a channel moves one word per cycle"),
    Phase.PREPARE: Look(
        "prepares", PhaseKind.BUSY, "prepare", "rail_load", "a channel loads a descriptor or ends a task"
    ),
    Phase.HOST: Look("host memory", PhaseKind.WAIT, "host", "thread_state_iowait", "host memory has yet to answer"),
    Phase.LOCK: Look("waits for a lock", PhaseKind.WAIT, "lock", "terrible", "another part has to release the lock"),
    Phase.WORDS: Look("waits for words", PhaseKind.WAIT, "words", "bad", "nothing comes in: the sender is late"),
    Phase.ROOM: Look("waits for room", PhaseKind.WAIT, "room", "yellow", "nothing can go out: the receiver is late"),
    Phase.CASCADE: Look("waits for the cascade", PhaseKind.WAIT, "cascade", "olive", "the neighbouring core is late"),
    Phase.TOKEN: Look(
        "waits for a token", PhaseKind.WAIT, "token", "vsync_highlight_color", "a task has yet to complete"
    ),
    Phase.POLL: Look("polls", PhaseKind.WAIT, "poll", "black", "a register does not have its value yet"),
}
# in the order of the table, which is that of legends and bars
WAITS = [phase for phase, look in LOOKS.items() if look.kind is PhaseKind.WAIT]
BUSY = [phase for phase, look in LOOKS.items() if look.kind is PhaseKind.BUSY]
