"""MLIR types as NumPy has them, and values as bytes."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    VectorType,
)
from xdsl.ir import Attribute

_FLOATS: dict[type[Attribute], npt.DTypeLike] = {
    BFloat16Type: ml_dtypes.bfloat16,
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
}


class NotInNumPy(TypeError):
    """A type that NumPy has nothing like."""


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """What NumPy calls the elements of a memref."""
    match type:
        case IntegerType():
            unsigned = type.signedness.data is Signedness.UNSIGNED
            width = max(8, type.width.data)
            if width not in (8, 16, 32, 64):
                raise NotInNumPy(f"NumPy has no integers of {width} bits")
            return np.dtype(f"{'u' if unsigned else ''}int{width}") if type.width.data > 1 else np.dtype(np.bool_)
        case IndexType():
            return np.dtype(np.int64)
        case _:
            if type.__class__ not in _FLOATS:
                raise NotInNumPy(f"NumPy has no type like {type}")
            return np.dtype(_FLOATS[type.__class__])


def number_from(data: memoryview | bytearray, offset: int, type: Attribute) -> Any:
    """A scalar as a Python number, a vector as an array of its shape."""
    if isinstance(type, VectorType):
        vector = cast(VectorType, type)
        shape = vector.get_shape()
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(data, dtype_of(vector.element_type), count, offset).reshape(shape).copy()
    return np.frombuffer(data, dtype_of(type), 1, offset)[0].item()


def put_number(data: bytearray, offset: int, type: Attribute, value: Any) -> None:
    """The inverse of `number_from`; integers wrap."""
    element = cast(VectorType, type).element_type if isinstance(type, VectorType) else type
    dtype = dtype_of(element)
    array = np.asarray(value)
    if dtype.kind in "iu":
        array = array.astype(np.int64, casting="unsafe")
    raw = array.astype(dtype, casting="unsafe").tobytes()
    data[offset : offset + len(raw)] = raw
