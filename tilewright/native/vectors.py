"""`vector` operations that stay in registers. A vector of any rank is flat here, in row-major order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import vector
from tilewright.dialects.vector import shape
from tilewright.dialects.vector.types import shape_of, vector_type
from tilewright.native.access import plus, times
from tilewright.native.lanes import assemble, lane, shuffled, splat
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import I32, index, number_of, value_type
from tilewright.native.views import mixed


def flat(coordinates: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of an element in row-major order."""
    return reduce(lambda number, pair: number * pair[1] + pair[0], zip(coordinates, sizes, strict=True), 0)


def all_coordinates(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return list(product(*(range(size) for size in sizes)))


def count_of(type: Attribute) -> int:
    """The number of elements; that of a scalar is 1."""
    return prod(shape_of(type))


def _broadcast(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.BroadcastOp)
    source, wanted = lowering[op.source], op.vector.type
    lowering[op.vector] = broadcast(lowering.builder, source, shape_of(op.source.type), wanted.get_shape())


def broadcast(builder: ir.IRBuilder, value: ir.Value, given: Sequence[int], wanted: Sequence[int]) -> ir.Value:
    if not isinstance(value.type, ir.VectorType):
        return splat(builder, value, prod(wanted))
    padded = [1] * (len(wanted) - len(given)) + list(given)
    order = [
        flat([0 if size == 1 else number for number, size in zip(place, padded, strict=True)], padded)
        for place in all_coordinates(wanted)
    ]
    return shuffled(builder, value, order)


def _position(lowering: Lowering, op: vector.ExtractOp | vector.InsertOp, type: VectorType) -> tuple[ir.Value, int]:
    """The first element that an access to a sub-vector means, and how many there are."""
    builder, sizes = lowering.builder, type.get_shape()
    given = mixed(lowering, op.dynamic_position, op.static_position.get_values())
    start: ir.Value = index(0)
    for number, size in zip(given, sizes, strict=False):
        start = plus(builder, times(builder, start, index(size)), number)
    length = prod(sizes[len(given) :])
    start = times(builder, start, index(length))
    if DYNAMIC_INDEX in op.static_position.get_values():
        fits = builder.icmp_unsigned("<=", start, index(prod(sizes) - length))
        text = "takes element {} of a vector that has {}"
        lowering.trap_unless(op, fits, text, start, index(prod(sizes)))
    return start, length


def _extract(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    builder, source = lowering.builder, lowering[op.vector]
    start, length = _position(lowering, op, vector_type(op.vector))
    known, type = number_of(start), op.result.type
    if not isinstance(op.result.type, VectorType):
        lowering[op.result] = builder.extract_element(
            source, builder.trunc(start, I32) if known is None else _i32(known)
        )
        return
    if known is not None:
        lowering[op.result] = shuffled(builder, source, range(known, known + length))
        return
    lanes = [builder.extract_element(source, builder.add(start, index(number))) for number in range(length)]
    lowering[op.result] = assemble(builder, cast(ir.VectorType, value_type(type)), lanes)


def _i32(number: int) -> ir.Constant:
    return ir.Constant(I32, number)


def _insert(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    builder, source, target = lowering.builder, lowering[op.source], lowering[op.dest]
    start, length = _position(lowering, op, vector_type(op.dest))
    for number in range(length):
        element = lane(builder, source, number) if isinstance(source.type, ir.VectorType) else source
        target = builder.insert_element(target, element, plus(builder, start, index(number)))
    lowering[op.result] = target


def _same_lanes(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = lowering[op.operands[0]]


def _bitcast(lowering: Lowering, op: Operation) -> None:
    value, target = lowering[op.operands[0]], value_type(op.results[0].type)
    lowering[op.results[0]] = value if value.type == target else lowering.builder.bitcast(value, target)


def _integers(array: ArrayAttr[IntegerAttr]) -> list[int]:
    return [entry.value.data for entry in array]


def _extract_slice(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, shape.ExtractStridedSliceOp)
    sizes, offsets = vector_type(op.source).get_shape(), _integers(op.offsets)
    offsets += [0] * (len(sizes) - len(offsets))
    order = [
        flat([number + offset for number, offset in zip(place, offsets, strict=True)], sizes)
        for place in all_coordinates(op.result.type.get_shape())
    ]
    lowering[op.result] = shuffled(lowering.builder, lowering[op.source], order)


def _insert_slice(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, shape.InsertStridedSliceOp)
    builder, sizes, offsets = lowering.builder, op.result.type.get_shape(), _integers(op.offsets)
    part = vector_type(op.value_to_store).get_shape()
    padded = [1] * (len(sizes) - len(part)) + list(part)
    source, target = lowering[op.value_to_store], lowering[op.dest]
    for number, place in enumerate(all_coordinates(padded)):
        where = flat([n + offset for n, offset in zip(place, offsets, strict=True)], sizes)
        target = builder.insert_element(target, lane(builder, source, number), _i32(where))
    lowering[op.result] = target


def _shuffle(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ShuffleOp)
    first, second = vector_type(op.v1), vector_type(op.v2)
    row = prod(first.get_shape()[1:])
    rows = [row_of(lowering, [op.v1, op.v2], [first, second], max(number, 0), row) for number in op.mask.get_values()]
    lanes = [element for elements in rows for element in elements]
    lowering[op.result] = assemble(
        lowering.builder, cast(ir.VectorType, value_type(cast(Attribute, op.result.type))), lanes
    )


def row_of(
    lowering: Lowering, values: Sequence[SSAValue], types: Sequence[VectorType], number: int, length: int
) -> list[ir.Value]:
    """The elements of a row of the first vector, or, if it has not so many, of the second."""
    rows = count_of(types[0]) // length
    side, first = (0, number) if number < rows else (1, number - rows)
    native = lowering[values[side]]
    return [lane(lowering.builder, native, first * length + column) for column in range(length)]


def _transpose(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, shape.TransposeOp)
    sizes, order = vector_type(op.vector).get_shape(), op.permutation.get_values()

    def source_of(place: tuple[int, ...]) -> int:
        coordinates = dict(zip(order, place, strict=True))
        return flat([coordinates[dimension] for dimension in range(len(sizes))], sizes)

    lanes = [source_of(place) for place in all_coordinates(op.result.type.get_shape())]
    lowering[op.result] = shuffled(lowering.builder, lowering[op.vector], lanes)


def _from_elements(lowering: Lowering, op: Operation) -> None:
    native = cast(ir.VectorType, value_type(op.results[0].type))
    lowering[op.results[0]] = assemble(lowering.builder, native, [lowering[element] for element in op.operands])


def _to_elements(lowering: Lowering, op: Operation) -> None:
    source = lowering[op.operands[0]]
    for number, result in enumerate(op.results):
        lowering[result] = lane(lowering.builder, source, number)


def _interleave(lowering: Lowering, op: Operation) -> None:
    lhs, rhs = (lowering[operand] for operand in op.operands)
    count = count_of(op.operands[0].type)
    order = [number for pair in zip(range(count), range(count, 2 * count), strict=True) for number in pair]
    lowering[op.results[0]] = shuffled(lowering.builder, lhs, order, rhs)


def _deinterleave(lowering: Lowering, op: Operation) -> None:
    source, count = lowering[op.operands[0]], count_of(op.operands[0].type)
    for first, result in enumerate(op.results):
        lowering[result] = shuffled(lowering.builder, source, range(first, count, 2))


def _scalar_broadcast(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = splat(lowering.builder, lowering[op.operands[0]], count_of(op.results[0].type))


HANDLERS: dict[str, Handler] = {
    "vector.broadcast": _broadcast,
    "vector.splat": _scalar_broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shape_cast": _same_lanes,
    "vector.bitcast": _bitcast,
    "vector.extract_strided_slice": _extract_slice,
    "vector.insert_strided_slice": _insert_slice,
    "vector.shuffle": _shuffle,
    "vector.transpose": _transpose,
    "vector.from_elements": _from_elements,
    "vector.to_elements": _to_elements,
    "vector.interleave": _interleave,
    "vector.deinterleave": _deinterleave,
}
