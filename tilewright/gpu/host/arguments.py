"""What an entry is called with: arrays and numbers, as the eight-byte parts that native code takes."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, Float64Type, IndexType, IntegerType, MemRefType, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from tilewright.dialects._strides import strided_form
from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.memref.types import is_ranked
from tilewright.errors import ArgumentError

Array: TypeAlias = npt.NDArray[Any]
Argument: TypeAlias = "Array | int | float"


@dataclass
class SharedArray:
    """A copy of an array in memory that processes which part keep sharing."""

    array: Array

    @classmethod
    def of(cls, source: Array) -> SharedArray:
        memory = mmap.mmap(-1, max(source.nbytes, 1))
        copy = np.frombuffer(memory, source.dtype, source.size).reshape(source.shape)
        copy[...] = source
        return cls(copy)

    @property
    def address(self) -> int:
        return self.array.ctypes.data


def check_arguments(entry: FuncOp, arguments: Sequence[Argument]) -> None:
    """Complain about what does not fit the entry."""
    name, types = entry.sym_name.data, entry.function_type.inputs.data
    if len(arguments) != len(types):
        raise ArgumentError(f"@{name} takes {len(types)} arguments, got {len(arguments)}")
    for number, (type, argument) in enumerate(zip(types, arguments, strict=True)):
        if is_ranked(type):
            _check_array(f"argument {number} of @{name}", type, argument)
        elif isinstance(argument, np.ndarray):
            raise ArgumentError(f"argument {number} of @{name} is of type {type}, got an array")
        elif not isinstance(type, IntegerType | IndexType | Float32Type | Float64Type):
            raise ArgumentError(f"argument {number} of @{name} is of type {type}: only arrays and numbers can be given")


def _check_array(what: str, type: MemRefType, argument: Argument) -> None:
    if not isinstance(argument, np.ndarray):
        raise ArgumentError(f"{what} is a buffer of type {type}, got {argument!r}")
    form, shape = strided_form(type), type.get_shape()
    if form is None or (form.offset or 0) != 0:
        raise ArgumentError(f"{what} is of type {type}: arrays begin at their first element")
    if argument.itemsize != element_bytes(type):
        raise ArgumentError(f"{what} is of type {type}, got an array of {argument.dtype}")
    fits = len(shape) == argument.ndim and all(
        wanted in (DYNAMIC_INDEX, size) for wanted, size in zip(shape, argument.shape, strict=True)
    )
    if not fits:
        raise ArgumentError(f"{what} is of type {type}, got an array of shape {argument.shape}")
    if not argument.flags.c_contiguous:
        raise ArgumentError(f"{what} is an array with gaps between its elements; make a copy of it")


def array_parts(type: MemRefType, array: Array, address: int) -> list[int]:
    """A memref that is all of an array which lies at an address."""
    form = strided_form(type)
    assert form is not None, "arrays were checked"
    strides = [step // array.itemsize for step in array.strides]
    sizes = [size for size, known in zip(array.shape, type.get_shape(), strict=True) if known == DYNAMIC_INDEX]
    dynamic = [stride for stride, known in zip(strides, form.strides, strict=True) if known is None]
    return [address, array.nbytes, 0, *sizes, *dynamic]


def scalar_bits(type: Attribute, value: float) -> int:
    """A number in eight bytes."""
    match type:
        case Float32Type():
            return struct.unpack("<I", struct.pack("<f", value))[0]
        case Float64Type():
            return struct.unpack("<Q", struct.pack("<d", value))[0]
        case _:
            return int(value) % (1 << 64)


def scalar_value(type: Attribute, bits: int) -> int | float | None:
    """The inverse of `scalar_bits`; None for what is no number."""
    match type:
        case Float32Type():
            return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
        case Float64Type():
            return struct.unpack("<d", struct.pack("<Q", bits))[0]
        case IntegerType() | IndexType():
            width = type.width.data if isinstance(type, IntegerType) else 64
            half = 1 << width - 1
            return (bits + half) % (2 * half) - half if width > 1 else bits & 1
        case _:
            return None


def exit_status(entry: FuncOp, values: Sequence[int | float | None]) -> int:
    """What C makes of what `main` returns."""
    returns_status = entry.sym_name.data == "main" and entry.function_type.outputs.data == (i32,)
    return int(values[0] or 0) % 256 if returns_status else 0
