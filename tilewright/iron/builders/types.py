"""Types as users write them: NumPy's scalar types, `np.ndarray[(16,), np.dtype[np.int32]]`, or types of the IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard, cast, get_args, get_origin

import numpy as np
from ml_dtypes import bfloat16
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
)
from xdsl.ir import Attribute, TypeAttribute

from tilewright.iron.builders.checks import is_integer
from tilewright.iron.builders.location import refuse


class v8bfp16ebs8(np.generic):
    """Eight 8-bit mantissas that share an 8-bit exponent."""


class v16bfp16ebs16(np.generic):
    """Sixteen 8-bit mantissas that share an 8-bit exponent."""


def _unsigned(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


SCALAR_TYPES: dict[type, Attribute] = {
    np.bool_: IntegerType(1),
    np.int8: IntegerType(8),
    np.int16: IntegerType(16),
    np.int32: IntegerType(32),
    np.int64: IntegerType(64),
    np.uint8: _unsigned(8),
    np.uint16: _unsigned(16),
    np.uint32: _unsigned(32),
    np.uint64: _unsigned(64),
    np.float16: Float16Type(),
    np.float32: Float32Type(),
    np.float64: Float64Type(),
    bfloat16: BFloat16Type(),
}
"""What each NumPy scalar type is in the IR, as upstream maps them: unsigned ones stay unsigned."""
SCALAR_TYPES.setdefault(np.longlong, IndexType())  # not int64 on Linux; NumPy makes it of Python's integers


def is_type(candidate: object) -> TypeGuard[Attribute]:
    """Whether something is a type of the IR."""
    return isinstance(candidate, TypeAttribute)


def scalar_type(dtype: Any) -> Attribute:
    """The IR's type for a NumPy scalar type or dtype."""
    found = SCALAR_TYPES.get(dtype) if isinstance(dtype, type) else None
    if found is None and (block := _block_float(dtype)) is not None:
        return block
    if found is None and isinstance(dtype, type | np.dtype | str):
        found = SCALAR_TYPES.get(_numpy_type(dtype))
    if found is None:
        refuse(f"no type of the IR stands for {dtype!r}", (None, f"use one of {_known()}"))
    return found


def _numpy_type(dtype: Any) -> type:
    try:
        return np.dtype(dtype).type
    except TypeError:
        return object


def _block_float(dtype: Any) -> Attribute | None:
    if dtype is v8bfp16ebs8 or dtype is v16bfp16ebs16:
        from tilewright.dialects.aiex.attributes import BlockFloatType

        return BlockFloatType(dtype.__name__)
    return None


def _known() -> str:
    return ", ".join(kind.__name__ for kind in SCALAR_TYPES)


def is_array_type(candidate: object) -> bool:
    """Whether something is `np.ndarray[shape, np.dtype[kind]]`."""
    return get_origin(candidate) is np.ndarray


def array_shape(array: Any) -> tuple[int, ...]:
    """The shape in `np.ndarray[shape, np.dtype[kind]]`; a size that is None is left open."""
    shape = get_args(array)[0]
    if not isinstance(shape, tuple) or not all(size is None or is_integer(size) for size in cast("Any", shape)):
        refuse(f"the shape of an array type is a tuple of integers, not {shape!r}")
    return tuple(DYNAMIC_INDEX if size is None else int(size) for size in cast("tuple[int | None, ...]", shape))


def array_dtype(array: Any) -> Any:
    """The scalar type in `np.ndarray[shape, np.dtype[kind]]`."""
    return get_args(get_args(array)[1])[0]


def memref(shape: Sequence[int | None], element: Any, memory_space: Attribute | None = None) -> MemRefType:
    """The type of a buffer of this shape."""
    for size in shape:
        if size is not None and not is_integer(size):
            refuse(f"the shape of a buffer is made of whole numbers, not {size!r}")
    sizes = [DYNAMIC_INDEX if size is None else int(size) for size in shape]
    type = element if is_type(element) else scalar_type(element)
    return MemRefType(type, sizes) if memory_space is None else MemRefType(type, sizes, memory_space=memory_space)


def convert_type(given: Any) -> Attribute:
    """The type of the IR that a user's type stands for."""
    if is_type(given):
        return given
    if is_array_type(given):
        return memref(array_shape(given), array_dtype(given))
    return scalar_type(given)


def numpy_type(type: Attribute) -> type | None:
    """The NumPy scalar type that a type of the IR holds, signless integers as signed ones."""
    return next((kind for kind, known in SCALAR_TYPES.items() if known == type), None)


def is_integer_type(type: Attribute) -> TypeGuard[IntegerType]:
    return isinstance(type, IntegerType)


def is_float_type(type: Attribute) -> TypeGuard[AnyFloat]:
    return isinstance(type, Float16Type | Float32Type | Float64Type | BFloat16Type)


def is_buffer_type(type: Attribute) -> TypeGuard[MemRefType[Any]]:
    return isinstance(type, MemRefType)
