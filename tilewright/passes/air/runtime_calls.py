"""Calls of the runtime library by name, and the memory it gives as memrefs in the llvm dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnrealizedConversionCastOp,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects import arith, llvm
from tilewright.dialects._strides import Strided, strided_form
from tilewright.dialects.func import CallOp, FuncOp
from tilewright.ir.symbols import symbol_in
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import number_attr

POINTER = llvm.LLVMPointerType()


@dataclass(frozen=True)
class RuntimeFunction:
    """A function of the runtime library."""

    name: str
    inputs: tuple[Attribute, ...]
    outputs: tuple[Attribute, ...] = ()


HEAP_INIT = RuntimeFunction("mgpuSymmetricHeapInit", (i64,))
HEAP_DESTROY = RuntimeFunction("mgpuSymmetricHeapDestroy", ())
GET_RANK = RuntimeFunction("mgpuGetRank", (), (i32,))
SYMMETRIC_ALLOC = RuntimeFunction("mgpuSymmetricAlloc", (i64, POINTER), (POINTER,))
SYMMETRIC_FREE = RuntimeFunction("mgpuSymmetricFree", (POINTER, POINTER))
GET_WORLD_SIZE = RuntimeFunction("mgpuGetWorldSize", (), (i32,))
HEAP_BASES = RuntimeFunction("mgpuGetHeapBases", (), (POINTER,))
BARRIER = RuntimeFunction("mgpuBarrier", ())
MEM_ALLOC = RuntimeFunction("mgpuMemAlloc", (i64, POINTER, i1), (POINTER,))
MEM_FREE = RuntimeFunction("mgpuMemFree", (POINTER, POINTER))
MEMCPY = RuntimeFunction("mgpuMemcpy", (POINTER, POINTER, i64, POINTER))
MEMSET32 = RuntimeFunction("mgpuMemset32", (POINTER, i32, i64, POINTER))
STREAM_SYNCHRONIZE = RuntimeFunction("mgpuStreamSynchronize", (POINTER,))


def declare(module: ModuleOp, *functions: RuntimeFunction) -> None:
    """Declare functions at the start of a module, the last one first, unless they are there already."""
    for function in functions:
        if symbol_in(module, function.name) is None:
            start = Emitter.at_start(module.body.block, module.location)
            start.insert(FuncOp.external(function.name, function.inputs, function.outputs))


def call(emitter: Emitter, function: RuntimeFunction, arguments: Sequence[SSAValue] = ()) -> Sequence[SSAValue]:
    return emitter.insert(CallOp(function.name, arguments, function.outputs)).results


def default_stream(emitter: Emitter) -> SSAValue:
    """The stream of those that name none: a null pointer."""
    return emitter.value(llvm.ZeroOp.create(result_types=[POINTER]))


def descriptor_type(pointer: Attribute, rank: int) -> llvm.LLVMStructType:
    """Allocated and aligned pointer, offset, sizes, strides; memrefs of rank 0 have no sizes and strides."""
    arrays = [llvm.LLVMArrayType(rank, i64)] * 2 if rank else []
    return llvm.LLVMStructType(StringAttr(""), ArrayAttr([pointer, pointer, i64, *arrays]))


def wrap_pointer(
    emitter: Emitter, pointer: SSAValue, type: MemRefType, form: Strided | None = None, sizes: Sequence[SSAValue] = ()
) -> SSAValue:
    """The memory at `pointer` as a memref; the offset is known, by the type unless given, and the shape but for
    `sizes`. Strides that are not known are those of rows without gaps.
    """
    form, shape = form or strided_form(type), type.get_shape()
    assert form is not None, "only what is known is wrapped"
    descriptor = emitter.value(llvm.PoisonOp.create(result_types=[descriptor_type(pointer.type, len(shape))]))
    # the pointer to free and the aligned one are the same
    for field in (0, 1):
        descriptor = inserted(emitter, descriptor, pointer, [field])
    fields: list[tuple[list[int], SSAValue | int | None]] = [([2], form.offset)]
    given = iter(sizes)
    lengths = [next(given) if size == DYNAMIC_INDEX else size for size in shape]
    steps = _strides(emitter, lengths, form)
    for dimension, (size, stride) in enumerate(zip(lengths, steps, strict=True)):
        fields += [([3, dimension], size), ([4, dimension], stride)]
    for position, number in fields:
        assert number is not None, "only what is known is wrapped"
        value = number if isinstance(number, SSAValue) else llvm_constant(emitter, number)
        descriptor = inserted(emitter, descriptor, value, position)
    return emitter.value(UnrealizedConversionCastOp(operands=[[descriptor]], result_types=[[type]]))


def _strides(emitter: Emitter, sizes: Sequence[SSAValue | int], form: Strided) -> list[SSAValue | int]:
    strides: list[SSAValue | int] = []
    row: SSAValue | int = 1
    for size, stride in zip(reversed(sizes), reversed(form.strides), strict=True):
        strides.insert(0, row if stride is None else stride)
        if len(strides) < len(sizes) and form.strides[-len(strides) - 1] is None:
            row = _times(emitter, strides[0], size)
    return strides


def _times(emitter: Emitter, one: SSAValue | int, other: SSAValue | int) -> SSAValue | int:
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    if isinstance(one, int) and one == 1:
        return other
    lhs, rhs = (emitter.i64(factor) if isinstance(factor, int) else factor for factor in (one, other))
    return emitter.value(arith.MuliOp(lhs, rhs))


def llvm_constant(emitter: Emitter, number: int, type: Attribute = i64) -> SSAValue:
    return emitter.value(llvm.ConstantOp.create(result_types=[type], properties={"value": number_attr(number, type)}))


def inserted(emitter: Emitter, into: SSAValue, value: SSAValue, position: Sequence[int]) -> SSAValue:
    """A descriptor with one of its fields set."""
    where: dict[str, Attribute] = {"position": DenseArrayBase.from_list(i64, position)}
    return emitter.value(llvm.InsertValueOp.create(operands=(into, value), result_types=[into.type], properties=where))
