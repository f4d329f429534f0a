"""NumPy arrays on their way into native code, which gets an address and a length: checked, then lent as plain bytes.

An array is lent as it is where its elements follow each other in memory. Otherwise native code works on a copy, which
is written back when the loan ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.errors import ArgumentError
from tilewright.native.numpy_types import accepted_dtypes

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
RAW = np.dtype(np.uint8)
"""Elements of arrays that are meant as bytes, whatever the memref has."""
LONGEST_TEXT = 40
MOST_WORK: Any = 100_000
"""Candidates that are tried to tell whether two arrays share an element; harder cases are taken to share one."""


def check_array(what: str, value: object, type: MemRefType[Attribute] | None = None) -> Array:
    """A plain view of an array that stands for a memref; `ArgumentError` if its elements are of another type.

    `uint8` stands for anything: these are raw bytes, of as many whole elements as the memref has or more. Sizes of
    other arrays are not looked at. Without a type nothing is known of the memref: any numbers will do.
    """
    if not isinstance(value, np.ndarray):
        wanted = "" if type is None else f" of type {type}"
        raise ArgumentError(f"{what} is a buffer{wanted}, got {shown(value)}; pass a NumPy array{_remedy(value)}")
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(f"{what} is a masked array; pass its elements: .filled(value), or .data for all of them")
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
    if array.dtype == RAW and array.nbytes >= needed and array.nbytes % size_bytes == 0:
        return
    names = [dtype.name for dtype in accepted]
    least = f"at least {needed} raw bytes" if needed else f"raw bytes, a multiple of {size_bytes}"
    given = f"{array.nbytes} raw bytes" if array.dtype == RAW else _described(array.dtype)
    remedy = f"; convert it first: .astype({spelt(accepted[0])})" if accepted else ""
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
    reach, nested = array.itemsize, array.size > 0
    for stride, size in steps:
        nested &= stride >= reach
        reach += stride * (size - 1)
    if nested or array.size <= 1:
        return False
    if any(stride == 0 for stride, _ in steps):
        return True
    offsets = np.zeros(1, np.int64)
    for stride, size in steps:
        offsets = (offsets[:, None] + stride * np.arange(size, dtype=np.int64)).reshape(-1)
    offsets.sort()
    return bool((np.diff(offsets) < array.itemsize).any())


def _check_shared(arrays: Mapping[int, LentArray], written: Container[int]) -> None:
    """A copy does not see what is written to the memory that it is a copy of."""
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
