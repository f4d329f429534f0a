"""Which rank runs an operation: the only one for which all the conditions around it come out right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.dialects import arith, scf
from tilewright.dialects.air.levels import RankOp
from tilewright.passes.air.evaluation import evaluate, outermost
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.predicates import EQ, NE

Point: TypeAlias = "tuple[int, ...]"
MAX_WORLD = 4096
"""Ranks that are tried one by one; larger worlds are searched for equalities only."""


def rank_of(op: Operation) -> int | None:
    """The number of the one rank that `op` runs on; None if that is not known."""
    ranks = possible_ranks(op)
    return ranks[0] if ranks is not None and len(ranks) == 1 else None


def possible_ranks(op: Operation) -> list[int] | None:
    """The ranks that `op` runs on as far as the conditions around it tell; None in a world of unknown size."""
    rank = enclosing_rank(op)
    if rank is None:
        return None
    conditions = list(_conditions(op, rank))
    sizes = [scalar_int(size) for size in rank.extents]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes) and prod(known) <= MAX_WORLD:
        return [number for number, point in points(known) if _runs_at(conditions, rank, point)]
    compared = _compared_rank(conditions, rank)
    return None if compared is None else [compared]


def points(sizes: Sequence[int]) -> Iterator[tuple[int, Point]]:
    """The ranks of a world, by their numbers and their places; the first dimension counts fastest."""
    for number, place in enumerate(product(*(range(size) for size in reversed(sizes)))):
        yield number, place[::-1]


def enclosing_rank(op: Operation) -> RankOp | None:
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


def _runs_at(conditions: Sequence[tuple[SSAValue, bool]], rank: RankOp, point: Point) -> bool:
    """Whether no condition keeps a point from running; one that depends on other things does not."""
    known = dict[SSAValue, int](zip(rank.ids, point, strict=True))
    outcomes = [(evaluate(value, known), outcome) for value, outcome in conditions]
    return all(found is None or bool(found & 1) == outcome for found, outcome in outcomes)


def _compared_rank(conditions: Sequence[tuple[SSAValue, bool]], rank: RankOp) -> int | None:
    """The number that the id is compared with, for a line of ranks of unknown length."""
    if len(rank.extents) != 1:
        return None
    for value, outcome in conditions:
        owner = value.owner
        if not isinstance(owner, arith.CmpiOp) or owner.predicate.value.data != (EQ if outcome else NE):
            continue
        sides = [(owner.lhs, owner.rhs), (owner.rhs, owner.lhs)]
        numbers = [scalar_int(number) for side, number in sides if outermost(side) is rank.ids[0]]
        if numbers and numbers[0] is not None:
            return numbers[0]
    return None
