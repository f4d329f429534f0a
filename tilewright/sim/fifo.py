"""Words on their way: the path through a switch to one of its master ports, with room for only so many."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from tilewright.sim.engine import Engine, Process, Signal, Wait


class Beat(NamedTuple):
    """One word of a stream, and whether it ends a packet or a transfer."""

    word: int
    last: bool


class Fifo:
    """Words enter at one end, and can leave at the other after `latency` cycles; at most `depth` are inside."""

    __slots__ = ("_beats", "changed", "depth", "engine", "latency", "name", "on_first")

    def __init__(self, engine: Engine, name: str, depth: int, latency: int):
        self.engine = engine
        self.name = name
        self.depth = depth
        self.latency = latency
        self.changed = Signal()
        self.on_first: Callable[[], object] | None = None
        """Called once, when the first word comes."""
        self._beats: deque[tuple[int, Beat]] = deque()

    def __str__(self) -> str:
        return self.name

    def __len__(self) -> int:
        return len(self._beats)

    @property
    def is_full(self) -> bool:
        return len(self._beats) >= self.depth

    def push(self, beat: Beat) -> None:
        if self.on_first is not None:
            start, self.on_first = self.on_first, None
            start()
        self._beats.append((self.engine.now + self.latency, beat))
        self.changed.fire()

    def head(self, asker: object) -> Process[Beat]:
        """The next word, once it is there; it stays."""
        while not self._beats:
            yield Wait(self.changed, lambda: f"{asker} needs a word from {self}, which is empty", self, asker)
        ready, beat = self._beats[0]
        if ready > self.engine.now:
            yield ready - self.engine.now
        return beat

    def pop(self) -> None:
        self._beats.popleft()
        self.changed.fire()

    def take(self, asker: object) -> Process[Beat]:
        """The next word; one per cycle."""
        beat = yield from self.head(asker)
        self.pop()
        yield 1
        return beat

    def clear(self) -> None:
        self._beats.clear()
        self.changed.fire()
