"""Time, and processes that wait: the engine under every block of the machine.

A block is a generator. It yields a number of cycles to let them pass, or a `Wait` that says what it waits for and why;
what no other block can end is a hang, and the open waits are its explanation. Of those that act in the same cycle the
one with the lowest number acts first, so two runs of a program are the same run, on either model.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, TypeAlias, TypeVar

from tilewright.device import TileId

Result = TypeVar("Result")
Process: TypeAlias = Generator["Wait | Pause | int", None, Result]
"""A block at work; with what it gives in the end."""
PATIENCE = 100_000
"""So many looks in a row at something that does not change, by all that look, while nothing else acts, are a hang."""


class Signal:
    """Something that changes; what changes it calls `fire`."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: list[Actor] = []

    def add(self, actor: Actor) -> None:
        """Let an actor wait."""
        self.waiting.append(actor)

    def remove(self, actor: Actor) -> None:
        """An actor that may wait does not any more."""
        if actor in self.waiting:
            self.waiting.remove(actor)

    def fire(self) -> None:
        """Let all who wait look again, in this cycle."""
        if self.waiting:
            # An actor that still has to wait adds itself again, so the list is emptied first.
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


@dataclass(frozen=True)
class Pause:
    """Some cycles after which a block looks again at what it waits for, since nothing tells it of a change."""

    cycles: int
    wait: Wait


@dataclass(eq=False)
class Actor:
    """A process in an engine."""

    engine: Engine
    name: str
    process: Process[Any]
    tile: TileId | None = None
    rank: int = 0
    """Who acts first in a cycle: the lowest."""
    wait: Wait | None = None
    since: int = 0
    """When the wait began."""
    looks: bool = False
    """Whether it pauses, and looks again by itself."""
    done: bool = False
    finished: Signal = field(default_factory=Signal)

    def resume(self) -> None:
        self.wait = None
        if self.engine.on_wait is not None:
            self.engine.on_wait(self)
        self.engine.schedule(self.engine.now, self)

    def step(self) -> None:
        """Go on to the next wait."""
        if self.done:
            return
        # Only turns that do nothing but look count towards PATIENCE.
        self.engine.count_look(self.looks)
        self.looks = False
        try:
            pause = next(self.process)
        except StopIteration:
            self.wait, self.done = None, True
            self.finished.fire()
            return
        self._rest(pause)

    def _rest(self, pause: Wait | Pause | int) -> None:
        if isinstance(pause, int):
            self.wait = None
            self.engine.schedule(self.engine.now + pause, self)
        elif isinstance(pause, Pause):
            self.wait, self.looks = pause.wait, True
            self.engine.schedule(self.engine.now + pause.cycles, self)
        else:
            self.wait, self.since = pause, self.engine.now
            pause.on.add(self)
            if self.engine.on_wait is not None:
                self.engine.on_wait(self)

    def stop(self) -> None:
        """Forget it, wherever it is."""
        self.done = True
        if self.wait is not None:
            self.wait.on.remove(self)
        self.wait = None
        # A generator in the middle of its work releases what it holds.
        self.process.close()


class Engine:
    """A queue of things to do, each at its cycle."""

    def __init__(self) -> None:
        self._now = 0
        self._events = 0
        self.processes: list[Actor] = []
        self.on_wait: Callable[[Actor], None] | None = None
        """Called when an actor begins to wait, and when what it waited for changes."""
        self._queue: list[tuple[int, int, int, Actor]] = []
        self._asked = 0
        self._looks = 0

    @property
    def now(self) -> int:
        """The cycle."""
        return self._now

    @property
    def events(self) -> int:
        """How many turns there have been."""
        return self._events

    def schedule(self, at: int, actor: Actor) -> None:
        """Give an actor its turn in a cycle; it has no other turn then."""
        self._asked += 1
        # Rank before the order of asking: it is what makes both models give turns alike.
        heappush(self._queue, (at, actor.rank, self._asked, actor))

    def start(self, name: str, process: Process[Any], tile: TileId | None = None, rank: int = 0) -> Actor:
        """Let a process run from this cycle on."""
        actor = Actor(self, name, process, tile, rank)
        self.processes.append(actor)
        self.schedule(self.now, actor)
        return actor

    def run(self, until: Callable[[], bool], last: int | None = None) -> bool:
        """Work until `until` holds or the last cycle is over, which is true in the end, or until none can move."""
        queue, self._looks = self._queue, 0
        while not until():
            # A stopped actor stays in the heap: finding it there would cost more than passing over it.
            while queue and queue[0][-1].done:
                heappop(queue)
            if not queue or self._looks > PATIENCE:
                return False
            if last is not None and queue[0][0] > last:
                self._now = max(self._now, last)
                return True
            self._now, _, _, actor = heappop(queue)
            self._events += 1
            actor.step()
        return True

    def count_look(self, looks: bool) -> None:
        """An actor has its turn; `looks` if only to look again at what it waits for."""
        self._looks = self._looks + 1 if looks else 0

    def forget_finished(self) -> None:
        """Drop the processes that have ended."""
        self.processes = [actor for actor in self.processes if not actor.done]

    @property
    def actors(self) -> Sequence[Actor]:
        """All of them, to be asked what they wait for."""
        return self.processes

    @property
    def waiting(self) -> list[Actor]:
        """Who waits for something."""
        return [actor for actor in self.actors if actor.wait is not None and not actor.done]
