"""`memref`: buffers of a program that runs on this computer, from its C library, and globals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType
from xdsl.ir import Operation

from tilewright.dialects import memref
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.memref.meaning import row_major
from tilewright.dialects.memref.types import memref_type
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.symbols import lookup_symbol
from tilewright.native.access import ExactNumbers, plus
from tilewright.native.aggregates import spanned_bytes
from tilewright.native.lanes import scalar_constant
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.types import declared
from tilewright.native.values import (
    I8,
    I64,
    POINTER,
    MemRef,
    Untranslatable,
    global_data,
    index,
    known_or,
    strides_of,
    value_type,
    whole_buffer,
)
from tilewright.native.views import LlvmViews, mixed

ALIGNMENT_BYTES = 64


def sized_memref(lowering: Lowering, op: Operation, type: MemRefType, sizes: Sequence[ir.Value]) -> MemRef:
    """A memref of these sizes, whose base is yet to be given: its limit says how many bytes it needs."""
    # Without a layout the strides follow from the sizes.
    if None in strides_of(type) and type.layout.name != "none":
        raise Untranslatable(f"the strides of {type} are not known")
    strides = known_or(strides_of(type), row_major(LlvmViews(lowering, op), sizes))
    limit = spanned_bytes(lowering, op, index(0), sizes, strides, type)
    return MemRef(ir.Constant(POINTER, None), limit, index(0), tuple(sizes), strides)


def check_size(lowering: Lowering, op: Operation, sizes: Sequence[ir.Value], type: MemRefType) -> None:
    """Sizes that are no sizes are not to be asked of a library."""
    builder = lowering.builder
    for size in sizes:
        fine = builder.icmp_signed(">=", size, index(0))
        lowering.trap_unless(op, fine, "asks for a buffer with a dimension of {} elements", size)
    exact = ExactNumbers(lowering)
    exact.product([*sizes, index(element_bytes(type))])
    exact.check(op, "asks for a buffer of more bytes than 64 bits can count")


def _allocate(lowering: Lowering, op: memref.AllocOp) -> None:
    """A cleared buffer, so that two runs of a program that forgets to fill it are alike."""
    builder, type = lowering.builder, op.memref.type
    sizes = mixed(lowering, op, op.dynamic_sizes, type.get_shape())
    check_size(lowering, op, sizes, type)
    wanted = sized_memref(lowering, op, type, sizes)
    calloc = declared(lowering.unit.module, "calloc", POINTER, [I64, I64])
    # One byte more: C may give no address for nothing.
    base = builder.call(calloc, [index(1), plus(builder, wanted.limit, index(1))])
    fine = builder.icmp_unsigned("!=", builder.ptrtoint(base, I64), index(0))
    lowering.trap_unless(op, fine, "asks for {} bytes, which the host does not have", wanted.limit)
    lowering[op.memref] = MemRef(base, wanted.limit, index(0), wanted.sizes, wanted.strides)


def _deallocate(lowering: Lowering, op: memref.DeallocOp) -> None:
    free = declared(lowering.unit.module, "free", ir.VoidType(), [POINTER])
    lowering.builder.call(free, [lowering.memref(op.memref).base])


def aligned_pointer(lowering: Lowering, op: Operation) -> None:
    """Where a memref's buffer begins, whatever its offset is."""
    lowering[op.results[0]] = lowering.builder.ptrtoint(lowering.memref(op.operands[0]).base, I64)


def _get_global(lowering: Lowering, op: memref.GetGlobalOp) -> None:
    found = lookup_symbol(op, op.name_)
    if not isinstance(found, memref.GlobalOp):
        fail_op(op, f"refers to @{op.name_.string_value()}, which is no memref.global")
    type = memref_type(op.memref)
    # The verifier wants the sizes of globals to be known.
    size = (element_count(type) or 0) * element_bytes(type)
    lowering[op.memref] = whole_buffer(_variable(lowering, found, type), index(size), type)


def _variable(lowering: Lowering, op: memref.GlobalOp, type: MemRefType) -> ir.Value:
    name = f"buffer.{op.sym_name.data}"
    known = lowering.unit.module.globals.get(name)
    if known is not None:
        return known
    native = ir.ArrayType(value_type(type.element_type), element_count(type) or 0)
    variable = global_data(lowering.unit.module, native, name)
    variable.initializer, variable.align = ir.Constant(native, _initial(op, type)), ALIGNMENT_BYTES
    return variable


def _initial(op: memref.GlobalOp, type: MemRefType) -> list[ir.Constant] | None:
    value = op.initial_value
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    native = value_type(type.element_type)
    if isinstance(native, ir.IntType) and native.width < I8.width:
        fail_op(op, "has no native translation: its elements are smaller than a byte")
    numbers = cast(Sequence[float], value.get_values())
    written = [scalar_constant(type.element_type, number) for number in numbers]
    return written * (element_count(type) or 0) if len(written) == 1 else written


HANDLERS: dict[str, Handler] = {
    "memref.alloc": _allocate,
    "memref.dealloc": _deallocate,
    "memref.get_global": _get_global,
    "memref.extract_aligned_pointer_as_index": aligned_pointer,
}
