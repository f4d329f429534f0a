"""Takes buffers on the symmetric heap from the runtime library."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, IndexType, MemRefType, ModuleOp, NoneAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import arith, cf, memref
from tilewright.dialects.air.types import is_symmetric
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.runtime_calls import (
    BARRIER,
    SYMMETRIC_ALLOC,
    SYMMETRIC_FREE,
    call,
    declare,
    default_stream,
    wrap_pointer,
)
from tilewright.rewrite.emitter import Emitter

INDEX_BYTES = 8
MOST_BYTES = (1 << 63) - 1
TOO_LARGE = "asks the symmetric heap for a negative size, or for more bytes than 64 bits can count"


class AirSymmetricAllocToMgpuPass(Pass):
    name = "air-symmetric-alloc-to-mgpu"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        allocations = [found for found in ops_of(all_operations(op), memref.AllocOp) if is_symmetric(found.memref.type)]
        if not allocations:
            return
        declare(op, SYMMETRIC_ALLOC, SYMMETRIC_FREE)
        if any(allocation.dynamic_sizes for allocation in allocations):
            declare(op, BARRIER)
        for allocation in allocations:
            _lower(allocation)


def _lower(op: memref.AllocOp) -> None:
    static_bytes, emitter = _static_bytes(op, op.memref.type), Emitter.before(op)
    sizes = [emitter.value(arith.IndexCastOp(size, i64)) for size in op.dynamic_sizes]
    size_bytes = _total(emitter, static_bytes, sizes)
    (pointer,) = call(emitter, SYMMETRIC_ALLOC, [size_bytes, default_stream(emitter)])
    if sizes:
        # ranks compare what they asked for where they meet: here, before any of them uses it
        call(emitter, BARRIER)
    buffer = wrap_pointer(emitter, pointer, op.memref.type, sizes=sizes)
    # the heap is freed by the pointer that it gave, not by a memref
    for free in [use.operation for use in op.memref.uses if isinstance(use.operation, memref.DeallocOp)]:
        before = Emitter.before(free)
        call(before, SYMMETRIC_FREE, [pointer, default_stream(before)])
        Rewriter.erase_op(free)
    Rewriter.replace_op(op, (), [buffer])


def _static_bytes(op: memref.AllocOp, type: MemRefType) -> int:
    """The bytes of what is known of the shape."""
    element_bytes = _element_bytes(type.element_type)
    # upstream's limits, in upstream's words
    if element_bytes is None:
        _refuse(op, "a static-shape memref with byte-aligned element type", "use elements of whole bytes, as i8")
    if not isinstance(type.layout, NoneAttr):
        _refuse(
            op,
            "an identity layout (row-major, no offset); strided/affine layouts are not supported",
            "allocate it in rows, and take a view of that",
        )
    size = prod(size for size in type.get_shape() if size != DYNAMIC_INDEX) * element_bytes
    if size > MOST_BYTES:
        fail_op(op, f"asks for {size} bytes, more than 64 bits can count")
    return size


def _total(emitter: Emitter, static_bytes: int, sizes: Sequence[SSAValue]) -> SSAValue:
    """All bytes; sizes that are negative, or whose product wraps, stop the program."""
    total = emitter.i64(static_bytes)
    for size in sizes:
        most = emitter.value(
            arith.DivUIOp(emitter.i64(MOST_BYTES), emitter.value(arith.MaxUIOp(total, emitter.i64(1))))
        )
        # without a sign, so that a negative size is too large
        fits = emitter.compare("ule", size, most)
        emitter.insert(cf.AssertOp(fits, TOO_LARGE))
        total = emitter.value(arith.MuliOp(total, size))
    return total


def _element_bytes(type: Attribute) -> int | None:
    if isinstance(type, IndexType):
        return INDEX_BYTES
    if not isinstance(type, FixedBitwidthType) or type.bitwidth % 8:
        return None
    return type.bitwidth // 8


def _refuse(op: Operation, wanted: str, remedy: str) -> NoReturn:
    fail_op(op, f"memref.alloc with #air.symmetric_heap memory_space requires {wanted}", (op, remedy))
