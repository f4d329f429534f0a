"""Affine loops with constant bounds, which launches and segments leave behind, are copied out."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap
from xdsl.rewriter import Rewriter

from tilewright.dialects import affine, scf
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.shim.chains import copy_body
from tilewright.passes.air.shim.walking import innermost_first
from tilewright.rewrite.folding.constants import INDEX, make_constant, number_attr
from tilewright.rewrite.folding.regions import only_block, take_contents, terminator
from tilewright.rewrite.insertion import building_before


def constant_bounds(loop: affine.ForOp) -> range | None:
    """What a loop counts through, where that is known."""
    lower, upper = (_constant(map.data) for map in (loop.lowerBoundMap, loop.upperBoundMap))
    return None if lower is None or upper is None else range(lower, upper, loop.step.value.data)


def _constant(map: AffineMap) -> int | None:
    result = map.results[0] if len(map.results) == 1 else None
    return result.value if isinstance(result, AffineConstantExpr) else None


def unroll_affine_loops(op: Operation) -> None:
    """Copy out every affine loop in an operation, inner ones first."""
    for loop in [found for found in innermost_first(op) if isinstance(found, affine.ForOp)]:
        bounds = constant_bounds(loop)
        if bounds is None:
            fail_op(loop, "failed to fully unroll", (loop, "its bounds have to be constants"))
        _unroll(loop, bounds)


def _unroll(loop: affine.ForOp, bounds: range) -> None:
    build = building_before(loop)
    values: list[SSAValue] = list(loop.inits)
    for number in bounds:
        counter = build.insert(make_constant(number_attr(number, INDEX))).results[0]
        values = copy_body(only_block(loop.body), [counter, *values], build)
    for result, value in zip(loop.results, values, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(loop)


def counted_loop(loop: affine.ForOp) -> None:
    """Count with `scf.for` instead, where the bounds are constants."""
    bounds = constant_bounds(loop)
    if bounds is None:
        return
    build = building_before(loop)
    lower, upper, step = (
        build.insert(make_constant(number_attr(number, INDEX))).results[0]
        for number in (bounds.start, bounds.stop, bounds.step)
    )
    body = take_contents(loop.body)
    end = terminator(body)
    Rewriter.replace_op(end, scf.YieldOp(*end.operands))
    new = build.insert(scf.ForOp(lower, upper, step, list(loop.inits), body))
    for old, result in zip(loop.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    Rewriter.erase_op(loop)
