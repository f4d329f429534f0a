"""What the copy engine of NVIDIA's GPUs does: boxes of described arrays, to memory of a block and back.

A tensor map is sixteen words of 64 bits here; a real one is the driver's.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, cast

import numpy as np

from tilewright.device.tensor_maps import CHUNK_BYTES, MOST_DIMENSIONS, DataType, TensorMap, exchanged_bytes
from tilewright.gpu.device import DeviceError
from tilewright.gpu.emulator.cluster_memory import ClusterMemory
from tilewright.gpu.emulator.memory import COUNT_BITS, Array
from tilewright.gpu.emulator.program import LDS_WINDOW

CHUNK, ROW = CHUNK_BYTES, 128
MAP_WORDS = 16
"""Address; dimensions, bytes and code of an element, exchange of chunks; sizes; bytes to the next; box."""
SIZES, STRIDES, BOX = 2, 6, 11
"""Where they begin; there is no stride of the innermost dimension."""


def tensor_map(about: TensorMap) -> bytes:
    """The words for an array."""
    if about.swizzle and about.row_bytes != exchanged_bytes(about.swizzle):
        raise DeviceError(
            f"has boxes with rows of {about.row_bytes} bytes; the emulator exchanges chunks of whole rows of "
            f"{exchanged_bytes(about.swizzle)}"
        )
    if about.oob_fill:
        raise DeviceError("fills what is beyond an array with NaN; the emulator fills it with zeros: oob = zero")
    words, type = np.zeros(MAP_WORDS, np.int64), about.data_type
    words[0], words[1] = about.address, len(about.box) | type.bytes << 8 | type.code << 16 | about.swizzle << 24
    for first, numbers in ((SIZES, about.sizes), (STRIDES + 1, about.strides[1:]), (BOX, about.box)):
        words[first : first + len(numbers)] = numbers
    return words.tobytes()


def swizzled(address: Any, mode: int = 3) -> Any:
    """Where what belongs to an address lies: chunks are exchanged within a row, by the number of 128 bytes."""
    return address ^ ((address >> 7 & (1 << mode) - 1) << 4)


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


class CopyEngine(ClusterMemory):
    """Copies of boxes, for a group of waves."""

    access: Any
    profiler: Any

    def tensor_copy(
        self, targets: Array, maps: Array, barriers: Array, masks: Array | None, places: list[Array], m: Any, site: int
    ) -> None:
        """Each active lane has the engine bring a box; what is outside of the array is zero.

        With `masks` the box goes to the same place in those blocks of the cluster, and tells the barrier there.
        """
        for lane in np.flatnonzero(self.active(m)).tolist():
            about = self._described(int(maps[lane]), site)
            own = int(self.slots[lane])
            slots = [own] if masks is None else self._receivers(int(masks[lane]), own, site)
            data = self._box_data(about, [int(at[lane]) for at in places], len(slots), site)
            for slot in slots:
                if slot != own:
                    self.reach_block(slot, lane, site)
                self._fill(about, int(targets[lane]), data, slot, site)
                self._tell(int(barriers[lane]), about.box_bytes, slot, lane, site)

    def _receivers(self, mask: int, own: int, site: int) -> list[int]:
        """Blocks of the cluster that a mask has bits of."""
        # of 16 bits, as it is written
        mask, count = mask & 0xFFFF, self.batch.clusters.blocks
        if mask >> count:
            self.fault(site, f"has a box copied to blocks {mask:#b} of its cluster, which has {count}")
        first = own // count * count
        return [first + rank for rank in range(count) if mask >> rank & 1]

    def _tell(self, barrier: int, count: int, slot: int, lane: int, site: int) -> None:
        """Take what has come to a block from what its barrier waits for."""
        only = np.zeros(self.lanes, bool)
        only[lane] = True
        offset = barrier - LDS_WINDOW
        if 0 <= offset < self.lds_bytes:
            barrier = self.lds.base + slot * self.lds_bytes + offset
        where = np.full(self.lanes, barrier)
        step = np.full(self.lanes, -count << COUNT_BITS)
        if self.access is None:
            self.atomic(where, step, step.dtype, only, site, "mbarrier")
        else:
            self.access.atomic(self, where, step, step.dtype, only, site, "mbarrier")

    def tensor_store(self, maps: Array, sources: Array, places: list[Array], m: Any, site: int) -> None:
        """Each active lane has the engine store a box; what is outside of the array is left out."""
        for lane in np.flatnonzero(self.active(m)).tolist():
            about = self._described(int(maps[lane]), site)
            at, there, view = self._box(about, [int(at[lane]) for at in places], site)
            memory, chunks, start = self._block_chunks(about, int(sources[lane]), int(self.slots[lane]), site)
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
        if view is None or view.size < MAP_WORDS:
            self.unmapped(map, None, site)
        words = [int(word) for word in view[:MAP_WORDS]]
        rank, size, code, mode = (words[1] >> shift & 0xFF for shift in (0, 8, 16, 24))
        if not 1 <= rank <= MOST_DIMENSIONS or size not in (1, 2, 4, 8):
            self.fault(site, "has a box copied by a tensor map that is none")
        sizes, strides, box = (words[start : start + rank] for start in (SIZES, STRIDES, BOX))
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

    def _block_chunks(self, about: Described, start: int, slot: int, site: int) -> tuple[Array, Array, int]:
        """Memory of a block in chunks, those of a box that begins at an address, and where the block begins."""
        count, first = about.box_bytes, start - LDS_WINDOW
        if first % ROW or not 0 <= first <= self.lds_bytes - count:
            self.fault(site, f"has a box copied at {first:#x}, which is no place of its block for it")
        chunks = first + np.arange(count // CHUNK) * CHUNK
        if about.mode:
            chunks = swizzled(chunks, about.mode)
        base = slot * self.lds_bytes
        memory = self.memory.view(self.lds.base, np.dtype(np.uint8))[base : base + self.lds_bytes].reshape(-1, CHUNK)
        return memory, chunks, base

    def _box_data(self, about: Described, places: list[int], copies: int, site: int) -> Array:
        """A box in chunks, read once for so many blocks."""
        at, there, view = self._box(about, places, site)
        if self.profiler is not None:
            self.profiler.box(about.address + at[there], about.size, copies, site)
        found = np.where(there, view.take(np.where(there, at, 0) // about.size), 0).astype(f"u{about.size}")
        if about.code == DataType.TFLOAT32.code:
            found = (found + 0xFFF + (found >> 13 & 1)) & np.uint32(0xFFFFE000)
        return np.ascontiguousarray(found).view(np.uint8).reshape(-1, CHUNK)

    def _fill(self, about: Described, target: int, data: Array, slot: int, site: int) -> None:
        """Put a box into memory of a block."""
        memory, chunks, start = self._block_chunks(about, target, slot, site)
        old = memory[chunks // CHUNK].copy()
        memory[chunks // CHUNK] = data
        self.changes[0] += 1
        if self.access is not None:
            self.access.engine_stored(self, self.lds.base + start + chunks, old, site)
