"""External kernels: functions that a core calls and that the program has no body for.

A kernel is a Python function. It gets a NumPy view of each memref, writes to which go to the tile's memory, and Python
numbers for scalars. `c_kernel` makes one of a C source.
"""

from __future__ import annotations

import ctypes
import re
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

from tilewright.dialects.memref.types import is_ranked
from tilewright.errors import ArgumentError
from tilewright.native.host_arrays import NotInNumPy, dtype_of, is_float
from tilewright.sim.core_port import CorePort
from tilewright.sim.engine import Process

K = TypeVar("K", bound=Callable[..., Any])
ON_CORE = "_tilewright_on_core"
COST = "_tilewright_cost"
COMPILERS = ("cc", "gcc", "clang")
CPP_COMPILERS = ("c++", "g++", "clang++")
CPP_SUFFIXES = frozenset({".cc", ".cpp", ".cxx"})
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUALIFIER = re.compile(r"\b(const|volatile|register|restrict|__restrict__|__restrict|signed|std::)\b|std::")
_INTEGERS = {"char": 1, "short": 2, "int": 4, "long": 8, "long long": 8, "bool": 1, "_Bool": 1}
_FLOATS = {"float": 4, "double": 8, "_Float16": 2, "bfloat16": 2, "bfloat16_t": 2, "__bf16": 2}
_BYTES = {
    **_INTEGERS,
    **{f"unsigned {name}": size for name, size in _INTEGERS.items()},
    **{f"{sign}int{8 * size}_t": size for sign in ("", "u") for size in (1, 2, 4, 8)},
    **_FLOATS,
    "unsigned": 4,
    "size_t": 8,
}


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
        # Each time: the function is shared by all who name it, and ctypes keeps one result type.
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
    # Integers are passed in registers of 64 bits; the callee reads as many as its type has.
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
    # By content: a source that was edited between two runs of one process is compiled again.
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
        # Once loaded, the file is not needed any more, so the folder may go.
        return ctypes.CDLL(str(library))


@dataclass(frozen=True)
class CParameter:
    """A parameter whose type is one of C's own."""

    text: str
    type: str
    is_pointer: bool

    def complaint(self, given: Attribute) -> str | None:
        """Why it cannot take an argument of a type; None if it can, or nothing is known against it."""
        if is_ranked(given) != self.is_pointer:
            return f"'{self.text}' is {'a' if self.is_pointer else 'no'} pointer"
        try:
            dtype = dtype_of(given.element_type if is_ranked(given) else given)
        except NotInNumPy:
            return None
        fits = self._points_to(dtype) if self.is_pointer else self._takes(dtype)
        return None if fits else f"'{self.text}' is of another type"

    def _points_to(self, dtype: np.dtype[Any]) -> bool:
        """Bytes stand for anything, and integers may be the bits of floating-point numbers."""
        size = _BYTES[self.type]
        is_raw = size == 1 or dtype.itemsize == 1
        return is_raw or (size == dtype.itemsize and (self.type not in _FLOATS or is_float(dtype)))

    def _takes(self, dtype: np.dtype[Any]) -> bool:
        """Integers are passed in full registers, whatever their size is; short floats cannot be passed at all."""
        if is_float(dtype):
            return dtype.itemsize < 4 or (self.type in _FLOATS and _BYTES[self.type] == dtype.itemsize)
        return self.type not in _FLOATS


def c_parameters(source: str, name: str) -> list[CParameter | None] | None:
    """The parameters of a function that a source defines, None for types that are not C's own; None if it is unclear.

    C says nothing about the parameters of `f()`.
    """
    found = re.findall(rf"\b{re.escape(name)}\s*\(([^()]*)\)\s*\{{", _COMMENT.sub(" ", source))
    # Overloads, or macros that look like the function: better no check than a wrong one.
    if len(set(found)) != 1:
        return None
    texts = [" ".join(text.split()) for text in found[0].split(",")]
    if texts == [""]:
        return None
    return [] if texts == ["void"] else [_parameter(text) for text in texts]


def _parameter(text: str) -> CParameter | None:
    plain = " ".join(_QUALIFIER.sub(" ", text.replace("*", " * ")).split())
    shape = re.fullmatch(r"([\w ]+?)( \*)?( ?\b\w+)?((?:\[\w*\])*)", plain)
    if shape is None:
        return None
    base, star, declared, array = shape.groups()
    if star is None and declared is not None and base not in _BYTES:
        base, declared = f"{base}{declared}", None
    return CParameter(text, base, bool(star or array)) if base in _BYTES else None


def signature_complaint(parameters: Sequence[CParameter | None], types: Sequence[Attribute]) -> str | None:
    """What is wrong with a call of a function."""
    if None not in parameters and len(parameters) != len(types):
        return f"it takes {len(parameters)} arguments, got {len(types)}"
    for parameter, given in zip(parameters, types, strict=False):
        if parameter is not None and (complaint := parameter.complaint(given)) is not None:
            return f"{complaint}, got {given}"
    return None
