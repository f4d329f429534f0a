"""A GPU behind a driver that is a library for C, for the process of one rank: what CUDA and HIP have in common.

HIP has CUDA's functions under names of its own, with the same parameters. Needs nothing but Python and the driver.
"""

from __future__ import annotations

import ctypes
import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from tilewright.device.gpu_targets import GpuTarget
from tilewright.device.tensor_maps import TensorMap
from tilewright.errors import Error
from tilewright.gpu.device import DeviceError, DeviceOptions, Heap, KernelModule, Size3, World
from tilewright.native.kernel_facts import KernelFacts

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr

    from tilewright.dialects.gpu.kernels import GPUModuleOp
    from tilewright.gpu.profile import LaunchProfile
    from tilewright.native.gpu_code import GpuCode

ATTACH_GLOBALLY = 1
"""CU_MEM_ATTACH_GLOBAL and hipMemAttachGlobal: memory that is shared with the host, for all streams."""
LAZY_PEER_ACCESS = 1
"""CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS and hipIpcMemLazyEnablePeerAccess."""


class IpcHandle(ctypes.Structure):
    """Names an allocation to other processes: CUipcMemHandle and hipIpcMemHandle_t, both 64 opaque bytes."""

    _fields_ = [("reserved", ctypes.c_char * 64)]


REMEDIES = {
    2: "the GPU has no memory left for it",
    209: "there is no code for this GPU: compile for it with --target",
    700: "a kernel accessed memory that is not its own: run it with --backend emulator to see where",
    719: "a kernel stopped: run it with --backend emulator to see where",
}
"""What numbers of errors mean for a program, where both drivers have the same."""


class NoDriver(Error):
    """There is no GPU that can be used; says why and what to do."""


class DriverError(Error):
    """A driver cannot do what it was asked."""


class DriverLibrary(ABC):
    """A driver's functions by name. Calls that fail raise `DriverError`."""

    signatures: ClassVar[Mapping[str, Sequence[Any]]]
    remedies: ClassVar[Mapping[int, str]]

    def __init__(self, library: ctypes.CDLL):
        self._library = library

    @abstractmethod
    def error_name(self, code: int) -> bytes | None:
        """What the driver calls an error."""

    @abstractmethod
    def load_module(self, code: bytes) -> int:
        """The handle of kernels that have been loaded."""

    def call(self, name: str, *arguments: Any, log: ctypes.Array[ctypes.c_char] | None = None) -> None:
        """Call a function of the table; `log` is where it may explain a failure."""
        function = getattr(self._library, name)
        function.argtypes = self.signatures[name]
        code = function(*arguments)
        if code:
            text = (self.error_name(code) or b"unknown error").decode()
            explained = "" if log is None else log.value.decode(errors="replace").strip()
            # CUDA's headers hide the version of a function from programs
            parts = f"{name.removesuffix('_v2')}: {text} ({code})", self.remedies.get(code), explained
            raise DriverError("; ".join(part for part in parts if part))

    def handle(self, name: str, *arguments: Any) -> int:
        """What a function writes through its first parameter: a handle, an address or a number."""
        found = self.signatures[name][0]._type_()
        self.call(name, ctypes.byref(found), *arguments)
        return found.value or 0


@dataclass(frozen=True)
class Functions:
    """What a driver calls its functions, and where it differs."""

    count_gpus: str
    allocate: str
    allocate_shared: str
    free: str
    copy: str
    fill: Mapping[int, str]
    """By the bytes of a pattern."""
    find_kernel: str
    launch: str
    synchronize: str
    unload: str
    share: str
    open_shared: str
    close_shared: str
    copy_kind: tuple[int, ...] = ()
    """What a copy is told besides addresses and size."""
    heap_granule_bytes: int = 1
    """Allocations that are shared between processes are whole multiples of it."""


@dataclass(frozen=True)
class DriverKernel:
    """A kernel in the GPU's memory."""

    name: str
    handle: int
    facts: KernelFacts


_Library = TypeVar("_Library", bound=DriverLibrary)


class DriverDevice(ABC, Generic[_Library]):
    """Implements `tilewright.gpu.device.GpuDevice`. Launches, copies and fills happen one after the other."""

    functions: ClassVar[Functions]
    backend: ClassVar[str]

    def __init__(self, world: World, options: DeviceOptions, driver: _Library):
        self.world, self.options, self.driver = world, options, driver
        self.number = choose_gpu(world, driver.handle(self.functions.count_gpus), options)
        with self._explained("open the GPU"):
            self._start()
        self._modules: list[int] = []
        self._launches = 0
        self.stream: int | None = None
        """What kernels are launched on; the default stream unless set."""

    @classmethod
    def open(cls, world: World, options: DeviceOptions) -> Self:
        """The GPU of this rank."""
        unknown = set(options.settings) - {SHARE}
        if unknown:
            raise DeviceError(f"{cls.backend} has no setting {', '.join(sorted(unknown))}; there is {SHARE}")
        try:
            return cls(world, options, cls._open_driver())
        except NoDriver as error:
            raise DeviceError(str(error)) from error

    @classmethod
    @abstractmethod
    def _open_driver(cls) -> _Library:
        """The driver of this machine; `NoDriver` if there is none."""

    @abstractmethod
    def _start(self) -> None:
        """Make this GPU the one that calls are about."""

    @abstractmethod
    def _loadable(self, code: GpuCode) -> bytes:
        """What the driver takes."""

    @contextmanager
    def _explained(self, what: str) -> Generator[None]:
        try:
            yield
        except DriverError as error:
            raise DeviceError(f"cannot {what}: {error}") from error

    def allocate(self, size_bytes: int, host_shared: bool = False) -> int:
        with self._explained(f"allocate {size_bytes} bytes"):
            if host_shared:
                # drivers refuse to allocate nothing
                return self.driver.handle(self.functions.allocate_shared, max(size_bytes, 1), ATTACH_GLOBALLY)
            return self.driver.handle(self.functions.allocate, max(size_bytes, 1))

    def free(self, address: int) -> None:
        if address:
            with self._explained("free memory"):
                self.driver.call(self.functions.free, address)

    def copy(self, to: int, source: int, size_bytes: int) -> None:
        if size_bytes:
            with self._explained(f"copy {size_bytes} bytes"):
                self.driver.call(self.functions.copy, to, source, size_bytes, *self.functions.copy_kind)
                # copies within a device return before they are done
                self.driver.call(self.functions.synchronize)

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        if count:
            with self._explained("fill memory"):
                function = self.functions.fill[len(pattern)]
                self.driver.call(function, address, int.from_bytes(pattern, "little"), count)

    @abstractmethod
    def tensor_map(self, about: TensorMap) -> bytes:
        """What kernels give the copy engine."""

    def load(self, module: GPUModuleOp) -> KernelModule[DriverKernel]:
        """Compile kernels and load them."""
        from tilewright.native.gpu_code import compile_kernels, machine_of  # LLVM is not needed for what is compiled

        code = compile_kernels(module, machine_of(self.options.target, self.options.wave_size))
        return self.load_code(LoadableCode(self._loadable(code), tuple(code.kernels)))

    def load_code(self, code: LoadableCode) -> KernelModule[DriverKernel]:
        """Load kernels that have been compiled before."""
        with self._explained("load the kernels"):
            module = self.driver.load_module(code.data)
            self._modules.append(module)
            return KernelModule({facts.name: self._kernel(module, facts) for facts in code.kernels})

    def _kernel(self, module: int, facts: KernelFacts) -> DriverKernel:
        handle = self.driver.handle(self.functions.find_kernel, module, facts.name.encode())
        return DriverKernel(facts.name, handle, facts)

    def launch(
        self,
        kernel: Any,
        grid: Size3,
        block: Size3,
        shared_bytes: int,
        arguments: Sequence[bytes],
        where: LocationAttr | None = None,
    ) -> None:
        assert isinstance(kernel, DriverKernel), "kernels of this device are launched on it"
        # drivers say "invalid value" where this says what is wrong
        check_launch(kernel.facts, block, shared_bytes, arguments, self.options.target, self.options.wave_size)
        packed = PackedArguments(arguments)
        with self._explained(f"launch @{kernel.name}"):
            self._start_kernel(kernel, (*grid, *block, self._asked_bytes(kernel, shared_bytes)), packed)
        self._launches += 1

    def _start_kernel(self, kernel: DriverKernel, sizes: Sequence[int], packed: PackedArguments) -> None:
        """`sizes` are those of the grid and of a block, and the memory that a block has."""
        self.driver.call(self.functions.launch, kernel.handle, *sizes, self.stream, packed.places, None)

    def _asked_bytes(self, kernel: DriverKernel, shared_bytes: int) -> int:
        """The shared memory that a launch asks the driver for, made ready."""
        return shared_bytes

    def synchronize(self) -> None:
        with self._explained("wait for the kernels"):
            self.driver.call(self.functions.synchronize)

    def make_heap(self, size_bytes: int) -> Heap:
        granule = self.functions.heap_granule_bytes
        rounded = -(-size_bytes // granule) * granule
        own = self.allocate(rounded)
        # cleared before other ranks map it
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
        self.driver.call(self.functions.share, ctypes.byref(handle), own)
        handles = self.world.exchange(bytes(handle))
        return [own if rank == self.world.rank else self._open(data) for rank, data in enumerate(handles)]

    def _open(self, handle: bytes) -> int:
        # by value, as C passes a structure
        return self.driver.handle(self.functions.open_shared, IpcHandle.from_buffer_copy(handle), LAZY_PEER_ACCESS)

    def drop_heap(self, heap: Heap) -> None:
        self.synchronize()
        with self._explained("give the symmetric heap back"):
            for rank, base in enumerate(heap.bases):
                if rank != self.world.rank:
                    self.driver.call(self.functions.close_shared, base)
        self.world.barrier()
        # only now has every rank closed its mapping
        self.free(heap.bases[self.world.rank])

    @contextmanager
    def waiting(self) -> Generator[None]:
        yield

    def counters(self) -> Mapping[str, int]:
        return {"launches": self._launches}

    def profile(self) -> Sequence[LaunchProfile]:
        """None: a real GPU is not watched."""
        return ()

    def close(self) -> None:
        with self._explained("close the GPU"):
            for module in self._modules:
                self.driver.call(self.functions.unload, module)


@dataclass(frozen=True)
class LoadableCode:
    """PTX or a code object, and the kernels in it."""

    data: bytes
    kernels: tuple[KernelFacts, ...]


def check_launch(
    facts: KernelFacts, block: Size3, shared_bytes: int, arguments: Sequence[bytes], target: GpuTarget, wave_size: int
) -> None:
    """Refuse what the GPU would refuse, or do wrong, with words that help."""
    name, threads = f"@{facts.name}", prod(block)
    sizes = tuple(map(len, arguments))
    if sizes != facts.parameters:
        raise DeviceError(f"{name} takes parameters of {facts.parameters} bytes and is given {sizes}")
    if facts.block is not None and facts.block != tuple(block):
        raise DeviceError(f"{name} was compiled for blocks of {_shown(facts.block)} threads, not {_shown(block)}")
    if threads > target.max_block_threads:
        raise DeviceError(
            f"{name} is launched with {threads} threads per block; {target.chip} has at most {target.max_block_threads}"
        )
    # a wave of two warps meets at a named barrier, of which a block has 15 besides its own
    if facts.waves is not None and threads > facts.waves * wave_size:
        raise DeviceError(
            f"{name} exchanges values in waves of {wave_size} lanes, of which a block of {target.chip} can have "
            f"{facts.waves}; it is launched with {threads} threads: use smaller blocks, or --wave-size "
            f"{target.wave_size}"
        )
    needed = facts.shared_bytes + shared_bytes
    if needed > target.shared_bytes:
        raise DeviceError(
            f"{name} needs {needed} bytes of shared memory; a block of {target.chip} has {target.shared_bytes}"
        )


class PackedArguments:
    """Arguments of a launch as drivers take them: an array of the places where they are."""

    def __init__(self, arguments: Sequence[bytes]):
        # kept as long as this object: the driver reads them when it launches
        self._buffers = [ctypes.create_string_buffer(data, len(data)) for data in arguments]
        self.places = (ctypes.c_void_p * max(len(self._buffers), 1))(*map(ctypes.addressof, self._buffers))


def choose_gpu(world: World, count: int, options: DeviceOptions) -> int:
    """The number of the GPU of a rank: one for each, or one for several if that is asked for."""
    if world.size > count:
        shared = f"{world.size} ranks and {count} GPU{'s' if count > 1 else ''}"
        if options.settings.get(SHARE) != "yes":
            raise DeviceError(
                f"{shared}: ranks on one GPU do not talk over the links between GPUs, so that a pass says less; "
                f"run them all the same with --set {SHARE}=yes"
            )
        if world.rank == 0:
            print(f"{shared}: ranks share a GPU, nothing is said about links between GPUs", file=sys.stderr, flush=True)
    return world.rank % count


SHARE = "share-gpu"
"""The setting that lets several ranks use the same GPU."""


def _shown(size: Sequence[int]) -> str:
    return " x ".join(map(str, size))
