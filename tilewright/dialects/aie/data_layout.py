"""Sizes of types in memory, as MLIR's default data layout has them."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    ComplexType,
    FixedBitwidthType,
    IndexType,
    IntegerType,
    MemRefType,
    UnrankedMemRefType,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

INDEX_BITS = 64  # whatever the width of a core's pointers: MLIR's default


def type_bits(type: Attribute) -> int:
    """Size of a value of scalar, complex or vector type; bits of a vector's elements are not packed."""
    match type:
        case IntegerType():
            return type.bitwidth
        case IndexType():
            return INDEX_BITS
        case FixedBitwidthType():
            return type.bitwidth
        case ComplexType():
            return 2 * 8 * type_bytes(type.element_type)  # each part begins at a byte
        case VectorType():
            *outer, inner = type.get_shape()  # the innermost dimension alone is rounded up
            return prod(outer) * _power_of_two_from(inner) * type_bytes(type.element_type) * 8
        case _:
            raise VerifyException(f"the size of {type} is not known")


def type_bytes(type: Attribute) -> int:
    return -(-type_bits(type) // 8)


def element_bytes(buffer: Attribute) -> int:
    """Size of one element of a memref."""
    if not isinstance(buffer, (MemRefType, UnrankedMemRefType)):
        raise TypeError(f"{buffer} is not a memref")
    return type_bytes(cast(MemRefType, buffer).element_type)


def element_count(buffer: Attribute) -> int | None:
    """Number of elements of a memref; none if it is only known at run time."""
    return prod(buffer.get_shape()) if isinstance(buffer, MemRefType) and buffer.has_static_shape() else None


def _power_of_two_from(number: int) -> int:
    return 1 << (number - 1).bit_length() if number > 1 else number
