"""The garbage collector, told to look less often where many objects are made that stay."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

MADE_BETWEEN = 100_000
"""Objects made between two looks: the collector's own number is 700, which has it go through a program many times."""

LOOKS_BETWEEN = 40
"""Looks at new objects between two at those that have stayed so far: most of a program stays to the end."""

_lock = threading.Lock()
_inside = 0
_before = gc.get_threshold()


@contextmanager
def unhurried_collector() -> Generator[None]:
    """Inside the block the collector looks less often, for all threads; any number of them may be in it."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = gc.get_threshold()
            # 0 is never
            gc.set_threshold(_before[0] and max(_before[0], MADE_BETWEEN), max(_before[1], LOOKS_BETWEEN), _before[2])
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                gc.set_threshold(*_before)
