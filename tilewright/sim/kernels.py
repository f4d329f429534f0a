"""External kernels: functions that a core calls and that the program has no body for.

A kernel is a Python function. It gets a NumPy view of each memref, writes to which go to the tile's memory, and Python
numbers for scalars. `c_kernel` makes one of a C source.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, LocationAttr
from xdsl.ir import Attribute

from tilewright.errors import ArgumentError
from tilewright.native.numpy_types import dtype_of
from tilewright.sim.c_signatures import c_parameters, signature_complaint
from tilewright.sim.core_port import CorePort
from tilewright.sim.engine import Process

K = TypeVar("K", bound=Callable[..., Any])
ON_CORE = "_tilewright_on_core"
COST = "_tilewright_cost"
COMPILERS = ("cc", "gcc", "clang")
CPP_COMPILERS = ("c++", "g++", "clang++")
CPP_SUFFIXES = frozenset({".cc", ".cpp", ".cxx"})


class KernelError(ArgumentError):
    """A kernel that cannot be made or called; says why. One that is raised in a kernel is reported at the call."""


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


def cost_of(kernel: Callable[..., Any], arguments: Sequence[Any]) -> int:
    """Cycles that a call takes, as far as that is declared."""
    declared: int | Callable[..., int] = getattr(kernel, COST, 0)
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


class CKernel:
    """A function of a C source, compiled for this computer. Memrefs are passed as pointers to their first element."""

    _libraries: ClassVar[dict[str, ctypes.CDLL]] = {}

    def __init__(self, path: str | Path, name: str, flags: Sequence[str] = ()):
        self.name = name
        library = _load(Path(path), tuple(flags))
        function = getattr(library, name, None)
        if function is None:
            raise KernelError(f"{path} defines no function '{name}'; in C++ it has to be extern \"C\"")
        self._function = function
        self._parameters = c_parameters(Path(path).read_text(errors="replace"), name)

    def check(self, types: Sequence[Attribute]) -> None:
        """`KernelError` if the source says that the function takes other types than a call passes."""
        if self._parameters is not None and (complaint := signature_complaint(self._parameters, types)) is not None:
            raise KernelError(complaint)

    def __call__(self, *arguments: Any, types: Sequence[Attribute] = (), result: Attribute | None = None) -> Any:
        """`types` and `result` are those of the call; without them numbers are passed by their Python type."""
        known = list(types) + [None] * (len(arguments) - len(types))
        self._function.restype = None if result is None else _result_type(result)
        return self._function(*(_argument(value, type) for value, type in zip(arguments, known, strict=True)))


def c_kernel(path: str | Path, name: str, flags: Sequence[str] = ()) -> CKernel:
    """The function `name` of a C or C++ source as a kernel."""
    return CKernel(path, name, flags)


def _argument(value: Any, type: Attribute | None) -> Any:
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise KernelError(f"C gets a pointer to the first element, but the others do not follow it: {type}")
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(type, BFloat16Type | Float16Type):
        raise KernelError(f"a scalar of type {type} cannot be passed to C: pass f32, or its bits")
    if isinstance(value, float):
        return ctypes.c_float(value) if isinstance(type, Float32Type) else ctypes.c_double(value)
    return ctypes.c_int64(value)


def _result_type(type: Attribute) -> Any:
    if isinstance(type, Float32Type):
        return ctypes.c_float
    if isinstance(type, Float64Type):
        return ctypes.c_double
    return np.ctypeslib.as_ctypes_type(dtype_of(type))


def _load(path: Path, flags: tuple[str, ...]) -> ctypes.CDLL:
    """Compile a source and load it, unless the same one has been before."""
    if not path.is_file():
        raise KernelError(f"there is no file {path}")
    key = sha256(repr((path.read_bytes(), path.suffix, flags)).encode()).hexdigest()
    if key not in CKernel._libraries:
        CKernel._libraries[key] = _compile(path, flags)
    return CKernel._libraries[key]


def _compile(path: Path, flags: Sequence[str]) -> ctypes.CDLL:
    names = CPP_COMPILERS if path.suffix in CPP_SUFFIXES else COMPILERS
    compiler = next((found for name in names if (found := shutil.which(name))), None)
    if compiler is None:
        raise KernelError(f"{path} needs a compiler, but none of {', '.join(names)} is installed")
    with TemporaryDirectory() as folder:
        library = Path(folder) / "kernel.so"
        command = [compiler, "-shared", "-fPIC", "-O2", *flags, str(path.absolute()), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise KernelError(f"{path} does not compile: {done.stderr.strip()}")
        return ctypes.CDLL(str(library))
