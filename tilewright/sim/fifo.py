"""Words on their way, through a switch to one of its master ports, or from core to core: with room for only so many."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from tilewright.sim.engine import Engine, Process, Signal, Wait


class Beat(NamedTuple):
    """One word of a stream, and whether it ends a packet or a transfer."""

    word: int
    last: bool


class PortWatch(Protocol):
    """Looks at a port of a switch, for its events."""

    def moved(self, last: bool) -> None:
        """A word goes through, which may be the last of its packet."""
        ...

    def stalled(self, full: bool) -> None:
        """There is no room behind the port any more, or there is again."""
        ...


class Fifo:
    """Words enter at one end, and can leave at the other after `latency` cycles; at most `depth` are inside."""

    __slots__ = ("_beats", "_passed", "_start", "changed", "depth", "engine", "latency", "name", "watch")

    def __init__(self, engine: Engine, name: str, depth: int, latency: int):
        self.engine = engine
        self.name = name
        self.depth = depth
        self.latency = latency
        self.changed = Signal()
        self._start: Callable[[], object] | None = None
        self._passed = 0
        self.watch: PortWatch | None = None
        self._beats: deque[tuple[int, Beat]] = deque()

    def __str__(self) -> str:
        return self.name

    def __len__(self) -> int:
        return len(self._beats)

    @property
    def passed(self) -> int:
        """Words that have come in since the last reset."""
        return self._passed

    def begin_with(self, start: Callable[[], object]) -> None:
        """Say what starts the reader, once there is something to read."""
        self._start = start

    @property
    def is_full(self) -> bool:
        return len(self) >= self.depth

    def push(self, beat: Beat) -> None:
        if self._start is not None:
            # Readers start with the first word: most ports of an array never see one, and a process for each is slow.
            start, self._start = self._start, None
            start()
        self._passed += 1
        # The latency is paid once on entry; words behind it keep one cycle apart by `pass_on`.
        self._beats.append((self.engine.now + self.latency, beat))
        if self.watch is not None:
            self.watch.moved(beat.last)
            self.watch.stalled(self.is_full)
        self.changed.fire()

    def head(self, asker: object) -> Process[Beat]:
        """The next word, once it is there; it stays."""
        while not self._beats:
            yield self.empty_wait(asker)
        ready, beat = self._beats[0]
        if ready > self.engine.now:
            yield ready - self.engine.now
        return beat

    def empty_wait(self, asker: object) -> Wait:
        return Wait(self.changed, lambda: f"{asker} needs a word from {self}, which is empty", self, asker)

    def full_wait(self, asker: object) -> Wait:
        return Wait(self.changed, lambda: f"{asker} cannot go on: {self} is full", self, asker)

    def pop(self) -> None:
        self._beats.popleft()
        if self.watch is not None:
            self.watch.stalled(False)
        self.changed.fire()

    def take(self, asker: object) -> Process[Beat]:
        """The next word; one per cycle."""
        beat = yield from self.head(asker)
        self.pop()
        yield 1
        return beat


class CascadeLink:
    """Accumulators on their way from one core to the next."""

    def __init__(self, name: str, depth: int):
        self.name = name
        self.depth = depth
        self.changed = Signal()
        self._held: deque[bytes] = deque()

    def __str__(self) -> str:
        return self.name

    def put(self, data: bytes, asker: object) -> Process[None]:
        while len(self._held) >= self.depth:
            yield Wait(self.changed, lambda: f"{asker} cannot go on: {self} is full", self, asker)
        self._held.append(data)
        self.changed.fire()
        yield 1

    def get(self, asker: object) -> Process[bytes]:
        while not self._held:
            yield Wait(self.changed, lambda: f"{asker} needs an accumulator from {self}, which is empty", self, asker)
        data = self._held.popleft()
        self.changed.fire()
        yield 1
        return data
