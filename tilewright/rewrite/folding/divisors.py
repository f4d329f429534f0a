"""Numbers that an index is known to be a multiple of, from how it is computed."""

from __future__ import annotations

from math import gcd

from xdsl.ir import Block, BlockArgument
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from tilewright.dialects import affine, arith, scf
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.strided_views import Mixed

DEEPEST = 16


def divisor(value: Mixed, depth: int = 0) -> int:
    """The greatest number that `value` is known to be a multiple of; 0 for zero."""
    if isinstance(value, int):
        return abs(value)
    known = scalar_int(value)
    if known is not None:
        return abs(known)
    if depth == DEEPEST:
        return 1
    owner = value.owner
    if isinstance(owner, Block):
        assert isinstance(value, BlockArgument)
        return _of_argument(value, depth)
    match owner:
        case arith.MuliOp():
            return divisor(owner.lhs, depth + 1) * divisor(owner.rhs, depth + 1)
        case arith.AddiOp() | arith.SubiOp():
            return gcd(divisor(owner.lhs, depth + 1), divisor(owner.rhs, depth + 1))
        case arith.IndexCastOp():
            return divisor(owner.input, depth + 1)
        case affine.ApplyOp():
            return _of_apply(owner, depth)
        case _:
            return 1


def _of_apply(op: affine.ApplyOp, depth: int) -> int:
    map, operands = op.map.data, list(op.mapOperands)

    def of(expression: AffineExpr) -> int:
        match expression:
            case AffineConstantExpr():
                return abs(expression.value)
            case AffineDimExpr():
                return divisor(operands[expression.position], depth + 1)
            case AffineSymExpr():
                return divisor(operands[map.num_dims + expression.position], depth + 1)
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
                return of(expression.lhs) * of(expression.rhs)
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
                return gcd(of(expression.lhs), of(expression.rhs))
            case _:
                return 1

    return of(map.results[0])


def _of_argument(value: BlockArgument, depth: int) -> int:
    parent = value.owner.parent_op()
    if isinstance(parent, scf.ForOp) and value is parent.body.block.args[0]:
        return gcd(divisor(parent.lb, depth + 1), divisor(parent.step, depth + 1))
    # what a level is passed is what it has
    if isinstance(parent, Hierarchy):
        passed = parent.tied_operand(value)
        return 1 if passed is None else divisor(passed, depth + 1)
    return 1
