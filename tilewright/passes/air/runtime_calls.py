"""Calls of the runtime library by name, declared where they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.func import CallOp, FuncOp
from tilewright.dialects.llvm import LLVMPointerType
from tilewright.ir.symbols import symbol_in
from tilewright.passes.air.emitter import Emitter

POINTER = LLVMPointerType()


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
            declaration = FuncOp.external(function.name, function.inputs, function.outputs)
            declaration.location = module.location
            Rewriter.insert_op(declaration, InsertPoint.at_start(module.body.block))


def call(emitter: Emitter, function: RuntimeFunction, arguments: Sequence[SSAValue] = ()) -> Sequence[SSAValue]:
    return emitter.insert(CallOp(function.name, arguments, function.outputs)).results
