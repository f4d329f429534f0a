"""How long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

REPEATS = 3


def best(action: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of several times."""
    found = list[float]()
    for _ in range(REPEATS):
        start = clock()
        action()
        found.append(clock() - start)
    return min(found)
