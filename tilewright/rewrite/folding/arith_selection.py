"""Folding of comparison and selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, i1, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects import arith
from tilewright.rewrite.folding.arith_floats import FLOATS
from tilewright.rewrite.folding.constants import (
    IN_PLACE,
    Folded,
    as_float,
    bool_attr,
    constant_of,
    defining,
    fold_binary,
    fold_elements,
    int_width,
    is_one,
    is_poison,
    is_zero,
    width_of,
)
from tilewright.rewrite.folding.predicates import EQ, NE, SGE, SLE, SWAPPED, UGE, ULE, compare


def _is_bool(value: SSAValue) -> bool:
    return int_width(value.type) == 1


def _fold_cmpi(op: arith.CmpiOp) -> Folded:
    predicate = op.predicate.value.data
    if op.lhs is op.rhs:
        return (bool_attr(predicate in (EQ, SLE, SGE, ULE, UGE), op.result.type),)
    lhs, rhs = constant_of(op.lhs), constant_of(op.rhs)
    if _is_bool(op.lhs) and ((predicate == EQ and is_one(rhs)) or (predicate == NE and is_zero(rhs))):
        return (op.lhs,)
    if is_zero(rhs) and predicate == NE:
        extension = op.lhs.owner
        if isinstance(extension, arith.ExtSIOp | arith.ExtUIOp) and _is_bool(extension.input):
            return (extension.input,)
    if lhs is not None and rhs is None:
        op.properties["predicate"] = IntegerAttr(SWAPPED[predicate], i64)
        op.operands = (op.rhs, op.lhs)
        return IN_PLACE
    width = width_of(op.lhs.type)
    if lhs is None or width is None:
        return None
    return fold_binary(op, lambda a, b: int(compare(predicate, a, b, width)))


def _fold_cmpf(op: arith.CmpfOp) -> Folded:
    lhs, rhs = as_float(constant_of(op.lhs)), as_float(constant_of(op.rhs))
    a = lhs.value.data if lhs is not None else None
    b = rhs.value.data if rhs is not None else None
    if a is not None and a != a:
        b = a
    if b is not None and b != b:
        a = b
    if a is None or b is None:
        return None
    return (bool_attr(FLOATS.cmpf(op.predicate.value.data, a, b)),)


def _fold_select(op: arith.SelectOp) -> Folded:
    condition = constant_of(op.cond)
    if op.lhs is op.rhs:
        return (op.lhs,)
    if is_one(condition):
        return (op.lhs,)
    if is_zero(condition):
        return (op.rhs,)
    then, otherwise = constant_of(op.lhs), constant_of(op.rhs)
    if is_poison(then):
        return (op.rhs,)
    if is_poison(otherwise):
        return (op.lhs,)
    if op.result.type == i1 and is_one(then) and is_zero(otherwise):
        return (op.cond,)
    compared = defining(op.cond, arith.CmpiOp)
    if compared is not None and {compared.lhs, compared.rhs} == {op.lhs, op.rhs}:
        predicate = compared.predicate.value.data
        if predicate in (EQ, NE):
            return (op.lhs if predicate == NE else op.rhs,)
    return _select_elements(op.result.type, condition, then, otherwise)


def _select_elements(type: Attribute, *attributes: Attribute | None) -> Folded:
    if not all(isinstance(a, DenseIntOrFPElementsAttr) for a in attributes):
        return None
    folded = fold_elements(attributes, type, lambda numbers: numbers[1] if numbers[0] else numbers[2])
    return None if folded is None else (folded,)


FOLDERS: dict[str, Callable[[Any], Folded]] = {
    "arith.cmpi": _fold_cmpi,
    "arith.cmpf": _fold_cmpf,
    "arith.select": _fold_select,
}
