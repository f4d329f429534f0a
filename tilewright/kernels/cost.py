"""Costs of kernels in cycles: what the vector unit's peak and its loads and stores allow, and no overhead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from tilewright.kernels.definition import Array, Call

SCALAR_ELEMENT_CYCLES = 10
"""For an element in a loop over scalars: a load and its seven cycles until use, an operation, a store; estimated."""


def moves(call: Call, loaded_bytes: int, stored_bytes: int) -> int:
    """A loop that only loads, does one thing, and stores."""
    return max(-(-loaded_bytes // call.unit.load_bytes), -(-stored_bytes // call.unit.store_bytes), 1)


def elementwise(call: Call, *arguments: Any) -> int:
    """All memory but the last is read, the last is written."""
    *inputs, output = _arrays(arguments)
    return moves(call, sum(array.nbytes for array in inputs), output.nbytes)


def scalar_loop(call: Call, *arguments: Any) -> int:
    """One element after the other."""
    return _arrays(arguments)[-1].size * SCALAR_ELEMENT_CYCLES


def _arrays(arguments: Sequence[Any]) -> list[Array]:
    return [cast(Array, argument) for argument in arguments if isinstance(argument, np.ndarray)]


def products(call: Call, element: str, count: int) -> int:
    """A loop that multiplies and adds at the peak."""
    return max(1, -(-count // call.unit.macs[element]))


def functions(call: Call, count: int, steps: int = 1) -> int:
    """A loop over a vector with so many steps, tables or functions in it."""
    return max(1, -(-count // call.unit.lanes) * steps)
