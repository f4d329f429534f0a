"""Python numbers as constants of a type."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import Float32Type, FloatAttr, IndexType, i1, i32, i64
from xdsl.ir import Attribute

from tilewright.iron.builders.elements import elements
from tilewright.iron.builders.integers import integer_attr
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.python_values import is_integer, is_number
from tilewright.iron.builders.types import is_float_type, is_integer_type, scalar_type


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
