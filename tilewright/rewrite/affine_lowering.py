"""Lowering of affine loops, conditions and accesses to scf, memref, vector and arith, step by step as MLIR does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from xdsl.dialects import affine
from xdsl.dialects.arith import IntegerOverflowFlag
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tilewright.dialects import arith, memref, scf, vector
from tilewright.dialects.affine.access import PrefetchOp
from tilewright.dialects.affine.loops import GroupedBounds, ParallelOp
from tilewright.dialects.affine.maps import MaxOp
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
    expansion = Expansion(rewriter, op, op.args[: conditions.num_dims], op.args[conditions.num_dims :])
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
