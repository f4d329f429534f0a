"""The runtime's functions on memory of the device: allocation, copies, fills."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable
from functools import partial

from tilewright.gpu.device import Device, DeviceError, Heap


class Memory:
    """What a program has allocated. Accesses of the runtime that reach over the end of it are errors."""

    def __init__(self, device: Device):
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
            "mgpuMemHostRegister": self._nothing,
            "mgpuMemHostUnregister": self._nothing,
            "mgpuMemHostRegisterMemRef": self._nothing,
            "mgpuMemHostUnregisterMemRef": self._nothing,
            "mgpuSetDefaultDevice": self._nothing,
            "mgpuSetDevice": self._nothing,
        }

    def allocate(self, size_bytes: int, stream: int, host_shared: int) -> int:
        if size_bytes < 0:
            raise DeviceError(f"asks for {size_bytes} bytes of device memory")
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
        """An address that nobody allocated is one of the host's, of which nothing is known, but it is not null."""
        if address == 0:
            raise DeviceError(f"{what} a null pointer")
        number = bisect_right(self._starts, address) - 1
        if number < 0:
            return
        start = self._starts[number]
        end = start + self._sizes[start]
        if address < end < address + size_bytes:
            raise DeviceError(f"{what} byte {address - start} of an allocation that has {end - start}")

    def _nothing(self, *_: int) -> None:
        """Every rank has one device, which can access what it is given."""
