"""Folding and canonical forms of the vector operations that only move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerType,
    VectorType,
    i64,
)
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import vector
from tilewright.dialects.vector.shape import ShapeCastOp, TransposeOp
from tilewright.rewrite.canonicalization import PatternFunction
from tilewright.rewrite.folding.constants import (
    IN_PLACE,
    Folded,
    as_dense,
    as_scalar,
    constant_of,
    defining,
    elements_of,
    number_attr,
    splat_attr,
)


def _integers(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return tuple(array.get_values())


def _shape(type: Attribute) -> tuple[int, ...]:
    return tuple(type.get_shape()) if isinstance(type, VectorType) else ()


def _splat_value(attribute: Attribute | None) -> int | float | None:
    """The number that every element of a constant is."""
    scalar = as_scalar(attribute)
    if scalar is not None:
        return scalar.value.data
    elements = elements_of(attribute)
    return elements[0] if elements is not None and len(elements) == 1 else None


def _fold_broadcast(op: vector.BroadcastOp) -> Folded:
    if op.source.type == op.vector.type:
        return (op.source,)
    value = _splat_value(constant_of(op.source))
    return (splat_attr(value, op.vector.type),) if value is not None else None


def broadcast_of_broadcast(op: vector.BroadcastOp, rewriter: PatternRewriter) -> None:
    inner = defining(op.source, vector.BroadcastOp)
    if inner is not None:
        rewriter.replace(op, vector.BroadcastOp.create(operands=(inner.source,), result_types=(op.vector.type,)))


def _static_position(op: vector.ExtractOp | vector.InsertOp) -> tuple[int, ...] | None:
    position = _integers(op.static_position)
    return None if any(index == DYNAMIC_INDEX or index < 0 for index in position) else position


def _fold_extract(op: vector.ExtractOp) -> Folded:
    position = _static_position(op)
    if position is None:
        return None
    if not position and op.vector.type == op.result.type:
        return (op.vector,)
    constant = as_dense(constant_of(op.vector))
    if constant is not None:
        return (_element(constant, position, op.result.type),)
    inner = defining(op.vector, vector.ExtractOp)
    if inner is not None and (outer_position := _static_position(inner)) is not None:
        op.operands = (inner.vector,)
        op.properties["static_position"] = DenseArrayBase.from_list(i64, [*outer_position, *position])
        return IN_PLACE
    return _fold_extract_of_insert(op, position)


def _fold_extract_of_insert(op: vector.ExtractOp, position: tuple[int, ...]) -> Folded:
    """What was inserted there, or what was there before something else was inserted."""
    source = op.vector
    while (insert := defining(source, vector.InsertOp)) is not None:
        inserted = _static_position(insert)
        if inserted is None:
            break
        if inserted == position:
            return (insert.source,) if insert.source.type == op.result.type else None
        common = min(len(inserted), len(position))
        # one position lies within the other: only a part was inserted
        if inserted[:common] == position[:common]:
            break
        source = insert.dest
    if source is op.vector:
        return None
    op.operands = (source, *op.operands[1:])
    return IN_PLACE


def _element(constant: DenseIntOrFPElementsAttr, position: Sequence[int], type: Attribute) -> Attribute:
    elements = cast(list[Any], elements_of(constant))
    if len(elements) == 1:
        return number_attr(elements[0], type)
    # elements are in row-major order, so that a part of the outer dimensions is a run of them
    size, first = prod(_shape(type)), 0
    for index, length in zip(position, _shape(constant.type), strict=False):
        first = first * length + index
    chosen = elements[first * size : (first + 1) * size]
    if isinstance(type, VectorType):
        return DenseIntOrFPElementsAttr.from_list(cast(Any, type), chosen)
    return number_attr(chosen[0], type)


def extract_of_broadcast(op: vector.ExtractOp, rewriter: PatternRewriter) -> None:
    """A part of copies is the original, a part of it, or fewer copies."""
    broadcast = defining(op.vector, vector.BroadcastOp)
    position = _static_position(op)
    if broadcast is None or position is None:
        return
    source, wanted = broadcast.source, _shape(op.result.type)
    if source.type == op.result.type:
        rewriter.replace(op, (), (source,))
        return
    given = _shape(source.type)
    if len(wanted) > len(given) or (len(wanted) == len(given) and wanted != given):
        rewriter.replace(op, vector.BroadcastOp.create(operands=(source,), result_types=(op.result.type,)))
        return
    if len(wanted) < len(given):
        tail = position[len(position) - (len(given) - len(wanted)) :]
        # a dimension of size 1 was repeated: any index into it names its one element
        new = [0 if size == 1 else index for index, size in zip(tail, given, strict=False)]
        properties: dict[str, Attribute] = {"static_position": DenseArrayBase.from_list(i64, new)}
        if given[len(new) :] == wanted:
            rewriter.replace(
                op, vector.ExtractOp.create(operands=(source,), result_types=(op.result.type,), properties=properties)
            )


def _fold_shape_cast(op: ShapeCastOp) -> Folded:
    folded = _fold_cast(op)
    elements = elements_of(constant_of(op.source)) if folded is None else None
    if elements is None:
        return folded
    return (DenseIntOrFPElementsAttr.from_list(cast(Any, op.result.type), elements),)


def _fold_cast(op: ShapeCastOp | vector.BitcastOp) -> Folded:
    """A cast to the same type is none, and a cast of a cast is one."""
    if op.source.type == op.result.type:
        return (op.source,)
    inner = defining(op.source, type(op))
    if inner is None:
        return None
    if inner.source.type == op.result.type:
        return (inner.source,)
    op.operands = (inner.source,)
    return IN_PLACE


def _fold_transpose(op: TransposeOp) -> Folded:
    order = _integers(op.permutation)
    if order == tuple(range(len(order))):
        return (op.vector,)
    value = _splat_value(constant_of(op.vector))
    return (splat_attr(value, op.result.type),) if value is not None else None


def transpose_of_transpose(op: TransposeOp, rewriter: PatternRewriter) -> None:
    inner = defining(op.vector, TransposeOp)
    if inner is None:
        return
    first = _integers(inner.permutation)
    # dimension i of the result is dimension order[i] of the operand, in both
    order = [first[index] for index in _integers(op.permutation)]
    properties: dict[str, Attribute] = {"permutation": DenseArrayBase.from_list(i64, order)}
    rewriter.replace(
        op, TransposeOp.create(operands=(inner.vector,), result_types=(op.result.type,), properties=properties)
    )


FOLDERS: dict[str, Callable[[Any], Folded]] = {
    "vector.bitcast": _fold_cast,
    "vector.broadcast": _fold_broadcast,
    "vector.extract": _fold_extract,
    "vector.shape_cast": _fold_shape_cast,
    "vector.transpose": _fold_transpose,
}

PATTERNS: dict[str, Sequence[PatternFunction]] = {
    "vector.broadcast": (broadcast_of_broadcast,),
    "vector.extract": (extract_of_broadcast,),
    "vector.transpose": (transpose_of_transpose,),
}
