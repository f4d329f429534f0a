"""`llvm`: constants and structs, and memrefs that are spelled as the structs which MLIR lowers them to."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation

from tilewright.dialects import llvm
from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.shown import shown
from tilewright.native.access import ExactNumbers
from tilewright.native.lanes import constant, scalar_constant
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import (
    I64,
    POINTER,
    MemRef,
    Untranslatable,
    Value,
    all_parts,
    constant_sizes,
    index,
    number_of,
    offset_of,
    strides_of,
    value_type,
)

ALLOCATED, ALIGNED, OFFSET, SIZES, STRIDES = range(5)
"""The members of a memref's descriptor."""


def _constant(lowering: Lowering, op: llvm.ConstantOp) -> None:
    match op.value:
        case IntegerAttr() | FloatAttr():
            lowering[op.result] = scalar_constant(op.result.type, op.value.value.data)
        case _:
            fail_op(op, "has no native translation: its value is no number")


def _zero(lowering: Lowering, op: Operation) -> None:
    """Zero, or a value that no program may rely on: always the same one, so that two runs are alike."""
    type = op.results[0].type
    if isinstance(type, LLVMPointerType | LLVMStructType | LLVMArrayType):
        lowering[op.results[0]] = ir.Constant(value_type(type), None)
    else:
        lowering[op.results[0]] = constant(type, 0)


def _insert(lowering: Lowering, op: llvm.InsertValueOp) -> None:
    lowering[op.res] = lowering.builder.insert_value(lowering[op.container], lowering[op.value], _position(op))


def _position(op: llvm.InsertValueOp | llvm.ExtractValueOp) -> list[int]:
    """Where in a struct or an array it inserts or extracts."""
    position, type = list(op.position.get_values()), op.container.type
    for number in position:
        match type:
            case LLVMStructType() if 0 <= number < len(type.types.data):
                type = type.types.data[number]
            case LLVMArrayType() if 0 <= number < type.size.data:
                type = type.type
            case _:
                raise Untranslatable(f"{shown(op.container.type)} has nothing at {position}")
    return position


def _extract(lowering: Lowering, op: llvm.ExtractValueOp) -> None:
    lowering[op.res] = lowering.builder.extract_value(lowering[op.container], _position(op))


def _cast(lowering: Lowering, op: UnrealizedConversionCastOp) -> None:
    """What two stages of lowering see as different types: a memref and its descriptor, or the same thing twice."""
    if len(op.operands) != 1 or len(op.results) != 1:
        fail_op(op, "has no native translation: it is none of one value to another")
    source, result = op.operands[0], op.results[0]
    if isinstance(source.type, LLVMStructType) and is_ranked(result.type):
        lowering[result] = from_descriptor(lowering, op, lowering[source], result.type)
    elif is_ranked(source.type) and isinstance(result.type, LLVMStructType):
        lowering[result] = to_descriptor(lowering.builder, lowering.memref(source), result.type)
    elif is_ranked(source.type) and is_ranked(result.type):
        lowering[result] = lowering.memref(source)
    elif isinstance(value := lowering.get(source), ir.Value) and value.type == value_type(result.type):
        lowering[result] = value
    else:
        raise Untranslatable(f"{shown(source.type)} is no {shown(result.type)}")


def from_descriptor(lowering: Lowering, op: Operation, descriptor: ir.Value, type: MemRefType) -> MemRef:
    """A memref whose buffer ends where its last element does; what the type says is not read from the descriptor."""
    builder, row = lowering.builder, ir.ArrayType(I64, type.get_num_dims())
    # MLIR leaves out the lists of a memref that has no dimensions.
    wanted = ir.LiteralStructType([POINTER, POINTER, I64, *([row, row] if type.get_num_dims() else [])])
    if descriptor.type != wanted:
        raise Untranslatable(f"{descriptor.type} is no descriptor of a memref, which is {wanted}")
    base, known = builder.extract_value(descriptor, ALIGNED), offset_of(type)
    offset = builder.extract_value(descriptor, OFFSET) if known is None else index(known)
    sizes = _dimensions(builder, descriptor, SIZES, constant_sizes(type))
    strides = _dimensions(builder, descriptor, STRIDES, strides_of(type))
    return MemRef(base, spanned_bytes(lowering, op, offset, sizes, strides, type), offset, sizes, strides)


def _dimensions(
    builder: ir.IRBuilder, descriptor: ir.Value, member: int, known: Sequence[int | None]
) -> tuple[ir.Value, ...]:
    return tuple(
        builder.extract_value(descriptor, [member, dimension]) if number is None else index(number)
        for dimension, number in enumerate(known)
    )


def spanned_bytes(
    lowering: Lowering,
    op: Operation,
    offset: ir.Value,
    sizes: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    type: MemRefType,
) -> ir.Value:
    """How far the elements of a memref reach, in bytes from its base; traps if that does not fit into 64 bits."""
    exact, end = ExactNumbers(lowering), offset
    # The last element's number, then one more; an empty memref reaches nowhere, which may come out below 0.
    for size, stride in zip(sizes, strides, strict=True):
        end = exact.plus(end, exact.times(exact.plus(size, index(-1)), stride))
    found = exact.times(exact.plus(end, index(1)), index(element_bytes(type)))
    exact.check(op, "has a memref of more bytes than 64 bits can count")
    known = number_of(found)
    # Computed now: accesses to a buffer of a known size need fewer checks.
    if known is not None:
        return index(max(known, 0))
    return lowering.builder.select(lowering.builder.icmp_signed("<", found, index(0)), index(0), found)


def to_descriptor(builder: ir.IRBuilder, memref: MemRef, type: Attribute) -> ir.Value:
    found: ir.Value = ir.Constant(value_type(type), ir.Undefined)
    for position, value in descriptor_members(memref):
        found = builder.insert_value(found, value, position)
    return found


def descriptor_members(memref: MemRef) -> list[tuple[list[int], ir.Value]]:
    """What a descriptor holds, with the place of each; also the order of a memref's parts as parameters of C."""
    return [
        # The pointer to free and the one to use are the same here.
        ([ALLOCATED], memref.base),
        ([ALIGNED], memref.base),
        ([OFFSET], memref.offset),
        *(([SIZES, dimension], size) for dimension, size in enumerate(memref.sizes)),
        *(([STRIDES, dimension], stride) for dimension, stride in enumerate(memref.strides)),
    ]


def flattened(value: Value) -> list[ir.Value]:
    """A value as parameters of a function with C's conventions, as MLIR has it."""
    return [part for _, part in descriptor_members(value)] if isinstance(value, MemRef) else all_parts(value)


def flattened_types(type: Attribute) -> list[ir.Type]:
    """The types of what `flattened` gives."""
    if not is_ranked(type):
        return [value_type(type)]
    return [POINTER, POINTER, *[I64] * (1 + 2 * type.get_num_dims())]


HANDLERS: dict[str, Handler] = {
    "llvm.mlir.constant": _constant,
    "llvm.mlir.zero": _zero,
    "llvm.mlir.undef": _zero,
    "llvm.mlir.poison": _zero,
    "llvm.insertvalue": _insert,
    "llvm.extractvalue": _extract,
    "builtin.unrealized_conversion_cast": _cast,
}
