"""NumPy arrays on their way into native code, which gets an address and a length: checked, then lent as plain bytes.

An array is lent as it is where its elements follow each other in memory. Otherwise native code works on a copy, which
is written back when the loan ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
)
from xdsl.ir import Attribute

from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aiex.attributes import BlockFloatType
from tilewright.errors import ArgumentError

_FLOATS: dict[type[Attribute], npt.DTypeLike] = {
    BFloat16Type: ml_dtypes.bfloat16,
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
    Float8E4M3B11FNUZType: ml_dtypes.float8_e4m3b11fnuz,
    Float8E4M3FNType: ml_dtypes.float8_e4m3fn,
    Float8E4M3FNUZType: ml_dtypes.float8_e4m3fnuz,
    Float8E5M2Type: ml_dtypes.float8_e5m2,
    Float8E5M2FNUZType: ml_dtypes.float8_e5m2fnuz,
}
Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
RAW = np.dtype(np.uint8)
"""Elements of arrays that are meant as bytes, whatever the memref has."""
LONGEST_TEXT = 40
MOST_WORK: Any = 100_000
"""Candidates that are tried to tell whether two arrays share an element; harder cases are taken to share one."""


class NotInNumPy(TypeError):
    """A type that NumPy has nothing like."""


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """The type that NumPy has for the elements of a memref."""
    match type:
        case IntegerType():
            unsigned = type.signedness.data is Signedness.UNSIGNED
            # Integers of less than 8 bits take a byte each, as in MLIR's memrefs.
            width = max(8, type.width.data)
            if width not in (8, 16, 32, 64):
                raise NotInNumPy(f"NumPy has no integers of {width} bits")
            return np.dtype(f"{'u' if unsigned else ''}int{width}") if type.width.data > 1 else np.dtype(np.bool_)
        case IndexType():
            return np.dtype(np.int64)
        case BlockFloatType():
            # the shared exponent stands first
            return np.dtype([("exponent", np.uint8), ("mantissas", np.int8, (type.format.elements,))])
        case _:
            if type.__class__ not in _FLOATS:
                raise NotInNumPy(f"NumPy has no type like {type}")
            return np.dtype(_FLOATS[type.__class__])


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether values have something behind the point; NumPy does not say so of the short types."""
    return dtype.kind == "f" or dtype in [np.dtype(known) for known in _FLOATS.values()]


@cache
def accepted_dtypes(type: Attribute) -> Sequence[np.dtype[Any]]:
    """The element types of arrays that may stand for a memref of this one, best first; none if NumPy has no such type.

    Integers without a sign take either one. Those of four bits are in a byte each, as in MLIR's memrefs.
    """
    try:
        usual = dtype_of(type)
    except NotInNumPy:
        return ()
    match type:
        case IntegerType() if usual.kind in "iu":
            signless, is_nibble = type.signedness.data is Signedness.SIGNLESS, type.width.data == 4
        case IndexType():
            signless, is_nibble = True, False
        case _:
            return (usual,)
    found = [usual, np.dtype(f"u{usual.name}")] if signless else [usual]
    nibbles = [np.dtype(ml_dtypes.int4 if dtype.kind == "i" else ml_dtypes.uint4) for dtype in found]
    return [*found, *nibbles] if is_nibble else found


def check_array(what: str, value: object, type: MemRefType[Attribute] | None = None) -> Array:
    """A plain view of an array that stands for a memref; `ArgumentError` if its elements are of another type.

    `uint8` stands for anything: these are raw bytes, of whole elements. Sizes are not looked at. Without a type nothing
    is known of the memref: any numbers will do.
    """
    if not isinstance(value, np.ndarray):
        wanted = "" if type is None else f" of type {type}"
        raise ArgumentError(f"{what} is a buffer{wanted}, got {shown(value)}; pass a NumPy array{_remedy(value)}")
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(f"{what} is a masked array; pass its elements: .filled(value), or .data for all of them")
    # Subclasses, such as np.matrix, change what indexing and products mean.
    array = cast(Array, value).view(np.ndarray)
    if type is not None:
        _check_elements(what, array, type)
    elif array.dtype.hasobject or array.dtype.names is not None or array.dtype.kind in "SUMm":
        raise ArgumentError(f"{what} has elements of {_described(array.dtype)}; pass an array of numbers")
    elif not array.dtype.isnative:
        remedy = spelt(array.dtype.newbyteorder("="))
        raise ArgumentError(f"{what} is big-endian ({array.dtype}); convert it first: .astype({remedy})")
    return array


def _check_elements(what: str, array: Array, type: MemRefType[Attribute]) -> None:
    accepted = accepted_dtypes(type.element_type)
    if array.dtype in accepted:
        return
    size_bytes, needed = element_bytes(type), (element_count(type) or 0) * element_bytes(type)
    # Raw bytes stand for anything, but elements have to be whole; that there are enough is for transfers to find out.
    if array.dtype == RAW and array.nbytes % size_bytes == 0:
        return
    names = [dtype.name if dtype.names is None else _described(dtype) for dtype in accepted]
    least = f"at least {needed} raw bytes" if needed else f"raw bytes, a multiple of {size_bytes}"
    given = f"{array.nbytes} raw bytes" if array.dtype == RAW else _described(array.dtype)
    remedy = f"; convert it first: .astype({spelt(accepted[0])})" if accepted and accepted[0].names is None else ""
    takes = ", ".join([*names, f"or {least} (uint8)"] if names else [f"{least} (uint8)"])
    raise ArgumentError(f"{what} is of type {type}, which takes {takes}, got {given}{remedy}")


def _described(dtype: np.dtype[Any]) -> str:
    if dtype.names is not None:
        return f"a record of {', '.join(dtype.names)}"
    return str(dtype) if dtype.isnative else f"{dtype.name} (big-endian)"


def spelt(dtype: np.dtype[Any]) -> str:
    """A dtype as programs write it."""
    module = dtype.type.__module__
    return f"{'np' if module == 'numpy' else module}.{dtype.type.__name__ if dtype.kind != 'b' else 'bool_'}"


def shown(value: object) -> str:
    """A value as messages show it: short."""
    text = repr(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 10]}... ({type(value).__name__})"


def _remedy(value: object) -> str:
    if callable(getattr(value, "numpy", None)):
        return ", such as its .numpy()"
    return ": np.array(..., dtype=...)" if isinstance(value, list | tuple) else ""


@dataclass(frozen=True)
class LentArray:
    """An array while native code has it."""

    name: str
    given: Array
    data: Bytes
    """Its bytes in order: those of the array itself, or of a copy. Read-only where it must not be written."""

    @property
    def is_copy(self) -> bool:
        return not self.given.flags.c_contiguous

    def give_back(self) -> None:
        """Write what native code has made of a copy into the array."""
        if self.is_copy and self.data.flags.writeable:
            self.given[...] = self.data.view(self.given.dtype).reshape(self.given.shape)


@contextmanager
def lent(
    arrays: Mapping[int, tuple[str, Array]], may_write: Callable[[], Container[int]]
) -> Generator[dict[int, LentArray]]:
    """Lend arrays, with their names, by number; `may_write` says which may be written, and is asked only if need be.

    Refuses what would be written and cannot be: read-only arrays, those whose elements overlap, and two that share
    memory where one had to be copied. Arrays without gaps that share memory are one memory to native code, too.
    """
    unusual = {n for n, (_, array) in arrays.items() if not (array.flags.c_contiguous and array.flags.writeable)}
    written: Container[int] = may_write() if unusual else ()
    for number in sorted(unusual):
        if number in written:
            _check_writeable(*arrays[number])
    found = {
        number: _lend(name, array, number not in unusual or number in written)
        for number, (name, array) in arrays.items()
    }
    _check_shared(found, written)
    try:
        yield found
    finally:
        for array in found.values():
            array.give_back()


def _lend(name: str, array: Array, writeable: bool) -> LentArray:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    data.flags.writeable = writeable
    return LentArray(name, array, data)


def _check_writeable(name: str, array: Array) -> None:
    if not array.flags.writeable:
        raise ArgumentError(f"argument {name} is written, but the array is read-only; pass a copy: .copy()")
    if not array.flags.c_contiguous and overlaps_itself(array):
        raise ArgumentError(
            f"argument {name} is written, but elements of the array are at the same place in memory "
            f"(strides {array.strides}); pass a copy: .copy()"
        )


def overlaps_itself(array: Array) -> bool:
    """Whether two elements of an array have a byte in common."""
    steps = sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True) if size > 1)
    # The usual case needs no search: each stride steps over all that the smaller ones reach.
    reach, nested = array.itemsize, array.size > 0
    for stride, size in steps:
        nested &= stride >= reach
        reach += stride * (size - 1)
    if nested or array.size <= 1:
        return False
    if any(stride == 0 for stride, _ in steps):
        return True
    # Otherwise all offsets are listed, and neighbours looked at.
    offsets = np.zeros(1, np.int64)
    for stride, size in steps:
        offsets = (offsets[:, None] + stride * np.arange(size, dtype=np.int64)).reshape(-1)
    offsets.sort()
    return bool((np.diff(offsets) < array.itemsize).any())


def _check_shared(arrays: Mapping[int, LentArray], written: Container[int]) -> None:
    """A copy does not see what is written to the memory that it is a copy of."""
    # Two arrays that are lent as they are see each other's writes, as in any program.
    for (n, one), (m, other) in combinations(arrays.items(), 2):
        separate = one.is_copy or other.is_copy
        if separate and (n in written or m in written) and share_memory(one.given, other.given):
            raise ArgumentError(
                f"arguments {one.name} and {other.name} share memory, one of them is written, and one has gaps between "
                "its elements; pass a copy of one of them: .copy()"
            )


def share_memory(one: Array, other: Array) -> bool:
    """Whether two arrays have an element in common, or it is too hard to tell."""
    try:
        return np.shares_memory(one, other, max_work=MOST_WORK)
    except np.exceptions.TooHardError:
        return True
