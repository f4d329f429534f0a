"""Places in buffers: where an element is, whether that is inside, how it is stored; and `memref`'s operations on them.

Nothing is assumed about alignment. Integers of less than 8 bits take a byte each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import memref
from tilewright.dialects.aie.data_layout import element_bytes, element_count, type_bytes
from tilewright.dialects.memref.access import AtomicKind, AtomicRMWOp, GenericAtomicRMWOp
from tilewright.dialects.memref.meaning import Viewed
from tilewright.dialects.memref.types import memref_type
from tilewright.ir.diagnostics import fail_op
from tilewright.native.arithmetic import combine
from tilewright.native.floats import suffix
from tilewright.native.loops import counted_loop
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.ranges import Range, exactly
from tilewright.native.traps import FAR, FARTHEST, LARGEST_BYTES, LOST, OUTSIDE
from tilewright.native.types import declared
from tilewright.native.values import (
    I1,
    I8,
    I64,
    POINTER,
    MemRef,
    Value,
    element_of,
    index,
    number_of,
    value_type,
    whole_buffer,
    with_element,
)

_NAMES = {
    AtomicKind.MAXS: "maxsi",
    AtomicKind.MAXU: "maxui",
    AtomicKind.MINS: "minsi",
    AtomicKind.MINU: "minui",
}
"""Where `arith` has another name for it."""


def times(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """A product modulo 2^64, computed now if it can be."""
    left, right = number_of(lhs), number_of(rhs)
    if left is not None and right is not None:
        return index(wrapped(left * right))
    if 0 in (left, right):
        return index(0)
    return rhs if left == 1 else lhs if right == 1 else builder.mul(lhs, rhs)


def plus(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    left, right = number_of(lhs), number_of(rhs)
    if left is not None and right is not None:
        return index(wrapped(left + right))
    return rhs if left == 0 else lhs if right == 0 else builder.add(lhs, rhs)


class ExactNumbers:
    """Sums and products of indices that notice when a result does not fit into 64 bits."""

    def __init__(self, lowering: Lowering, *, is_sure: bool = False):
        self.lowering, self.checks = lowering, lowering.checks and not is_sure
        self.fits: ir.Value = ir.Constant(I1, 1)

    def times(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        left, right = number_of(lhs), number_of(rhs)
        if left is not None and right is not None:
            return self._known(left * right)
        if left in (0, 1) or right in (0, 1) or not self.checks:
            return times(self.lowering.builder, lhs, rhs)
        return self._noted(self.lowering.builder.smul_with_overflow(lhs, rhs))

    def plus(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        left, right = number_of(lhs), number_of(rhs)
        if left is not None and right is not None:
            return self._known(left + right)
        if 0 in (left, right) or not self.checks:
            return plus(self.lowering.builder, lhs, rhs)
        return self._noted(self.lowering.builder.sadd_with_overflow(lhs, rhs))

    def product(self, factors: Sequence[ir.Value]) -> ir.Value:
        return reduce(self.times, factors, index(1))

    def check(self, op: Operation, text: str = LOST) -> None:
        """Trap if anything was lost so far."""
        if number_of(self.fits) != 1:
            self.lowering.trap_unless(op, self.fits, text)

    def _known(self, number: int) -> ir.Value:
        if number != wrapped(number):
            self.fits = ir.Constant(I1, 0)
        return index(wrapped(number))

    def _noted(self, pair: ir.Value) -> ir.Value:
        builder = self.lowering.builder
        self.fits = builder.and_(self.fits, builder.not_(builder.extract_value(pair, 1)))
        return builder.extract_value(pair, 0)


def wrapped(number: int) -> int:
    """A number in 64 bits, with a sign."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def position(
    lowering: Lowering,
    op: Operation,
    memref: Viewed[ir.Value],
    indices: Sequence[ir.Value],
    known: Range | None = None,
) -> ir.Value:
    """Which element of the whole buffer an element of the memref is; `known` is where it can be at all."""
    # Where nothing can be lost the checks of exact numbers would only cost time.
    exact = ExactNumbers(lowering, is_sure=known is not None and is_near(known))
    terms = [exact.times(number, stride) for number, stride in zip(indices, memref.strides, strict=True)]
    found = reduce(exact.plus, terms, memref.offset)
    exact.check(op)
    return found


def is_near(range: Range) -> bool:
    return range.low >= -FARTHEST and range.high <= FARTHEST


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
    lowering: Lowering, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue], count: int = 1
) -> ir.Value:
    """The address of an element and of the `count - 1` behind it, which have to be inside of the buffer."""
    ranges, numbers = [lowering.unit.ranges.of(value) for value in indices], [lowering[value] for value in indices]
    return checked_pointer(lowering, op, lowering.memref(buffer), memref_type(buffer), numbers, ranges, count)


def checked_pointer(
    lowering: Lowering,
    op: Operation,
    memref: MemRef,
    type: MemRefType,
    indices: Sequence[ir.Value],
    ranges: Sequence[Range | None],
    count: int = 1,
) -> ir.Value:
    """The same for indices that are no values of the program; `ranges` is what they can be at all."""
    known = position_range(memref, ranges)
    where = position(lowering, op, memref, indices, known)
    size, limit = type_bytes(type.element_type), number_of(memref.limit)
    inside = known is not None and limit is not None and known.low >= 0 and (known.high + count) * size <= limit
    # What constants and bounds of loops prove is not checked again while the program runs.
    if not inside and lowering.checks:
        _check(lowering, op, where, count, size, memref.limit)
    return lowering.builder.gep(memref.base, [times(lowering.builder, where, index(size))], source_etype=I8)


def _check(lowering: Lowering, op: Operation, where: ir.Value, count: int, size: int, limit: ir.Value) -> None:
    """Trap unless `count` elements from `where` on, taken as unsigned, are before the end of so many bytes."""
    builder, known = lowering.builder, number_of(limit)
    if known is not None:
        fits = builder.icmp_unsigned("<", where, index(max(known // size - count + 1, 0)))
    else:
        elements = builder.udiv(limit, index(size))
        # Without this the difference below could wrap around.
        room = builder.icmp_unsigned(">=", elements, index(count))
        fits = builder.and_(room, builder.icmp_unsigned("<=", where, builder.sub(elements, index(count))))
    trap_outside(lowering, op, fits, where, count * size, size, limit)


def trap_outside(
    lowering: Lowering, op: Operation, fits: ir.Value, where: ir.Value, length: int, size: int, limit: ir.Value
) -> None:
    """Stop with a message about `length` bytes from element `where` on unless they fit."""
    builder = lowering.builder
    with lowering.aside("outside", fits, "inside", when=False):
        # Out of the way of accesses that are fine: bytes of an element far away could not be counted.
        check_near(lowering, op, where, limit)
        start = builder.mul(where, index(size))
        lowering.trap_unless(op, ir.Constant(I1, 0), OUTSIDE, start, builder.add(start, index(length)), limit)


def check_near(lowering: Lowering, op: Operation, where: ir.Value, limit: ir.Value, farthest: int = FARTHEST) -> None:
    """Trap unless an element is so near that distances from it can be counted, in bytes too."""
    builder = lowering.builder
    near = builder.icmp_unsigned("<=", builder.add(where, index(farthest)), index(2 * farthest))
    lowering.trap_unless(op, near, FAR, where, limit)


def stored_type(type: ir.Type) -> ir.Type:
    """What a scalar or vector is in memory."""
    element = element_of(type)
    is_part_of_byte = isinstance(element, ir.IntType) and element.width < I8.width
    return with_element(type, I8) if is_part_of_byte else type


def load(builder: ir.IRBuilder, pointer: ir.Value, type: Attribute) -> ir.Value:
    """A scalar or vector from memory."""
    native = value_type(type)
    return from_stored(builder, builder.load(pointer, typ=stored_type(native), align=1), native)


def from_stored(builder: ir.IRBuilder, value: ir.Value, native: ir.Type) -> ir.Value:
    return value if value.type == native else builder.trunc(value, native)


def store(builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value) -> None:
    builder.store(as_stored(builder, value), pointer, align=1)


def as_stored(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    stored = stored_type(value.type)
    return value if stored == value.type else builder.zext(value, stored)


def _load(lowering: Lowering, op: memref.LoadOp) -> None:
    pointer = element_pointer(lowering, op, op.memref, op.indices)
    lowering[op.res] = load(lowering.builder, pointer, op.res.type)


def _store(lowering: Lowering, op: memref.StoreOp) -> None:
    value = lowering[op.value]
    store(lowering.builder, value, element_pointer(lowering, op, op.memref, op.indices))


def _dim(lowering: Lowering, op: memref.DimOp) -> None:
    sizes, which = lowering.memref(op.source).sizes, lowering[op.index]
    known = number_of(which)
    if known is not None:
        if not 0 <= known < len(sizes):
            fail_op(op, f"asks for dimension {known} of a memref that has {len(sizes)}")
        lowering[op.result] = sizes[known]
        return
    # A dimension that there is not is undefined in MLIR; 0 makes loops over it do nothing.
    found: ir.Value = index(0)
    for number, size in enumerate(sizes):
        found = lowering.builder.select(lowering.builder.icmp_signed("==", which, index(number)), size, found)
    lowering[op.result] = found


def _rank(lowering: Lowering, op: memref.RankOp) -> None:
    lowering[op.rank] = index(len(lowering.memref(op.source).sizes))


def _allocate(lowering: Lowering, op: Operation) -> None:
    """A buffer that lives as long as the program, cleared each time that it is asked for."""
    type = cast(MemRefType, op.results[0].type)
    elements = element_count(type)
    if elements is None:
        fail_op(op, "has no native translation: the size of the buffer is not known before the program runs")
    size = elements * element_bytes(type)
    if size > LARGEST_BYTES:
        fail_op(op, f"has no native translation: {size} bytes are more than any core has")
    base = lowering.variable(I8, size)
    # Nothing else has this address, so that loops on it can be told that it overlaps nothing.
    lowering.unit.apart.add(base)
    name = f"llvm.memset.{suffix(POINTER)}.{suffix(I64)}"
    function = declared(lowering.unit.module, name, ir.VoidType(), [POINTER, I8, I64, I1])
    lowering.builder.call(function, [base, ir.Constant(I8, 0), index(size), ir.Constant(I1, 0)])
    lowering[op.results[0]] = whole_buffer(base, index(size), type)


def _copy(lowering: Lowering, op: memref.CopyOp) -> None:
    """Element by element; LLVM makes block copies of it where it can."""
    source, target = lowering.memref(op.source), lowering.memref(op.destination)
    type = memref_type(op.source)
    # An empty dimension has no index, but its loop does not run either.
    sizes = [number_of(size) for size in source.sizes]
    ranges = [None if size is None else Range(0, max(size - 1, 0)) for size in sizes]

    def copy(indices: list[ir.Value]) -> list[Value]:
        if len(indices) < len(source.sizes):
            bounds = index(0), source.sizes[len(indices)], index(1)
            counted_loop(lowering, op, bounds, [], IndexType(), lambda i, _: copy([*indices, cast(ir.Value, i)]))
        else:
            pointers = [checked_pointer(lowering, op, side, type, indices, ranges) for side in (source, target)]
            store(lowering.builder, load(lowering.builder, pointers[0], type.element_type), pointers[1])
        return []

    copy([])


def _nothing(lowering: Lowering, op: Operation) -> None:
    """Says something about memory that does not change what a program does."""


def _atomic_rmw(lowering: Lowering, op: AtomicRMWOp) -> None:
    # Nothing else touches a core's memory between two of its waits, so there is no more to being atomic here.
    builder, value = lowering.builder, lowering[op.value]
    pointer = element_pointer(lowering, op, op.memref, op.indices)
    lowering[op.result] = old = load(builder, pointer, op.value.type)
    if op.update is not AtomicKind.ASSIGN:
        value = combine(builder, f"arith.{_NAMES.get(op.update, op.update)}", op.value.type, old, value)
    store(builder, value, pointer)


def _generic_atomic_rmw(lowering: Lowering, op: GenericAtomicRMWOp) -> None:
    """The region computes the new element from the old one."""
    buffer, *indices = op.operands
    pointer = element_pointer(lowering, op, buffer, indices)
    old = load(lowering.builder, pointer, op.results[0].type)
    (new,) = lowering.lower_region(op.regions[0], [old])
    store(lowering.builder, cast(ir.Value, new), pointer)
    lowering[op.results[0]] = cast(ir.Value, new)


HANDLERS: dict[str, Handler] = {
    "memref.load": _load,
    "memref.store": _store,
    "memref.dim": _dim,
    "memref.rank": _rank,
    "memref.alloca": _allocate,
    "memref.alloc": _allocate,
    "memref.dealloc": _nothing,
    "memref.prefetch": _nothing,
    "memref.copy": _copy,
    "memref.atomic_rmw": _atomic_rmw,
    "memref.generic_atomic_rmw": _generic_atomic_rmw,
}
