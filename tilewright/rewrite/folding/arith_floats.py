"""Folding of float arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation

from tilewright.rewrite.folding import floats
from tilewright.rewrite.folding.arith_integers import operand_if_same
from tilewright.rewrite.folding.constants import (
    FloatType,
    Folded,
    Rule,
    defining,
    element_type,
    float_value,
    fold_binary,
    fold_unary,
    folder_with,
)
from tilewright.rewrite.folding.floats import format_of


def float_folder(compute: Callable[[float, float], float], *rules: Rule) -> Callable[[Operation], Folded]:
    """A folder of `lhs op rhs` on floats that tries `rules`, then computes."""

    def fold(op: Operation) -> Folded:
        if format_of(cast(FloatType, element_type(op.results[0].type))) is None:
            return None
        return fold_binary(op, compute)

    return folder_with(rules, fold)


def _lhs_if_float(is_neutral: Callable[[float | None], bool]) -> Callable[[Operation, Attribute | None], Folded]:
    return lambda op, rhs: (op.operands[0],) if is_neutral(float_value(rhs)) else None


def is_nan(value: float | None) -> bool:
    return value is not None and value != value


def _fold_negf(op: arith.NegfOp) -> Folded:
    previous = defining(op.operand, arith.NegfOp)
    return (previous.operand,) if previous is not None else fold_unary(op, floats.negate)


FOLDERS: dict[str, Callable[[Any], Folded]] = {
    "arith.addf": float_folder(floats.add, _lhs_if_float(floats.is_negative_zero)),
    "arith.subf": float_folder(floats.subtract, _lhs_if_float(floats.is_positive_zero)),
    "arith.mulf": float_folder(floats.multiply, _lhs_if_float(lambda x: x == 1)),
    "arith.divf": float_folder(floats.divide, _lhs_if_float(lambda x: x == 1)),
    "arith.remf": float_folder(floats.remainder),
    "arith.maximumf": float_folder(floats.maximum, operand_if_same, _lhs_if_float(lambda x: x == -math.inf)),
    "arith.minimumf": float_folder(floats.minimum, operand_if_same, _lhs_if_float(lambda x: x == math.inf)),
    "arith.maxnumf": float_folder(floats.maximum_number, operand_if_same, _lhs_if_float(is_nan)),
    "arith.minnumf": float_folder(floats.minimum_number, operand_if_same, _lhs_if_float(is_nan)),
    "arith.negf": _fold_negf,
}
