"""Updates of memory as one step, lane after lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.gpu.emulator.memory import Guarded

Array = np.ndarray[Any, np.dtype[Any]]


def _unsigned(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def update(old: Any, new: Any) -> Any:
        old, new = np.asarray(old), np.asarray(new)
        kind = np.dtype(f"u{old.dtype.itemsize}")
        return function(old.view(kind), new.view(kind)).view(old.dtype)

    return update


UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "xchg": lambda old, new: new,
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "mul": lambda old, new: old * new,
    "and": lambda old, new: old & new,
    "nand": lambda old, new: ~(old & new),
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "maxs": np.maximum,
    "mins": np.minimum,
    "maxu": _unsigned(np.maximum),
    "minu": _unsigned(np.minimum),
    "fadd": lambda old, new: old + new,
    "fsub": lambda old, new: old - new,
    "fmul": lambda old, new: old * new,
    "fmax": np.fmax,
    "fmin": np.fmin,
}


def update(view: Any, places: Array, values: Array, name: str, expected: Array | None) -> tuple[Array, bool]:
    """Update elements of a view, in the order of the places; gives what they were, and whether any changed."""
    if isinstance(view, Guarded) or np.unique(places).size != places.size:
        return _one_by_one(view, places, values, name, expected)
    old = view.take(places)
    new = np.where(old == expected, values, old) if expected is not None else UPDATES[name](old, values)
    changed = not np.array_equal(old, new)
    if changed:
        view[places] = new
    return old, changed


def _one_by_one(view: Any, places: Array, values: Array, name: str, expected: Array | None) -> tuple[Array, bool]:
    dtype: np.dtype[Any] = view.dtype
    old, changed = np.empty(places.shape, dtype), False
    for number, place in enumerate(places):
        value = values[number : number + 1]

        def change(now: Any, number: int = number, value: Any = value) -> Any:
            now = np.asarray([now], dtype)
            if expected is not None:
                return value[0] if now[0] == expected[number] else now[0]
            return UPDATES[name](now, value)[0]

        if isinstance(view, Guarded):
            old[number] = view.update(int(place), change)
            changed |= bool(change(old[number]) != old[number])
        else:
            old[number] = view[place]
            view[place] = change(old[number])
            changed |= bool(view[place] != old[number])
    return old, changed
