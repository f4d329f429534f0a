"""Runtime of a host program on one rank: the functions behind the names that its native code calls.

Native code cannot be left by an exception. A function that fails keeps what it raised and marks the context; the code
looks at the mark after each call, and returns. Needs nothing but Python and NumPy.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import sys
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.device.tensor_maps import MAP_BYTES, DataType, TensorMap
from tilewright.gpu.device import DeviceError, GpuDevice, Heap, World
from tilewright.gpu.host.context import HostContext, pointer_maker
from tilewright.gpu.host.printing import PRINTS, SAMPLES, print_text
from tilewright.native.context_layout import SLOT_BYTES, slot_count

ALIGNMENT_BYTES = 256
NOT_READY = "airgpu: symmetric heap not initialized"
MILLISECONDS = 1000.0
Array = npt.NDArray[Any]
RuntimeFunction = Callable[..., int | float | None]


class Exited(Exception):
    """The program called `exit`."""

    def __init__(self, status: int):
        self.status = status
        super().__init__(f"exit({status})")


class NativeRuntime(ABC):
    """What a program on one rank finds behind the names that it calls."""

    def __init__(self, world: World, device: GpuDevice, context: HostContext):
        self.device, self.context = device, context
        self.memory = DeviceMemory(device)
        self.heap = SymmetricHeap(world, device, self.memory)
        self.failure: BaseException | None = None
        self._pointers: list[Any] = []

    def publish(self, calls: Iterable[tuple[str, str]]) -> None:
        """Put the addresses of functions into the context, by their names and type codes, in this order."""
        functions: dict[str, RuntimeFunction] = {
            **self.memory.functions(),
            **self.heap.functions(),
            **StreamFunctions().functions(),
            **SAMPLES,
            **PRINTS,
            "launch": self.launch,
            "tensor_map": self._tensor_map,
            "exit": self._exit,
        }
        # ctypes frees what a pointer leads to with the pointer: they live as long as the runtime.
        self._pointers = [pointer_maker(codes)(self._guarded(functions[name])) for name, codes in calls]
        self.context.functions = [ctypes.cast(pointer, ctypes.c_void_p).value or 0 for pointer in self._pointers]

    def run(self, start: Callable[[int, int, int], int], arguments: Sequence[int], results: int) -> list[int]:
        """Call the entry by `start`; gives the bits of its results. Raises what ended it early."""
        given = (ctypes.c_uint64 * max(len(arguments), 1))(*arguments)
        room = (ctypes.c_uint64 * max(results, 1))()
        status = start(self.context.address, ctypes.addressof(given), ctypes.addressof(room))
        if self.failure is not None:
            raise self.failure
        if status < 0:
            raise self.trapped()
        return list(room)

    def place(self, array: Any) -> int:
        """Where a copy of an array is that host and device may access."""
        address = self.memory.allocate(array.nbytes, 0, 1)
        self.memory.copy(address, array.ctypes.data, array.nbytes)
        return address

    def take_back(self, array: Any, address: int) -> None:
        """Write what has become of a copy into the array."""
        self.memory.copy(array.ctypes.data, address, array.nbytes)

    @abstractmethod
    def launch(self, number: int, *sizes_and_arguments: int) -> None:
        """Run the kernel of a launch: three sizes each of grid and block, shared bytes, and where arguments are."""

    @abstractmethod
    def located(self, error: BaseException) -> BaseException:
        """What ended the run, with the place in the program that asked for it."""

    @abstractmethod
    def trapped(self) -> Exception:
        """What the context says of a trap."""

    def _tensor_map(
        self, to: int, address: int, data_type: int, swizzle: int, promotion: int, fill: int, rank: int, numbers: int
    ) -> None:
        """Describe an array to the copy engine; `numbers` is where sizes, strides in bytes and the box are."""
        found = list((ctypes.c_int64 * (3 * rank)).from_address(numbers))
        sizes, strides, box = (tuple(found[first : first + rank]) for first in range(0, 3 * rank, rank))
        about = TensorMap(address, DataType.of(data_type), sizes, strides, box, swizzle, promotion, fill)
        fault = None if about.is_empty else about.fault()
        if fault is not None:
            raise DeviceError(fault)
        # drivers describe no array without elements, and nothing is copied of one
        data = bytes(MAP_BYTES) if about.is_empty else self.device.tensor_map(about)
        ctypes.memmove(to, data, MAP_BYTES)

    def _guarded(self, function: RuntimeFunction) -> RuntimeFunction:
        """A function for native code to call: what it raises ends the run."""

        def call(*arguments: Any) -> int | float:
            with self.context.inside_call():
                try:
                    return function(*arguments) or 0
                # KeyboardInterrupt and SystemExit too: nothing may be raised into native code
                except BaseException as error:
                    self.failure = self.located(error)
                    self.context.stop()
                    return 0

        return call

    def _exit(self, status: int) -> None:
        raise Exited(status)


def shared_copy(array: Array) -> Array:
    """A copy in memory that processes which part keep sharing, so that results come back."""
    memory = mmap.mmap(-1, max(array.nbytes, 1))
    copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    copy[...] = array
    return copy


def arguments_at(address: int, widths: Iterable[int]) -> list[bytes]:
    """The arguments of a launch, of so many bytes each, from the slots at an address."""
    arguments = list[bytes]()
    for width in widths:
        arguments.append(ctypes.string_at(address, width))
        address += SLOT_BYTES * slot_count(width)
    return arguments


class DeviceMemory:
    """What a program has allocated. Accesses of the runtime that reach over the end of it are errors."""

    def __init__(self, device: GpuDevice):
        self.device = device
        self.heap: Heap | None = None
        """The symmetric heap, parts of which may be on other machines."""
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}

    def functions(self) -> dict[str, Callable[..., int | None]]:
        """By the names under which programs call them."""
        return {
            "mgpuMemAlloc": self.allocate,
            "mgpuMemFree": self.free,
            "mgpuMemcpy": self.copy,
            "mgpuMemset32": partial(self._fill, width=4),
            "mgpuMemset16": partial(self._fill, width=2),
            # every rank has one device, which can access what it is given
            **dict.fromkeys(("mgpuMemHostRegister", "mgpuMemHostUnregister", "mgpuSetDefaultDevice"), _nothing),
            **dict.fromkeys(("mgpuMemHostRegisterMemRef", "mgpuMemHostUnregisterMemRef", "mgpuSetDevice"), _nothing),
        }

    def allocate(self, size_bytes: int, stream: int, host_shared: int) -> int:
        if size_bytes < 0:
            raise DeviceError(f"asks for {size_bytes} bytes of device memory")
        # a null pointer would be taken for a failure
        address = self.device.allocate(max(size_bytes, 1), bool(host_shared))
        self.add(address, size_bytes)
        return address

    def free(self, address: int, stream: int) -> None:
        if address == 0:
            return
        if address not in self._sizes:
            raise DeviceError(f"airgpu: free of unknown pointer {address:#x}")
        self.remove(address)
        self.device.free(address)

    def add(self, address: int, size_bytes: int) -> None:
        """Note that so many bytes belong to the program."""
        self._starts.insert(bisect_right(self._starts, address), address)
        self._sizes[address] = size_bytes

    def remove(self, address: int) -> None:
        self._starts.remove(address)
        del self._sizes[address]

    def copy(self, to: int, source: int, size_bytes: int, stream: int = 0) -> None:
        if size_bytes < 0:
            raise DeviceError(f"copies {size_bytes} bytes")
        if size_bytes == 0:
            return
        for address, what in ((to, "to"), (source, "from")):
            self._check(address, size_bytes, f"copies {size_bytes} bytes {what}")
        if not self._between_machines(to, source, size_bytes):
            self.device.copy(to, source, size_bytes)

    def _between_machines(self, to: int, source: int, size_bytes: int) -> bool:
        """Copy by messages where one of the sides cannot be accessed here; says whether it had to."""
        heap = self.heap
        if heap is None or heap.remote is None or not (heap.is_remote(to) or heap.is_remote(source)):
            return False
        read = heap.remote.read if heap.is_remote(source) else ctypes.string_at
        # through this process: neither side can be mapped by the device
        data = read(source, size_bytes)
        if heap.is_remote(to):
            heap.remote.write(to, data)
        else:
            ctypes.memmove(to, data, size_bytes)
        return True

    def _fill(self, address: int, value: int, count: int, stream: int, *, width: int) -> None:
        if count < 0:
            raise DeviceError(f"fills {count} elements")
        self._check(address, count * width, f"fills {count * width} bytes of")
        self.device.fill(address, (value % (1 << 8 * width)).to_bytes(width, "little"), count)

    def _check(self, address: int, size_bytes: int, what: str) -> None:
        """An address that was not allocated is one of the host's, of which nothing is known, but it is not null."""
        if address == 0:
            raise DeviceError(f"{what} a null pointer")
        number = bisect_right(self._starts, address) - 1
        if number < 0:
            return
        start = self._starts[number]
        end = start + self._sizes[start]
        # memory of the host may follow one of ours, so only what crosses its end is surely wrong
        if address < end < address + size_bytes:
            raise DeviceError(f"{what} byte {address - start} of an allocation that has {end - start}")


def _nothing(*_: int) -> None: ...


class SymmetricHeap:
    """One rank's view. All ranks must allocate the same sizes in the same order, which is checked where they meet."""

    def __init__(self, world: World, device: GpuDevice, memory: DeviceMemory):
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
            # upstream's runtime goes on in this case, with these words
            print("airgpu: symmetric heap already initialized", file=sys.stderr, flush=True)
            return
        if size_bytes <= 0:
            raise DeviceError(f"asks for a symmetric heap of {size_bytes} bytes")
        # ranks of the emulator take turns: this one must not keep its turn while it waits
        with self.device.waiting():
            sizes = [int.from_bytes(data, "little") for data in self.world.exchange(size_bytes.to_bytes(8, "little"))]
        self._compare(sizes, "ranks want symmetric heaps of different sizes")
        heap = self.heap = self.memory.heap = self.device.make_heap(size_bytes)
        self._bases = (ctypes.c_uint64 * self.world.size)(*heap.bases)
        for base in heap.mapped_bases:
            self.memory.add(base, size_bytes)

    def destroy(self) -> None:
        if self.heap is None:
            return
        self.device.synchronize()
        self._meet()
        heap, self.heap, self.memory.heap = self.heap, None, None
        self._allocated, self._used = [], 0
        for base in heap.mapped_bases:
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
            of_ranks = self.world.exchange(sizes)
        for numbers in zip(*([data[i : i + 8] for i in range(0, len(data), 8)] for data in of_ranks), strict=False):
            sizes_here = [int.from_bytes(number, "little") for number in numbers]
            self._compare(sizes_here, "ranks allocate different sizes on the symmetric heap")

    def _compare(self, numbers: list[int], text: str) -> None:
        if len(set(numbers)) > 1:
            shown = ", ".join(f"rank {rank}: {number}" for rank, number in enumerate(numbers))
            raise DeviceError(f"{text} ({shown} bytes); all must do the same in the same order")

    def _allocate(self, size_bytes: int, stream: int) -> int:
        heap = self._ready()
        # the same offset on all ranks, since all allocate in the same order
        start = -(-self._used // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        if size_bytes < 0 or start + size_bytes > heap.size_bytes:
            total = f"requested {size_bytes}, used {min(start, heap.size_bytes)}, total {heap.size_bytes}"
            raise DeviceError(f"airgpu: symmetric heap out of memory ({total})")
        self._allocated.append(size_bytes)
        # empty allocations have addresses of their own
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


class StreamFunctions:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._times: dict[int, float] = {}

    def functions(self) -> dict[str, Callable[..., int | None]]:
        return {
            # launches and copies are done when they return, so streams and events have nothing to wait for
            **dict.fromkeys(("mgpuStreamCreate", "mgpuEventCreate"), lambda: next(self._numbers)),
            **dict.fromkeys(("mgpuStreamDestroy", "mgpuStreamSynchronize", "mgpuStreamWaitEvent"), _nothing),
            "mgpuEventSynchronize": _nothing,
            "mgpuEventDestroy": self._destroy,
            "mgpuEventRecord": self._record,
            "mgpuEventElapsedTime": self._elapsed,
        }

    def _destroy(self, event: int) -> None:
        self._times.pop(event, None)

    def _record(self, event: int, stream: int) -> None:
        self._times[event] = time.perf_counter()

    def _elapsed(self, place: int, first: int, second: int) -> int:
        begin, end = (self._times.get(event) for event in (first, second))
        if begin is None or end is None:
            raise DeviceError("asks how long it was between two events of which one was not recorded")
        passed = MILLISECONDS * (end - begin)
        if place:
            ctypes.c_float.from_address(place).value = passed
        # upstream's runtime prints it too
        print_text(f"Elapsed time: {passed:.3f} ms\n")
        return 0
