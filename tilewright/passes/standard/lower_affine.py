"""Lowers affine loops, conditions and accesses to those of the scf, memref, vector and arith dialects; MLIR's pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tilewright.dialects import affine, scf
from tilewright.dialects.affine.access import PrefetchOp
from tilewright.dialects.affine.loops import GroupedBounds, ParallelOp
from tilewright.dialects.affine.maps import MaxOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.affine_expansion import (
    EQUAL,
    GREATER_OR_EQUAL,
    INDEX,
    Expansion,
    expand_choice,
    expand_map,
)
from tilewright.rewrite.branches import sizes_attr
from tilewright.rewrite.folding import fold, materialize
from tilewright.rewrite.folding.building import create, insert_constant, insert_value, integer_op
from tilewright.rewrite.folding.constants import number_attr
from tilewright.rewrite.folding.regions import take_contents
from tilewright.rewrite.legalization import convert

Lowering: TypeAlias = "Callable[[Any, PatternRewriter], None]"


class LowerAffinePass(Pass):
    name = "lower-affine"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        convert(op, {kind: FoldOrLower(lowering) for kind, lowering in _LOWERINGS.items()})


class FoldOrLower(RewritePattern):
    """Folds an operation if that is possible, as MLIR does before it converts, and lowers it if not."""

    def __init__(self, lowering: Lowering):
        self._lowering = lowering

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        while (folded := fold(op)) == ():
            pass
        if folded is None:
            self._lowering(op, rewriter)
        else:
            rewriter.replace(op, (), [_as_value(new, op, rewriter) for new in folded])


def _as_value(new: SSAValue | Attribute, op: Operation, rewriter: PatternRewriter) -> SSAValue:
    if isinstance(new, SSAValue):
        return new
    constant = materialize(op, new, op.results[0].type)
    assert constant is not None
    return insert_value(rewriter, constant)


def _lower_apply(op: affine.ApplyOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, (), expand_map(rewriter, op, op.map.data, op.mapOperands))


def _lower_min(op: affine.MinOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, (), [expand_choice(rewriter, op, op.map.data, op.operands, "minsi")])


def _lower_max(op: MaxOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, (), [expand_choice(rewriter, op, op.map.data, op.operands, "maxsi")])


def _lower_for(op: affine.ForOp, rewriter: PatternRewriter) -> None:
    lower = expand_choice(rewriter, op, op.lowerBoundMap.data, op.lowerBoundOperands, "maxsi")
    upper = expand_choice(rewriter, op, op.upperBoundMap.data, op.upperBoundOperands, "minsi")
    step = insert_constant(rewriter, number_attr(op.step.value.data, INDEX))
    types = [result.type for result in op.results]
    operands, body = (lower, upper, step, *op.inits), take_contents(op.body)
    loop = rewriter.insert(create("scf.for", operands, types, regions=[body]))
    rewriter.replace(op, (), loop.results)


def _lower_parallel(op: ParallelOp, rewriter: PatternRewriter) -> None:
    if op.results:
        fail_op(op, "combines values of its iterations; only parallel loops without results are lowered")
    lower, upper = op.bounds
    bounds: list[SSAValue] = []
    for lowest, highest in zip(_group_maps(lower), _group_maps(upper), strict=True):
        bounds.append(expand_choice(rewriter, op, lowest, lower.operands, "maxsi"))
        bounds.append(expand_choice(rewriter, op, highest, upper.operands, "minsi"))
    steps = [insert_constant(rewriter, number_attr(step.value.data, INDEX)) for step in op.steps]
    operands = (*bounds[::2], *bounds[1::2], *steps)
    sizes = {"operandSegmentSizes": sizes_attr([len(steps)] * 3 + [0])}
    loop = create("scf.parallel", operands, (), sizes, regions=[take_contents(op.body)])
    rewriter.replace(op, loop)


def _group_maps(bounds: GroupedBounds) -> list[AffineMap]:
    """The map of each loop's bounds."""
    map, ends = bounds.map.data, accumulate(bounds.groups, initial=0)
    return [AffineMap(map.num_dims, map.num_symbols, map.results[start:end]) for start, end in pairwise(ends)]


def _lower_if(op: affine.IfOp, rewriter: PatternRewriter) -> None:
    condition = _holds(op, rewriter)
    types = [result.type for result in op.results]
    regions = [take_contents(region) for region in op.regions]
    branch = rewriter.insert(create("scf.if", (condition,), types, regions=regions))
    rewriter.replace(op, (), branch.results)


def _holds(op: affine.IfOp, rewriter: PatternRewriter) -> SSAValue:
    """Whether the operands are in the set that is the condition."""
    conditions = op.condition.data
    expansion = Expansion(rewriter, op, op.args[: conditions.num_dims], op.args[conditions.num_dims :])
    zero = expansion.constant(0)
    holds: SSAValue | None = None
    for constraint in conditions.constraints:
        predicate = EQUAL if constraint.kind is AffineConstraintKind.eq else GREATER_OR_EQUAL
        met = expansion.compare(predicate, expansion.value(constraint.lhs), zero)
        holds = met if holds is None else insert_value(rewriter, integer_op("arith.andi", holds, met, None))
    return insert_constant(rewriter, IntegerAttr(1, i1)) if holds is None else holds


def _lower_yield(op: affine.YieldOp, rewriter: PatternRewriter) -> None:
    ends_parallel = isinstance(op.parent_op(), scf.ParallelOp)
    rewriter.replace(op, create("scf.reduce" if ends_parallel else "scf.yield", tuple(op.operands)))


def _lower_load(op: affine.LoadOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    rewriter.replace(op, create("memref.load", (op.memref, *indices), [op.result.type]))


def _lower_store(op: affine.StoreOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    rewriter.replace(op, create("memref.store", (op.value, op.memref, *indices)))


def _lower_vector_load(op: affine.VectorLoadOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    rewriter.replace(op, create("vector.load", (op.memref, *indices), [op.result.type]))


def _lower_vector_store(op: affine.VectorStoreOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    rewriter.replace(op, create("vector.store", (op.value, op.memref, *indices)))


def _lower_prefetch(op: PrefetchOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    properties = {name: op.properties[name] for name in ("isWrite", "localityHint", "isDataCache")}
    rewriter.replace(op, create("memref.prefetch", (op.memref, *indices), (), properties))


def _indices(op: Any, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> list[SSAValue]:
    return expand_map(rewriter, op, op.map.data, operands)


_LOWERINGS: Mapping[type[Operation], Lowering] = {
    affine.ApplyOp: _lower_apply,
    affine.MinOp: _lower_min,
    MaxOp: _lower_max,
    affine.ForOp: _lower_for,
    ParallelOp: _lower_parallel,
    affine.IfOp: _lower_if,
    affine.YieldOp: _lower_yield,
    affine.LoadOp: _lower_load,
    affine.StoreOp: _lower_store,
    affine.VectorLoadOp: _lower_vector_load,
    affine.VectorStoreOp: _lower_vector_store,
    PrefetchOp: _lower_prefetch,
}
