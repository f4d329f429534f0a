"""A private buffer: one element per lane and place.

As long as all lanes use the same place at a time, a buffer is a list of rows that stores replace; the first access at
places that differ between lanes turns it into an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Outside = Callable[[Any, Any, int, int], NoReturn]
"""Reports places, the mask of lanes, how many places there are, and which access it was."""


class Private:
    """Elements of all lanes of a group."""

    def __init__(self, dtype: np.dtype[Any], elements: int, lanes: int, outside: Outside):
        self.dtype, self.elements, self.lanes, self.outside = dtype, elements, lanes, outside
        self.rows: list[Array] | None = [np.zeros(lanes, dtype)] * elements
        self.array: Array | None = None

    def part(self, chosen: Array, outside: Outside) -> Private:
        """The same for some of the lanes."""
        made = Private(self.dtype, 0, int(np.count_nonzero(chosen)), outside)
        made.elements = self.elements
        made.rows = None if self.rows is None else [row[chosen] for row in self.rows]
        made.array = None if self.array is None else self.array[:, chosen]
        return made

    def load(self, place: int, m: Any, site: int, pattern: Any = None) -> Array:
        """The same place in all lanes, or the same places for a vector."""
        if not 0 <= place < self.elements:
            self.outside(place, m, self.elements, site)
        if pattern is not None:
            return self.gather(np.full(self.lanes, place), m, site, pattern)
        if self.rows is not None:
            return self.rows[place]
        assert self.array is not None
        return self.array[place].copy()

    def store(self, place: int, value: Array, m: Any, site: int, pattern: Any = None) -> None:
        if not 0 <= place < self.elements:
            self.outside(place, m, self.elements, site)
        if pattern is not None:
            self.scatter(np.full(self.lanes, place), value, m, site, pattern)
            return
        if self.rows is None:
            assert self.array is not None
            np.copyto(self.array[place], value, where=True if m is None else m)
        else:
            self.rows[place] = value if m is None else np.where(m, value, self.rows[place])

    def gather(self, places: Array, m: Any, site: int, pattern: Any = None) -> Array:
        """A place of its own in each lane."""
        array, places = self._checked(places, m, site, pattern)
        return array[places, np.arange(self.lanes)]

    def scatter(self, places: Array, value: Array, m: Any, site: int, pattern: Any = None) -> None:
        array, places = self._checked(places, m, site, pattern)
        lanes = np.arange(self.lanes)
        if m is None:
            array[places, lanes] = value
        else:
            value = np.broadcast_to(value, places.shape)
            array[places[..., m], lanes[m]] = value[..., m]

    def _checked(self, places: Array, m: Any, site: int, pattern: Any) -> tuple[Array, Array]:
        if m is not None:
            places = np.where(m, places, 0)
        if pattern is not None:
            places = places + pattern[..., None]
        if places.size and int(places.view(np.uint64).max()) >= self.elements:
            self.outside(places, m, self.elements, site)
        if self.rows is not None:
            self.array, self.rows = np.stack(self.rows), None
        assert self.array is not None
        return self.array, places
