"""`vector` operations that stay in registers: lists of elements in row-major order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, cast

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
from tilewright.interpreter.affine_maps import mixed
from tilewright.interpreter.memory import Frame, Handler, Step, Trapped
from tilewright.interpreter.numbers import Call, Function, bitcast, combining, truth
from tilewright.native.traps import NO_SUCH_ELEMENT

if TYPE_CHECKING:
    from tilewright.interpreter.body import BodyBuilder


def _taking(order: Sequence[int]) -> Callable[[Any], list[Any]]:
    """The elements of a vector in a given order."""
    return lambda value: [value[number] for number in order]


def _broadcast(op: Operation) -> Function:
    given, wanted = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    if not isinstance(op.operands[0].type, VectorType):
        return lambda value: [value] * prod(wanted)
    return _taking(broadcast_order(given, wanted))


def _start(b: BodyBuilder, op: vector.ExtractOp | vector.InsertOp, type: VectorType) -> tuple[Callable[..., int], int]:
    """The first element that an access to a sub-vector means, and how many there are."""
    sizes, static = type.get_shape(), op.static_position.get_values()
    given, length = mixed(b, op.dynamic_position, static), prod(sizes[len(static) :])
    is_checked = DYNAMIC_INDEX in static

    def find(f: Frame) -> int:
        start = flat(given(f), sizes[: len(static)]) * length
        if is_checked and not 0 <= start <= prod(sizes) - length:
            raise Trapped(op, NO_SUCH_ELEMENT, start, prod(sizes))
        return start

    return find, length


def _extract(b: BodyBuilder, op: vector.ExtractOp) -> Step:
    source, result, (start, length) = b.slot(op.vector), b.slot(op.result), _start(b, op, vector_type(op.vector))
    is_vector = isinstance(op.result.type, VectorType)

    def step(f: Frame) -> None:
        first = start(f)
        f[result] = f[source][first : first + length] if is_vector else f[source][first]

    return step


def _insert(b: BodyBuilder, op: vector.InsertOp) -> Step:
    source, target, result = b.slot(op.source), b.slot(op.dest), b.slot(op.result)
    start, length = _start(b, op, vector_type(op.dest))
    is_vector = isinstance(op.source.type, VectorType)

    def step(f: Frame) -> None:
        first, found = start(f), list(f[target])
        found[first : first + length] = f[source] if is_vector else [f[source]]
        f[result] = found

    return step


def _insert_slice(op: shape.InsertStridedSliceOp) -> Call:
    places = inserted_places(op)

    def insert(source: list[Any], target: list[Any]) -> list[Any]:
        found = list(target)
        for place, value in zip(places, source, strict=True):
            found[place] = value
        return found

    return insert


def _shuffle(op: vector.ShuffleOp) -> Function:
    order = shuffle_order(op)
    return lambda first, second: _taking(order)([*first, *second])


def _constant_mask(op: compute.ConstantMaskOp) -> Function:
    limits, places = op.mask_dim_sizes.get_values(), all_coordinates(op.result.type.get_shape() or (1,))
    bits = [truth(all(n < limit for n, limit in zip(place, limits, strict=False))) for place in places]
    return lambda: bits


def _create_mask(op: vector.CreateMaskOp) -> Call:
    places = all_coordinates(shape_of(op.mask_vector.type) or (1,))

    def mask(*limits: int) -> list[int]:
        return [truth(all(n < limit for n, limit in zip(place, limits, strict=False))) for place in places]

    return mask


def _combining(kind: str, type: Attribute) -> Callable[[Any, Any], Any]:
    """What a reduction combines two scalars with; some reductions name no type."""
    is_short = kind in ("add", "mul", "and", "or", "xor")
    return combining(f"arith.{kind}{('f' if isinstance(type, AnyFloat) else 'i') if is_short else ''}", type)


def _reduction(op: vector.ReductionOp) -> Call:
    """From the first element to the last, after the start value if there is one."""
    combine = _combining(op.kind.data, op.dest.type)

    def add_up(source: list[Any], *start: Any) -> Any:
        return reduce(combine, [*start, *source])

    return add_up


def _multi_reduction(op: compute.MultiDimReductionOp) -> Call:
    sizes, reduced = vector_type(op.source).get_shape(), set(op.reduction_dims.get_values())
    combine = _combining(op.kind.data, element_type(op.dest.type))
    kept = [dimension for dimension in range(len(sizes)) if dimension not in reduced]
    targets = [flat([place[d] for d in kept], [sizes[d] for d in kept]) for place in all_coordinates(sizes)]

    def add_up(source: list[Any], start: Any) -> Any:
        totals = list(start) if kept else [start]
        for target, value in zip(targets, source, strict=True):
            totals[target] = combine(totals[target], value)
        return totals if kept else totals[0]

    return add_up


def _contract(op: compute.ContractionOp) -> Call:
    """A product for each point of all dimensions, added in their order; narrow numbers as those of the sum."""
    type = element_type(op.result.type)
    multiply, combine = _combining("mul", type), _combining(op.kind.data, type)
    # The verifier wants projections: each result is one dimension.
    dims = [[cast(AffineDimExpr, result).position for result in map.data.results] for map in op.indexing_maps]
    shapes = [shape_of(operand.type) for operand in (op.lhs, op.rhs, op.acc)]
    sizes = {d: size for names, sides in zip(dims, shapes, strict=True) for d, size in zip(names, sides, strict=True)}
    order = [*(d for d in sorted(sizes) if d not in dims[2]), *dims[2]]
    points = [dict(zip(order, place, strict=True)) for place in all_coordinates([sizes[d] for d in order])]
    terms = [
        [flat([point[name] for name in names], extents) for names, extents in zip(dims, shapes, strict=True)]
        for point in points
    ]
    is_vector = isinstance(op.result.type, VectorType)

    def contract(lhs: list[Any], rhs: list[Any], start: Any) -> Any:
        totals = list(start) if is_vector else [start]
        for left, right, target in terms:
            totals[target] = combine(totals[target], multiply(lhs[left], rhs[right]))
        return totals if is_vector else totals[0]

    return contract


def _outer_product(op: compute.OuterProductOp) -> Call:
    type = op.result.type.element_type
    multiply, combine = _combining("mul", type), _combining(op.kind.data, type)
    is_vector = isinstance(op.rhs.type, VectorType)

    def product_of(lhs: list[Any], rhs: Any, *start: list[Any]) -> list[Any]:
        # With a scalar it is a product of all elements.
        found = [multiply(a, b) for a in lhs for b in (rhs if is_vector else [rhs])]
        return [combine(*pair) for pair in zip(start[0], found, strict=True)] if start else found

    return product_of


def _listed(*elements: Any) -> list[Any]:
    return list(elements)


COMPUTE: dict[str, Callable[[Any], Function]] = {
    "vector.broadcast": _broadcast,
    "vector.splat": _broadcast,
    "vector.shape_cast": lambda op: lambda value: value,
    "vector.bitcast": bitcast,
    "vector.extract_strided_slice": lambda op: _taking(slice_order(op)),
    "vector.insert_strided_slice": _insert_slice,
    "vector.shuffle": _shuffle,
    "vector.transpose": lambda op: _taking(transpose_order(op)),
    "vector.from_elements": lambda op: _listed,
    "vector.to_elements": lambda op: (lambda value: tuple(value)) if len(op.results) > 1 else (lambda value: value[0]),
    "vector.interleave": lambda op: lambda a, b: [value for pair in zip(a, b, strict=True) for value in pair],
    "vector.deinterleave": lambda op: lambda value: (value[::2], value[1::2]),
    "vector.step": lambda op: lambda: list(range(prod(shape_of(op.results[0].type)))),
    "vector.constant_mask": _constant_mask,
    "vector.create_mask": _create_mask,
    "vector.reduction": _reduction,
    "vector.multi_reduction": _multi_reduction,
    "vector.contract": _contract,
    "vector.outerproduct": _outer_product,
}
"""By operation: what gives the function that computes its results."""
HANDLERS: dict[str, Handler] = {"vector.extract": _extract, "vector.insert": _insert}
