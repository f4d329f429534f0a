"""Memref descriptors in the llvm dialect, as MLIR's lowering of memrefs lays them out."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    MemRefType,
    StringAttr,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects._strides import Strided
from tilewright.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from tilewright.passes.air.emitter import Emitter
from tilewright.rewrite.folding.constants import number_attr

POINTER = LLVMPointerType()


def descriptor_type(pointer: Attribute, rank: int) -> LLVMStructType:
    """Allocated and aligned pointer, offset, sizes, strides; memrefs of rank 0 have no sizes and strides."""
    arrays = [LLVMArrayType(rank, i64)] * 2 if rank else []
    return LLVMStructType(StringAttr(""), ArrayAttr([pointer, pointer, i64, *arrays]))


def wrap_pointer(
    emitter: Emitter, pointer: SSAValue, type: MemRefType, form: Strided, sizes: Sequence[SSAValue] = ()
) -> SSAValue:
    """The memory at `pointer` as a memref; strides and offset are known, and the shape but for `sizes`."""
    shape = type.get_shape()
    struct = descriptor_type(pointer.type, len(shape))
    descriptor = emitter.value("llvm.mlir.poison", (), struct)
    for field in (0, 1):
        descriptor = inserted(emitter, descriptor, pointer, [field])
    fields: list[tuple[list[int], SSAValue | int | None]] = [([2], form.offset)]
    given = iter(sizes)
    for dimension, (size, stride) in enumerate(zip(shape, form.strides, strict=True)):
        fields += [([3, dimension], next(given) if size == DYNAMIC_INDEX else size), ([4, dimension], stride)]
    for position, number in fields:
        assert number is not None, "only what is known is wrapped"
        value = number if isinstance(number, SSAValue) else _number(emitter, number)
        descriptor = inserted(emitter, descriptor, value, position)
    cast = UnrealizedConversionCastOp(operands=[[descriptor]], result_types=[[type]])
    return emitter.insert(cast).results[0]


def _number(emitter: Emitter, number: int) -> SSAValue:
    return emitter.value("llvm.mlir.constant", (), i64, {"value": number_attr(number, i64)})


def inserted(emitter: Emitter, into: SSAValue, value: SSAValue, position: Sequence[int]) -> SSAValue:
    """A descriptor with one of its fields set."""
    where: dict[str, Attribute] = {"position": DenseArrayBase.from_list(i64, position)}
    return emitter.value("llvm.insertvalue", (into, value), into.type, where)
