"""Vectors to and from memory element by element: masks, and lists of indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from tilewright.dialects.aie.data_layout import type_bytes
from tilewright.dialects.memref.types import memref_type
from tilewright.dialects.vector.memory import GatherOp, ScatterOp
from tilewright.dialects.vector.orders import all_coordinates, walked_dimensions
from tilewright.dialects.vector.types import vector_type
from tilewright.ir.diagnostics import fail_op
from tilewright.native.access import (
    as_stored,
    check_near,
    from_stored,
    is_near,
    position,
    position_range,
    stored_type,
    trap_outside,
)
from tilewright.native.floats import suffix
from tilewright.native.integers import resize
from tilewright.native.lanes import constant_like, splat
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.traps import FARTHEST
from tilewright.native.types import declared
from tilewright.native.values import (
    I1,
    I64,
    POINTER,
    MemRef,
    element_of,
    index,
    number_of,
    value_type,
    with_element,
)
from tilewright.native.vectors import count_of


@dataclass(frozen=True)
class Lanes:
    """Which elements of a buffer a vector is made of, and which of them are meant."""

    memref: MemRef
    element: Attribute
    places: ir.Value
    mask: ir.Value

    @property
    def count(self) -> int:
        return cast(ir.VectorType, self.mask.type).count


def box_lanes(
    lowering: Lowering,
    op: Operation,
    base: SSAValue,
    indices: Sequence[SSAValue],
    type: VectorType,
    mask: ir.Value | None = None,
    map: AffineMap | None = None,
    masked: Iterable[int] = (),
) -> Lanes:
    """Elements of a box in the buffer that begins at some indices; `map` says which dimensions it extends in.

    In dimensions that are `masked` the mask leaves out what is beyond the buffer, however far that is.
    """
    memref, element = lowering.memref(base), memref_type(base).element_type
    rank, shape = len(memref.sizes), type.get_shape()
    dims = list(range(rank - len(shape), rank)) if map is None else walked_dimensions(map)
    start = _near_position(lowering, op, memref, indices, masked)
    # A dimension that repeats stays where it is.
    strides = [index(0) if d is None else memref.strides[d] for d in dims]
    for stride in strides:
        if number_of(stride) is None:
            check_near(lowering, op, stride, memref.limit, FARTHEST // max(prod(shape), 1))
    return Lanes(memref, element, _places(lowering, start, strides, shape), mask if mask is not None else all_set(type))


def _near_position(
    lowering: Lowering, op: Operation, memref: MemRef, indices: Sequence[SSAValue], masked: Iterable[int] = ()
) -> ir.Value:
    """Which element the indices name; small enough that the lanes beside it can be counted from there."""
    known = position_range(memref, [lowering.unit.ranges.of(value) for value in indices])
    builder, numbers = lowering.builder, [lowering[value] for value in indices]
    for dim in masked:
        # Any number does in lanes that are masked out, but the sum of all terms must not wrap around.
        near = builder.icmp_unsigned("<=", builder.add(numbers[dim], index(FARTHEST)), index(2 * FARTHEST))
        numbers[dim] = builder.select(near, numbers[dim], index(0))
    start = position(lowering, op, memref, numbers, known)
    if known is None or not is_near(known):
        check_near(lowering, op, start, memref.limit)
    return start


def all_set(type: Attribute) -> ir.Value:
    return ir.Constant(ir.VectorType(I1, count_of(type)), [ir.Constant(I1, 1)] * count_of(type))


def lane_numbers(shape: Sequence[int], dimension: int) -> ir.Constant:
    """For each element of a vector its index in one dimension."""
    places = all_coordinates(shape)
    return ir.Constant(ir.VectorType(I64, len(places)), [place[dimension] for place in places])


def _places(lowering: Lowering, start: ir.Value, strides: Sequence[ir.Value], shape: Sequence[int]) -> ir.Value:
    builder, count = lowering.builder, len(all_coordinates(shape))
    total = splat(builder, start, count)
    for dimension, stride in enumerate(strides):
        steps = builder.mul(lane_numbers(shape, dimension), splat(builder, stride, count))
        total = builder.add(total, steps)
    return total


def _check(lowering: Lowering, op: Operation, lanes: Lanes) -> ir.Value:
    """The addresses of the elements, which have to be inside of the buffer if they are meant."""
    builder, count = lowering.builder, lanes.count
    size = type_bytes(lanes.element)
    if lowering.checks:
        elements = builder.udiv(lanes.memref.limit, index(size))
        inside = builder.icmp_unsigned("<", lanes.places, splat(builder, elements, count))
        good = builder.or_(inside, builder.not_(lanes.mask))
        # One check for all lanes; the message names one of those that are wrong.
        fine = intrinsic_reduce(builder, "llvm.vector.reduce.and", good)
        worst = builder.select(good, constant_like(lanes.places, 0), lanes.places)
        where = intrinsic_reduce(builder, "llvm.vector.reduce.umax", worst)
        trap_outside(lowering, op, fine, where, size, size, lanes.memref.limit)
    base = splat(builder, builder.ptrtoint(lanes.memref.base, I64), count)
    offsets = builder.mul(lanes.places, constant_like(lanes.places, size))
    return builder.inttoptr(builder.add(base, offsets), ir.VectorType(POINTER, count))


def intrinsic_reduce(builder: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
    """One scalar of all the elements of a vector."""
    full = f"{name}.{suffix(value.type)}"
    return builder.call(declared(builder.module, full, element_of(value.type), [value.type]), [value])


def gather(lowering: Lowering, op: Operation, lanes: Lanes, other: ir.Value | None) -> ir.Value:
    """Elements from memory; those that are not meant come from `other`."""
    builder, addresses = lowering.builder, _check(lowering, op, lanes)
    native = with_element(lanes.mask.type, value_type(lanes.element))
    stored = stored_type(native)
    rest = ir.Constant(stored, ir.Undefined) if other is None else as_stored(builder, other)
    name = f"llvm.masked.gather.{suffix(stored)}.{suffix(addresses.type)}"
    function = declared(builder.module, name, stored, [addresses.type, lanes.mask.type, stored])
    return from_stored(builder, builder.call(function, [addresses, lanes.mask, rest]), native)


def scatter(lowering: Lowering, op: Operation, lanes: Lanes, value: ir.Value) -> None:
    """Elements to memory, in order: of two for the same place the later one stays."""
    builder, addresses = lowering.builder, _check(lowering, op, lanes)
    stored = as_stored(builder, value)
    # LLVM stores in the order of the lanes, so that a later one wins.
    name = f"llvm.masked.scatter.{suffix(stored.type)}.{suffix(addresses.type)}"
    function = declared(builder.module, name, ir.VoidType(), [stored.type, addresses.type, lanes.mask.type])
    builder.call(function, [stored, addresses, lanes.mask])


def want_buffer(op: Operation, base: SSAValue) -> None:
    if not isinstance(base.type, MemRefType):
        fail_op(op, "has no native translation: it is on no memref")


def _masked_load(lowering: Lowering, op: Operation) -> None:
    base, *indices, mask, other = op.operands
    lanes = box_lanes(lowering, op, base, indices, cast(VectorType, op.results[0].type), lowering[mask])
    lowering[op.results[0]] = gather(lowering, op, lanes, lowering[other])


def _masked_store(lowering: Lowering, op: Operation) -> None:
    base, *indices, mask, value = op.operands
    lanes = box_lanes(lowering, op, base, indices, vector_type(value), lowering[mask])
    scatter(lowering, op, lanes, lowering[value])


def _indexed(lowering: Lowering, op: GatherOp | ScatterOp) -> Lanes:
    """Elements at the distances from a first one that a vector gives."""
    builder, memref = lowering.builder, lowering.memref(op.base)
    start = _near_position(lowering, op, memref, op.offsets)
    count, last = count_of(op.indices.type), memref.strides[-1] if memref.strides else index(1)
    numbers = resize(builder, lowering[op.indices], I64, unsigned=False)
    places = builder.add(splat(builder, start, count), _steps(builder, numbers, last, count))
    return Lanes(memref, memref_type(op.base).element_type, places, lowering[op.mask])


def _steps(builder: ir.IRBuilder, numbers: ir.Value, stride: ir.Value, count: int) -> ir.Value:
    """Numbers times a stride; where that would not fit into 64 bits, a number that no buffer reaches."""
    if number_of(stride) == 1:
        return numbers
    magnitude = builder.select(builder.icmp_signed("<", stride, index(0)), builder.neg(stride), stride)
    most = builder.udiv(
        index(FARTHEST), builder.select(builder.icmp_signed("==", stride, index(0)), index(1), magnitude)
    )
    near = builder.icmp_unsigned(
        "<=", builder.add(numbers, splat(builder, most, count)), splat(builder, builder.mul(most, index(2)), count)
    )
    steps = builder.mul(numbers, splat(builder, stride, count))
    return builder.select(near, steps, constant_like(steps, 1 << 62))


def _gather(lowering: Lowering, op: GatherOp) -> None:
    want_buffer(op, op.base)
    lowering[op.result] = gather(lowering, op, _indexed(lowering, op), lowering[op.pass_thru])


def _scatter(lowering: Lowering, op: ScatterOp) -> None:
    scatter(lowering, op, _indexed(lowering, op), lowering[op.value_to_store])


HANDLERS: dict[str, Handler] = {
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.gather": _gather,
    "vector.scatter": _scatter,
}
