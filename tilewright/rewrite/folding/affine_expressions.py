"""Affine expressions: substitution, bounds, and the flat form from which MLIR rebuilds them.

`simplify` rebuilds a pure affine expression as a sum of multiples of dimensions, of symbols and of the divisions that
remain; how expressions are put together is in `ir.affine_text`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import TypeAlias, TypeVar

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from tilewright.ir.affine_text import ADD, BUILD, CEILDIV, FLOORDIV, MOD, MUL, add, constant_of, floor_divide, multiply

Bounds: TypeAlias = "Sequence[int | None]"
NumberT = TypeVar("NumberT")


def number(value: int) -> AffineExpr:
    return AffineConstantExpr(value)


def parts(expr: AffineExpr, kind: AffineBinaryOpKind) -> tuple[AffineExpr, AffineExpr] | None:
    """Both sides of a binary expression of that kind."""
    return (expr.lhs, expr.rhs) if isinstance(expr, AffineBinaryOpExpr) and expr.kind is kind else None


def substitute(expr: AffineExpr, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr]) -> AffineExpr:
    """Put expressions in the place of dimensions and symbols; those beyond the lists stay."""
    match expr:
        case AffineDimExpr():
            return dims[expr.position] if expr.position < len(dims) else expr
        case AffineSymExpr():
            return symbols[expr.position] if expr.position < len(symbols) else expr
        case AffineBinaryOpExpr():
            return BUILD[expr.kind](substitute(expr.lhs, dims, symbols), substitute(expr.rhs, dims, symbols))
        case _:
            return expr


def evaluate(
    expr: AffineExpr,
    operands: Sequence[NumberT],
    dims: int,
    constant: Callable[[int], NumberT],
    combine: Callable[[AffineBinaryOpExpr, NumberT, NumberT], NumberT | None],
) -> NumberT | None:
    """What `expr` is in a number system: `combine` says what an operator makes of two numbers, None if that is none."""
    match expr:
        case AffineConstantExpr():
            return constant(expr.value)
        case AffineDimExpr():
            return operands[expr.position]
        case AffineSymExpr():
            return operands[dims + expr.position]
        case _:
            assert isinstance(expr, AffineBinaryOpExpr)
            lhs, rhs = (evaluate(part, operands, dims, constant, combine) for part in (expr.lhs, expr.rhs))
            return None if lhs is None or rhs is None else combine(expr, lhs, rhs)


def shift(expr: AffineExpr, dims: int, symbols: int) -> AffineExpr:
    """Renumber dimensions and symbols to start this much higher."""
    match expr:
        case AffineDimExpr():
            return AffineDimExpr(expr.position + dims)
        case AffineSymExpr():
            return AffineSymExpr(expr.position + symbols)
        case AffineBinaryOpExpr():
            return BUILD[expr.kind](shift(expr.lhs, dims, symbols), shift(expr.rhs, dims, symbols))
        case _:
            return expr


class Sum:
    """A sum of multiples of dimensions, symbols and indivisible divisions, and a constant."""

    def __init__(self, terms: dict[AffineExpr, int] | None = None, constant: int = 0):
        self.terms = terms if terms is not None else {}
        self.constant = constant

    def plus(self, other: Sum) -> Sum:
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + factor
        return Sum(terms, self.constant + other.constant)

    def times(self, factor: int) -> Sum:
        return Sum({term: count * factor for term, count in self.terms.items()}, self.constant * factor)

    def over(self, divisor: int) -> Sum:
        """Divide by a number that divides every part."""
        return Sum({term: count // divisor for term, count in self.terms.items()}, self.constant // divisor)

    @property
    def locals(self) -> list[AffineExpr]:
        return [t for t, factor in self.terms.items() if isinstance(t, AffineBinaryOpExpr) and factor]


class Flattener:
    """Takes pure affine expressions apart into sums. Divisions that stay are numbered in the order they appear."""

    def __init__(self) -> None:
        self.locals: list[AffineExpr] = []

    def flatten(self, expr: AffineExpr) -> Sum | None:
        """None where a division by zero or a negative number is undefined."""
        match expr:
            case AffineConstantExpr():
                return Sum(constant=expr.value)
            case AffineBinaryOpExpr():
                lhs, rhs = self.flatten(expr.lhs), self.flatten(expr.rhs)
                return self._combine(expr, lhs, rhs) if lhs is not None and rhs is not None else None
            case _:
                return Sum({expr: 1})

    def _combine(self, expr: AffineBinaryOpExpr, lhs: Sum, rhs: Sum) -> Sum | None:
        if expr.kind is ADD:
            return lhs.plus(rhs)
        constant = constant_of(expr.rhs)
        if constant is None:
            return None
        if expr.kind is MUL:
            return lhs.times(constant)
        # MLIR leaves divisions by what is not positive undefined, and does not touch them
        if constant <= 0:
            return None
        common = gcd(constant, lhs.constant, *lhs.terms.values())
        if expr.kind is MOD:
            if common == constant:
                return Sum()
            # `a mod b` is `a - b * (a floordiv b)`: MLIR's flat form knows divisions only
            quotient = self._local(floor_divide(self.build(lhs.over(common)), number(constant // common)))
            return lhs.plus(quotient.times(-constant))
        reduced, divisor = lhs.over(common), constant // common
        if divisor == 1:
            return reduced
        return self._local(BUILD[expr.kind](self.build(reduced), number(divisor)))

    def _local(self, expr: AffineExpr) -> Sum:
        # equal divisions are one: they add up as dimensions do
        if expr not in self.locals:
            self.locals.append(expr)
        return Sum({expr: 1})

    def build(self, total: Sum) -> AffineExpr:
        """A sum as an expression: dimensions, symbols, divisions in order, then the constant."""
        result = number(0)
        for term in sorted(total.terms, key=self._rank):
            if total.terms[term]:
                result = add(result, multiply(term, number(total.terms[term])))
        return add(result, number(total.constant)) if total.constant else result

    def _rank(self, term: AffineExpr) -> tuple[int, int]:
        if isinstance(term, AffineDimExpr):
            return 0, term.position
        return (1, term.position) if isinstance(term, AffineSymExpr) else (2, self.locals.index(term))


def simplify(expr: AffineExpr) -> AffineExpr:
    """Rebuild a pure affine expression from its flat form; any other stays as it is."""
    if not expr.is_pure_affine():
        return expr
    flattener = Flattener()
    total = flattener.flatten(expr)
    return expr if total is None else flattener.build(total)


def bound(expr: AffineExpr, lower: Bounds, upper: Bounds, dims: int, *, is_upper: bool) -> int | None:
    """A constant that `expr` never exceeds (or, if not `is_upper`, never falls below), given those of its inputs."""
    constant = constant_of(expr)
    if constant is not None:
        return constant
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind in (FLOORDIV, CEILDIV, MOD):
        divisor = constant_of(expr.rhs)
        if divisor is None or divisor < 1:
            return None
        if expr.kind is MOD:
            return _bound_of_mod(expr.lhs, divisor, lower, upper, dims, is_upper)
        inner = bound(expr.lhs, lower, upper, dims, is_upper=is_upper)
        if inner is None:
            return None
        return inner // divisor if expr.kind is FLOORDIV else -(-inner // divisor)
    total = Flattener().flatten(expr) if expr.is_pure_affine() else None
    if total is None or total.locals:
        return None
    result = total.constant
    for term, factor in total.terms.items():
        position = term.position if isinstance(term, AffineDimExpr) else dims + getattr(term, "position", 0)
        # a negative factor turns the range of its term around
        limit = (upper if (factor > 0) == is_upper else lower)[position]
        if factor and limit is None:
            return None
        result += factor * (limit or 0)
    return result


def _bound_of_mod(
    expr: AffineExpr, divisor: int, lower: Bounds, upper: Bounds, dims: int, is_upper: bool
) -> int | None:
    # a range that crosses no multiple of the divisor keeps its ends
    low = bound(expr, lower, upper, dims, is_upper=False)
    high = bound(expr, lower, upper, dims, is_upper=True)
    if low is not None and high is not None and low // divisor == high // divisor:
        return high % divisor if is_upper else low % divisor
    return divisor - 1 if is_upper else 0
