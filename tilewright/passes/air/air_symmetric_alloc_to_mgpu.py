"""Takes buffers on the symmetric heap from the runtime library."""

from __future__ import annotations

from math import prod
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, IndexType, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects import memref
from tilewright.dialects.air.types import is_symmetric
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.runtime_calls import (
    SYMMETRIC_ALLOC,
    SYMMETRIC_FREE,
    call,
    declare,
    default_stream,
    wrap_pointer,
)
from tilewright.rewrite.emitter import Emitter

INDEX_BYTES = 8


class AirSymmetricAllocToMgpuPass(Pass):
    name = "air-symmetric-alloc-to-mgpu"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        allocations = [
            found for found in op.walk() if isinstance(found, memref.AllocOp) and is_symmetric(found.memref.type)
        ]
        if not allocations:
            return
        declare(op, SYMMETRIC_ALLOC, SYMMETRIC_FREE)
        for allocation in allocations:
            _lower(allocation)


def _lower(op: memref.AllocOp) -> None:
    size_bytes, emitter = _size_bytes(op, op.memref.type), Emitter.before(op)
    (pointer,) = call(emitter, SYMMETRIC_ALLOC, [emitter.i64(size_bytes), default_stream(emitter)])
    buffer = wrap_pointer(emitter, pointer, op.memref.type)
    # the heap is freed by the pointer that it gave, not by a memref
    for free in [use.operation for use in op.memref.uses if isinstance(use.operation, memref.DeallocOp)]:
        before = Emitter.before(free)
        call(before, SYMMETRIC_FREE, [pointer, default_stream(before)])
        Rewriter.erase_op(free)
    Rewriter.replace_op(op, (), [buffer])


def _size_bytes(op: memref.AllocOp, type: MemRefType) -> int:
    element_bytes = _element_bytes(type.element_type)
    if DYNAMIC_INDEX in type.get_shape() or element_bytes is None:
        _refuse(op, "a static-shape memref with byte-aligned element type")
    # upstream's limits, in upstream's words
    if not isinstance(type.layout, NoneAttr):
        _refuse(op, "an identity layout (row-major, no offset); strided/affine layouts are not supported")
    size = prod(type.get_shape()) * element_bytes
    if size >= 1 << 63:
        fail_op(op, f"asks for {size} bytes, more than 64 bits can count")
    return size


def _element_bytes(type: Attribute) -> int | None:
    if isinstance(type, IndexType):
        return INDEX_BYTES
    if not isinstance(type, FixedBitwidthType) or type.bitwidth % 8:
        return None
    return type.bitwidth // 8


def _refuse(op: Operation, wanted: str) -> NoReturn:
    fail_op(
        op,
        f"memref.alloc with #air.symmetric_heap memory_space requires {wanted}",
        (op, "all ranks must allocate the same number of bytes, so it has to be known here"),
    )
