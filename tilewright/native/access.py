"""Places in buffers: where an element is, whether that is inside, and how elements are stored there.

Nothing is assumed about alignment. Integers of less than 8 bits take a byte each.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.aie.data_layout import type_bytes
from tilewright.native.lowering import Lowering
from tilewright.native.ranges import Range, exactly
from tilewright.native.values import I8, I64, MemRef, element_of, index, number_of, value_type, with_element

OUTSIDE = "accesses bytes {} up to {} of a buffer that has {}"


def times(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """A product, computed now if it can be."""
    left, right = number_of(lhs), number_of(rhs)
    if left is not None and right is not None:
        return index(left * right)
    if 0 in (left, right):
        return index(0)
    return rhs if left == 1 else lhs if right == 1 else builder.mul(lhs, rhs)


def plus(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    left, right = number_of(lhs), number_of(rhs)
    if left is not None and right is not None:
        return index(left + right)
    return rhs if left == 0 else lhs if right == 0 else builder.add(lhs, rhs)


def position(builder: ir.IRBuilder, memref: MemRef, indices: Sequence[ir.Value]) -> ir.Value:
    """Which element of the whole buffer an element of the memref is."""
    found = memref.offset
    for number, stride in zip(indices, memref.strides, strict=True):
        found = plus(builder, found, times(builder, number, stride))
    return found


def position_range(memref: MemRef, indices: Sequence[Range | None]) -> Range | None:
    """Where the elements can be that the indices can name."""
    offset = number_of(memref.offset)
    found = None if offset is None else exactly(offset)
    for numbers, stride in zip(indices, memref.strides, strict=True):
        step = number_of(stride)
        if found is None or numbers is None or step is None:
            return None
        found = found + numbers * exactly(step)
    return found


def element_pointer(
    lowering: Lowering, op: Operation, memref: MemRef, type: MemRefType, indices: Sequence[SSAValue], count: int = 1
) -> ir.Value:
    """The address of an element and of the `count - 1` behind it, which have to be inside of the buffer."""
    where = position(lowering.builder, memref, [lowering[value] for value in indices])
    ranges = [lowering.unit.ranges.of(value) for value in indices]
    return checked_pointer(lowering, op, memref, type, where, count, position_range(memref, ranges))


def checked_pointer(
    lowering: Lowering,
    op: Operation,
    memref: MemRef,
    type: MemRefType,
    where: ir.Value,
    count: int = 1,
    known: Range | None = None,
) -> ir.Value:
    """The address of an element of the whole buffer; `known` is where it can be at all."""
    size = type_bytes(type.element_type)
    limit = number_of(memref.limit)
    start = times(lowering.builder, where, index(size))
    inside = known is not None and limit is not None and known.low >= 0 and (known.high + count) * size <= limit
    if not inside:
        _check(lowering, op, start, count * size, memref.limit)
    return lowering.builder.gep(memref.base, [start], source_etype=I8)


def _check(lowering: Lowering, op: Operation, start: ir.Value, length: int, limit: ir.Value) -> None:
    """Trap unless `start`, taken as unsigned, is at least `length` bytes before the end."""
    builder = lowering.builder
    room = builder.sub(limit, index(length))
    fits = builder.icmp_unsigned("<=", start, room)
    known = number_of(limit)
    if known is None or known < length:
        fits = builder.and_(fits, builder.icmp_unsigned(">=", limit, index(length)))
    lowering.trap_unless(op, fits, OUTSIDE, start, builder.add(start, index(length)), limit)


def stored_type(type: ir.Type) -> ir.Type:
    """What a scalar or vector is in memory."""
    element = element_of(type)
    if isinstance(element, ir.IntType) and element.width < I8.width:
        return with_element(type, I8)
    return type


def load(builder: ir.IRBuilder, pointer: ir.Value, type: Attribute) -> ir.Value:
    """A scalar or vector from memory."""
    native = value_type(type)
    stored = stored_type(native)
    value = builder.load(pointer, typ=stored, align=1)
    return value if stored == native else builder.trunc(value, native)


def store(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value) -> None:
    stored = stored_type(value.type)
    builder.store(value if stored == value.type else builder.zext(value, stored), pointer, align=1)


def count_elements(builder: ir.IRBuilder, sizes: Sequence[ir.Value]) -> ir.Value:
    total: ir.Value = ir.Constant(I64, 1)
    for size in sizes:
        total = times(builder, total, size)
    return total
