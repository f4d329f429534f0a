"""What Python values are: numbers of Python or NumPy, and lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np


def is_boolean(value: object) -> TypeGuard[bool]:
    """Whether a value is a truth value of Python or NumPy."""
    return isinstance(value, bool | np.bool_)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy; booleans are."""
    return isinstance(value, int | np.integer)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number of Python or NumPy."""
    return isinstance(value, int | float | np.number | np.bool_)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)
