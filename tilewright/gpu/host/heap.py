"""The runtime's functions on ranks and their symmetric heap."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from tilewright.gpu.device import Device, DeviceError, Heap, World
from tilewright.gpu.host.device_functions import Memory

ALIGNMENT_BYTES = 256
NOT_READY = "airgpu: symmetric heap not initialized"


class SymmetricHeap:
    """One rank's view. All ranks must allocate the same sizes in the same order, which is checked where they meet."""

    def __init__(self, world: World, device: Device, memory: Memory):
        self.world, self.device, self.memory = world, device, memory
        self.heap: Heap | None = None
        self._bases: ctypes.Array[ctypes.c_uint64] | None = None
        self._allocated: list[int] = []
        self._used = 0

    def functions(self) -> dict[str, Callable[..., int | None]]:
        return {
            "mgpuSymmetricHeapInit": self.create,
            "mgpuSymmetricHeapDestroy": self.destroy,
            "mgpuGetRank": lambda: self.world.rank,
            "mgpuGetWorldSize": lambda: self.world.size,
            "mgpuSymmetricAlloc": self._allocate,
            "mgpuSymmetricFree": self._free,
            "mgpuGetHeapBase": self._base,
            "mgpuGetHeapBases": self._table,
            "mgpuBarrier": self.barrier,
        }

    def create(self, size_bytes: int) -> None:
        if self.heap is not None:
            print("airgpu: symmetric heap already initialized", file=sys.stderr, flush=True)
            return
        if size_bytes <= 0:
            raise DeviceError(f"asks for a symmetric heap of {size_bytes} bytes")
        with self.device.waiting():
            sizes = [int.from_bytes(data, "little") for data in self.world.exchange(size_bytes.to_bytes(8, "little"))]
        self._compare(sizes, "ranks want symmetric heaps of different sizes")
        heap = self.heap = self.memory.heap = self.device.make_heap(size_bytes)
        self._bases = (ctypes.c_uint64 * self.world.size)(*heap.bases)
        for rank, base in enumerate(heap.bases):
            if rank not in heap.remote_ranks:
                self.memory.add(base, size_bytes)

    def destroy(self) -> None:
        if self.heap is None:
            return
        self.device.synchronize()
        self._meet()
        heap, self.heap, self.memory.heap = self.heap, None, None
        self._allocated, self._used = [], 0
        for rank, base in enumerate(heap.bases):
            if rank not in heap.remote_ranks:
                self.memory.remove(base)
        self.device.drop_heap(heap)

    def barrier(self) -> None:
        self.device.synchronize()
        if self.world.size > 1:
            self._meet()

    def _meet(self) -> None:
        """Wait for all ranks, and compare what they allocated."""
        sizes = b"".join(size.to_bytes(8, "little") for size in self._allocated)
        with self.device.waiting():
            everybody = self.world.exchange(sizes)
        for numbers in zip(*([data[i : i + 8] for i in range(0, len(data), 8)] for data in everybody), strict=False):
            sizes_here = [int.from_bytes(number, "little") for number in numbers]
            self._compare(sizes_here, "ranks allocate different sizes on the symmetric heap")

    def _compare(self, numbers: list[int], text: str) -> None:
        if len(set(numbers)) > 1:
            shown = ", ".join(f"rank {rank}: {number}" for rank, number in enumerate(numbers))
            raise DeviceError(f"{text} ({shown} bytes); all must do the same in the same order")

    def _allocate(self, size_bytes: int, stream: int) -> int:
        heap = self._ready()
        start = -(-self._used // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        if size_bytes < 0 or start + size_bytes > heap.size_bytes:
            total = f"requested {size_bytes}, used {min(start, heap.size_bytes)}, total {heap.size_bytes}"
            raise DeviceError(f"airgpu: symmetric heap out of memory ({total})")
        self._allocated.append(size_bytes)
        self._used = start + max(size_bytes, 1)
        return heap.bases[self.world.rank] + start

    def _free(self, address: int, stream: int) -> None:
        """Nothing is used again before the heap is destroyed: another rank may still be at it."""

    def _base(self, rank: int) -> int:
        heap = self._ready()
        return heap.bases[rank] if 0 <= rank < len(heap.bases) else 0

    def _table(self) -> int:
        self._ready()
        assert self._bases is not None
        return ctypes.addressof(self._bases)

    def _ready(self) -> Heap:
        if self.heap is None:
            raise DeviceError(NOT_READY)
        return self.heap
