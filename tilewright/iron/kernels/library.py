"""Kernels of the library as parts of a program."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
from ml_dtypes import bfloat16

from tilewright.device import Arch
from tilewright.device.vector_unit import VectorUnit, vector_unit
from tilewright.iron.builders.location import UPSTREAM, refuse
from tilewright.iron.kernel import ExternalFunction, Kernel
from tilewright.iron.resolvable import current_resolution
from tilewright.iron.utils.hostruntime.current_device import get_current_device
from tilewright.kernels.declaration import Declaration
from tilewright.kernels.sources import KernelMode, checkouts

P = ParamSpec("P")
ELEMENTS = {np.int8: "i8", np.uint8: "ui8", np.int16: "i16", np.int32: "i32", bfloat16: "bf16", np.float32: "f32"}
"""How the names of kernels call NumPy's types."""
_TABLES = "aie_runtime_lib/AIE2"
"""Beside that folder: the tables of functions for cores that have no instructions for them."""
_EXTERN_CACHE: dict[tuple[str, str], LibraryFunction] = {}
"""The functions by what they were asked for with; programs for mlir-aie clear it by this name."""
BIT_WIDTHS = {np.dtype(np.uint8): 8, np.dtype(np.int16): 16, np.dtype(np.int32): 32}


class LibraryFunction(ExternalFunction):
    """A kernel that the simulator has. `source_file` is what a device's compiler would compile.

    It has the name of the C++ function, and a digest before that only where a program has two of them that differ.
    """

    mac_dims: tuple[int, int, int]
    """Rows of A, columns of A and columns of B in the blocks of a matrix product."""
    zero: Kernel
    get_only: Kernel
    put_only: Kernel
    put_get: Kernel

    def __init__(
        self,
        name: str,
        source: str,
        arg_types: Sequence[Any],
        flags: Sequence[str] = (),
        use_chess: bool = False,
        *,
        object_file: str | None = None,
        uses_tables: bool = False,
    ):
        super().__init__(name, source_file=source, arg_types=arg_types, compile_flags=list(flags), use_chess=use_chess)
        # one file for each set of sizes and flags, or one that companions share
        self.object_file_name = object_file or f"{name}_{self.content_digest()}.o"
        self._uses_tables = uses_tables

    @property
    def symbol(self) -> str:
        # one name can be declared once, whatever sizes a source is compiled for
        taken = current_resolution().built.get(("kernel", self.name))
        return self.name if taken is None or taken == self else f"v{self.content_digest()}_{self.name}"

    def _settle_object_file(self, is_given: bool) -> None:
        pass  # each set of sizes and flags has a file of its own, and companions share theirs

    def _declaration(self) -> Declaration:
        """With its source only if sources are asked for and there: the library has the function."""
        found = _source_path(self.source_file or "")
        symbol = None if self.symbol == self.name else self.name
        if found is None:
            return Declaration(self.symbol, self.compile_flags)
        root = next(parent.parent for parent in found.parents if parent.name == "aie_kernels")
        flags = [*self.compile_flags, f"-I{root}", f"-I{found.parent}"]
        tables = root / _TABLES
        if self._uses_tables and found.parent.name == "aie2" and tables.is_dir():
            text = f'#include "{found}"\n#include "{tables / "lut_based_ops.cpp"}"\n'
            return Declaration(self.symbol, [*flags, f"-I{tables}"], text, None, symbol)
        return Declaration(self.symbol, flags, None, str(found), symbol)

    def content_digest(self) -> str:
        parts = self.name, [str(type) for type in self.arg_types()], [*self.compile_flags, *["chess"] * self.use_chess]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]  # the source is no file here, so it does not count

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LibraryFunction) and other.content_digest() == self.content_digest()


def _one_of_each(make: Callable[P, LibraryFunction]) -> Callable[P, LibraryFunction]:
    """A function that gives what `make` gives: one object for each set of parameters, however often it is asked for."""

    def get(*args: P.args, **kwargs: P.kwargs) -> LibraryFunction:
        made = make(*args, **kwargs)
        key = str(made.source_file), made.content_digest()
        if key not in _EXTERN_CACHE:
            _refuse_chess_variants(made)
        found = _EXTERN_CACHE.setdefault(key, made)  # another thread may have been faster
        found.where = made.where  # complaints name the line that asked last
        return found

    return get


library_function = _one_of_each(LibraryFunction)
"""The function for these parameters."""


def _refuse_chess_variants(function: LibraryFunction) -> None:
    """Refuse a second version of a function for the vendor's compiler: symbols of its objects cannot be renamed."""
    if not function.use_chess or UPSTREAM not in sys.modules:
        return
    if any(other.name == function.name and other.use_chess for other in list(_EXTERN_CACHE.values())):
        refuse(
            f"Chess kernel '{function.name}' is there already with other parameters, and symbols in its object files "
            "cannot be renamed: both would export the same one",
            (None, "leave out use_chess for one of them"),
        )


def _source_path(source: str) -> Path | None:
    """The file of a kernel, where sources are wanted before the library and there are any."""
    if not KernelMode.named(None).prefers_sources:
        return None
    kernels, folder, file = source.split("/", 2)
    # kernels without a version for an architecture have one for all, or that of the first
    tried = [root / kernels / part / file for root in checkouts() for part in (folder, "aie2", "generic")]
    return next((path for path in tried if path.is_file()), None)


def current_unit() -> VectorUnit:
    """The vector unit of the current device."""
    device = get_current_device()
    return vector_unit(Arch.AIE2 if device is None else device.arch)


def source_of(file: str, folder: str | None = None) -> str:
    """The file of mlir-aie that has a kernel."""
    return f"aie_kernels/{folder or current_unit().arch.name.lower()}/{file}"


def array(size: int | tuple[int, ...], dtype: Any) -> Any:
    """An array as the type of an argument."""
    return np.ndarray[size if isinstance(size, tuple) else (size,), np.dtype[dtype]]


def bit_width(dtype: Any, factory: str) -> int:
    """8, 16 or 32, which the source is compiled with."""
    found = BIT_WIDTHS.get(np.dtype(dtype))
    if found is None:
        refuse(f"{factory}: unsupported dtype {dtype}. Use np.uint8, np.int16, or np.int32.")
    return found


def need_tile_size(factory: str, size: int, expected: int = 1024) -> None:
    """Some kernels have their length written into them."""
    if size != expected:
        refuse(f"{factory}() tile_size must be {expected} to match the hard-coded C++ loop bound, got {size}.")


def aligned_elements(dtype: Any) -> int:
    """The fewest elements that fill a word: a DMA moves no less."""
    return max(1, 4 // np.dtype(dtype).itemsize)


def i32s(count: int) -> list[Any]:
    """Numbers at the end of a kernel's arguments."""
    return [np.int32] * count
