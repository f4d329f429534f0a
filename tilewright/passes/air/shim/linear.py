"""Offsets as sums of multiples of values: what a loop adds to an offset in each iteration can be read off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineMap, AffineSymExpr

from tilewright.dialects import affine, arith
from tilewright.dialects.air.execution import ExecuteOp
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.affine_expressions import evaluate
from tilewright.rewrite.folding.constants import INDEX, scalar_int
from tilewright.rewrite.folding.regions import terminator

_NONE: Mapping[SSAValue, int] = {}


@dataclass(frozen=True)
class Linear:
    """`constant` plus each value times its factor; `value` is the value that this was read from, where there is one."""

    constant: int
    factors: Mapping[SSAValue, int] = field(default_factory=lambda: _NONE)
    value: SSAValue | None = field(default=None, compare=False)

    @property
    def is_constant(self) -> bool:
        return not self.factors

    def __add__(self, other: Linear) -> Linear:
        factors = dict(self.factors)
        for value, factor in other.factors.items():
            factors[value] = factors.get(value, 0) + factor
        return Linear(self.constant + other.constant, {value: factor for value, factor in factors.items() if factor})

    def __mul__(self, factor: int) -> Linear:
        scaled = {value: known * factor for value, known in self.factors.items()} if factor else {}
        return Linear(self.constant * factor, scaled)

    def without(self, value: SSAValue, replacement: int) -> Linear:
        """The same with a number in place of a value."""
        if value not in self.factors:
            return self
        rest = {other: factor for other, factor in self.factors.items() if other is not value}
        return Linear(self.constant + self.factors[value] * replacement, rest)


ZERO = Linear(0)
_Reader: TypeAlias = "Callable[[Operation], Linear | None]"


def linear_of(value: SSAValue | int) -> Linear:
    """What a value is a sum of; a value that cannot be taken apart is once itself."""
    if isinstance(value, int):
        return Linear(value)
    number = scalar_int(value)
    if number is not None:
        return Linear(number, value=value)
    found = _read(value)
    return Linear(0, {value: 1}, value) if found is None else Linear(found.constant, found.factors, value)


def _read(value: SSAValue) -> Linear | None:
    owner = value.owner
    if not isinstance(owner, Operation):
        return None
    if isinstance(owner, ExecuteOp) and value is not owner.async_token:
        # the first result is the token
        return linear_of(terminator(owner.body).operands[owner.results.index(value) - 1])
    reader = _READERS.get(owner.name)
    return None if reader is None else reader(owner)


def _multiplied(lhs: Linear, rhs: Linear) -> Linear | None:
    if rhs.is_constant:
        return lhs * rhs.constant
    return rhs * lhs.constant if lhs.is_constant else None


def _apply(op: Operation) -> Linear | None:
    map = cast(affine.ApplyOp, op).map.data
    return evaluate(map.results[0], [linear_of(value) for value in op.operands], map.num_dims, Linear, _combined)


def _combined(expression: AffineBinaryOpExpr, lhs: Linear, rhs: Linear) -> Linear | None:
    if expression.kind is AffineBinaryOpKind.Add:
        return lhs + rhs
    # quotients and rests are no sums of multiples
    return _multiplied(lhs, rhs) if expression.kind is AffineBinaryOpKind.Mul else None


_READERS: dict[str, _Reader] = {
    arith.AddiOp.name: lambda op: linear_of(op.operands[0]) + linear_of(op.operands[1]),
    arith.SubiOp.name: lambda op: linear_of(op.operands[0]) + linear_of(op.operands[1]) * -1,
    arith.MuliOp.name: lambda op: _multiplied(linear_of(op.operands[0]), linear_of(op.operands[1])),
    arith.IndexCastOp.name: lambda op: linear_of(op.operands[0]),
    affine.ApplyOp.name: _apply,
}


def value_of(linear: Linear, build: Emitter) -> SSAValue:
    """An index value that a sum is equal to: the one that it was read from, a constant, or an `affine.apply`."""
    if linear.value is not None and linear.value.type == INDEX:
        return linear.value
    if linear.is_constant:
        return build.index(linear.constant)
    symbols = [_as_index(value, build) for value in linear.factors]
    terms = [AffineSymExpr(number) * factor for number, factor in enumerate(linear.factors.values())]
    total = reduce(lambda sum, term: sum + term, terms)
    if len(symbols) == 1 and linear.constant == 0 and list(linear.factors.values()) == [1]:
        return symbols[0]
    expression = total + linear.constant if linear.constant else total
    map = AffineMapAttr(AffineMap(0, len(symbols), (expression,)))
    return build.value(affine.ApplyOp.create(operands=symbols, result_types=[INDEX], properties={"map": map}))


def _as_index(value: SSAValue, build: Emitter) -> SSAValue:
    return value if value.type == INDEX else build.value(arith.IndexCastOp(value, INDEX))
