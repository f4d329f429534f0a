"""Locks: counters that cores and DMA channels wait for. AIE2 and AIE2P; values have 6 bits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from tilewright.device import TileId
from tilewright.device.registers import LockValue
from tilewright.sim.engine import Process, Signal, Wait
from tilewright.sim.faults import FaultKind, FaultPolicy, place_of
from tilewright.sim.trace import Trace, TraceEvent

MAX_VALUE = LockValue.lock_value.limits[-1]
"""Lock arithmetic has 6 bits: AM020, and `Lock_value` of aie_registers_aie2.json."""


@dataclass(frozen=True)
class LockNeed:
    """The value that is waited for a lock to have."""

    lock: Lock
    value: int
    exactly: bool = False

    def __str__(self) -> str:
        return f"{self.lock} {'==' if self.exactly else '>='} {self.value}, it is {self.lock.value}"

    def wait(self, asker: object) -> Wait:
        return Wait(self.lock.changed, partial("{} needs {}".format, asker, self), self, asker)


class Lock:
    """One lock of a tile."""

    __slots__ = ("_value", "changed", "index", "name", "number", "policy", "tile", "trace")

    def __init__(self, tile: TileId, number: int, index: int, policy: FaultPolicy, trace: Trace):
        self.tile = tile
        self.index = index
        self.trace = trace
        self.number = number
        self.name: str | None = None
        """What the program calls it."""
        self.policy = policy
        self._value = 0
        self.changed = Signal()

    def __str__(self) -> str:
        name = f" ({self.name})" if self.name else ""
        return f"lock {self.number}{name} of tile ({self.tile.column}, {self.tile.row})"

    @property
    def value(self) -> int:
        return self._value

    def _store(self, value: int) -> None:
        self._value = value

    def set(self, value: int) -> None:
        """What a write to the lock's register does."""
        self._become(value & MAX_VALUE)

    def would_grant(self, value: int) -> bool:
        """Whether a descriptor's acquire of this value need not wait, see `lock_wait`."""
        return self.value >= -value if value < 0 else self.value == value

    def acquire(self, amount: int, asker: object) -> Process[None]:
        """Wait for a value of at least `amount` and take it away."""
        while self.value < amount:
            yield LockNeed(self, amount).wait(asker)
        self._change(-amount, asker)

    def acquire_equal(self, value: int, asker: object) -> Process[None]:
        """Wait for exactly `value`, which stays: AI Engine-ML intrinsics, acquire_equal."""
        while self.value != value:
            yield LockNeed(self, value, exactly=True).wait(asker)

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
            self._complain(amount, value > MAX_VALUE, asker)
        self._become(value & MAX_VALUE)

    def _complain(self, amount: int, too_high: bool, asker: object) -> None:
        text = f"{asker} adds {amount} to {self}, which is {self.value}"
        if too_high:
            remedy = f"a lock has values up to {MAX_VALUE}: let this wait until what it gave before is taken"
            self.policy.fault(FaultKind.LOCK_OVERFLOW, text, asker, (place_of(asker), remedy))
        else:
            remedy = "a lock has no values below 0: only take away what an acquire waited for"
            self.policy.fault(FaultKind.LOCK_UNDERFLOW, text, asker, (place_of(asker), remedy))

    def _become(self, value: int) -> None:
        self._store(value)
        # Before the signal: rows of those who go on because of it come after this one.
        self.trace.record(TraceEvent.LOCK, 0, self.index, value)
        self.changed.fire()


def locks_of(tile: TileId, count: int, first: int, policy: FaultPolicy, trace: Trace) -> list[Lock]:
    """The locks of a tile; `first` is the number of lock 0 among all of the array."""
    return [Lock(tile, number, first + number, policy, trace) for number in range(count)]


def lock_wait(lock: Lock, value: int, asker: object) -> Process[Any]:
    """What a descriptor's acquire value means: below 0 at least that much, taken away; else exactly that."""
    return lock.acquire(-value, asker) if value < 0 else lock.acquire_equal(value, asker)
