"""`vector`: masks, and elements combined into one."""

from __future__ import annotations

from functools import reduce
from typing import cast

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.dialects import vector
from tilewright.dialects.vector import compute
from tilewright.dialects.vector.types import element_type, shape_of, vector_type
from tilewright.native.combining import combine
from tilewright.native.lanes import constant_like, lane, shuffled, splat
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import I1, I64, value_type
from tilewright.native.vectors import all_coordinates, count_of, flat


def _step(lowering: Lowering, op: Operation) -> None:
    native = cast(ir.VectorType, value_type(op.results[0].type))
    lowering[op.results[0]] = ir.Constant(native, list(range(native.count)))


def _constant_mask(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, compute.ConstantMaskOp)
    limits = op.mask_dim_sizes.get_values()
    places = all_coordinates(op.result.type.get_shape() or (1,))
    bits = [int(all(n < limit for n, limit in zip(place, limits, strict=False))) for place in places]
    lowering[op.result] = ir.Constant(value_type(op.result.type), [ir.Constant(I1, bit) for bit in bits])


def _create_mask(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.CreateMaskOp)
    builder, sizes = lowering.builder, shape_of(op.mask_vector.type) or (1,)
    native = cast(ir.VectorType, value_type(op.mask_vector.type))
    mask: ir.Value = constant_like(ir.Constant(native, ir.Undefined), 1)
    for dimension, limit in enumerate(op.operands):
        numbers = [place[dimension] for place in all_coordinates(sizes)]
        lanes = ir.Constant(ir.VectorType(I64, native.count), numbers)
        limits = splat(builder, lowering[limit], native.count)
        mask = builder.and_(mask, builder.icmp_signed("<", lanes, limits))
    lowering[op.mask_vector] = mask


def _reduction(lowering: Lowering, op: Operation) -> None:
    """From the first element to the last, after the start value if there is one."""
    assert isinstance(op, vector.ReductionOp)
    source, type = lowering[op.vector], op.dest.type
    lanes = [lane(lowering.builder, source, number) for number in range(count_of(op.vector.type))]
    first = [] if op.acc is None else [lowering[op.acc]]
    kind = op.kind.data
    lowering[op.dest] = reduce(lambda x, y: combine(lowering.builder, kind, type, x, y), [*first, *lanes])


def _multi_reduction(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, compute.MultiDimReductionOp)
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


HANDLERS: dict[str, Handler] = {
    "vector.step": _step,
    "vector.constant_mask": _constant_mask,
    "vector.create_mask": _create_mask,
    "vector.reduction": _reduction,
    "vector.multi_reduction": _multi_reduction,
}
