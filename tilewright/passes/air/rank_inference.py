"""Which rank runs an operation: the only one for which all the conditions around it come out right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import RankOp
from tilewright.passes.folding.constants import scalar_int
from tilewright.passes.folding.predicates import EQ, NE, compare

Point: TypeAlias = "tuple[int, ...]"
MAX_WORLD = 4096
"""Ranks that are tried one by one; larger worlds are searched for equalities only."""

_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.divsi": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "arith.divui": lambda a, b: a // b,
    "arith.remsi": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "arith.remui": lambda a, b: a % b,
}
_DIVISIONS = {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"}
_CASTS = {"arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui", "arith.trunci"}
_WIDTH = 64


def rank_of(op: Operation) -> int | None:
    """The number of the one rank that `op` runs on; None if that is not known."""
    ranks = possible_ranks(op)
    return ranks[0] if ranks is not None and len(ranks) == 1 else None


def possible_ranks(op: Operation) -> list[int] | None:
    """The ranks that `op` runs on as far as the conditions around it tell; None in a world of unknown size."""
    rank = _enclosing_rank(op)
    if rank is None:
        return None
    conditions = list(_conditions(op, rank))
    sizes = [scalar_int(size) for size in rank.extents]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes) and prod(known) <= MAX_WORLD:
        return _ranks_left(conditions, rank, known)
    compared = _compared_rank(conditions, rank)
    return None if compared is None else [compared]


def _enclosing_rank(op: Operation) -> RankOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, RankOp):
        parent = parent.parent_op()
    return parent


def _conditions(op: Operation, rank: RankOp) -> Iterator[tuple[SSAValue, bool]]:
    """The conditions around `op`, and how each must come out for `op` to run."""
    inner: Operation = op
    while inner is not rank:
        parent = inner.parent_op()
        assert parent is not None
        if isinstance(parent, scf.IfOp):
            yield parent.cond, inner.parent_region() is parent.true_region
        inner = parent


def _ranks_left(conditions: Sequence[tuple[SSAValue, bool]], rank: RankOp, sizes: Sequence[int]) -> list[int]:
    points = [point[::-1] for point in product(*(range(size) for size in reversed(sizes)))]
    return [number for number, point in enumerate(points) if _runs_at(conditions, rank, point)]


def _runs_at(conditions: Sequence[tuple[SSAValue, bool]], rank: RankOp, point: Point) -> bool:
    """Whether no condition keeps a point from running; one that depends on other things does not."""
    return all(_evaluate(value, rank, point) in (None, int(outcome)) for value, outcome in conditions)


def _compared_rank(conditions: Sequence[tuple[SSAValue, bool]], rank: RankOp) -> int | None:
    """The number that the id is compared with, for a line of ranks of unknown length."""
    if len(rank.extents) != 1:
        return None
    for value, outcome in conditions:
        owner = value.owner
        if not isinstance(owner, arith.CmpiOp) or owner.predicate.value.data != (EQ if outcome else NE):
            continue
        sides = [(owner.lhs, owner.rhs), (owner.rhs, owner.lhs)]
        numbers = [scalar_int(number) for side, number in sides if _outermost(side) is rank.ids[0]]
        if numbers and numbers[0] is not None:
            return numbers[0]
    return None


def _outermost(value: SSAValue) -> SSAValue:
    """What a value is outside of the bodies that it was passed to."""
    while isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        outer = parent.tied_operand(value) if isinstance(parent, Hierarchy) else None
        if outer is None:
            break
        value = outer
    return value


def _evaluate(value: SSAValue, rank: RankOp, point: Point) -> int | None:
    """What a value is on the rank at `point`; None if it depends on more than that."""
    value = _outermost(value)
    if isinstance(value, BlockArgument):
        return point[value.index] if value.block is rank.block and value.index < len(point) else None
    number = scalar_int(value)
    if number is not None:
        return number
    op = value.owner
    assert isinstance(op, Operation)
    operands = [_evaluate(operand, rank, point) for operand in op.operands]
    known = [operand for operand in operands if operand is not None]
    if len(known) != len(operands):
        return None
    return _result(op, known)


def _result(op: Operation, operands: Sequence[int]) -> int | None:
    if op.name in _CASTS:
        return operands[0]
    if isinstance(op, arith.CmpiOp):
        mask = (1 << _WIDTH) - 1
        return int(compare(op.predicate.value.data, operands[0] & mask, operands[1] & mask, _WIDTH))
    apply = _OPERATIONS.get(op.name)
    if apply is None or (op.name in _DIVISIONS and operands[1] == 0):
        return None
    return apply(*operands)
