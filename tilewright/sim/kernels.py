"""External kernels: functions that a core calls and that the program has no body for.

A kernel is a Python function. It gets a NumPy view of each memref, writes to which go to the tile's memory, and Python
numbers for scalars. `c_kernel` makes one of a C source.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from tilewright.errors import ArgumentError
from tilewright.sim.core_port import CorePort
from tilewright.sim.engine import Process
from tilewright.support.lazy import lazy_names

if TYPE_CHECKING:
    from tilewright.sim.cpp_kernels import CKernel

# The compiler's side is loaded by those who have a source.
__getattr__ = lazy_names(__name__, {"CKernel": "tilewright.sim.cpp_kernels:CKernel"})

K = TypeVar("K", bound=Callable[..., Any])
ON_CORE = "_tilewright_on_core"
COST = "_tilewright_cost"
PREPARES = "_tilewright_prepares"


class KernelError(ArgumentError):
    """A kernel that cannot be made or called; says why. One that is raised in a kernel is reported at the call."""


class MissingFunction(KernelError):
    """A source that has no function of a name."""


def on_core(kernel: K) -> K:
    """Marks a kernel that also gets a `CallingCore`, as its first argument: to use its cascade or streams, or its time.

    Such a kernel is a generator: `yield from core.put_cascade(data)`.
    """
    setattr(kernel, ON_CORE, True)
    return kernel


def costs(cycles: int | Callable[..., int]) -> Callable[[K], K]:
    """Declares how long a kernel takes on the device: in cycles, or as a function of its arguments.

    `costs(lambda a, b, c: a.size * b.shape[1] // 64)` is a kernel that does 64 products in a cycle.
    """

    def declare(kernel: K) -> K:
        setattr(kernel, COST, cycles)
        return kernel

    return declare


class NativeCall(NamedTuple):
    """A call of machine code that needs no interpreter: a function of one address."""

    function: int
    argument: int
    memories: Sequence[tuple[int, int]]
    """From which address to which it reads and writes."""
    kept: object
    """What has to stay while it can be made."""

    def make(self) -> None:
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self.function)(self.argument)


class NativeKernel(NamedTuple):
    """Machine code of a kernel: a function of the address of the addresses of its memory."""

    address: int
    kept: object

    def call(self, *memories: npt.NDArray[Any]) -> NativeCall:
        given = (ctypes.c_void_p * len(memories))(*(memory.ctypes.data for memory in memories))
        places = [(memory.ctypes.data, memory.ctypes.data + memory.nbytes) for memory in memories]
        return NativeCall(self.address, ctypes.addressof(given), places, (given, memories, self.kept))


class PreparedCall(NamedTuple):
    """A call in which all is decided: it may be made again as long as the arguments are the same memory and numbers."""

    function: Callable[[], Any]
    cycles: int
    native: NativeCall | None = None
    """The same call for native code."""


def prepares(preparation: Callable[[Sequence[Any]], PreparedCall]) -> Callable[[K], K]:
    """Declares how calls of a kernel are prepared, and so what they cost: programs make the same few over and over."""

    def declare(kernel: K) -> K:
        setattr(kernel, PREPARES, preparation)
        return costs(lambda *arguments: preparation(arguments).cycles)(kernel)

    return declare


def preparation_of(kernel: object) -> Callable[[Sequence[Any]], PreparedCall] | None:
    return getattr(kernel, PREPARES, None)


def cost_of(kernel: Callable[..., Any], arguments: Sequence[Any]) -> int:
    """Cycles that a call takes, as far as that is declared."""
    return declared_cost(getattr(kernel, COST, 0), arguments)


def declared_cost(declared: int | Callable[..., int], arguments: Sequence[Any]) -> int:
    return declared(*arguments) if callable(declared) else declared


def wants_core(kernel: Callable[..., Any]) -> bool:
    return getattr(kernel, ON_CORE, False)


@dataclass(frozen=True)
class CallingCore:
    """What a kernel can do on the core that calls it, apart from computing. Each is a process: `yield from` it."""

    port: CorePort
    location: LocationAttr
    """Where the call is, for messages."""

    def put_cascade(self, data: bytes) -> Process[None]:
        """Hand one accumulator on to the next core."""
        return self.port.put_cascade(data, self.location)

    def get_cascade(self, size_bytes: int) -> Process[bytes]:
        return self.port.get_cascade(size_bytes, self.location)

    def put_stream(self, channel: int, data: bytes) -> Process[None]:
        """Write one word, or four."""
        return self.port.put_stream(channel, data, self.location)

    def get_stream(self, channel: int, size_bytes: int) -> Process[bytes]:
        return self.port.get_stream(channel, size_bytes, self.location)

    def spend(self, cycles: int) -> Process[None]:
        """Let as many cycles pass as the kernel takes on the device."""
        return self.port.spend(cycles)

    def say(self, text: str) -> None:
        """Print a line with the core's place and the cycle; the run's result has it too. This is no process."""
        self.port.say(text)


def c_kernel(path: str | Path, name: str, flags: Sequence[str] = ()) -> CKernel:
    """The function `name` of a C or C++ source as a kernel."""
    from tilewright.sim.cpp_kernels import CKernel

    return CKernel(path, name, flags)
