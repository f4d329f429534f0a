"""Types and values as users write them, and what they are in the IR.

Types are NumPy's scalar types, `np.ndarray[(16,), np.dtype[np.int32]]`, or types of the IR; values are numbers, lists
and arrays of Python or NumPy. What is neither is refused, about the user's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeGuard, cast, get_args, get_origin

import numpy as np
from ml_dtypes import bfloat16
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.utils.exceptions import VerifyException

from tilewright.iron.builders.location import refuse


# NumPy has no type for these blocks; programs only name them
class v8bfp16ebs8(np.generic):
    """Eight 8-bit mantissas that share an 8-bit exponent."""

    @classmethod
    def get(cls) -> Attribute:
        """The type in the IR."""
        return scalar_type(cls)


class v16bfp16ebs16(np.generic):
    """Sixteen 8-bit mantissas that share an 8-bit exponent."""

    @classmethod
    def get(cls) -> Attribute:
        """The type in the IR."""
        return scalar_type(cls)


SCALAR_TYPES: dict[type, Attribute] = {
    np.bool_: IntegerType(1),
    np.int8: IntegerType(8),
    np.int16: IntegerType(16),
    np.int32: IntegerType(32),
    np.int64: IntegerType(64),
    np.uint8: IntegerType(8, Signedness.UNSIGNED),
    np.uint16: IntegerType(16, Signedness.UNSIGNED),
    np.uint32: IntegerType(32, Signedness.UNSIGNED),
    np.uint64: IntegerType(64, Signedness.UNSIGNED),
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
    if dtype is v8bfp16ebs8 or dtype is v16bfp16ebs16:
        from tilewright.dialects.aiex.attributes import BlockFloatType

        return BlockFloatType(dtype.__name__)
    # types of `air` say which one of NumPy's they are
    dtype = getattr(dtype, "np_dtype", dtype)
    # most are in the table as they are given; np.dtype takes much longer
    found = SCALAR_TYPES.get(dtype) if isinstance(dtype, type) else None
    if found is None and isinstance(dtype, type | np.dtype | str):
        found = SCALAR_TYPES.get(_numpy_type(dtype))
    if found is None:
        known = ", ".join(kind.__name__ for kind in SCALAR_TYPES)
        refuse(f"no type of the IR stands for {dtype!r}", (None, f"use one of {known}"))
    return found


def _numpy_type(dtype: Any) -> type:
    try:
        return np.dtype(dtype).type
    except TypeError:
        return object


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
    return memref(array_shape(given), array_dtype(given)) if is_array_type(given) else scalar_type(given)


def numpy_type(type: Attribute) -> type | None:
    """The NumPy scalar type that a type of the IR holds, signless integers as signed ones."""
    return next((kind for kind, known in SCALAR_TYPES.items() if known == type), None)


def is_integer_type(type: Attribute) -> TypeGuard[IntegerType]:
    return isinstance(type, IntegerType)


def is_float_type(type: Attribute) -> TypeGuard[AnyFloat]:
    return isinstance(type, Float16Type | Float32Type | Float64Type | BFloat16Type)


def is_buffer_type(type: Attribute) -> TypeGuard[MemRefType[Any]]:
    return isinstance(type, MemRefType)


def is_boolean(value: object) -> TypeGuard[bool]:
    """Whether a value is a truth value of Python or NumPy."""
    return isinstance(value, bool | np.bool_)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy; booleans are."""
    return isinstance(value, int | np.integer)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number of Python or NumPy."""
    return isinstance(value, int | float | np.number | np.bool_)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


def as_list(given: Any, what: str) -> list[Any]:
    """A list or a tuple, as a list."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not is_list(given):
        refuse(f"expected a list as {what}, not {given!r}")
    return [*given]


def as_int(given: Any, what: str) -> int:
    """A whole number."""
    if not is_integer(given):
        refuse(f"expected a whole number as {what}, not {given!r}")
    return int(given)


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
    """An array's contents as a constant of a tensor or buffer type, one value for all elements or one for each.

    Numbers that the element type cannot hold are refused.
    """
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
    if given.size not in (1, prod(shape)):
        refuse(f"initial values of shape {given.shape} do not fill {shaped}")
    # one value stands for all of them
    filled = np.broadcast_to(converted.reshape(-1), shape) if given.size == 1 else converted
    return DenseIntOrFPElementsAttr(shaped, BytesAttr(filled.tobytes()))
