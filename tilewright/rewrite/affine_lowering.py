"""Computes affine expressions with operations of the arith dialect, step by step as MLIR does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.arith import IntegerOverflowFlag
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

from tilewright.dialects import arith
from tilewright.ir.diagnostics import fail
from tilewright.rewrite.emitter import Emitter

NO_SIGNED_WRAP = arith.IntegerOverflowAttr([IntegerOverflowFlag.NSW])
"""A product of an index expression never overflows, MLIR says."""


class Expansion:
    """Inserts where a rewriter stands what computes expressions of these dimensions and symbols."""

    def __init__(self, rewriter: PatternRewriter, at: Operation, dims: Sequence[SSAValue], symbols: Sequence[SSAValue]):
        self.emitter, self._at = Emitter(rewriter), at
        self._dims, self._symbols = dims, symbols

    def value(self, expr: AffineExpr) -> SSAValue:
        match expr:
            case AffineDimExpr():
                return self._dims[expr.position]
            case AffineSymExpr():
                return self._symbols[expr.position]
            case AffineConstantExpr():
                return self.emitter.index(expr.value)
            case AffineBinaryOpExpr():
                return _EXPANSIONS[expr.kind](self, expr)
            case _:
                raise TypeError(f"{expr} is not an affine expression")

    def add(self, expr: AffineBinaryOpExpr) -> SSAValue:
        return self.emitter.add(self.value(expr.lhs), self.value(expr.rhs))

    def multiply(self, expr: AffineBinaryOpExpr) -> SSAValue:
        return self.emitter.value(arith.MuliOp(self.value(expr.lhs), self.value(expr.rhs), overflow=NO_SIGNED_WRAP))

    def modulo(self, expr: AffineBinaryOpExpr) -> SSAValue:
        """Never negative, unlike the remainder that processors compute."""
        lhs, rhs = self._dividend_and_divisor(expr, "modulo")
        emitter = self.emitter
        remainder = emitter.value(arith.RemSIOp(lhs, rhs))
        is_negative = emitter.compare("slt", remainder, emitter.index(0))
        return emitter.value(arith.SelectOp(is_negative, emitter.add(remainder, rhs), remainder))

    def floor_divide(self, expr: AffineBinaryOpExpr) -> SSAValue:
        """`-1 - (-1 - a) / b` for a negative `a`: processors round towards zero."""
        lhs, rhs = self._dividend_and_divisor(expr, "division")
        value = self.emitter.value
        zero, minus_one = self.emitter.index(0), self.emitter.index(-1)
        is_negative = self.emitter.compare("slt", lhs, zero)
        mirrored = value(arith.SubiOp(minus_one, lhs))
        quotient = value(arith.DivSIOp(value(arith.SelectOp(is_negative, mirrored, lhs)), rhs))
        return value(arith.SelectOp(is_negative, value(arith.SubiOp(minus_one, quotient)), quotient))

    def ceil_divide(self, expr: AffineBinaryOpExpr) -> SSAValue:
        """`(a - 1) / b + 1` for a positive `a`, `-(-a / b)` for others."""
        lhs, rhs = self._dividend_and_divisor(expr, "division")
        value = self.emitter.value
        zero, one = self.emitter.index(0), self.emitter.index(1)
        is_negative = self.emitter.compare("sle", lhs, zero)
        negated, decremented = value(arith.SubiOp(zero, lhs)), value(arith.SubiOp(lhs, one))
        quotient = value(arith.DivSIOp(value(arith.SelectOp(is_negative, negated, decremented)), rhs))
        back, up = value(arith.SubiOp(zero, quotient)), self.emitter.add(quotient, one)
        return value(arith.SelectOp(is_negative, back, up))

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
    rewriter: PatternRewriter,
    at: Operation,
    map: AffineMap,
    operands: Sequence[SSAValue],
    choice: type[arith.MaxSIOp | arith.MinSIOp],
) -> SSAValue:
    """The greatest or the least result of a map."""
    chosen, *others = expand_map(rewriter, at, map, operands)
    for other in others:
        chosen = rewriter.insert(choice(chosen, other)).results[0]
    return chosen
