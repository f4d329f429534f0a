"""The cascade: accumulators that a core hands to its neighbour."""

from __future__ import annotations

from collections import deque

from tilewright.sim.engine import Process, Signal, Wait


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
