"""Time, and processes that wait: the engine under every block of the machine.

A block is a generator. It yields a number of cycles to let them pass, or a `Wait` that says what it waits for and why;
what nobody can end is a hang, and the open waits are its explanation. Whatever happens in the same cycle happens in the
order in which it was asked for, so two runs of a program are the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, TypeAlias, TypeVar

from tilewright.device import TileId

Result = TypeVar("Result")
Process: TypeAlias = Generator["Wait | int", None, Result]
"""A block at work; with what it gives in the end."""


class Signal:
    """Something that changes; whoever changes it calls `fire`."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: list[Actor] = []

    def fire(self) -> None:
        """Let all who wait look again, in this cycle."""
        if self.waiting:
            waiting, self.waiting = self.waiting, []
            for actor in waiting:
                actor.resume()


@dataclass(frozen=True)
class Wait:
    """Why a block does not move."""

    on: Signal
    reason: Callable[[], str]
    of: object = None
    """The thing that has to change: a lock, a queue, a stream."""
    by: object = None
    """Who waits; it may have a location in the source."""


@dataclass(eq=False)
class Actor:
    """A process in an engine."""

    engine: Engine
    name: str
    process: Process[Any]
    tile: TileId | None = None
    wait: Wait | None = None
    since: int = 0
    """When the wait began."""
    done: bool = False
    finished: Signal = field(default_factory=Signal)

    def resume(self) -> None:
        self.wait = None
        self.engine.schedule(self.engine.now, self.step)

    def step(self) -> None:
        """Go on to the next wait."""
        if self.done:
            return
        try:
            pause = next(self.process)
        except StopIteration:
            self.done = True
            self.finished.fire()
            return
        if isinstance(pause, Wait):
            self.wait, self.since = pause, self.engine.now
            pause.on.waiting.append(self)
        else:
            self.engine.schedule(self.engine.now + pause, self.step)

    def stop(self) -> None:
        """Forget it, wherever it is."""
        self.done = True
        if self.wait is not None and self in self.wait.on.waiting:
            self.wait.on.waiting.remove(self)
        self.wait = None
        self.process.close()


class Engine:
    """A queue of things to do, each at its cycle."""

    def __init__(self) -> None:
        self.now = 0
        self.actors: list[Actor] = []
        self.events = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._asked = 0

    def schedule(self, at: int, action: Callable[[], None]) -> None:
        self._asked += 1
        heappush(self._queue, (at, self._asked, action))

    def start(self, name: str, process: Process[Any], tile: TileId | None = None) -> Actor:
        """Let a process run from this cycle on."""
        actor = Actor(self, name, process, tile)
        self.actors.append(actor)
        self.schedule(self.now, actor.step)
        return actor

    def run(self, until: Callable[[], bool]) -> bool:
        """Work until `until` holds, which is true in the end, or until nobody can move."""
        queue = self._queue
        while not until():
            if not queue:
                return False
            self.now, _, action = heappop(queue)
            self.events += 1
            action()
        return True

    def forget_finished(self) -> None:
        """Drop the processes that have ended."""
        self.actors = [actor for actor in self.actors if not actor.done]

    @property
    def waiting(self) -> list[Actor]:
        """Who waits for something."""
        return [actor for actor in self.actors if actor.wait is not None and not actor.done]
