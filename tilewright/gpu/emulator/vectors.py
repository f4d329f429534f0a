"""Vectors in generated code: arrays with the vector's dimensions first and lanes last."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from tilewright.gpu.emulator.lane_operations import COMBINE

Array = Any


def vbroadcast(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    lanes = lanes_of(x)
    if lanes is None:
        return np.full((*shape, 1), x, dtype)
    given = (1,) * (len(shape) + 1 - x.ndim) + x.shape
    return np.broadcast_to(x.reshape(given), (*shape, lanes))


def lanes_of(x: Array) -> int | None:
    """How many lanes an array has; None for a single number."""
    return int(x.shape[-1]) if hasattr(x, "shape") and x.ndim else None


def vextract(x: Array, position: tuple[int, ...]) -> Array:
    return x[position]


def one(x: Array) -> Any:
    """The only element of a uniform value."""
    return x[0] if x.dtype.kind in "fV" else x[0].item()


def vpick(x: Array, place: Array, lanes: int) -> Array:
    """An element of a vector, another one in each lane."""
    wide = np.broadcast_to(x, (*x.shape[:-1], lanes))
    return wide[np.broadcast_to(place, lanes) % x.shape[0], np.arange(lanes)]


def vinsert(value: Array, x: Array, position: tuple[int, ...]) -> Array:
    lanes = max(x.shape[-1], lanes_of(value) or 1)
    made = np.broadcast_to(x, (*x.shape[:-1], lanes)).copy()
    made[position] = value
    return made


def vreshape(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(*shape, x.shape[-1])


def vslice(x: Array, starts: tuple[int, ...], ends: tuple[int, ...]) -> Array:
    return x[tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))]


def vgather(parts: list[Array], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A vector of elements."""
    lanes = max(lanes_of(part) or 1 for part in parts)
    rows = [np.broadcast_to(np.asarray(part, dtype), lanes) for part in parts]
    return np.stack(rows).reshape(*shape, lanes)


def vreduce(x: Array, combine: str) -> Array:
    """All elements combined, one after the other."""
    rows = x.reshape(-1, x.shape[-1])
    if combine in ("minui", "maxui"):
        rows = rows.view(f"u{x.dtype.itemsize}")
    return reduce(COMBINE[combine], rows).astype(rows.dtype).view(x.dtype)


FUNCTIONS = vbroadcast, vextract, one, vpick, vinsert, vreshape, vslice, vgather, vreduce
