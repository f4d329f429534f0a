"""Affine expressions in MLIR's normal forms.

Expressions are xDSL's; what is here builds them so that equal expressions look equal: constants and symbols on the
right, successive constants merged, multiples cancelled. `simplify` goes further and rebuilds a pure affine expression
as a sum of multiples of dimensions, of symbols and of the divisions that remain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import TypeAlias

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

ADD, MUL, MOD = AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul, AffineBinaryOpKind.Mod
FLOORDIV, CEILDIV = AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv

Number: TypeAlias = AffineConstantExpr
Bounds: TypeAlias = "Sequence[int | None]"


def number(value: int) -> AffineExpr:
    return AffineConstantExpr(value)


def value_of(expr: AffineExpr) -> int | None:
    return expr.value if isinstance(expr, AffineConstantExpr) else None


def parts(expr: AffineExpr, kind: AffineBinaryOpKind) -> tuple[AffineExpr, AffineExpr] | None:
    """Both sides of a binary expression of that kind."""
    return (expr.lhs, expr.rhs) if isinstance(expr, AffineBinaryOpExpr) and expr.kind is kind else None


def is_symbolic(expr: AffineExpr) -> bool:
    """Whether no dimension occurs in `expr`."""
    return not any(isinstance(part, AffineDimExpr) for part in expr.dfs())


def make(kind: AffineBinaryOpKind, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    return _MAKERS[kind](lhs, rhs)


def add(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    a, b = value_of(lhs), value_of(rhs)
    if a is not None and b is not None:
        return number(a + b)
    if a is not None or (is_symbolic(lhs) and not is_symbolic(rhs)):
        return add(rhs, lhs)
    if b == 0:
        return lhs
    left = parts(lhs, ADD)
    if left is not None and b is not None and (c := value_of(left[1])) is not None:
        return add(left[0], number(c + b))
    first, second = _factor(lhs), _factor(rhs)
    if first[0] == second[0]:
        return mul(first[0], number(first[1] + second[1]))
    if left is not None and value_of(left[1]) is not None:
        return add(add(left[0], rhs), left[1])
    remainder = _as_remainder(lhs, rhs)
    return remainder if remainder is not None else AffineBinaryOpExpr(ADD, lhs, rhs)


def _factor(expr: AffineExpr) -> tuple[AffineExpr, int]:
    """`expr` as a multiple of another expression."""
    product = parts(expr, MUL)
    factor = value_of(product[1]) if product is not None else None
    return (product[0], factor) if product is not None and factor is not None else (expr, 1)


def _as_remainder(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr | None:
    """`e - (e floordiv q) * q` is `e mod q`."""
    product = parts(rhs, MUL)
    if product is None:
        return None
    inner, factor = product
    scaled = parts(inner, MUL)
    if value_of(factor) == -1 and scaled is not None:
        quotient = parts(scaled[0], FLOORDIV)
        if quotient is None:
            return None
        if quotient[1] == scaled[1] and quotient[0] == lhs:
            return mod(lhs, scaled[1])
    quotient = parts(inner, FLOORDIV)
    if quotient is None or quotient[0] != lhs:
        return None
    divisor = value_of(quotient[1])
    if divisor is not None and divisor > 0 and value_of(factor) == -divisor:
        return mod(lhs, quotient[1])
    return None


def mul(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    a, b = value_of(lhs), value_of(rhs)
    if a is not None and b is not None:
        return number(a * b)
    if not is_symbolic(lhs) and not is_symbolic(rhs):
        return AffineBinaryOpExpr(MUL, lhs, rhs)
    if not is_symbolic(rhs) or a is not None:
        return mul(rhs, lhs)
    if b == 1:
        return lhs
    if b == 0:
        return rhs
    left = parts(lhs, MUL)
    if left is not None and (c := value_of(left[1])) is not None:
        return mul(left[0], number(c * b)) if b is not None else mul(mul(left[0], rhs), left[1])
    return AffineBinaryOpExpr(MUL, lhs, rhs)


def floordiv(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    a, b = value_of(lhs), value_of(rhs)
    if b is None or b == 0:
        return AffineBinaryOpExpr(FLOORDIV, lhs, rhs)
    if a is not None:
        return number(a // b)
    if b == 1:
        return lhs
    product = parts(lhs, MUL)
    if product is not None and (c := value_of(product[1])) is not None and c % b == 0:
        return mul(product[0], number(c // b))
    total = parts(lhs, ADD)
    if total is not None and any(largest_divisor(term) % b == 0 for term in total):
        return add(floordiv(total[0], rhs), floordiv(total[1], rhs))
    return AffineBinaryOpExpr(FLOORDIV, lhs, rhs)


def ceildiv(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    a, b = value_of(lhs), value_of(rhs)
    if b is None or b == 0:
        return AffineBinaryOpExpr(CEILDIV, lhs, rhs)
    if a is not None:
        return number(-(-a // b))
    if b == 1:
        return lhs
    product = parts(lhs, MUL)
    if product is not None and (c := value_of(product[1])) is not None and c % b == 0:
        return mul(product[0], number(c // b))
    return AffineBinaryOpExpr(CEILDIV, lhs, rhs)


def mod(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    a, b = value_of(lhs), value_of(rhs)
    if b is None or b < 1:
        return AffineBinaryOpExpr(MOD, lhs, rhs)
    if a is not None:
        return number(a % b)
    if largest_divisor(lhs) % b == 0:
        return number(0)
    total = parts(lhs, ADD)
    if total is not None:
        if largest_divisor(total[0]) % b == 0:
            return mod(total[1], rhs)
        if largest_divisor(total[1]) % b == 0:
            return mod(total[0], rhs)
    inner = parts(lhs, MOD)
    if inner is not None and (c := value_of(inner[1])) is not None and c >= 1 and c % b == 0:
        return mod(inner[0], rhs)
    return AffineBinaryOpExpr(MOD, lhs, rhs)


_MAKERS: dict[AffineBinaryOpKind, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    ADD: add,
    MUL: mul,
    MOD: mod,
    FLOORDIV: floordiv,
    CEILDIV: ceildiv,
}


def largest_divisor(expr: AffineExpr) -> int:
    """The largest number by which `expr` is known to be divisible."""
    match expr:
        case AffineConstantExpr():
            return abs(expr.value)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
            return largest_divisor(expr.lhs) * largest_divisor(expr.rhs)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.FloorDiv | AffineBinaryOpKind.CeilDiv):
            divisor = value_of(expr.rhs)
            known = largest_divisor(expr.lhs)
            return known // divisor if divisor and known % divisor == 0 else 1
        case AffineBinaryOpExpr():
            return gcd(largest_divisor(expr.lhs), largest_divisor(expr.rhs))
        case _:
            return 1


def substitute(expr: AffineExpr, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr]) -> AffineExpr:
    """Put expressions in the place of dimensions and symbols; those beyond the lists stay."""
    match expr:
        case AffineDimExpr():
            return dims[expr.position] if expr.position < len(dims) else expr
        case AffineSymExpr():
            return symbols[expr.position] if expr.position < len(symbols) else expr
        case AffineBinaryOpExpr():
            return make(expr.kind, substitute(expr.lhs, dims, symbols), substitute(expr.rhs, dims, symbols))
        case _:
            return expr


def shift(expr: AffineExpr, dims: int, symbols: int) -> AffineExpr:
    """Renumber dimensions and symbols to start this much higher."""
    match expr:
        case AffineDimExpr():
            return AffineDimExpr(expr.position + dims)
        case AffineSymExpr():
            return AffineSymExpr(expr.position + symbols)
        case AffineBinaryOpExpr():
            return make(expr.kind, shift(expr.lhs, dims, symbols), shift(expr.rhs, dims, symbols))
        case _:
            return expr


Term: TypeAlias = "AffineDimExpr | AffineSymExpr | AffineBinaryOpExpr"


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

    def common_divisor(self, value: int) -> int:
        return gcd(value, self.constant, *self.terms.values())

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
        constant = value_of(expr.rhs)
        if constant is None:
            return None
        if expr.kind is MUL:
            return lhs.times(constant)
        if constant <= 0:
            return None
        common = lhs.common_divisor(constant)
        if expr.kind is MOD:
            if common == constant:
                return Sum()
            quotient = self._local(floordiv(self.build(lhs.over(common)), number(constant // common)))
            return lhs.plus(quotient.times(-constant))
        reduced, divisor = lhs.over(common), constant // common
        if divisor == 1:
            return reduced
        return self._local(make(expr.kind, self.build(reduced), number(divisor)))

    def _local(self, expr: AffineExpr) -> Sum:
        if expr not in self.locals:
            self.locals.append(expr)
        return Sum({expr: 1})

    def build(self, total: Sum) -> AffineExpr:
        """A sum as an expression: dimensions, symbols, divisions in order, then the constant."""
        result = number(0)
        for term in sorted(total.terms, key=self._rank):
            if total.terms[term]:
                result = add(result, mul(term, number(total.terms[term])))
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
    constant = value_of(expr)
    if constant is not None:
        return constant
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind in (FLOORDIV, CEILDIV, MOD):
        divisor = value_of(expr.rhs)
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
        limit = (upper if (factor > 0) == is_upper else lower)[position]
        if factor and limit is None:
            return None
        result += factor * (limit or 0)
    return result


def _bound_of_mod(
    expr: AffineExpr, divisor: int, lower: Bounds, upper: Bounds, dims: int, is_upper: bool
) -> int | None:
    low = bound(expr, lower, upper, dims, is_upper=False)
    high = bound(expr, lower, upper, dims, is_upper=True)
    if low is not None and high is not None and low // divisor == high // divisor:
        return high % divisor if is_upper else low % divisor
    return divisor - 1 if is_upper else 0
