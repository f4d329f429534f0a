"""Interface of a GPU, be it emulated or real, to host programs, and of the ranks of a run to a GPU."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar, cast

from tilewright.device.gpu_targets import GpuTarget
from tilewright.device.tensor_maps import TensorMap
from tilewright.errors import ArgumentError, Error

if TYPE_CHECKING:  # what runs compiled programs has no compiler beside it
    from xdsl.dialects.builtin import LocationAttr

    from tilewright.dialects.gpu.kernels import GPUModuleOp
    from tilewright.gpu.profile import LaunchProfile

MOST_RANKS = 256
MOST_HEAP_BYTES = 1 << 46
"""Of the symmetric heap of one rank: more does not fit into the addresses of a process beside those of others."""
MOST_SECONDS = 1e9


class Size3(NamedTuple):
    """Blocks of a grid, or threads of a block."""

    x: int
    y: int = 1
    z: int = 1


class LoadedKernel(Protocol):
    """A kernel that is ready to be launched; what else it holds is its device's business."""

    @property
    def name(self) -> str: ...


KernelT = TypeVar("KernelT", bound=LoadedKernel, covariant=True)


@dataclass(frozen=True)
class KernelModule(Generic[KernelT]):
    """Kernels that were loaded together."""

    kernels: Mapping[str, KernelT]

    def kernel(self, name: str) -> KernelT:
        """The kernel of that name; KeyError if there is none."""
        return self.kernels[name]


class RemoteMemory(Protocol):
    """Heaps by messages: those of ranks on other machines cannot be mapped here. Addresses are those of the heap."""

    def read(self, address: int, size_bytes: int) -> bytes: ...
    def write(self, address: int, data: bytes) -> None: ...
    def update(self, address: int, size_bytes: int, change: Callable[[bytes], bytes]) -> bytes:
        """Replace a value of 4 or 8 bytes by `change` of it with no other rank in between; gives what was there."""
        ...


@dataclass(frozen=True)
class Heap:
    """The symmetric heap as one rank sees it: the same offset means the same variable on every rank."""

    size_bytes: int
    bases: tuple[int, ...]
    """Where the heap of each rank begins, in addresses of this process."""
    remote: RemoteMemory | None = None
    """How to reach those that are not mapped here, and how to update any of them where ranks do not take turns; None
    if all are mapped and one rank runs at a time."""
    remote_ranks: frozenset[int] = frozenset()
    """Whose heaps are not mapped: their addresses must not be touched."""

    @property
    def mapped_bases(self) -> list[int]:
        return [base for rank, base in enumerate(self.bases) if rank not in self.remote_ranks]

    def rank_of(self, address: int) -> int | None:
        """Whose heap an address is in; None for memory that is of no heap."""
        return next((rank for rank, base in enumerate(self.bases) if 0 <= address - base < self.size_bytes), None)

    def is_remote(self, address: int) -> bool:
        """Whether an address must be accessed through `remote`."""
        return bool(self.remote_ranks) and self.rank_of(address) in self.remote_ranks


class World(Protocol):
    """The ranks of a run, from the place of one of them."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def folder(self) -> Path | None:
        """A folder in memory that all ranks share and that vanishes with the run; None if they share no machine."""
        ...

    def barrier(self) -> None:
        """Wait until all ranks have come here. Raises `RankLost` if one never will."""
        ...

    def exchange(self, data: bytes) -> list[bytes]:
        """Give bytes to all ranks and get those of each, in order; collective."""
        ...

    def make_heap(self, size_bytes: int) -> Heap:
        """A cleared heap for each rank, in host memory; collective. For devices that work in host memory."""
        ...

    def drop_heap(self, heap: Heap) -> None:
        """Give a heap back; collective."""
        ...


class RankLost(Exception):
    """Another rank ended before it did what this one waits for."""


class DeviceError(Error):
    """A device cannot do what it was asked; the text says why and what to do. The host adds where it happened."""


@dataclass(frozen=True)
class DeviceOptions:
    """How a device shall be."""

    target: GpuTarget
    wave_size: int
    """Lanes of a wave that the program was lowered for."""
    seed: int = 0
    """Decides everything that a real GPU leaves to chance."""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """What only some devices know, by name; a device refuses names that it does not know with `DeviceError`."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts of the program's files, for messages."""
    profile: bool = False
    """Whether launches are profiled; only the emulator can."""


class GpuDevice(Protocol):
    """A GPU that belongs to one rank's process. Pointers are addresses of this process."""

    def allocate(self, size_bytes: int, host_shared: bool = False) -> int:
        """Memory of the device, not cleared; an address that is never 0, aligned to 256 bytes.

        The code of the host may access what is shared with it, and nothing else of the device.
        """
        ...

    def free(self, address: int) -> None:
        """Give back what `allocate` gave."""
        ...

    def copy(self, to: int, source: int, size_bytes: int) -> None:
        """Copy between any two addresses, of host or device; done when it returns, after all launches before it."""
        ...

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Store `pattern`, of 1, 2 or 4 bytes, `count` times one after the other."""
        ...

    def tensor_map(self, about: TensorMap) -> bytes:
        """What kernels give the copy engine, as a parameter of 128 bytes; there is no fault in `about`."""
        ...

    def load(self, module: GPUModuleOp) -> KernelModule[LoadedKernel]: ...

    def launch(
        self,
        kernel: LoadedKernel,
        grid: Size3,
        block: Size3,
        shared_bytes: int,
        arguments: Sequence[bytes],
        where: LocationAttr | None = None,
    ) -> None:
        """Run a kernel; `arguments` are its flattened parameters, tensor maps by value. Errors are `DiagnosedError`s
        about lines of the kernel, or `DeviceError`; `where` is the place of the launch. May return before the end."""
        ...

    def synchronize(self) -> None:
        """Wait for all launches."""
        ...

    def make_heap(self, size_bytes: int) -> Heap:
        """The symmetric heap, cleared; collective. Often `world.make_heap`."""
        ...

    def drop_heap(self, heap: Heap) -> None: ...

    def waiting(self) -> AbstractContextManager[None]:
        """The host waits for other ranks inside of it; a device that grants turns gives this rank's away meanwhile."""
        ...

    def counters(self) -> Mapping[str, int]:
        """What the device counted so far: launches, waves, lane operations, and the like."""
        ...

    def profile(self) -> Sequence[LaunchProfile]:
        """Of launches so far, where they are profiled."""
        ...

    def close(self) -> None:
        """Give everything back; the rank has ended."""
        ...


OpenDevice = Callable[[World, DeviceOptions], GpuDevice]
"""What each backend offers as `open_device`; collective over all ranks."""

# as text: what runs bundles has no emulator, and a backend that is not used costs no import
BACKENDS = {"emulator": "tilewright.gpu.emulator", "cuda": "tilewright.gpu.cuda", "hip": "tilewright.gpu.hip"}
"""Modules that have an `open_device`, by the backend's name."""


def whole_number(what: str, value: object, low: int, high: int) -> int:
    """A number from `low` to `high`; `ArgumentError` if it is another, or none."""
    try:
        # Python takes a truth value for a number, a user means something else
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(cast(int, value))
    except TypeError:
        raise ArgumentError(f"{what} takes a whole number from {low} to {high}, got {value!r}") from None
    if not low <= number <= high:
        raise ArgumentError(f"{what} takes a whole number from {low} to {high}, got {number}")
    return number


def checked_timeout(value: object) -> float | None:
    """Seconds, or None for no limit; `ArgumentError` for anything that no clock ever shows."""
    if value is None:
        return None
    # NaN fails the comparison below, as what is no number shall
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 0 < number <= MOST_SECONDS:
        raise ArgumentError(f"timeout takes seconds, more than 0 and at most {MOST_SECONDS:.0e}, got {value!r}")
    return number
