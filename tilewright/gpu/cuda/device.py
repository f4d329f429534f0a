"""A GPU of NVIDIA's behind the driver, for the process of one rank. Needs Python and the driver, nothing else."""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.gpu.cuda.driver import (
    KERNEL_DYNAMIC_SHARED_BYTES,
    CudaError,
    Driver,
    IpcHandle,
    open_driver,
)
from tilewright.gpu.device import DeviceError, DeviceOptions, Heap, Size3, World
from tilewright.gpu.loading import LoadableCode, Packed, check_launch, choose_gpu
from tilewright.native.kernel_facts import KernelFacts

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr

    from tilewright.dialects.gpu.kernels import GPUModuleOp

SETS = {1: "cuMemsetD8_v2", 2: "cuMemsetD16_v2", 4: "cuMemsetD32_v2"}
"""Functions that fill memory, by the bytes of a pattern."""
IPC_ENABLE_PEER_ACCESS = 1
ATTACH_GLOBALLY = 1
HEAP_GRANULE_BYTES = 2 << 20
"""Allocations that are shared between processes are whole pages of the GPU."""
DEFAULT_DYNAMIC_SHARED_BYTES = 48 << 10
"""What a launch may ask for without saying so before."""


@dataclass(frozen=True)
class CudaKernel:
    """A kernel in the GPU's memory."""

    name: str
    handle: int
    facts: KernelFacts


@dataclass(frozen=True)
class CudaModule:
    """Kernels that were loaded together."""

    kernels: Mapping[str, CudaKernel]

    def kernel(self, name: str) -> CudaKernel:
        return self.kernels[name]


class CudaDevice:
    """Implements `tilewright.gpu.device.Device`. Launches, copies and fills happen one after the other."""

    def __init__(self, world: World, options: DeviceOptions, driver: Driver, number: int):
        self.world, self.options, self.driver, self.number = world, options, driver, number
        with self._explained("open the GPU"):
            self._ordinal = driver.number("cuDeviceGet", number)
            self._context = driver.handle("cuDevicePrimaryCtxRetain", self._ordinal)
            driver.call("cuCtxSetCurrent", self._context)
        self._modules: list[int] = []
        self._launches = 0

    @contextmanager
    def _explained(self, what: str) -> Generator[None]:
        try:
            yield
        except CudaError as error:
            raise DeviceError(f"cannot {what}: {error}") from error

    def allocate(self, size_bytes: int, host_shared: bool = False) -> int:
        with self._explained(f"allocate {size_bytes} bytes"):
            if host_shared:
                return self.driver.handle("cuMemAllocManaged", max(size_bytes, 1), ATTACH_GLOBALLY)
            return self.driver.handle("cuMemAlloc_v2", max(size_bytes, 1))

    def free(self, address: int) -> None:
        if address:
            with self._explained("free memory"):
                self.driver.call("cuMemFree_v2", address)

    def copy(self, to: int, source: int, size_bytes: int) -> None:
        if size_bytes:
            with self._explained(f"copy {size_bytes} bytes"):
                self.driver.call("cuMemcpy", to, source, size_bytes)
                self.driver.call("cuCtxSynchronize")

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        if count:
            with self._explained("fill memory"):
                self.driver.call(SETS[len(pattern)], address, int.from_bytes(pattern, "little"), count)

    def load(self, module: GPUModuleOp) -> CudaModule:
        """Compile kernels and load them."""
        from tilewright.native.gpu_code import compile_kernels, machine_of  # LLVM is not needed for what is compiled

        code = compile_kernels(module, machine_of(self.options.target, self.options.wave_size))
        return self.load_code(LoadableCode(code.assembly.encode(), tuple(code.kernels)))

    def load_code(self, code: LoadableCode) -> CudaModule:
        """Load kernels that have been compiled before."""
        with self._explained("load the kernels"):
            module = self.driver.load_module(code.data)
            self._modules.append(module)
            return CudaModule({facts.name: self._kernel(module, facts) for facts in code.kernels})

    def _kernel(self, module: int, facts: KernelFacts) -> CudaKernel:
        handle = self.driver.handle("cuModuleGetFunction", module, facts.name.encode())
        if facts.launch_bytes > DEFAULT_DYNAMIC_SHARED_BYTES:
            self.driver.call("cuFuncSetAttribute", handle, KERNEL_DYNAMIC_SHARED_BYTES, facts.launch_bytes)
        return CudaKernel(facts.name, handle, facts)

    def launch(
        self,
        kernel: Any,
        grid: Size3,
        block: Size3,
        shared_bytes: int,
        arguments: Sequence[bytes],
        where: LocationAttr | None = None,
    ) -> None:
        assert isinstance(kernel, CudaKernel), "kernels of this device are launched on it"
        check_launch(kernel.facts, block, shared_bytes, arguments, self.options.target, self.options.wave_size)
        packed = Packed(arguments)
        with self._explained(f"launch @{kernel.name}"):
            asked = shared_bytes + kernel.facts.launch_bytes
            if shared_bytes and asked > DEFAULT_DYNAMIC_SHARED_BYTES:
                self.driver.call("cuFuncSetAttribute", kernel.handle, KERNEL_DYNAMIC_SHARED_BYTES, asked)
            self.driver.call("cuLaunchKernel", kernel.handle, *grid, *block, asked, None, packed.places, None)
        self._launches += 1

    def synchronize(self) -> None:
        with self._explained("wait for the kernels"):
            self.driver.call("cuCtxSynchronize")

    def make_heap(self, size_bytes: int) -> Heap:
        rounded = -(-size_bytes // HEAP_GRANULE_BYTES) * HEAP_GRANULE_BYTES
        own = self.allocate(rounded)
        self.fill(own, b"\0", rounded)
        self.synchronize()
        bases = [own] * self.world.size
        if self.world.size > 1:
            with self._explained("share the symmetric heap between ranks"):
                bases = self._mapped(own)
        return Heap(size_bytes, tuple(bases))

    def _mapped(self, own: int) -> list[int]:
        """The heaps of all ranks in this process's addresses."""
        handle = IpcHandle()
        self.driver.call("cuIpcGetMemHandle", ctypes.byref(handle), own)
        handles = self.world.exchange(bytes(handle))
        return [own if rank == self.world.rank else self._open(data) for rank, data in enumerate(handles)]

    def _open(self, handle: bytes) -> int:
        return self.driver.handle("cuIpcOpenMemHandle_v2", IpcHandle.from_buffer_copy(handle), IPC_ENABLE_PEER_ACCESS)

    def drop_heap(self, heap: Heap) -> None:
        self.synchronize()
        with self._explained("give the symmetric heap back"):
            for rank, base in enumerate(heap.bases):
                if rank != self.world.rank:
                    self.driver.call("cuIpcCloseMemHandle", base)
        self.world.barrier()
        self.free(heap.bases[self.world.rank])

    @contextmanager
    def waiting(self) -> Generator[None]:
        yield

    def counters(self) -> Mapping[str, int]:
        return {"launches": self._launches}

    def close(self) -> None:
        with self._explained("close the GPU"):
            for module in self._modules:
                self.driver.call("cuModuleUnload", module)
            self.driver.call("cuDevicePrimaryCtxRelease_v2", self._ordinal)


def open_cuda(world: World, options: DeviceOptions, driver: Driver | None = None) -> CudaDevice:
    """The GPU of a rank."""
    driver = driver or open_driver()
    return CudaDevice(world, options, driver, choose_gpu(world, driver.number("cuDeviceGetCount"), options))
