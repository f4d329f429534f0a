"""Arguments of an entry: NumPy arrays and numbers, checked, and in the form that native code takes."""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    i32,
)
from xdsl.ir import Attribute, SSAValue, Use

from tilewright.dialects import func, memref
from tilewright.dialects._strides import strided_form
from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.kernels import GPUFuncOp, GPUModuleOp
from tilewright.dialects.gpu.memory import MemcpyOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.errors import ArgumentError, CallError
from tilewright.gpu.host.program import HostProgram
from tilewright.ir.symbols import lookup_symbol, symbol_in
from tilewright.native.host_arrays import RAW, accepted_dtypes, check_array, overlaps_itself, share_memory, shown

Array: TypeAlias = npt.NDArray[Any]
Argument: TypeAlias = "Array | int | float"
Number: TypeAlias = "int | float"
READS = frozenset(
    (
        *("memref.load", "memref.dim", "memref.rank", "memref.prefetch", "affine.load", "affine.vector_load"),
        *("vector.load", "vector.transfer_read", "vector.maskedload", "vector.gather"),
        *("gpu.host_register", "gpu.host_unregister"),
    )
)
VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        *("cast", "subview", "reinterpret_cast", "collapse_shape", "expand_shape", "memory_space_cast"),
        *("assume_alignment", "view", "transpose"),
    )
)
PRINTS = "printMemref"
"""How the names of functions begin that print a buffer and leave it as it is."""


def argument_names(entry: FuncOp) -> list[str]:
    """What the source calls the arguments."""
    return [argument.name_hint or f"arg{number}" for number, argument in enumerate(entry.body.blocks[0].args)]


def checked_arguments(program: HostProgram, arguments: Sequence[object]) -> list[Array | Number]:
    """The arguments as plain arrays and numbers; complains about what does not fit the entry."""
    entry = program.entry
    types, names = entry.function_type.inputs.data, argument_names(entry)
    if len(arguments) != len(types):
        listed = f": it takes {', '.join(names)}" if names else ""
        raise CallError(f"@{entry.sym_name.data} takes {len(types)} arguments, got {len(arguments)}{listed}")
    checked = [
        _checked(f"argument {name} of @{entry.sym_name.data}", type, value)
        for name, type, value in zip(names, types, arguments, strict=True)
    ]
    _check_writes(program, {n: value for n, value in enumerate(checked) if isinstance(value, np.ndarray)})
    return checked


def _checked(what: str, type: Attribute, value: object) -> Array | Number:
    if is_ranked(type):
        array = check_array(what, value, type)
        _check_shape(what, type, array)
        return array
    match type:
        case IntegerType() | IndexType():
            return _whole_number(what, type, value)
        case Float32Type() | Float64Type():
            return _real_number(what, type, value)
        case _:
            raise ArgumentError(f"{what} is of type {type}: only arrays and numbers can be given")


def _check_shape(what: str, type: MemRefType, array: Array) -> None:
    form, shape = strided_form(type), type.get_shape()
    # an array says nothing of memory before its first element
    if form is None or (form.offset or 0) != 0:
        raise ArgumentError(f"{what} is of type {type}: arrays begin at their first element")
    if not _is_row_major(shape, form.strides):
        raise ArgumentError(f"{what} is of type {type}: the rows of an array follow each other without gaps")
    if is_raw(type, array):
        if DYNAMIC_INDEX in shape or array.nbytes != prod(shape) * element_bytes(type):
            raise ArgumentError(f"{what} is of type {type}, got {array.nbytes} raw bytes (uint8)")
        return
    fits = len(shape) == array.ndim and all(
        wanted in (DYNAMIC_INDEX, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ArgumentError(f"{what} is of type {type}, got an array of shape {array.shape}")


def _is_row_major(shape: Sequence[int], strides: Sequence[int | None]) -> bool:
    """Whether strides that are written are those of an array of that shape, as far as that is known."""
    step: int | None = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and None not in (stride, step) and stride != step:
            return False
        # behind a size that is not known, any stride may be right
        step = None if step is None or size == DYNAMIC_INDEX else step * size
    return True


def is_raw(type: MemRefType, array: Array) -> bool:
    """Whether an array is bytes that stand for elements of another type."""
    return array.dtype == RAW and array.dtype not in accepted_dtypes(type.element_type)


def _whole_number(what: str, type: IntegerType | IndexType, value: object) -> int:
    try:
        number = operator.index(cast(int, value))
    except TypeError:
        given = "an array" if isinstance(value, np.ndarray) else shown(value)
        raise ArgumentError(f"{what} is of type {type}, got {given}; pass a whole number") from None
    width = type.width.data if isinstance(type, IntegerType) else 64
    # either reading, with a sign or without, is welcome
    if not -(1 << width - 1) <= number < 1 << width:
        raise ArgumentError(f"{what} is of type {type}, which has {width} bits; {number} does not fit")
    return number


def _real_number(what: str, type: Float32Type | Float64Type, value: object) -> float:
    given: object = cast(Any, value).item() if isinstance(value, np.generic) else value
    # a truth value is a number only to Python
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ArgumentError(f"{what} is of type {type}, got {shown(given)}; pass a number")
    try:
        number = float(given)
        scalar_bits(type, number)
    except OverflowError:
        raise ArgumentError(f"{what} is of type {type}; {given} does not fit") from None
    return number


def _check_writes(program: HostProgram, arrays: dict[int, Array]) -> None:
    """Refuse arrays that may be written and cannot be, or of which two are one memory: ranks work on copies."""
    names = argument_names(program.entry)
    unusual = [n for n, array in arrays.items() if not array.flags.writeable or overlaps_itself(array)]
    shared = [(n, m) for n, m in combinations(arrays, 2) if share_memory(arrays[n], arrays[m])]
    # the walk over the program is only worth it where it matters
    written = written_arguments(program.module, program.entry) if unusual or shared else set[int]()
    for number in unusual:
        if number in written:
            why = "elements of it are at the same place" if arrays[number].flags.writeable else "it is read-only"
            raise ArgumentError(f"argument {names[number]} is written, but {why}; pass a copy: .copy()")
    for n, m in shared:
        if n in written or m in written:
            which = names[n] if n in written else names[m]
            raise ArgumentError(
                f"arguments {names[n]} and {names[m]} share memory, and {which} is written; "
                "pass a copy of one of them: .copy()"
            )


def give_back(given: Sequence[object], changed: Sequence[Array]) -> None:
    """Write what a rank has made of its copies into the arrays; what could not be written was not."""
    arrays = [cast(Array, value) for value in given if isinstance(value, np.ndarray)]
    for array, copy in zip(arrays, changed, strict=True):
        if array.flags.writeable and not overlaps_itself(array):
            array[...] = copy


def array_parts(type: MemRefType, array: Array, address: int) -> list[int]:
    """A memref that is all of an array which lies at an address."""
    form, shape = strided_form(type), type.get_shape()
    assert form is not None, "arrays were checked"
    actual = shape if is_raw(type, array) else array.shape
    strides = [prod(actual[dimension + 1 :]) for dimension in range(len(actual))]
    sizes = [size for size, known in zip(actual, shape, strict=True) if known == DYNAMIC_INDEX]
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


def returns_status(entry: FuncOp) -> bool:
    """Whether a program ends with what its entry returns, as C's do."""
    return entry.sym_name.data == "main" and entry.function_type.outputs.data == (i32,)


def written_arguments(module: ModuleOp, entry: FuncOp) -> set[int]:
    """The numbers of the buffers that may be written."""
    arguments = enumerate(entry.body.blocks[0].args)
    return {number for number, argument in arguments if is_ranked(argument.type) and _is_written(module, argument)}


def _is_written(module: ModuleOp, buffer: SSAValue) -> bool:
    # calls and kernels may hand a buffer round, so values are looked at once
    seen, work = set[SSAValue](), [buffer]
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            names = _other_names(module, use)
            if names is None:
                return True
            work += names
    return False


def _other_names(module: ModuleOp, use: Use) -> Iterable[SSAValue] | None:
    """What a use makes known the buffer as; None if the buffer may be written there, or nothing is known of the use."""
    op = use.operation
    if op.name in READS:
        return ()
    if op.name in VIEWS:
        return op.results
    match op:
        case memref.CopyOp():
            return () if use.index == 0 else None
        case MemcpyOp():
            return () if op.operands[use.index] is not op.dst else None
        case func.CallOp():
            return _in_function(op, use.index)
        case LaunchFuncOp():
            return _in_kernel(module, op, use.index)
        case _:
            return None


def _in_function(op: func.CallOp, number: int) -> Iterable[SSAValue] | None:
    callee = lookup_symbol(op, op.callee)
    if not isinstance(callee, FuncOp) or callee.is_declaration:
        return () if op.callee.string_value().startswith(PRINTS) else None
    return (callee.body.blocks[0].args[number],)


def _in_kernel(module: ModuleOp, op: LaunchFuncOp, number: int) -> Iterable[SSAValue] | None:
    kernels = symbol_in(module, op.kernel.root_reference.data)
    kernel = symbol_in(kernels, op.kernel_name) if isinstance(kernels, GPUModuleOp) else None
    # operands before the kernel's: tokens, sizes, dynamic shared memory
    place = number - (len(op.operands) - len(op.kernel_operands) - (op.async_object is not None))
    return (kernel.body.blocks[0].args[place],) if isinstance(kernel, GPUFuncOp) and place >= 0 else None
