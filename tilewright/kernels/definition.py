"""Definitions of kernels: the parameters, the function and the cycles of each in the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tilewright.device.vector_unit import VectorUnit
from tilewright.dialects.aiex.attributes import BlockFloatType
from tilewright.native.host_arrays import dtype_of
from tilewright.sim.kernels import KernelError, NativeKernel

Array: TypeAlias = npt.NDArray[Any]
Function: TypeAlias = Callable[..., Any]
"""Gets its `Call`, then flat arrays for memory and numbers for scalars."""
Check: TypeAlias = Callable[["Call"], str | None]
"""What is wrong with the sizes of a declaration, if anything is."""

DTYPES: Mapping[str, np.dtype[Any]] = {
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "i16": np.dtype(np.int16),
    "ui16": np.dtype(np.uint16),
    "i32": np.dtype(np.int32),
    "ui32": np.dtype(np.uint32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "v8bfp16ebs8": dtype_of(BlockFloatType("v8bfp16ebs8")),
}


@dataclass(frozen=True)
class MemoryArg:
    """A pointer to elements; `size` where the kernel works on so many whatever it is told."""

    name: str
    element: str
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.name}: memref<{self.size or '?'}x{self.element}>"


@dataclass(frozen=True)
class ScalarArg:
    """A number passed by value."""

    name: str
    element: str = "i32"

    def __str__(self) -> str:
        return f"{self.name}: {self.element}"


Parameter: TypeAlias = MemoryArg | ScalarArg


@dataclass(frozen=True)
class Call:
    """What is the same in all calls of a declared function."""

    unit: VectorUnit
    sizes: Sequence[int]
    """Elements of each memory parameter."""
    macros: Mapping[str, str]
    """What the C++ source is compiled with: `-DNAME=VALUE`."""

    def part(self, array: Array, count: int) -> Array:
        """The first elements of a buffer, as many as the call asks for."""
        # C++ would write past the buffer without a word: here that is an error of the call.
        if not 0 <= count <= array.size:
            raise KernelError(f"it is to work on {count} elements of a buffer that has {array.size}")
        return array[:count]


def _no_native(call: Call) -> None:
    """Most kernels are functions of NumPy alone."""


@dataclass(frozen=True)
class Definition:
    """One kernel. Several may have the same name if they differ in types."""

    name: str
    parameters: Sequence[Parameter]
    function: Function
    cost: Callable[..., int]
    """Cycles, of the same arguments as the function: what is in memory has no part in it, only how much."""
    summary: str
    check: Check | None = None
    macros: frozenset[str] = frozenset()
    """Macros of the C++ source that change what the kernel does."""
    on_core: bool = False
    """Uses the cascade or the streams of its core."""
    native: Callable[[Call], NativeKernel | None] = _no_native
    """The function as machine code, for declarations that there is such for: it writes the last of its memories."""

    @property
    def memories(self) -> list[MemoryArg]:
        return [parameter for parameter in self.parameters if isinstance(parameter, MemoryArg)]

    @property
    def signature(self) -> str:
        return f"@{self.name}({', '.join(str(parameter) for parameter in self.parameters)})"


LIBRARY: dict[str, list[Definition]] = {}
"""Filled by the modules with kernels as they are imported; see `registry`."""


def define(
    name: str,
    parameters: Iterable[Parameter],
    cost: Callable[..., int],
    summary: str,
    *,
    check: Check | None = None,
    macros: Iterable[str] = (),
    on_core: bool = False,
    native: Callable[[Call], NativeKernel | None] = _no_native,
) -> Callable[[Function], Function]:
    """Put a function into the library."""

    def register(function: Function) -> Function:
        definition = Definition(
            name, tuple(parameters), function, cost, summary, check, frozenset(macros), on_core, native
        )
        LIBRARY.setdefault(name, []).append(definition)
        return function

    return register
