"""Locks once more, in numbers."""

from __future__ import annotations

from tilewright.sim.fast.agenda import fire, record
from tilewright.sim.fast.state import State
from tilewright.sim.locks import MAX_VALUE
from tilewright.sim.trace import Event


def is_in_range(s: State, value: int) -> int:
    return 0 <= value <= MAX_VALUE


def set_lock(s: State, lock: int, value: int) -> int:
    s.lock_value[lock] = value & MAX_VALUE
    record(s, Event.LOCK, 0, lock, value & MAX_VALUE)
    fire(s, lock)
    return 0
