"""A GPU of AMD's behind the HIP runtime, for the process of one rank. Needs Python and the runtime, nothing else."""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.gpu.device import DeviceError, DeviceOptions, Heap, Size3, World
from tilewright.gpu.hip.library import COPY_BY_ADDRESS, LAZY_PEER_ACCESS, Hip, HipError, IpcHandle, open_library
from tilewright.gpu.loading import LoadableCode, Packed, check_launch, choose_gpu
from tilewright.native.elf import ET_REL
from tilewright.native.kernel_facts import KernelFacts

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr

    from tilewright.dialects.gpu.kernels import GPUModuleOp

SETS = {1: "hipMemsetD8", 2: "hipMemsetD16", 4: "hipMemsetD32"}
"""Functions that fill memory, by the bytes of a pattern."""
MANAGED_GLOBALLY = 1
E_TYPE = slice(16, 18)
"""Where an ELF file says what it is."""


@dataclass(frozen=True)
class HipKernel:
    """A kernel in the GPU's memory."""

    name: str
    handle: int
    facts: KernelFacts


@dataclass(frozen=True)
class HipModule:
    """Kernels that were loaded together."""

    kernels: Mapping[str, HipKernel]

    def kernel(self, name: str) -> HipKernel:
        return self.kernels[name]


class HipDevice:
    """Implements `tilewright.gpu.device.Device`. Launches, copies and fills happen one after the other."""

    def __init__(self, world: World, options: DeviceOptions, hip: Hip, number: int):
        self.world, self.options, self.hip = world, options, hip
        with self._explained("open the GPU"):
            hip.call("hipSetDevice", number)
        self._modules: list[int] = []
        self._launches = 0

    @contextmanager
    def _explained(self, what: str) -> Generator[None]:
        try:
            yield
        except HipError as error:
            raise DeviceError(f"cannot {what}: {error}") from error

    def allocate(self, size_bytes: int, host_shared: bool = False) -> int:
        with self._explained(f"allocate {size_bytes} bytes"):
            if host_shared:
                return self.hip.handle("hipMallocManaged", max(size_bytes, 1), MANAGED_GLOBALLY)
            return self.hip.handle("hipMalloc", max(size_bytes, 1))

    def free(self, address: int) -> None:
        if address:
            with self._explained("free memory"):
                self.hip.call("hipFree", address)

    def copy(self, to: int, source: int, size_bytes: int) -> None:
        if size_bytes:
            with self._explained(f"copy {size_bytes} bytes"):
                self.hip.call("hipMemcpy", to, source, size_bytes, COPY_BY_ADDRESS)
                self.hip.call("hipDeviceSynchronize")

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        if count:
            with self._explained("fill memory"):
                self.hip.call(SETS[len(pattern)], address, int.from_bytes(pattern, "little"), count)

    def load(self, module: GPUModuleOp) -> HipModule:
        """Compile kernels and load them."""
        from tilewright.native.gpu_code import compile_kernels, linked_code, machine_of  # LLVM, only needed here
        from tilewright.native.gpu_link import NoLinker

        code = compile_kernels(module, machine_of(self.options.target, self.options.wave_size))
        try:
            return self.load_code(LoadableCode(linked_code(code).loadable, tuple(code.kernels)))
        except NoLinker as error:
            raise DeviceError(str(error)) from error

    def load_code(self, code: LoadableCode) -> HipModule:
        """Load kernels that have been compiled before."""
        if code.data[E_TYPE] == ET_REL.to_bytes(2, "little"):
            raise DeviceError("the kernels are not linked: link them with ld.lld -shared NAME.o -o NAME.hsaco")
        with self._explained("load the kernels"):
            module = self.hip.handle("hipModuleLoadData", code.data)
            self._modules.append(module)
            kernels = {
                facts.name: HipKernel(
                    facts.name, self.hip.handle("hipModuleGetFunction", module, facts.name.encode()), facts
                )
                for facts in code.kernels
            }
        return HipModule(kernels)

    def launch(
        self,
        kernel: Any,
        grid: Size3,
        block: Size3,
        shared_bytes: int,
        arguments: Sequence[bytes],
        where: LocationAttr | None = None,
    ) -> None:
        assert isinstance(kernel, HipKernel), "kernels of this device are launched on it"
        check_launch(kernel.facts, block, shared_bytes, arguments, self.options.target, self.options.wave_size)
        packed = Packed(arguments)
        with self._explained(f"launch @{kernel.name}"):
            self.hip.call(
                "hipModuleLaunchKernel", kernel.handle, *grid, *block, shared_bytes, None, packed.places, None
            )
        self._launches += 1

    def synchronize(self) -> None:
        with self._explained("wait for the kernels"):
            self.hip.call("hipDeviceSynchronize")

    def make_heap(self, size_bytes: int) -> Heap:
        own = self.allocate(size_bytes)
        self.fill(own, b"\0", size_bytes)
        self.synchronize()
        bases = [own] * self.world.size
        if self.world.size > 1:
            with self._explained("share the symmetric heap between ranks"):
                bases = self._mapped(own)
        return Heap(size_bytes, tuple(bases))

    def _mapped(self, own: int) -> list[int]:
        """The heaps of all ranks in this process's addresses."""
        handle = IpcHandle()
        self.hip.call("hipIpcGetMemHandle", ctypes.byref(handle), own)
        handles = self.world.exchange(bytes(handle))
        return [own if rank == self.world.rank else self._open(data) for rank, data in enumerate(handles)]

    def _open(self, handle: bytes) -> int:
        return self.hip.handle("hipIpcOpenMemHandle", IpcHandle.from_buffer_copy(handle), LAZY_PEER_ACCESS)

    def drop_heap(self, heap: Heap) -> None:
        self.synchronize()
        with self._explained("give the symmetric heap back"):
            for rank, base in enumerate(heap.bases):
                if rank != self.world.rank:
                    self.hip.call("hipIpcCloseMemHandle", base)
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
                self.hip.call("hipModuleUnload", module)


def open_hip(world: World, options: DeviceOptions, hip: Hip | None = None) -> HipDevice:
    """The GPU of a rank."""
    hip = hip or open_library()
    return HipDevice(world, options, hip, choose_gpu(world, hip.handle("hipGetDeviceCount"), options))
