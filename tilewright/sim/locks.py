"""Locks: counters that cores and DMA channels wait for. AIE2 and AIE2P; values have 6 bits."""

from __future__ import annotations

from typing import Any

from tilewright.device import TileId
from tilewright.sim.engine import Process, Signal, Wait
from tilewright.sim.faults import FaultKind, Judge
from tilewright.sim.trace import Event, Trace

MAX_VALUE = 63
"""Lock arithmetic has 6 bits: AM020, and `Lock_value` of aie_registers_aie2.json."""


class Lock:
    """One lock of a tile."""

    __slots__ = ("changed", "index", "judge", "number", "tile", "trace", "value")

    def __init__(self, tile: TileId, number: int, index: int, judge: Judge, trace: Trace):
        self.tile = tile
        self.index = index
        self.trace = trace
        self.number = number
        self.judge = judge
        self.value = 0
        self.changed = Signal()

    def __str__(self) -> str:
        return f"lock {self.number} of tile ({self.tile.column}, {self.tile.row})"

    def set(self, value: int) -> None:
        """What a write to the lock's register does."""
        self._become(value & MAX_VALUE)

    def would_grant(self, value: int) -> bool:
        """Whether a descriptor's acquire of this value need not wait, see `lock_wait`."""
        return self.value >= -value if value < 0 else self.value == value

    def acquire(self, amount: int, asker: object) -> Process[None]:
        """Wait for a value of at least `amount` and take it away."""
        while self.value < amount:
            yield Wait(self.changed, lambda: f"{asker} needs {self} >= {amount}, it is {self.value}", self, asker)
        self._change(-amount, asker)

    def acquire_equal(self, value: int, asker: object) -> Process[None]:
        """Wait for exactly `value`, which stays: AI Engine-ML intrinsics, acquire_equal."""
        while self.value != value:
            yield Wait(self.changed, lambda: f"{asker} needs {self} == {value}, it is {self.value}", self, asker)

    def release(self, amount: int, asker: object) -> None:
        self._change(amount, asker)

    def try_change(self, change: int, asker: object) -> bool:
        """What a read of the lock request window does: take or give at once, or not at all."""
        if change < 0 and self.value < -change:
            return False
        self._change(change, asker)
        return True

    def _change(self, amount: int, asker: object) -> None:
        value = self.value + amount
        if not 0 <= value <= MAX_VALUE:
            kind = FaultKind.LOCK_OVERFLOW if value > MAX_VALUE else FaultKind.LOCK_UNDERFLOW
            self.judge.fault(kind, f"{asker} adds {amount} to {self}, which is {self.value}", asker)
        self._become(value & MAX_VALUE)

    def _become(self, value: int) -> None:
        self.value = value
        self.trace.record(Event.LOCK, 0, self.index, value)
        self.changed.fire()


def locks_of(tile: TileId, count: int, first: int, judge: Judge, trace: Trace) -> list[Lock]:
    """The locks of a tile; `first` is the number of lock 0 among all of the array."""
    return [Lock(tile, number, first + number, judge, trace) for number in range(count)]


def lock_wait(lock: Lock, value: int, asker: object) -> Process[Any]:
    """What a descriptor's acquire value means: below 0 at least that much, taken away; else exactly that."""
    return lock.acquire(-value, asker) if value < 0 else lock.acquire_equal(value, asker)
