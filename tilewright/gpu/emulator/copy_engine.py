"""What the copy engine of NVIDIA's GPUs does: boxes of described arrays, to memory of a block and back.

A description of an array is sixteen words of 64 bits here; a real one is the driver's.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, cast

import numpy as np

from tilewright.gpu.emulator.memory import COUNT_BITS, Array
from tilewright.gpu.emulator.plain_access import PlainAccess
from tilewright.gpu.emulator.program import LDS_WINDOW

CHUNK, ROW = 16, 128
SWIZZLE_128 = 3
MOST_DIMENSIONS = 5
TF32 = 11
"""The code of elements that are rounded to 19 bits when they are copied."""
DESCRIPTION_WORDS = 16
"""Address; dimensions, bytes and code of an element, exchange of chunks; sizes; bytes to the next; box."""


def swizzled(address: Any) -> Any:
    """Where what belongs to an address lies: chunks are exchanged within a row."""
    return address ^ ((address >> 7 & 7) << 4)


class Described(NamedTuple):
    """An array, and boxes of it."""

    address: int
    size: int
    code: int
    mode: int
    sizes: list[int]
    strides: list[int]
    box: list[int]

    @property
    def box_bytes(self) -> int:
        return prod(self.box) * self.size


class CopyEngine(PlainAccess):
    """Copies of boxes, for a group of waves."""

    access: Any
    profiler: Any

    def tensor_copy(self, targets: Array, maps: Array, barriers: Array, places: list[Array], m: Any, site: int) -> None:
        """Each active lane has the engine bring a box; what is outside of the array is zero."""
        for lane in np.flatnonzero(self.active(m)).tolist():
            about = self._described(int(maps[lane]), site)
            self._copy_box(about, int(targets[lane]), [int(at[lane]) for at in places], lane, site)
            only = np.zeros(self.lanes, bool)
            only[lane] = True
            # what has come is taken from what the barrier waits for
            step = np.full(self.lanes, -about.box_bytes << COUNT_BITS)
            if self.access is None:
                self.atomic(barriers, step, step.dtype, only, site, "mbarrier")
            else:
                self.access.atomic(self, barriers, step, step.dtype, only, site, "mbarrier")

    def tensor_store(self, maps: Array, sources: Array, places: list[Array], m: Any, site: int) -> None:
        """Each active lane has the engine store a box; what is outside of the array is left out."""
        for lane in np.flatnonzero(self.active(m)).tolist():
            about = self._described(int(maps[lane]), site)
            at, there, view = self._box(about, [int(at[lane]) for at in places], site)
            memory, chunks, start = self._block_chunks(about, int(sources[lane]), lane, site)
            if self.access is not None:
                self.access.engine_reads(self, self.lds.base + start + chunks, lane, site)
            data = cast("Array", memory[chunks // CHUNK].reshape(-1).view(f"u{about.size}"))
            wanted = at[there] // about.size
            old = view.take(wanted)
            view[wanted] = data.reshape(there.shape)[there]
            self.changes[0] += 1
            if self.access is not None:
                self.access.engine_stored(self, about.address + at[there], old.reshape(-1, 1).view(np.uint8), site)
            if self.profiler is not None:
                self.profiler.stored_box(about.address + at[there], about.size, site)

    def _described(self, map: int, site: int) -> Described:
        view = self.memory.view(map, np.dtype(np.int64))
        if view is None or view.size < DESCRIPTION_WORDS:
            self.unmapped(map, None, site)
        words = [int(word) for word in view[:DESCRIPTION_WORDS]]
        rank, size, code, mode = (words[1] >> shift & 0xFF for shift in (0, 8, 16, 24))
        if not 1 <= rank <= MOST_DIMENSIONS or size not in (1, 2, 4, 8):
            self.fault(site, "has a box copied by a description that is none")
        sizes, strides, box = (words[start : start + rank] for start in (2, 6, 11))
        strides[0] = size
        if words[0] % CHUNK or any(stride % CHUNK for stride in strides[1:]):
            self.fault(site, "has a box copied of an array whose rows do not begin at multiples of 16 bytes")
        return Described(words[0], size, code, mode, sizes, strides, box)

    def _box(self, about: Described, places: list[int], site: int) -> tuple[Array, Array, Any]:
        """Bytes from the start of the array to elements of a box, which of them there are, and the array."""
        rank = len(about.box)
        if len(places) != rank:
            self.fault(site, f"has a box of {len(places)} dimensions copied of an array that has {rank}")
        at, there = np.zeros((1,) * rank, np.int64), np.ones((1,) * rank, np.bool_)
        for dimension in range(rank):
            # the first dimension is the innermost
            shape = [1] * rank
            shape[rank - 1 - dimension] = -1
            index: Array = (places[dimension] + np.arange(about.box[dimension])).reshape(shape)
            at = at + index * about.strides[dimension]
            there: Array = there & (index >= 0) & (index < about.sizes[dimension])
        view = self.memory.view(about.address, np.dtype(f"u{about.size}"))
        last = int(at[there].max()) if there.any() else 0
        if view is None or last // about.size >= view.size:
            self.unmapped(about.address + last, None, site)
        return at, there, view

    def _block_chunks(self, about: Described, start: int, lane: int, site: int) -> tuple[Array, Array, int]:
        """Memory of a lane's block in chunks, those of a box that begins at an address, and where the block begins."""
        count, first = about.box_bytes, start - LDS_WINDOW
        if first % ROW or not 0 <= first <= self.lds_bytes - count:
            self.fault(site, f"has a box copied at {first:#x}, which is no place of its block for it")
        chunks = first + np.arange(count // CHUNK) * CHUNK
        if about.mode == SWIZZLE_128:
            chunks = swizzled(chunks)
        base = int(self.slots[lane]) * self.lds_bytes
        memory = self.memory.view(self.lds.base, np.dtype(np.uint8))[base : base + self.lds_bytes].reshape(-1, CHUNK)
        return memory, chunks, base

    def _copy_box(self, about: Described, target: int, places: list[int], lane: int, site: int) -> None:
        at, there, view = self._box(about, places, site)
        if self.profiler is not None:
            self.profiler.box(about.address + at[there], about.size, site)
        found = np.where(there, view.take(np.where(there, at, 0) // about.size), 0).astype(f"u{about.size}")
        if about.code == TF32:
            found = (found + 0xFFF + (found >> 13 & 1)) & np.uint32(0xFFFFE000)
        data = np.ascontiguousarray(found).view(np.uint8).reshape(-1, CHUNK)
        memory, chunks, start = self._block_chunks(about, target, lane, site)
        old = memory[chunks // CHUNK].copy()
        memory[chunks // CHUNK] = data
        self.changes[0] += 1
        if self.access is not None:
            self.access.engine_stored(self, self.lds.base + start + chunks, old, site)
