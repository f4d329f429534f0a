"""Computes affine expressions with operations of the arith dialect, step by step as MLIR does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects.arith import IntegerOverflowAttr, IntegerOverflowFlag
from tilewright.ir.diagnostics import fail
from tilewright.rewrite.folding.building import NO_OVERFLOW_FLAGS, cmpi, insert_value, integer_op, select
from tilewright.rewrite.folding.constants import make_constant, number_attr

INDEX = IndexType()
EQUAL, LESS, LESS_OR_EQUAL, GREATER_OR_EQUAL = 0, 2, 3, 5
"""Predicates of `arith.cmpi`."""
OVERFLOW_FLAGS = {
    "addi": NO_OVERFLOW_FLAGS,
    "subi": NO_OVERFLOW_FLAGS,
    "muli": IntegerOverflowAttr([IntegerOverflowFlag.NSW]),
}
"""A product of an index expression never overflows, MLIR says."""


class Expansion:
    """Inserts where a rewriter stands what computes expressions of these dimensions and symbols."""

    def __init__(self, rewriter: PatternRewriter, at: Operation, dims: Sequence[SSAValue], symbols: Sequence[SSAValue]):
        self._rewriter, self._at = rewriter, at
        self._dims, self._symbols = dims, symbols

    def value(self, expr: AffineExpr) -> SSAValue:
        match expr:
            case AffineDimExpr():
                return self._dims[expr.position]
            case AffineSymExpr():
                return self._symbols[expr.position]
            case AffineConstantExpr():
                return self.constant(expr.value)
            case AffineBinaryOpExpr():
                return _EXPANSIONS[expr.kind](self, expr)
            case _:
                raise TypeError(f"{expr} is not an affine expression")

    def constant(self, value: int) -> SSAValue:
        return insert_value(self._rewriter, make_constant(number_attr(value, INDEX)))

    def compute(self, name: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return insert_value(self._rewriter, integer_op(f"arith.{name}", lhs, rhs, OVERFLOW_FLAGS.get(name)))

    def compare(self, predicate: int, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return insert_value(self._rewriter, cmpi(predicate, lhs, rhs, i1))

    def select(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return insert_value(self._rewriter, select(condition, then, otherwise))

    def add(self, expr: AffineBinaryOpExpr) -> SSAValue:
        return self.compute("addi", self.value(expr.lhs), self.value(expr.rhs))

    def multiply(self, expr: AffineBinaryOpExpr) -> SSAValue:
        return self.compute("muli", self.value(expr.lhs), self.value(expr.rhs))

    def modulo(self, expr: AffineBinaryOpExpr) -> SSAValue:
        """Never negative, unlike the remainder that processors compute."""
        lhs, rhs = self._dividend_and_divisor(expr, "modulo")
        remainder = self.compute("remsi", lhs, rhs)
        is_negative = self.compare(LESS, remainder, self.constant(0))
        return self.select(is_negative, self.compute("addi", remainder, rhs), remainder)

    def floor_divide(self, expr: AffineBinaryOpExpr) -> SSAValue:
        """`-1 - (-1 - a) / b` for a negative `a`: processors round towards zero."""
        lhs, rhs = self._dividend_and_divisor(expr, "division")
        zero, minus_one = self.constant(0), self.constant(-1)
        is_negative = self.compare(LESS, lhs, zero)
        mirrored = self.compute("subi", minus_one, lhs)
        quotient = self.compute("divsi", self.select(is_negative, mirrored, lhs), rhs)
        return self.select(is_negative, self.compute("subi", minus_one, quotient), quotient)

    def ceil_divide(self, expr: AffineBinaryOpExpr) -> SSAValue:
        """`(a - 1) / b + 1` for a positive `a`, `-(-a / b)` for others."""
        lhs, rhs = self._dividend_and_divisor(expr, "division")
        zero, one = self.constant(0), self.constant(1)
        is_negative = self.compare(LESS_OR_EQUAL, lhs, zero)
        negated, decremented = self.compute("subi", zero, lhs), self.compute("subi", lhs, one)
        quotient = self.compute("divsi", self.select(is_negative, negated, decremented), rhs)
        back, up = self.compute("subi", zero, quotient), self.compute("addi", quotient, one)
        return self.select(is_negative, back, up)

    def _dividend_and_divisor(self, expr: AffineBinaryOpExpr, what: str) -> tuple[SSAValue, SSAValue]:
        if isinstance(expr.rhs, AffineConstantExpr) and expr.rhs.value <= 0:
            fail(self._at, f"{what} by non-positive value is not supported")
        return self.value(expr.lhs), self.value(expr.rhs)


_EXPANSIONS: Mapping[AffineBinaryOpKind, Callable[[Expansion, AffineBinaryOpExpr], SSAValue]] = {
    AffineBinaryOpKind.Add: Expansion.add,
    AffineBinaryOpKind.Mul: Expansion.multiply,
    AffineBinaryOpKind.Mod: Expansion.modulo,
    AffineBinaryOpKind.FloorDiv: Expansion.floor_divide,
    AffineBinaryOpKind.CeilDiv: Expansion.ceil_divide,
}


def expand_map(
    rewriter: PatternRewriter, at: Operation, map: AffineMap, operands: Sequence[SSAValue]
) -> list[SSAValue]:
    """The results of a map."""
    expansion = Expansion(rewriter, at, operands[: map.num_dims], operands[map.num_dims :])
    return [expansion.value(expr) for expr in map.results]


def expand_choice(
    rewriter: PatternRewriter, at: Operation, map: AffineMap, operands: Sequence[SSAValue], name: str
) -> SSAValue:
    """The greatest (`maxsi`) or the least (`minsi`) result of a map."""
    chosen, *others = expand_map(rewriter, at, map, operands)
    for other in others:
        chosen = insert_value(rewriter, integer_op(f"arith.{name}", chosen, other, None))
    return chosen
