"""Numbers that say how a program is to run, checked before anything does. Needs nothing but Python."""

from __future__ import annotations

import math
import operator
from typing import cast

from tilewright.errors import ArgumentError

MOST_RANKS = 256
MOST_HEAP_BYTES = 1 << 46
"""Of the symmetric heap of one rank: more does not fit into the addresses of a process beside those of others."""
MOST_SECONDS = 1e9


def whole_number(what: str, value: object, low: int, high: int) -> int:
    """A number from `low` to `high`; `ArgumentError` if it is another, or none."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(cast(int, value))
    except TypeError:
        raise ArgumentError(f"{what} takes a whole number from {low} to {high}, got {value!r}") from None
    if not low <= number <= high:
        raise ArgumentError(f"{what} takes a whole number from {low} to {high}, got {number}")
    return number


def checked_timeout(value: object) -> float | None:
    """Seconds, or None for no limit; `ArgumentError` for anything that no clock ever shows."""
    if value is None:
        return None
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 0 < number <= MOST_SECONDS:
        raise ArgumentError(f"timeout takes seconds, more than 0 and at most {MOST_SECONDS:.0e}, got {value!r}")
    return number
