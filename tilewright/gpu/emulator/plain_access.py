"""Accesses as they are when every store is seen at once by all: directly on the arrays that memory is.

As long as all lanes use the same place of a private buffer at a time, it is a list of rows that stores replace; the
first access at places that differ between lanes turns it into an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tilewright.gpu.emulator.arithmetic import wrap64
from tilewright.gpu.emulator.lane_operations import LaneGroup
from tilewright.gpu.emulator.memory import Array, Memory, MemoryRange, update
from tilewright.gpu.emulator.plan import Plan
from tilewright.gpu.emulator.program import LDS_WINDOW, PRIVATE_SHIFT, PRIVATE_WINDOW

FARTHEST = 1 << 55
"""Elements whose distance in bytes is sure to fit into 64 bits."""


class PlainAccess(LaneGroup):
    """Loads, stores and updates of a group; places count elements from a pointer, `m` masks lanes."""

    plan: Plan
    memory: Memory
    private: list[Private]
    slots: Array
    lds_bytes: int
    lds: MemoryRange
    changes: list[int]
    """How often memory has changed, shared by all groups of a device."""
    _lds_starts: dict[tuple[int, int], Array]

    def outside(self, places: Any, m: Any, size: int | None, site: int) -> NoReturn:
        """Report places of which some are not in a buffer of that size."""
        wrong = np.atleast_1d(places)
        bad = (wrong < 0) | (wrong >= (FARTHEST if size is None else size))
        chosen, by_lane = self.active(m), _any_element(bad)
        if len(by_lane) == self.lanes:
            chosen = by_lane
        # stores look at active lanes only
        elif m is not None and len(by_lane) == int(np.count_nonzero(m)):
            chosen = np.zeros(self.lanes, bool)
            chosen[np.flatnonzero(m)[by_lane]] = True
        verb = {"load": "reads", "store": "writes"}.get(self.plan.sites[site].name, "updates")
        text = f"{verb} element {int(wrong[bad].flat[0])} of a buffer{'' if size is None else f' that has {size}'}"
        self.fault(site, text, chosen, "check the index, or guard the access with a condition")

    def unmapped(self, address: Any, m: Any, site: int) -> NoReturn:
        near = self.memory.nearest(int(address))
        if near is None:
            note = "memory of the host has to be copied to the device first (gpu.alloc and gpu.memcpy, or mgpuMemcpy)"
        else:
            before, behind = near.base - int(address), int(address) - (near.base + near.size)
            missed = f"{before} bytes before the start" if before > 0 else f"{behind} bytes behind the end"
            note = f"that is {missed} of {near.name}: check the index, or guard the access with a condition"
        self.fault(site, f"accesses address {int(address):#x}, which is not the device's", self.active(m), note)

    def check(self, holds: Any, m: Any, site: int, text: str) -> None:
        """Stop unless something holds in all active lanes."""
        bad = ~np.broadcast_to(holds, self.lanes) & self.active(m)
        if bad.any():
            self.fault(site, text, bad)

    def check_division(self, a: Any, b: Any, m: Any, site: int, bits: int | None) -> None:
        """Stop where active lanes divide by zero, or, if they have signs, where a quotient does not fit into `bits`."""
        zero = np.equal(b, 0)
        if zero.any():
            self.check(~_any_element(zero), m, site, "divides by zero")
        if bits is None or not np.equal(b, -1).any():
            return
        lowest = -(1 << bits - 1)
        text = f"divides {lowest} by -1, which does not fit into {bits} bits"
        self.check(~_any_element(np.equal(b, -1) & np.equal(a, lowest)), m, site, text)

    def address(self, pointer: Any, place: Any, size: int, m: Any, limit: int | None, site: int, pattern: Any) -> Any:
        """The address of an element; stops if that is further than the limit, or than any buffer can be."""
        low, high = (0, 0) if pattern is None else (int(pattern.min()), int(pattern.max()))
        least, most = (-FARTHEST, FARTHEST) if limit is None else (-low, limit - high - 1)
        if place.__class__ is int:
            if not least <= place <= most:
                self.outside(place, m, limit, site)
            return wrap64(pointer + place * size) if pointer.__class__ is int else pointer + place * size
        bad = (place < least) | (place > most)
        if bad.any():
            if (bad & self.active(m)).any():
                self.outside(np.where(bad & self.active(m), place, 0), m, limit, site)
            # lanes that are not active compute an address that is not used
            place = np.where(bad, 0, place)
        return pointer + place * size

    def _view(self, pointer: int, dtype: np.dtype[Any], limit: int | None, m: Any, site: int) -> tuple[Any, int]:
        view = self.memory.view(pointer, dtype)
        if view is None:
            self.unmapped(pointer, m, site)
        size = view.size
        return view, size if limit is None or limit > size else limit

    def load_one(self, pointer: int, place: int, dtype: Any, m: Any, limit: int | None, site: int, pattern: Any) -> Any:
        """The same element for all lanes."""
        view, size = self._view(pointer, dtype, limit, m, site)
        if pattern is not None:
            places = place + pattern[..., None]
            if int(places.view(np.uint64).max()) >= size:
                self.outside(places, m, size, site)
            return view.take(places)
        if not 0 <= place < size:
            self.outside(place, m, size, site)
        value = view[place]
        return value if dtype.kind in "fV" else value.item()

    def load(self, pointer: int, place: Any, dtype: Any, m: Any, limit: int | None, site: int, pattern: Any) -> Array:
        view, size = self._view(pointer, dtype, limit, m, site)
        if place.__class__ is int:
            place = np.full(self.lanes, place)
        elif m is not None:
            place = np.where(m, place, 0)
        if pattern is not None:
            place = place + pattern[..., None]
        if int(place.view(np.uint64).max()) >= size:
            self.outside(place, m, size, site)
        return view.take(place)

    def store(
        self, pointer: int, place: Any, value: Any, dtype: Any, m: Any, limit: int | None, site: int, pattern: Any
    ) -> None:
        view, size = self._view(pointer, dtype, limit, m, site)
        self.changes[0] += 1
        if place.__class__ is int:
            place = np.full(self.lanes, place)
        if pattern is not None:
            place = place + pattern[..., None]
        if m is not None:
            place, value = place[..., m], self._of_active(value, m)
        # as a number without a sign, one below zero is too large
        if int(place.view(np.uint64).max()) >= size:
            self.outside(place, m, size, site)
        view[place] = value

    def _of_active(self, value: Any, m: Array) -> Any:
        return np.broadcast_to(value, (*value.shape[:-1], self.lanes))[..., m] if value.ndim else value

    def _lds_start(self, start: int, size: int) -> Array:
        """Where each lane's block has a byte of its memory, in elements."""
        found = self._lds_starts.get((start, size))
        if found is None:
            found = self._lds_starts[start, size] = (self.slots * self.lds_bytes + start) // size
        return found

    def _lds_places(
        self, start: int, place: Any, dtype: Any, m: Any, limit: int | None, site: int, pattern: Any
    ) -> Any:
        if pattern is not None:
            place = (np.full(self.lanes, place) if place.__class__ is int else place) + pattern[..., None]
        top = (self.lds_bytes - start) // dtype.itemsize if limit is None else limit
        if place.__class__ is int:
            if not 0 <= place < top:
                self.outside(place, m, top, site)
        else:
            if m is not None:
                place = np.where(m, place, 0)
            if int(place.view(np.uint64).max()) >= top:
                self.outside(place, m, top, site)
        # blocks of a group lie one behind the other in one range
        return place + self._lds_start(start, dtype.itemsize)

    def load_lds(self, start: int, place: Any, dtype: Any, m: Any, limit: int | None, site: int, pattern: Any) -> Array:
        places = self._lds_places(start, place, dtype, m, limit, site, pattern)
        return self.memory.view(self.lds.base, dtype).take(places)

    def store_lds(
        self, start: int, place: Any, value: Any, dtype: Any, m: Any, limit: int | None, site: int, pattern: Any
    ) -> None:
        places = self._lds_places(start, place, dtype, m, limit, site, pattern)
        self.changes[0] += 1
        if m is not None:
            places, value = places[..., m], self._of_active(value, m)
        self.memory.view(self.lds.base, dtype)[places] = value

    def real(self, addresses: Any) -> Array:
        """Addresses of this process for addresses of threads, one per lane."""
        found: Array = np.full(self.lanes, addresses) if addresses.__class__ is int else addresses
        if int(found.max()) >= LDS_WINDOW:
            in_window = (found >= LDS_WINDOW) & (found < LDS_WINDOW + self.lds_bytes)
            own = found - LDS_WINDOW + self.lds.base + self.slots * self.lds_bytes
            found = np.where(in_window, own, found)
        return found

    def groups(self, addresses: Array, chosen: Array, dtype: Any, site: int) -> Any:
        """Lanes by the range that their addresses are in: the lanes, a view, and their places in it."""
        while chosen.any():
            first = int(addresses[chosen.argmax()])
            range = self.memory.find(first)
            if range is None or first + dtype.itemsize > range.base + range.size:
                self.unmapped(first, chosen & (addresses == first), site)
            offset = (first - range.base) % dtype.itemsize
            places = addresses - (range.base + offset)
            here = chosen & (places >= 0) & (places <= range.size - offset - dtype.itemsize)
            # those at other offsets need a view of their own
            if dtype.itemsize > 1:
                here &= places & (dtype.itemsize - 1) == 0
            yield here, self.memory.view(range.base + offset, dtype), places[here] // dtype.itemsize
            chosen = chosen & ~here

    def check_mapped(self, addresses: Array, chosen: Array, dtype: Any, site: int) -> None:
        """Stop if an address is not the device's."""
        for _ in self.groups(addresses, chosen, dtype, site):
            pass

    def _private_of(self, addresses: Any, dtype: Any) -> tuple[Private, Any] | None:
        """The private buffer that addresses are in, if they are in one."""
        first = addresses if addresses.__class__ is int else int(addresses.max())
        if first < PRIVATE_WINDOW:
            return None
        number = (first - PRIVATE_WINDOW) >> PRIVATE_SHIFT
        if number >= len(self.private):
            return None
        places = (addresses - PRIVATE_WINDOW - (number << PRIVATE_SHIFT)) // dtype.itemsize
        return self.private[number], np.full(self.lanes, places) if places.__class__ is int else places

    def load_any(self, addresses: Any, dtype: Any, m: Any, site: int, pattern: Any) -> Array:
        private = self._private_of(addresses, dtype)
        if private is not None:
            return private[0].gather(private[1], m, site, pattern)
        addresses = self.real(addresses)
        if pattern is not None:
            rows = [
                self.load_any(addresses + int(step) * dtype.itemsize, dtype, m, site, None) for step in pattern.flat
            ]
            return np.stack(rows).reshape(*pattern.shape, self.lanes)
        result = np.zeros(self.lanes, dtype)
        for here, view, places in self.groups(addresses, self.active(m), dtype, site):
            result[here] = view.take(places)
        return result

    def store_any(self, addresses: Any, value: Any, dtype: Any, m: Any, site: int, pattern: Any) -> None:
        shape = (self.lanes,) if pattern is None else (*pattern.shape, self.lanes)
        value = np.broadcast_to(value, shape)
        private = self._private_of(addresses, dtype)
        self.changes[0] += 1
        if private is not None:
            private[0].scatter(private[1], value, m, site, pattern)
            return
        addresses = self.real(addresses)
        if pattern is not None:
            for step, row in zip(pattern.flat, value.reshape(-1, self.lanes), strict=True):
                self.store_any(addresses + int(step) * dtype.itemsize, row, dtype, m, site, None)
            return
        for here, view, places in self.groups(addresses, self.active(m), dtype, site):
            view[places] = value[here]

    def atomic(
        self, addresses: Any, value: Array, dtype: Any, m: Any, site: int, name: str, expected: Array | None = None
    ) -> Array:
        result = np.zeros(self.lanes, dtype)
        for here, view, places in self.groups(self.real(addresses), self.active(m), dtype, site):
            wanted = None if expected is None else expected[here]
            result[here], changed = update(view, places, value[here], name, wanted)
            self.changes[0] += changed
        return result


def _any_element(bad: Any) -> Array:
    """By lane, whether it is so for an element of a vector, or for the number."""
    return np.asarray(bad) if np.ndim(bad) < 2 else np.asarray(bad.reshape(-1, bad.shape[-1]).any(0))


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
        made = Private(self.dtype, self.elements, int(np.count_nonzero(chosen)), outside)
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
        # a later store must not change what was loaded
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
            # a new row: registers may still hold the old one
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
