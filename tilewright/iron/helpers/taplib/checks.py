"""Checks of what is given for a pattern: dimensions, offsets, sizes and strides.

A number may also be a value that is known only when the sequence runs; such a one is left alone here.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import prod
from typing import Any, TypeAlias, TypeGuard

import numpy as np

Number: TypeAlias = Any
"""An integer, or a run-time value of the runtime sequence."""


def is_known(number: Number) -> TypeGuard[int]:
    """Whether a number is known now, and not only when the sequence runs."""
    return isinstance(number, int | np.integer)


def is_one(number: Number) -> bool:
    return is_known(number) and number == 1


def smaller(left: Number, right: Number) -> Number:
    # `math` loads what builds programs, and most patterns are made of Python's numbers
    if is_known(left) and is_known(right):
        return min(left, right)
    from tilewright.iron.math import minimum

    return minimum(left, right)


def larger(left: Number, right: Number) -> Number:
    return -smaller(-left, -right)


def one_if_larger(number: Number, limit: Number) -> Number:
    """A number, or 1 where it is larger than the limit."""
    if is_known(number) and (number == 1 or is_known(limit)):
        return 1 if number == 1 or number > limit else number
    from tilewright.iron.math import where

    return where(number > limit, 1, number)


def is_multiple(number: Number, divisor: Number, remainder: str) -> bool:
    """Whether a number has no remainder; where that is not known, the sequence refuses to run with one."""
    if is_known(number) and is_known(divisor):
        return number % divisor == 0
    if not is_one(divisor):
        from tilewright.iron.open_sizes import require_zero

        require_zero(number % divisor, remainder)
    return True


def check_dimensions(dimensions: Sequence[int], expected: int | None = None) -> Sequence[int]:
    """The dimensions of a tensor, one of a single dimension as a row."""
    # the texts of these errors are upstream's
    if len(dimensions) == 0:
        raise ValueError(f"Number of tensor dimensions must be >= 1 (dimensions={dimensions})")
    if any(is_known(size) and size <= 0 for size in dimensions):
        raise ValueError(f"Each tensor dimension must be >= 1 (dimensions={dimensions})")
    shaped = [1, dimensions[0]] if len(dimensions) == 1 else copy(dimensions)
    if expected is not None and len(shaped) != expected:
        raise ValueError(f"Tensor dimension ({shaped}) does not match expected dimension ({expected})")
    return shaped


def check_offset(offset: Number, dimensions: Sequence[int]) -> Number:
    """An offset inside the tensor."""
    if not is_known(offset):
        return offset
    if offset < 0:
        raise ValueError(f"Offset must be >= 0 (offset={offset})")
    if all(is_known(size) for size in dimensions) and offset >= prod(dimensions):
        raise ValueError(f"Offset too large: {offset}. Max value allowed for tensor: {prod(dimensions)}")
    return offset


def check_sizes(sizes: Sequence[Number] | None) -> None:
    if sizes is not None and len(sizes) == 0:
        raise ValueError("len(sizes) must be >0")
    if sizes is not None and any(is_known(size) and size < 1 for size in sizes):
        raise ValueError(f"All sizes must be >= 1, but got {sizes}")


def check_strides(strides: Sequence[Number] | None) -> None:
    if strides is not None and len(strides) == 0:
        raise ValueError("len(strides) must be >0")
    if strides is not None and any(is_known(stride) and stride < 0 for stride in strides):
        raise ValueError(f"All strides must be >= 0, but got {strides}")


def clean_transformation(
    sizes: Sequence[Number] | None, strides: Sequence[Number] | None
) -> tuple[Sequence[Number], list[Number]]:
    """Sizes and strides that fit together; outer dimensions that are passed once get stride 0.

    The stride of the last dimension stays as it is.
    """
    if sizes is None:
        raise ValueError("Sizes is None, but expected Sequence[int]")
    if strides is None:
        raise ValueError("Strides is None, but expected Sequence[int]")
    check_lengths(sizes, strides)
    check_sizes(sizes)
    check_strides(strides)
    cleaned = list(strides)
    # a stride that is never taken makes equal patterns differ
    for dimension in range(len(sizes) - 1):
        if not (is_known(sizes[dimension]) and sizes[dimension] == 1):
            break
        cleaned[dimension] = 0
    return sizes, cleaned


def check_lengths(sizes: Sequence[Number], strides: Sequence[Number]) -> None:
    if sizes and strides and len(sizes) != len(strides):
        raise ValueError(f"len(sizes) ({len(sizes)}) != len(strides) ({len(strides)})")


def check_drawable(dimensions: Sequence[int]) -> None:
    """A picture is flat. The kind of error and its words are those that programs for mlir-aie expect."""
    if len(dimensions) != 2:
        raise NotImplementedError("Visualization is only currently supported for 1- or 2-dimensional tensors")
