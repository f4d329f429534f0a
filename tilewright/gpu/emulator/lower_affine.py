"""Affine expressions as instructions, and the operations that use them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

from tilewright.dialects.affine.maps import DelinearizeIndexOp, LinearizeIndexOp
from tilewright.gpu.emulator.builder import Builder, Handler
from tilewright.gpu.emulator.values import I1, I64, Constant, Operand, index

_DIVISIONS = {
    AffineBinaryOpKind.FloorDiv: "floordivs",
    AffineBinaryOpKind.CeilDiv: "ceildivs",
    AffineBinaryOpKind.Mod: "modulo",
}
_COMPARISONS = {AffineConstraintKind.eq: "eq", AffineConstraintKind.ge: "sge", AffineConstraintKind.le: "sle"}


def expression(b: Builder, expr: AffineExpr, dims: int, operands: Sequence[SSAValue]) -> Operand:
    match expr:
        case AffineConstantExpr():
            return index(expr.value)
        case AffineDimExpr():
            return b[operands[expr.position]]
        case AffineSymExpr():
            return b[operands[dims + expr.position]]
        case AffineBinaryOpExpr():
            lhs, rhs = (expression(b, side, dims, operands) for side in (expr.lhs, expr.rhs))
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return b.plus(lhs, rhs)
                case AffineBinaryOpKind.Mul:
                    return b.times(lhs, rhs)
                case kind:
                    return b.emit(_DIVISIONS[kind], I64, lhs, rhs)
        case _:
            raise TypeError(expr)


def results(b: Builder, map: AffineMap, operands: Sequence[SSAValue]) -> list[Operand]:
    return [expression(b, result, map.num_dims, operands) for result in map.results]


def map_results(b: Builder, op: Operation, operands: Sequence[SSAValue]) -> list[Operand]:
    return results(b, cast(AffineMapAttr, op.properties["map"]).data, operands)


def best(b: Builder, name: str, map: AffineMap, operands: Sequence[SSAValue]) -> Operand:
    """The least or the greatest of a map's results."""
    return reduce(lambda x, y: b.emit(name, I64, x, y), results(b, map, operands))


def holds(b: Builder, condition: AffineSet, operands: Sequence[SSAValue]) -> Operand:
    """Whether all constraints of a set do."""
    answer: Operand = Constant(I1, True)
    for constraint in condition.constraints:
        lhs, rhs = (expression(b, side, condition.num_dims, operands) for side in (constraint.lhs, constraint.rhs))
        answer = b.emit("and", I1, answer, b.emit(_COMPARISONS[constraint.kind], I1, lhs, rhs))
    return answer


def _apply(b: Builder, op: Operation) -> None:
    (b[op.results[0]],) = map_results(b, op, op.operands)


def _extreme(name: str) -> Handler:
    def lower(b: Builder, op: Operation) -> None:
        b[op.results[0]] = best(b, name, cast(AffineMapAttr, op.properties["map"]).data, op.operands)

    return lower


def _linearize(b: Builder, op: Operation) -> None:
    assert isinstance(op, LinearizeIndexOp)
    basis = b.mixed(op.dynamic_basis, op.static_basis.get_values())
    total, *digits = [b[value] for value in op.multi_index]
    for digit, size in zip(digits, basis[len(basis) - len(digits) :], strict=True):
        total = b.plus(b.times(total, size), digit)
    b[op.linear_index] = total


def _delinearize(b: Builder, op: Operation) -> None:
    """Digits from the last to the first; the first has no limit."""
    assert isinstance(op, DelinearizeIndexOp)
    rest, digits = b[op.linear_index], list[Operand]()
    basis = b.mixed(op.dynamic_basis, op.static_basis.get_values())
    for size in reversed(basis[len(basis) - len(op.results) + 1 :]):
        digits.insert(0, b.emit("modulo", I64, rest, size))
        rest = b.emit("floordivs", I64, rest, size)
    b.values.update(zip(op.results, [rest, *digits], strict=True))


HANDLERS: dict[str, Handler] = {
    "affine.apply": _apply,
    "affine.min": _extreme("mins"),
    "affine.max": _extreme("maxs"),
    "affine.linearize_index": _linearize,
    "affine.delinearize_index": _delinearize,
}
