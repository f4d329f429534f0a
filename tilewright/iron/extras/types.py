"""Types by short names: `T.i32()`, `T.memref(16, T.i32())`."""

from __future__ import annotations

from functools import partial
from typing import Any

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute

from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import convert_type, is_list
from tilewright.iron.builders.types import memref as _memref

# functions without arguments, as MLIR's bindings have them
index = IndexType
f16 = Float16Type
f32 = Float32Type
f64 = Float64Type
bf16 = BFloat16Type
bool = partial(IntegerType, 1)
i8 = partial(IntegerType, 8)
i16 = partial(IntegerType, 16)
i32 = partial(IntegerType, 32)
i64 = partial(IntegerType, 64)
ui8 = partial(IntegerType, 8, Signedness.UNSIGNED)
ui16 = partial(IntegerType, 16, Signedness.UNSIGNED)
ui32 = partial(IntegerType, 32, Signedness.UNSIGNED)
ui64 = partial(IntegerType, 64, Signedness.UNSIGNED)
si8 = partial(IntegerType, 8, Signedness.SIGNED)
si16 = partial(IntegerType, 16, Signedness.SIGNED)
si32 = partial(IntegerType, 32, Signedness.SIGNED)
si64 = partial(IntegerType, 64, Signedness.SIGNED)
Type = Attribute


def memref(*shape: Any, element_type: Any = None, memory_space: Any = None) -> MemRefType[Any]:
    """A buffer: its sizes and then the type of its elements."""
    sizes, element = _parts(shape, element_type)
    return _memref(sizes, element, memory_space)


def vector(*shape: Any, element_type: Any = None) -> Attribute:
    """A vector: its sizes and then the type of its elements."""
    sizes, element = _parts(shape, element_type)
    return VectorType(convert_type(element), sizes)


def tensor(*shape: Any, element_type: Any = None) -> Attribute:
    """A tensor: its sizes and then the type of its elements."""
    sizes, element = _parts(shape, element_type)
    return TensorType(convert_type(element), sizes)


def _parts(shape: tuple[Any, ...], element_type: Any) -> tuple[list[int], Any]:
    sizes = [*shape]
    if element_type is None:
        if not sizes:
            refuse("a shaped type has the type of its elements")
        element_type = sizes.pop()
    if len(sizes) == 1 and is_list(sizes[0]):
        sizes = [*sizes[0]]
    return sizes, element_type
