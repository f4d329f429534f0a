"""Memory that kernels see: ranges of this process's addresses as NumPy arrays, and atomic updates of them."""

from __future__ import annotations

import ctypes
import mmap
import os
from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.gpu.device import DeviceError, RemoteMemory

ALIGNMENT = 256
JUNK = 0xCB
"""What fresh memory is filled with: the same in every run, and no number that anyone expects."""
NEAR_BYTES = 1 << 20
"""Further from a range an address has nothing to do with it."""
MOST_VIEWS = 4096
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(eq=False)
class MemoryRange:
    """Consecutive addresses that belong together."""

    base: int
    size: int
    name: str
    data: Array
    """All bytes of it; of remote ones, nothing."""
    remote: RemoteMemory | None = None
    updates: RemoteMemory | None = None
    """What updates it with nothing in between, where others have it mapped too and do not take turns."""


class Guarded:
    """Elements whose updates somebody else does."""

    memory: RemoteMemory
    address: int
    element: np.dtype[Any]

    def update(self, place: int, change: Callable[[Any], Any]) -> Any:
        """Change one element with nothing in between; gives what it was."""

        def changed(data: bytes) -> bytes:
            return np.asarray(change(np.frombuffer(data, self.element)[0]), self.element).tobytes()

        address, size = self.address + place * self.element.itemsize, self.element.itemsize
        return np.frombuffer(self.memory.update(address, size, changed), self.element)[0]


class SharedView(Guarded, np.ndarray[Any, np.dtype[Any]]):
    """Elements of memory that others have mapped too."""

    @classmethod
    def of(cls, array: Array, memory: RemoteMemory, address: int) -> SharedView:
        view = array.view(cls)
        view.memory, view.address, view.element = memory, address, array.dtype
        return view


class RemoteView(Guarded):
    """Elements of memory that is not mapped here, with what the emulator needs of an array."""

    def __init__(self, memory: RemoteMemory, address: int, dtype: np.dtype[Any], size: int):
        self.memory, self.address, self.dtype, self.size = memory, address, dtype, size
        self.element = dtype

    def take(self, places: Array) -> Array:
        flat = [self[int(place)] for place in places.ravel()]
        return np.array(flat, dtype=self.dtype).reshape(places.shape)

    def __getitem__(self, place: int) -> Any:
        data = self.memory.read(self.address + place * self.dtype.itemsize, self.dtype.itemsize)
        return np.frombuffer(data, self.dtype)[0]

    def __setitem__(self, places: Any, values: Any) -> None:
        places = np.atleast_1d(places)
        values = np.broadcast_to(np.asarray(values, self.dtype), places.shape)
        for place, value in zip(places.ravel(), values.ravel(), strict=True):
            self.memory.write(self.address + int(place) * self.dtype.itemsize, value.tobytes())


class Memory:
    """The ranges that a device can access."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._ranges: dict[int, MemoryRange] = {}
        self._views: dict[tuple[int, np.dtype[Any]], Any] = {}
        self._last: MemoryRange | None = None
        self._owned: dict[int, Any] = {}
        self.owned_bytes = 0
        """Of everything that was allocated here."""

    def add(
        self,
        base: int,
        size: int,
        name: str,
        remote: RemoteMemory | None = None,
        updates: RemoteMemory | None = None,
    ) -> MemoryRange:
        data = np.empty(0, np.uint8) if remote is not None else bytes_at(base, size)
        made = self._ranges[base] = MemoryRange(base, size, name, data, remote, updates)
        insort(self._bases, base)
        return made

    def remove(self, base: int) -> None:
        self._bases.remove(base)
        size = self._ranges.pop(base).size
        if self._owned.pop(base, None) is not None:
            self.owned_bytes -= size
        # views of the range would keep its memory
        self._views.clear()
        self._last = None

    def allocate(self, size: int, name: str) -> MemoryRange:
        """Fresh memory, full of junk."""
        storage = np.full(max(size, 1) + ALIGNMENT, JUNK, np.uint8)
        return self._own(-(-storage.ctypes.data // ALIGNMENT) * ALIGNMENT, size, name, storage)

    def add_cleared(self, size: int, name: str) -> MemoryRange:
        """Fresh memory, all zeros, that costs nothing before it is used."""
        try:
            storage = mmap.mmap(-1, size)
        except (OSError, ValueError, OverflowError) as error:
            raise DeviceError(f"no {name} of {size} bytes: {error}") from error
        return self._own(ctypes.addressof(ctypes.c_char.from_buffer(storage)), size, name, storage)

    def _own(self, base: int, size: int, name: str, storage: Any) -> MemoryRange:
        self._owned[base] = storage
        self.owned_bytes += size
        return self.add(base, size, name)

    def find(self, address: int) -> MemoryRange | None:
        """The range that an address is in."""
        # most accesses follow one to the same range
        last = self._last
        if last is not None and last.base <= address < last.base + last.size:
            return last
        number = bisect_right(self._bases, address) - 1
        found = self._ranges[self._bases[number]] if number >= 0 else None
        if found is None or address >= found.base + max(found.size, 1):
            return None
        self._last = found
        return found

    def nearest(self, address: int) -> MemoryRange | None:
        """The range that an address misses by the least, if that is not far."""

        def distance(range: MemoryRange) -> int:
            return max(range.base - address, address - (range.base + range.size))

        number = bisect_right(self._bases, address)
        around = [self._ranges[base] for base in self._bases[max(number - 1, 0) : number + 1]]
        return min((range for range in around if distance(range) < NEAR_BYTES), key=distance, default=None)

    def view(self, pointer: int, dtype: np.dtype[Any]) -> Any:
        """Elements from an address to the end of its range; None if the address is in no range."""
        key = pointer, dtype
        found = self._views.get(key)
        if found is None:
            range = self.find(pointer)
            if range is None:
                return None
            # pointers that run through a buffer make a view each
            if len(self._views) > MOST_VIEWS:
                self._views.clear()
            start = pointer - range.base
            count = (range.size - start) // dtype.itemsize
            if range.remote is not None:
                found = RemoteView(range.remote, pointer, dtype, count)
            else:
                found = range.data[start : start + count * dtype.itemsize].view(dtype)
                if range.updates is not None:
                    found = SharedView.of(found, range.updates, pointer)
            self._views[key] = found
        return found


def map_file(path: Path, size: int) -> mmap.mmap:
    """Bytes that all processes share which map the same file."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(handle, size)
    # the mapping outlives the handle
    mapped = mmap.mmap(handle, size)
    os.close(handle)
    return mapped


def bytes_at(address: int, size: int) -> Array:
    """The bytes of this process from an address on."""
    if size == 0:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def _unsigned(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def update(old: Any, new: Any) -> Any:
        kind = np.dtype(f"u{old.dtype.itemsize}")
        return function(old.view(kind), new.view(kind)).view(old.dtype)

    return update


COUNT_BITS, BYTES_BIAS = 20, 1 << 21
COUNT_MASK, BYTES_MASK = (1 << COUNT_BITS) - 1, (1 << 22) - 1
"""An mbarrier here, from its lowest bit: its phase, arrivals that it waits for, those of each phase, and bytes."""


def mbarrier(count: Any) -> Any:
    """One that as many arrivals complete each phase of."""
    return count << 1 | count << (1 + COUNT_BITS) | BYTES_BIAS << (1 + 2 * COUNT_BITS)


def _mbarrier_step(old: Any, step: Any) -> Any:
    """Arrivals and bytes, which are above them in `step`, at a barrier; the last of both begins the next phase."""
    phase, expected = old & 1, old >> (1 + COUNT_BITS) & COUNT_MASK
    pending = (old >> 1 & COUNT_MASK) - (step & COUNT_MASK)
    waiting = (old >> (1 + 2 * COUNT_BITS) & BYTES_MASK) - BYTES_BIAS + (step >> COUNT_BITS)
    complete = (pending == 0) & (waiting == 0)
    pending = pending + complete * expected
    state = (phase ^ complete) | pending << 1 | expected << (1 + COUNT_BITS)
    return state | (waiting + BYTES_BIAS) << (1 + 2 * COUNT_BITS)


UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "mbarrier": _mbarrier_step,
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
    # all at once where no two lanes meet
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
    # lanes that update one place do it one after the other, so each gets what the one before left
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
