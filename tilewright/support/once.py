"""Things that a process makes when they are first needed, and never again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

T = TypeVar("T")


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Call `make` the first time only; threads that ask meanwhile wait. `functools.cache` would let each call it."""
    lock, made = threading.RLock(), list[T]()

    @wraps(make)
    def get() -> T:
        if not made:
            with lock:
                if not made:
                    made.append(make())
        return made[0]

    return get
