"""`llvm`: constants and structs, and memrefs that are spelled as the structs which MLIR lowers them to."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects import llvm
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, UnrealizedConversionCastOp
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation

from tilewright.dialects._strides import strided_form
from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.native.access import plus, times
from tilewright.native.lanes import constant, scalar_constant
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import (
    I64,
    Known,
    MemRef,
    Untranslatable,
    Value,
    constant_sizes,
    index,
    strides_of,
    value_type,
)

ALLOCATED, ALIGNED, OFFSET, SIZES, STRIDES = range(5)
"""The members of a memref's descriptor."""


def _constant(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.ConstantOp)
    match op.value:
        case IntegerAttr() | FloatAttr():
            lowering[op.result] = scalar_constant(op.result.type, op.value.value.data)
        case _:
            fail_op(op, "has no native translation: its value is no number")


def _zero(lowering: Lowering, op: Operation) -> None:
    """Zero, or a value that nobody may rely on: always the same one, so that two runs are alike."""
    type = op.results[0].type
    if isinstance(type, LLVMPointerType | LLVMStructType | LLVMArrayType):
        lowering[op.results[0]] = ir.Constant(value_type(type), None)
    else:
        lowering[op.results[0]] = constant(type, 0)


def _insert(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.InsertValueOp)
    position = list(op.position.get_values())
    lowering[op.res] = lowering.builder.insert_value(lowering[op.container], lowering[op.value], position)


def _extract(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.ExtractValueOp)
    lowering[op.res] = lowering.builder.extract_value(lowering[op.container], list(op.position.get_values()))


def _cast(lowering: Lowering, op: Operation) -> None:
    """What two stages of lowering see as different types: a memref and its descriptor, or the same thing twice."""
    assert isinstance(op, UnrealizedConversionCastOp)
    if len(op.operands) != 1 or len(op.results) != 1:
        fail_op(op, "has no native translation: it is none of one value to another")
    source, result = op.operands[0], op.results[0]
    if isinstance(source.type, LLVMStructType) and is_ranked(result.type):
        lowering[result] = from_descriptor(lowering.builder, lowering[source], result.type)
    elif is_ranked(source.type) and isinstance(result.type, LLVMStructType):
        lowering[result] = to_descriptor(lowering.builder, lowering.memref(source), result.type)
    elif is_ranked(source.type) and is_ranked(result.type):
        lowering[result] = lowering.memref(source)
    elif value_type(source.type) == value_type(result.type):
        lowering[result] = lowering[source]
    else:
        raise Untranslatable(f"{source.type} is no {result.type}")


def from_descriptor(builder: ir.IRBuilder, descriptor: ir.Value, type: MemRefType) -> MemRef:
    """A memref whose buffer ends where its last element does; what the type says is not read from the descriptor."""
    base = builder.extract_value(descriptor, ALIGNED)
    form = strided_form(type)
    known = None if form is None else form.offset
    offset = builder.extract_value(descriptor, OFFSET) if known is None else index(known)
    sizes = _dimensions(builder, descriptor, SIZES, constant_sizes(type))
    strides = _dimensions(builder, descriptor, STRIDES, strides_of(type))
    return MemRef(base, spanned_bytes(builder, offset, sizes, strides, type), offset, sizes, strides)


def _dimensions(
    builder: ir.IRBuilder, descriptor: ir.Value, member: int, known: Sequence[int | None]
) -> tuple[ir.Value, ...]:
    return tuple(
        builder.extract_value(descriptor, [member, dimension]) if number is None else index(number)
        for dimension, number in enumerate(known)
    )


def spanned_bytes(
    builder: ir.IRBuilder, offset: ir.Value, sizes: Sequence[ir.Value], strides: Sequence[ir.Value], type: MemRefType
) -> ir.Value:
    """How far the elements of a memref reach, in bytes from its base."""
    last = offset
    for size, stride in zip(sizes, strides, strict=True):
        last = plus(builder, last, times(builder, plus(builder, size, index(-1)), stride))
    return times(builder, plus(builder, last, index(1)), index(element_bytes(type)))


def to_descriptor(builder: ir.IRBuilder, memref: MemRef, type: Attribute) -> ir.Value:
    found: ir.Value = ir.Constant(value_type(type), ir.Undefined)
    for position, value in descriptor_members(memref):
        found = builder.insert_value(found, value, position)
    return found


def descriptor_members(memref: MemRef) -> list[tuple[list[int], ir.Value]]:
    """What a descriptor holds, with the place of each; also the order of a memref's parts as parameters of C."""
    return [
        ([ALLOCATED], memref.base),
        ([ALIGNED], memref.base),
        ([OFFSET], memref.offset),
        *(([SIZES, dimension], size) for dimension, size in enumerate(memref.sizes)),
        *(([STRIDES, dimension], stride) for dimension, stride in enumerate(memref.strides)),
    ]


def flattened(value: Value) -> list[ir.Value]:
    """A value as parameters of a function with C's conventions, as MLIR has it."""
    match value:
        case MemRef():
            return [part for _, part in descriptor_members(value)]
        case Known():
            raise Untranslatable(f"{value.definition.name} is no number")
        case _:
            return [value]


def flattened_types(type: Attribute) -> list[ir.Type]:
    """The types of what `flattened` gives."""
    if not is_ranked(type):
        return [value_type(type)]
    rank = type.get_num_dims()
    return [ir.PointerType(), ir.PointerType(), *[I64] * (1 + 2 * rank)]


HANDLERS: dict[str, Handler] = {
    "llvm.mlir.constant": _constant,
    "llvm.mlir.zero": _zero,
    "llvm.mlir.undef": _zero,
    "llvm.mlir.poison": _zero,
    "llvm.insertvalue": _insert,
    "llvm.extractvalue": _extract,
    "builtin.unrealized_conversion_cast": _cast,
}
