"""Values as bytes of a core's context."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute

from tilewright.errors import ArgumentError
from tilewright.native.host_arrays import shown
from tilewright.native.numpy_types import dtype_of, is_float

WRAP = (1 << 64) - 1


def number_from(data: memoryview | bytearray, offset: int, type: Attribute) -> Any:
    """A scalar as a Python number, a vector as an array of its shape."""
    if isinstance(type, VectorType):
        vector = cast(VectorType, type)
        shape = vector.get_shape()
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(data, dtype_of(vector.element_type), count, offset).reshape(shape).copy()
    return np.frombuffer(data, dtype_of(type), 1, offset)[0].item()


def put_number(data: bytearray, offset: int, type: Attribute, value: Any) -> None:
    """The inverse of `number_from`; integers wrap. `ArgumentError` shows a value that is nothing of the type."""
    shape = cast(VectorType, type).get_shape() if isinstance(type, VectorType) else ()
    dtype = dtype_of(cast(VectorType, type).element_type if isinstance(type, VectorType) else type)
    array = np.asarray(value & WRAP if isinstance(value, int) and dtype.kind in "iu" else value)
    if array.shape != shape and (shape or array.size != 1):
        raise ArgumentError(f"{shown(value)}, of shape {array.shape}")
    if not _fits(array, dtype):
        raise ArgumentError(shown(value))
    if dtype.kind in "iu":
        array = array.astype(np.int64, casting="unsafe")
    raw = array.astype(dtype, casting="unsafe").tobytes()
    data[offset : offset + len(raw)] = raw


def _fits(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether values are numbers that a type has: for integers there is nothing behind the point."""
    if array.dtype.kind in "biu":
        return True
    if not is_float(array.dtype):
        return False
    exact = array.astype(np.float64)
    return is_float(dtype) or bool((np.isfinite(exact) & (np.trunc(exact) == exact)).all())
