"""How long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

REPEATS = 3


def best(action: Callable[[], Any]) -> float:
    """The shortest of several times."""
    found = list[float]()
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)
