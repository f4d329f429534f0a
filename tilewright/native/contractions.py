"""Products of vectors: `vector.contract` and `vector.outerproduct`.

Whole vectors of the result's shape are multiplied and added, one pair for each point of the summed dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap

from tilewright.dialects.vector import compute
from tilewright.dialects.vector.types import element_type, shape_of
from tilewright.native.combining import combine, convert
from tilewright.native.lanes import lane, shuffled, splat
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.vectors import all_coordinates, flat


def _dimensions(map: AffineMap) -> list[int]:
    return [cast(AffineDimExpr, result).position for result in map.results]


def _contract(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, compute.ContractionOp)
    builder, type = lowering.builder, element_type(op.result.type)
    dims = [_dimensions(map.data) for map in op.indexing_maps]
    shapes = [shape_of(operand.type) for operand in op.operands]
    sizes = {d: size for names, shape in zip(dims, shapes, strict=True) for d, size in zip(names, shape, strict=True)}
    summed = [dimension for dimension in sorted(sizes) if dimension not in dims[2]]
    sides = [convert(builder, lowering[side], element_type(side.type), type) for side in (op.lhs, op.rhs)]
    total, is_vector = lowering[op.acc], isinstance(op.result.type, VectorType)
    for point in all_coordinates([sizes[d] for d in summed]):
        fixed = dict(zip(summed, point, strict=True))
        factors = [
            _spread(builder, side, _lanes(names, shape, fixed, dims[2], shapes[2]), is_vector)
            for side, names, shape in zip(sides, dims[:2], shapes[:2], strict=True)
        ]
        total = combine(builder, op.kind.data, type, total, combine(builder, "mul", type, *factors))
    lowering[op.result] = total


def _lanes(
    names: Sequence[int], shape: Sequence[int], fixed: dict[int, int], result: Sequence[int], wanted: Sequence[int]
) -> list[int]:
    """For each element of the result, the element of a factor that goes with it."""
    places = (fixed | dict(zip(result, place, strict=True)) for place in all_coordinates(wanted))
    return [flat([place[name] for name in names], shape) for place in places]


def _spread(builder: ir.IRBuilder, value: ir.Value, order: Sequence[int], is_vector: bool) -> ir.Value:
    return shuffled(builder, value, order) if is_vector else lane(builder, value, order[0])


def _outer_product(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, compute.OuterProductOp)
    builder, type = lowering.builder, op.result.type.element_type
    multiply = partial(combine, builder, "mul", type)
    lhs, rhs = lowering[op.lhs], lowering[op.rhs]
    (rows,), wide = shape_of(op.lhs.type), shape_of(op.rhs.type)
    if wide:
        (columns,) = wide
        left = shuffled(builder, lhs, [row for row in range(rows) for _ in range(columns)])
        found = multiply(left, shuffled(builder, rhs, [column for _ in range(rows) for column in range(columns)]))
    else:
        found = multiply(lhs, splat(builder, rhs, rows))
    if op.acc is not None:
        found = combine(builder, op.kind.data, type, lowering[op.acc], found)
    lowering[op.result] = found


HANDLERS: dict[str, Handler] = {"vector.contract": _contract, "vector.outerproduct": _outer_product}
