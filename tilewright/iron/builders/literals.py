"""Python numbers and arrays as constants of a type."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tilewright.iron.builders.checks import is_integer, is_number
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import is_float_type, is_integer_type, numpy_type, scalar_type


def literal(value: Any, type: Attribute) -> Attribute:
    """A number, or an array, as a constant of this type."""
    if isinstance(value, np.ndarray):
        return elements(value, type)
    if (is_integer_type(type) or isinstance(type, IndexType)) and is_integer(value):
        return integer_attr(int(value), type)
    if is_float_type(type) and is_number(value):
        return FloatAttr(float(value), type)
    remedy = "round it first: `int(...)`" if is_number(value) else "give a number"
    refuse(f"{value!r} cannot be a constant of type {type}", (None, remedy))


def inferred_type(value: Any) -> Attribute:
    """The type of a number that nothing else gives one."""
    match value:
        case bool():
            return i1
        case int():
            return i32 if -(1 << 31) <= value < 1 << 31 else i64
        case float():
            return Float32Type()
        case _:
            if not is_number(value):
                refuse(f"{value!r} is not a number")
            return scalar_type(type(value))


# attributes do not change, so one may stand in many places
@lru_cache(1 << 13)
def integer_attr(value: int, type: IntegerType | IndexType) -> IntegerAttr[IntegerType | IndexType]:
    """A number of this type; one that does not fit is refused."""
    try:
        return IntegerAttr(value, type)
    except VerifyException:
        refuse(f"{value} does not fit in {type}")


def elements(values: Any, shaped: Any) -> Attribute:
    """An array's contents as a constant of a tensor or buffer type; numbers that the element type cannot hold are
    refused."""
    element_type, shape = shaped.element_type, shaped.get_shape()
    kind = numpy_type(element_type)
    if kind is None:
        refuse(f"cannot give initial values of type {element_type}")
    try:
        given = cast("np.ndarray[Any, Any]", np.asarray(values))
        converted = cast("np.ndarray[Any, Any]", given.astype(kind))
    except (TypeError, ValueError):
        refuse(f"expected an array of initial values, not {values!r}")
    # fractions are rounded to the type, whole numbers have to stay what they are
    if given.dtype.kind in "iub" and not np.array_equal(converted.astype(given.dtype), given):
        refuse(f"initial values do not fit in {element_type}")
    if given.size != prod(shape):
        refuse(f"initial values of shape {given.shape} do not fill {shaped}")
    return DenseIntOrFPElementsAttr(shaped, BytesAttr(np.ascontiguousarray(converted).tobytes()))
