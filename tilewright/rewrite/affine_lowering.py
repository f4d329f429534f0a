"""Lowering of affine loops, conditions and accesses to scf, memref, vector and arith, step by step as MLIR does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineMap,
)
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tilewright.dialects import affine, arith, memref, scf, vector
from tilewright.dialects.affine.access import PrefetchOp
from tilewright.dialects.affine.loops import GroupedBounds, ParallelOp
from tilewright.dialects.affine.maps import MaxOp
from tilewright.dialects.affine.meaning import AffineNumbers
from tilewright.dialects.arith import IntegerOverflowFlag
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.rewrite.canonicalization import fold, materialize
from tilewright.rewrite.control_flow import sizes_attr
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.regions import take_contents
from tilewright.rewrite.legalization import convert

Lowering: TypeAlias = "Callable[[Any, PatternRewriter], None]"


def lower_affine(op: Operation) -> None:
    """Lower the affine operations nested in `op`."""
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
    return rewriter.insert(constant).results[0]


def _lower_apply(op: affine.ApplyOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, (), expand_map(rewriter, op, op.map.data, op.mapOperands))


def _lower_min(op: affine.MinOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, (), [expand_choice(rewriter, op, op.map.data, op.operands, arith.MinSIOp)])


def _lower_max(op: MaxOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, (), [expand_choice(rewriter, op, op.map.data, op.operands, arith.MaxSIOp)])


def _lower_for(op: affine.ForOp, rewriter: PatternRewriter) -> None:
    lower = expand_choice(rewriter, op, op.lowerBoundMap.data, op.lowerBoundOperands, arith.MaxSIOp)
    upper = expand_choice(rewriter, op, op.upperBoundMap.data, op.upperBoundOperands, arith.MinSIOp)
    step = Emitter(rewriter).index(op.step.value.data)
    types = [result.type for result in op.results]
    operands, body = (lower, upper, step, *op.inits), take_contents(op.body)
    loop = rewriter.insert(scf.ForOp.create(operands=operands, result_types=types, regions=[body]))
    rewriter.replace(op, (), loop.results)


def _lower_parallel(op: ParallelOp, rewriter: PatternRewriter) -> None:
    if op.results:
        fail_op(op, "combines values of its iterations; only parallel loops without results are lowered")
    lower, upper = op.bounds
    bounds: list[SSAValue] = []
    for lowest, highest in zip(_group_maps(lower), _group_maps(upper), strict=True):
        bounds.append(expand_choice(rewriter, op, lowest, lower.operands, arith.MaxSIOp))
        bounds.append(expand_choice(rewriter, op, highest, upper.operands, arith.MinSIOp))
    steps = [Emitter(rewriter).index(step.value.data) for step in op.steps]
    operands = (*bounds[::2], *bounds[1::2], *steps)
    sizes = {"operandSegmentSizes": sizes_attr([len(steps)] * 3 + [0])}
    loop = scf.ParallelOp.create(operands=operands, properties=sizes, regions=[take_contents(op.body)])
    rewriter.replace(op, loop)


def _group_maps(bounds: GroupedBounds) -> list[AffineMap]:
    """The map of each loop's bounds."""
    map, ends = bounds.map.data, accumulate(bounds.groups, initial=0)
    return [AffineMap(map.num_dims, map.num_symbols, map.results[start:end]) for start, end in pairwise(ends)]


def _lower_if(op: affine.IfOp, rewriter: PatternRewriter) -> None:
    condition = _holds(op, rewriter)
    types = [result.type for result in op.results]
    regions = [take_contents(region) for region in op.regions]
    branch = rewriter.insert(scf.IfOp.create(operands=(condition,), result_types=types, regions=regions))
    rewriter.replace(op, (), branch.results)


def _holds(op: affine.IfOp, rewriter: PatternRewriter) -> SSAValue:
    """Whether the operands are in the set that is the condition."""
    conditions = op.condition.data
    expansion = Expansion(rewriter, op, conditions.num_dims, op.args)
    emitter = expansion.emitter
    zero = emitter.index(0)
    holds: SSAValue | None = None
    for constraint in conditions.constraints:
        predicate = "eq" if constraint.kind is AffineConstraintKind.eq else "sge"
        met = emitter.compare(predicate, expansion.value(constraint.lhs), zero)
        holds = met if holds is None else emitter.value(arith.AndIOp(holds, met))
    return emitter.constant(1, i1) if holds is None else holds


def _lower_yield(op: affine.YieldOp, rewriter: PatternRewriter) -> None:
    ends_parallel = isinstance(op.parent_op(), scf.ParallelOp)
    terminator = scf.ReduceOp if ends_parallel else scf.YieldOp
    rewriter.replace(op, terminator.create(operands=tuple(op.operands)))


def _lower_load(op: affine.LoadOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    rewriter.replace(op, memref.LoadOp.create(operands=(op.memref, *indices), result_types=[op.result.type]))


def _lower_store(op: affine.StoreOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    rewriter.replace(op, memref.StoreOp.create(operands=(op.value, op.memref, *indices)))


def _lower_vector_load(op: affine.VectorLoadOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    rewriter.replace(op, vector.LoadOp.create(operands=(op.memref, *indices), result_types=[op.result.type]))


def _lower_vector_store(op: affine.VectorStoreOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    rewriter.replace(op, vector.StoreOp.create(operands=(op.value, op.memref, *indices)))


def _lower_prefetch(op: PrefetchOp, rewriter: PatternRewriter) -> None:
    indices = _indices(op, op.indices, rewriter)
    properties = {name: op.properties[name] for name in ("isWrite", "localityHint", "isDataCache")}
    rewriter.replace(op, memref.PrefetchOp.create(operands=(op.memref, *indices), properties=properties))


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


NO_SIGNED_WRAP = arith.IntegerOverflowAttr([IntegerOverflowFlag.NSW])
"""A product of an index expression never overflows, MLIR says."""


class Expansion(AffineNumbers[SSAValue]):
    """Inserts where a rewriter stands what computes expressions of these operands, dimensions first."""

    def __init__(self, rewriter: PatternRewriter, at: Operation, dims: int, operands: Sequence[SSAValue]):
        self.emitter, self._at = Emitter(rewriter), at
        self.dims, self._operands = dims, operands

    def value(self, expr: AffineExpr) -> SSAValue:
        for part in expr.dfs():
            match part:
                case AffineBinaryOpExpr(rhs=AffineConstantExpr(value=by)) if part.kind in _DIVISIONS and by <= 0:
                    fail(self._at, f"{_DIVISIONS[part.kind]} by non-positive value is not supported")
                case _:
                    pass
        return self.evaluate(expr)

    def constant(self, number: int) -> SSAValue:
        return self.emitter.index(number)

    def operand(self, number: int) -> SSAValue:
        return self._operands[number]

    def compute(self, name: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return _EXPANSIONS[name](self, a, b)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emitter.add(a, b)

    def multiply(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emitter.value(arith.MuliOp(a, b, overflow=NO_SIGNED_WRAP))

    def modulo(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Never negative, unlike the remainder that processors compute."""
        emitter = self.emitter
        remainder = emitter.value(arith.RemSIOp(a, b))
        is_negative = emitter.compare("slt", remainder, emitter.index(0))
        return emitter.value(arith.SelectOp(is_negative, emitter.add(remainder, b), remainder))

    def floor_divide(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`-1 - (-1 - a) / b` for a negative `a`: processors round towards zero."""
        value = self.emitter.value
        zero, minus_one = self.emitter.index(0), self.emitter.index(-1)
        is_negative = self.emitter.compare("slt", a, zero)
        mirrored = value(arith.SubiOp(minus_one, a))
        quotient = value(arith.DivSIOp(value(arith.SelectOp(is_negative, mirrored, a)), b))
        return value(arith.SelectOp(is_negative, value(arith.SubiOp(minus_one, quotient)), quotient))

    def ceil_divide(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`(a - 1) / b + 1` for a positive `a`, `-(-a / b)` for others."""
        value = self.emitter.value
        zero, one = self.emitter.index(0), self.emitter.index(1)
        is_negative = self.emitter.compare("sle", a, zero)
        negated, decremented = value(arith.SubiOp(zero, a)), value(arith.SubiOp(a, one))
        quotient = value(arith.DivSIOp(value(arith.SelectOp(is_negative, negated, decremented)), b))
        back, up = value(arith.SubiOp(zero, quotient)), self.emitter.add(quotient, one)
        return value(arith.SelectOp(is_negative, back, up))


_DIVISIONS = {
    AffineBinaryOpKind.Mod: "modulo",
    AffineBinaryOpKind.FloorDiv: "division",
    AffineBinaryOpKind.CeilDiv: "division",
}
"""What MLIR calls them where it refuses one."""
_EXPANSIONS: Mapping[str, Callable[[Expansion, SSAValue, SSAValue], SSAValue]] = {
    "arith.addi": Expansion.add,
    "arith.muli": Expansion.multiply,
    "arith.floordivsi": Expansion.floor_divide,
    "arith.ceildivsi": Expansion.ceil_divide,
}


def expand_map(
    rewriter: PatternRewriter, at: Operation, map: AffineMap, operands: Sequence[SSAValue]
) -> list[SSAValue]:
    """The results of a map."""
    expansion = Expansion(rewriter, at, map.num_dims, operands)
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
