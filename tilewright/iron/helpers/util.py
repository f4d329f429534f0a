"""Types between NumPy and the IR, by upstream's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from ml_dtypes import bfloat16
from xdsl.dialects.builtin import MemRefType, TensorType, VectorType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.iron.builders.arithmetic import constant_of
from tilewright.iron.builders.handles import OpView, Value, ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import (
    array_dtype,
    array_shape,
    convert_type,
    memref,
    numpy_type,
    scalar_type,
    v8bfp16ebs8,
    v16bfp16ebs16,
)

T = TypeVar("T")
NpuDType = (
    np.int8
    | np.int16
    | np.int32
    | np.int64
    | np.uint8
    | np.uint16
    | np.uint32
    | np.uint64
    | np.float16
    | np.float32
    | np.float64
    | np.longlong
    | bfloat16
    | v8bfp16ebs8
    | v16bfp16ebs16
)
"""Scalar types that buffers and arguments can have."""

WORD_BITS = 32

# upstream's names for what `builders.types` has
np_dtype_to_mlir_type = scalar_type
mlir_type_to_np_dtype = numpy_type
np_ndarray_type_get_shape = array_shape
np_ndarray_type_get_dtype = array_dtype
try_convert_np_type_to_mlir_type = convert_type


def np_ndarray_type_to_memref_type(ndarray_type: Any) -> Any:
    """The type of a buffer that holds such arrays."""
    return memref(array_shape(ndarray_type), array_dtype(ndarray_type))


def memref_type_to_np_dtype(memref_type: Any) -> Any:
    """NumPy's type of the elements of such buffers; None where it has none."""
    return numpy_type(memref_type.element_type) if isa(memref_type, MemRefType) else None


def infer_mlir_type(py_val: Any, memref: bool = False, vector: bool = False) -> Attribute:
    """The type of a number or an array: the narrowest of 32 and 64 bits that holds a number of Python's."""
    if isinstance(py_val, np.ndarray):
        array = cast("npt.NDArray[Any]", py_val)
        kind: Any = MemRefType if memref else VectorType if vector else TensorType
        return kind(scalar_type(array.dtype), list(array.shape))
    if isinstance(py_val, np.generic):
        return scalar_type(type(py_val))
    if isinstance(py_val, bool):
        return scalar_type(np.bool_)
    if isinstance(py_val, float):
        is_wide = np.isfinite(py_val) and abs(py_val) > float(np.finfo(np.float32).max)
        return scalar_type(np.float64 if is_wide else np.float32)
    if isinstance(py_val, int):
        for kind in (np.int32, np.uint32, np.int64, np.uint64):
            if np.iinfo(kind).min <= py_val <= np.iinfo(kind).max:
                return scalar_type(kind)
        refuse(f"{py_val} does not fit into 64 bits")
    refuse(f"no type of the IR stands for {py_val!r}")


def get_arg_types(objs: Sequence[Any]) -> list[Any] | None:
    """The types of values and of operations with one result; numbers of Python's keep theirs, anything else is None."""
    found = list[Any]()
    for part in objs:
        if isinstance(part, int | float):
            found.append(type(part))
        elif isinstance(part, Value | OpView):
            found.append(ssa_of(part).type)
        else:
            return None
    return found


def fold_constant_operand(operand: Any) -> int | None:
    """The number that an operand is known to be; None for one that is known only when the program runs."""
    value = constant_of(ssa_of(operand))
    return None if value is None else int(value)


def pack_pad_value(value: int, elem_bytes: int) -> int:
    """An element's pad value in the 32-bit word that pads a stream, repeated where elements are smaller."""
    bits = 8 * elem_bytes
    if bits > WORD_BITS:
        refuse(
            f"pad_value is not supported for {elem_bytes}-byte elements: the 32-bit CONSTANT_PAD_VALUE register cannot "
            "hold a wider value."
        )
    element = value & ((1 << bits) - 1)  # a negative one in two's complement
    return sum(element << shift for shift in range(0, WORD_BITS, bits))


def single_elem_or_list_to_list(val: list[T] | T) -> list[T]:
    """A list as it is, anything else in a list of its own."""
    return cast("list[T]", val) if isinstance(val, list) else [val]


def flatten_fn_args(args: Iterable[Any]) -> Iterator[Any]:
    """The leaves of nested lists and tuples, in order."""
    for arg in args:
        if isinstance(arg, list | tuple):
            yield from flatten_fn_args(cast("Iterable[Any]", arg))
        else:
            yield arg


__all__ = [
    "NpuDType",
    "bfloat16",
    "flatten_fn_args",
    "fold_constant_operand",
    "get_arg_types",
    "infer_mlir_type",
    "memref_type_to_np_dtype",
    "mlir_type_to_np_dtype",
    "np_dtype_to_mlir_type",
    "np_ndarray_type_get_dtype",
    "np_ndarray_type_get_shape",
    "np_ndarray_type_to_memref_type",
    "pack_pad_value",
    "single_elem_or_list_to_list",
    "try_convert_np_type_to_mlir_type",
    "v8bfp16ebs8",
    "v16bfp16ebs16",
]
