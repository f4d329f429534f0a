"""Types of elements, under mlir-air's names: each is the NumPy dtype of the arrays that hold them."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from tilewright.iron.builders.arithmetic import is_unsigned
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import convert_type, is_integer_type, is_type

DType: TypeAlias = np.dtype[Any]
bf16: DType = np.dtype(ml_dtypes.bfloat16)
f16: DType = np.dtype(np.float16)
f32: DType = np.dtype(np.float32)
f64: DType = np.dtype(np.float64)
i8: DType = np.dtype(np.int8)
i16: DType = np.dtype(np.int16)
i32: DType = np.dtype(np.int32)
i64: DType = np.dtype(np.int64)
ui8: DType = np.dtype(np.uint8)
ui16: DType = np.dtype(np.uint16)
ui32: DType = np.dtype(np.uint32)
ui64: DType = np.dtype(np.uint64)
KNOWN = bf16, f16, f32, f64, i8, i16, i32, i64, ui8, ui16, ui32, ui64


def as_dtype(given: Any) -> DType:
    """A dtype of arrays and tiles."""
    try:
        found = np.dtype(given)
    except TypeError:
        found = None
    if found is None or found not in KNOWN:
        names = "bf16, f16, f32, f64, i8 to i64 or ui8 to ui64"
        refuse(f"{given!r} is no type of elements that a GPU computes with", (None, f"there is {names} of `air`"))
    return found


def value_type(dtype: DType) -> Attribute:
    """The type of a number; unsigned ones keep that they are."""
    return convert_type(dtype)


def stored_type(dtype: DType) -> Attribute:
    """The type of an element in memory, where integers have no sign."""
    type = value_type(dtype)
    return IntegerType(type.bitwidth) if is_integer_type(type) and is_unsigned(type) else type


def element_of(given: Any) -> Attribute:
    """The type of numbers that a user names by a dtype, or by a type of the IR."""
    return given if is_type(given) else value_type(as_dtype(given))
