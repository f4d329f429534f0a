"""Folding of float arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from xdsl.ir import Attribute, Operation

from tilewright.dialects import arith
from tilewright.dialects.arith.meaning import FLOAT_MEANING, Floats
from tilewright.rewrite.folding import floats
from tilewright.rewrite.folding.arith_integers import operand_if_same
from tilewright.rewrite.folding.constants import (
    FloatType,
    Folded,
    Rule,
    as_float,
    bool_attr,
    constant_of,
    defining,
    element_type,
    float_value,
    fold_binary,
    fold_unary,
    folder_with,
)
from tilewright.rewrite.folding.floats import format_of


class PythonFloats(Floats[float]):
    """Numbers in double precision; what is folded is rounded to its type afterwards."""

    def combine(self, operator: str, a: float, b: float) -> float:
        return _OPERATORS[operator](a, b)

    def negate(self, a: float) -> float:
        return floats.negate(a)

    def extreme(self, operator: str, a: float, b: float, numbers: bool) -> float:
        return _EXTREMES[operator, numbers](a, b)

    def compare(self, operator: str, a: float, b: float, ordered: bool) -> bool:
        if a != a or b != b:
            return not ordered
        # Of numbers, all are ordered and none is not.
        return ordered if operator in ("ord", "uno") else _COMPARE[operator](a, b)

    def truth(self, answer: bool, like: float) -> bool:
        return answer


_OPERATORS = {"+": floats.add, "-": floats.subtract, "*": floats.multiply, "/": floats.divide, "%": floats.remainder}
_EXTREMES = {
    (">", False): floats.maximum,
    ("<", False): floats.minimum,
    (">", True): floats.maximum_number,
    ("<", True): floats.minimum_number,
}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": float.__eq__,
    "!=": float.__ne__,
    "<": float.__lt__,
    "<=": float.__le__,
    ">": float.__gt__,
    ">=": float.__ge__,
}
FLOATS = PythonFloats()


def _folders(rules: Mapping[str, Sequence[Rule]]) -> dict[str, Callable[[Any], Folded]]:
    """Folders of `lhs op rhs` on floats that try their rules, then compute."""
    return {name: folder_with(rules.get(name, ()), partial(_fold, meaning)) for name, meaning in FLOAT_MEANING.items()}


def _fold(meaning: Callable[[Floats[float], float, float], float], op: Operation) -> Folded:
    if format_of(cast(FloatType, element_type(op.results[0].type))) is None:
        return None
    return fold_binary(op, partial(meaning, FLOATS))


def _lhs_if_float(is_neutral: Callable[[float | None], bool]) -> Callable[[Operation, Attribute | None], Folded]:
    return lambda op, rhs: (op.operands[0],) if is_neutral(float_value(rhs)) else None


def is_nan(value: float | None) -> bool:
    return value is not None and value != value


def _fold_negf(op: arith.NegfOp) -> Folded:
    previous = defining(op.operand, arith.NegfOp)
    return (previous.operand,) if previous is not None else fold_unary(op, FLOATS.negate)


def _fold_cmpf(op: arith.CmpfOp) -> Folded:
    lhs, rhs = as_float(constant_of(op.lhs)), as_float(constant_of(op.rhs))
    a = lhs.value.data if lhs is not None else None
    b = rhs.value.data if rhs is not None else None
    # NaN decides alone: the other one may be anything
    if a is not None and a != a:
        b = a
    if b is not None and b != b:
        a = b
    if a is None or b is None:
        return None
    return (bool_attr(FLOATS.cmpf(op.predicate.value.data, a, b)),)


FOLDERS: dict[str, Callable[[Any], Folded]] = {
    "arith.cmpf": _fold_cmpf,
    **_folders(
        {
            "arith.addf": [_lhs_if_float(floats.is_negative_zero)],
            "arith.subf": [_lhs_if_float(floats.is_positive_zero)],
            "arith.mulf": [_lhs_if_float(lambda x: x == 1)],
            "arith.divf": [_lhs_if_float(lambda x: x == 1)],
            "arith.maximumf": [operand_if_same, _lhs_if_float(lambda x: x == -math.inf)],
            "arith.minimumf": [operand_if_same, _lhs_if_float(lambda x: x == math.inf)],
            "arith.maxnumf": [operand_if_same, _lhs_if_float(is_nan)],
            "arith.minnumf": [operand_if_same, _lhs_if_float(is_nan)],
        }
    ),
    "arith.negf": _fold_negf,
}
