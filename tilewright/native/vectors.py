"""`vector` operations that stay in registers. A vector of any rank is flat here, in row-major order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import prod
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, VectorType
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineDimExpr

from tilewright.dialects import vector
from tilewright.dialects.vector import compute, shape
from tilewright.dialects.vector.orders import (
    all_coordinates,
    broadcast_order,
    flat,
    inserted_places,
    shuffle_order,
    slice_order,
    transpose_order,
)
from tilewright.dialects.vector.types import element_type, shape_of, vector_type
from tilewright.native import arithmetic, floats
from tilewright.native.access import plus, times
from tilewright.native.casts import bitcast
from tilewright.native.integers import resize
from tilewright.native.lanes import assemble, constant_like, lane, shuffled, splat
from tilewright.native.lowering import Handler, Lowering, on_values
from tilewright.native.traps import NO_SUCH_ELEMENT
from tilewright.native.values import I1, I32, I64, element_of, index, number_of, value_type
from tilewright.native.views import mixed

_KINDS = {
    **{kind: (f"arith.{kind}i", f"arith.{kind}f") for kind in ("add", "mul")},
    **{kind: (f"arith.{kind}i", "") for kind in ("and", "or", "xor")},
    **{kind: (f"arith.{kind}", "") for kind in ("minui", "minsi", "maxui", "maxsi")},
    **{kind: ("", f"arith.{kind}") for kind in ("minnumf", "maxnumf", "minimumf", "maximumf")},
}
"""The operation on integers and that on other numbers."""


def count_of(type: Attribute) -> int:
    """The number of elements; that of a scalar is 1."""
    return prod(shape_of(type))


def _broadcast(lowering: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    lowering[result] = broadcast(lowering.builder, lowering[source], shape_of(source.type), shape_of(result.type))


def broadcast(builder: ir.IRBuilder, value: ir.Value, given: Sequence[int], wanted: Sequence[int]) -> ir.Value:
    if not isinstance(value.type, ir.VectorType):
        return splat(builder, value, prod(wanted))
    return shuffled(builder, value, broadcast_order(given, wanted))


def _position(lowering: Lowering, op: vector.ExtractOp | vector.InsertOp, type: VectorType) -> tuple[ir.Value, int]:
    """The first element that an access to a sub-vector means, and how many there are."""
    builder, sizes = lowering.builder, type.get_shape()
    given = mixed(lowering, op, op.dynamic_position, op.static_position.get_values())
    start: ir.Value = index(0)
    for number, size in zip(given, sizes, strict=False):
        start = plus(builder, times(builder, start, index(size)), number)
    length = prod(sizes[len(given) :])
    start = times(builder, start, index(length))
    # A position that is written needs no check while the program runs.
    if DYNAMIC_INDEX in op.static_position.get_values():
        fits = builder.icmp_unsigned("<=", start, index(prod(sizes) - length))
        lowering.trap_unless(op, fits, NO_SUCH_ELEMENT, start, index(prod(sizes)))
    return start, length


def _extract(lowering: Lowering, op: vector.ExtractOp) -> None:
    builder, source = lowering.builder, lowering[op.vector]
    start, length = _position(lowering, op, vector_type(op.vector))
    known = number_of(start)
    if not isinstance(op.result.type, VectorType):
        place = builder.trunc(start, I32) if known is None else ir.Constant(I32, known)
        lowering[op.result] = builder.extract_element(source, place)
    elif known is not None:
        lowering[op.result] = shuffled(builder, source, range(known, known + length))
    else:
        lanes = [builder.extract_element(source, builder.add(start, index(number))) for number in range(length)]
        lowering[op.result] = assemble(builder, cast(ir.VectorType, value_type(op.results[0].type)), lanes)


def _insert(lowering: Lowering, op: vector.InsertOp) -> None:
    builder, source, target = lowering.builder, lowering[op.source], lowering[op.dest]
    start, length = _position(lowering, op, vector_type(op.dest))
    for number in range(length):
        element = lane(builder, source, number) if isinstance(source.type, ir.VectorType) else source
        target = builder.insert_element(target, element, plus(builder, start, index(number)))
    lowering[op.result] = target


def _extract_slice(lowering: Lowering, op: shape.ExtractStridedSliceOp) -> None:
    lowering[op.result] = shuffled(lowering.builder, lowering[op.source], slice_order(op))


def _insert_slice(lowering: Lowering, op: shape.InsertStridedSliceOp) -> None:
    builder, source, target = lowering.builder, lowering[op.value_to_store], lowering[op.dest]
    for number, where in enumerate(inserted_places(op)):
        target = builder.insert_element(target, lane(builder, source, number), ir.Constant(I32, where))
    lowering[op.result] = target


def _shuffle(lowering: Lowering, op: vector.ShuffleOp) -> None:
    count = count_of(op.v1.type)
    sides = [(op.v1, number) if number < count else (op.v2, number - count) for number in shuffle_order(op)]
    lanes = [lane(lowering.builder, lowering[value], number) for value, number in sides]
    lowering[op.result] = assemble(lowering.builder, cast(ir.VectorType, value_type(op.result.type)), lanes)


def _transpose(lowering: Lowering, op: shape.TransposeOp) -> None:
    lowering[op.result] = shuffled(lowering.builder, lowering[op.vector], transpose_order(op))


def _to_elements(lowering: Lowering, op: Operation) -> None:
    source = lowering[op.operands[0]]
    for number, result in enumerate(op.results):
        lowering[result] = lane(lowering.builder, source, number)


def _deinterleave(lowering: Lowering, op: Operation) -> None:
    source, count = lowering[op.operands[0]], count_of(op.operands[0].type)
    for first, result in enumerate(op.results):
        lowering[result] = shuffled(lowering.builder, source, range(first, count, 2))


def _constant_mask(lowering: Lowering, op: compute.ConstantMaskOp) -> None:
    limits = op.mask_dim_sizes.get_values()
    places = all_coordinates(op.result.type.get_shape() or (1,))
    bits = [int(all(n < limit for n, limit in zip(place, limits, strict=False))) for place in places]
    lowering[op.result] = ir.Constant(value_type(op.result.type), [ir.Constant(I1, bit) for bit in bits])


def _create_mask(lowering: Lowering, op: vector.CreateMaskOp) -> None:
    builder, sizes = lowering.builder, shape_of(op.mask_vector.type) or (1,)
    native = cast(ir.VectorType, value_type(op.mask_vector.type))
    mask: ir.Value = constant_like(ir.Constant(native, ir.Undefined), 1)
    for dimension, limit in enumerate(op.operands):
        numbers = [place[dimension] for place in all_coordinates(sizes)]
        lanes = ir.Constant(ir.VectorType(I64, native.count), numbers)
        limits = splat(builder, lowering[limit], native.count)
        mask = builder.and_(mask, builder.icmp_signed("<", lanes, limits))
    lowering[op.mask_vector] = mask


def _reduction(lowering: Lowering, op: vector.ReductionOp) -> None:
    """From the first element to the last, after the start value if there is one."""
    source = lowering[op.vector]
    lanes = [lane(lowering.builder, source, number) for number in range(count_of(op.vector.type))]
    first = [] if op.acc is None else [lowering[op.acc]]
    lowering[op.dest] = reduce(partial(combine, lowering.builder, op.kind.data, op.dest.type), [*first, *lanes])


def _multi_reduction(lowering: Lowering, op: compute.MultiDimReductionOp) -> None:
    builder, sizes = lowering.builder, vector_type(op.source).get_shape()
    source, reduced, type = lowering[op.source], set(op.reduction_dims.get_values()), element_type(op.dest.type)
    kept = [dimension for dimension in range(len(sizes)) if dimension not in reduced]
    total = lowering[op.acc]
    for place in all_coordinates([size if d in reduced else 1 for d, size in enumerate(sizes)]):
        order = [
            flat([dict(zip(kept, chosen, strict=True)).get(d, place[d]) for d in range(len(sizes))], sizes)
            for chosen in all_coordinates([sizes[d] for d in kept])
        ]
        part = shuffled(builder, source, order) if kept else lane(builder, source, order[0])
        total = combine(builder, op.kind.data, type, total, part)
    lowering[op.dest] = total


def _contract(lowering: Lowering, op: compute.ContractionOp) -> None:
    """Whole vectors of the result's shape are multiplied and added, a pair for each point of the summed dimensions."""
    builder, type = lowering.builder, element_type(op.result.type)
    # The verifier wants projections: each result is one dimension.
    dims = [[cast(AffineDimExpr, result).position for result in map.data.results] for map in op.indexing_maps]
    shapes = [shape_of(operand.type) for operand in op.operands]
    sizes = {d: size for names, shape in zip(dims, shapes, strict=True) for d, size in zip(names, shape, strict=True)}
    summed = [dimension for dimension in sorted(sizes) if dimension not in dims[2]]
    sides = [convert(builder, lowering[side], element_type(side.type), type) for side in (op.lhs, op.rhs)]
    total, is_vector = lowering[op.acc], isinstance(op.result.type, VectorType)
    for point in all_coordinates([sizes[d] for d in summed]):
        fixed = dict(zip(summed, point, strict=True))
        places = [fixed | dict(zip(dims[2], place, strict=True)) for place in all_coordinates(shapes[2])]
        factors = list[ir.Value]()
        for side, names, extents in zip(sides, dims[:2], shapes[:2], strict=True):
            # For each element of the result, the element of the factor that goes with it.
            order = [flat([place[name] for name in names], extents) for place in places]
            factors.append(shuffled(builder, side, order) if is_vector else lane(builder, side, order[0]))
        total = combine(builder, op.kind.data, type, total, combine(builder, "mul", type, *factors))
    lowering[op.result] = total


def _outer_product(lowering: Lowering, op: compute.OuterProductOp) -> None:
    builder, type = lowering.builder, op.result.type.element_type
    lhs, rhs = lowering[op.lhs], lowering[op.rhs]
    (rows,), wide = shape_of(op.lhs.type), shape_of(op.rhs.type)
    if wide:
        (columns,) = wide
        lhs = shuffled(builder, lhs, [row for row in range(rows) for _ in range(columns)])
        rhs = shuffled(builder, rhs, [column for _ in range(rows) for column in range(columns)])
    else:
        rhs = splat(builder, rhs, rows)  # a scalar, which makes it a product of all elements
    found = combine(builder, "mul", type, lhs, rhs)
    if op.acc is not None:
        found = combine(builder, op.kind.data, type, lowering[op.acc], found)
    lowering[op.result] = found


def combine(builder: ir.IRBuilder, kind: str, type: Attribute, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Two scalars or vectors of the given element type made one."""
    return arithmetic.combine(builder, _KINDS[kind][isinstance(type, AnyFloat)], type, lhs, rhs)


def convert(builder: ir.IRBuilder, value: ir.Value, source: Attribute, target: Attribute) -> ir.Value:
    """Elements of a product as those of what it is added to, which may be wider."""
    element = element_of(value_type(target))
    if not isinstance(target, AnyFloat):
        return resize(builder, value, element, unsigned=False)
    return value if source == target else floats.extend(builder, value, source, element)


def _alternating(count: int) -> list[int]:
    """An element of the first vector, one of the second, and so on; those of the second are counted on."""
    return [number for pair in zip(range(count), range(count, 2 * count), strict=True) for number in pair]


HANDLERS: dict[str, Handler] = {
    "vector.broadcast": _broadcast,
    "vector.splat": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shape_cast": on_values(lambda b, type, x: x[0]),
    "vector.bitcast": bitcast,
    "vector.extract_strided_slice": _extract_slice,
    "vector.insert_strided_slice": _insert_slice,
    "vector.shuffle": _shuffle,
    "vector.transpose": _transpose,
    "vector.from_elements": on_values(lambda b, type, x: assemble(b, cast(ir.VectorType, value_type(type)), x)),
    "vector.to_elements": _to_elements,
    "vector.interleave": on_values(lambda b, type, x: shuffled(b, x[0], _alternating(count_of(type) // 2), x[1])),
    "vector.deinterleave": _deinterleave,
    "vector.step": on_values(lambda b, type, x: ir.Constant(value_type(type), list(range(count_of(type))))),
    "vector.constant_mask": _constant_mask,
    "vector.create_mask": _create_mask,
    "vector.reduction": _reduction,
    "vector.multi_reduction": _multi_reduction,
    "vector.contract": _contract,
    "vector.outerproduct": _outer_product,
}
