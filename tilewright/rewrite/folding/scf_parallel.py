"""Canonical forms of `scf.parallel` and `scf.forall`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tilewright.dialects import scf
from tilewright.dialects.scf import ForallOp
from tilewright.rewrite.branches import sizes_attr
from tilewright.rewrite.folding.building import create, insert_constant
from tilewright.rewrite.folding.constants import index_attr
from tilewright.rewrite.folding.regions import only_block, recreate, take_contents, terminator
from tilewright.rewrite.folding.strided_views import Mixed, mixed, static, with_constants
from tilewright.rewrite.folding.trip_counts import trip_count


def drop_single_iterations(op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
    """A dimension that runs once is no dimension; a loop with one that never runs is no loop."""
    bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    counts = [trip_count(*bound) for bound in bounds]
    if 0 in counts:
        rewriter.replace(op, (), op.initVals)
        return
    if 1 not in counts:
        return
    arguments = only_block(op.body).args
    kept = [index for index, count in enumerate(counts) if count != 1]
    for argument, (lower, _, _), count in zip(arguments, bounds, counts, strict=True):
        if count == 1:
            rewriter.replace_all_uses_with(argument, lower)
    if not kept:
        _inline_body(op, rewriter)
        return
    for index in reversed(range(len(counts))):
        if index not in kept:
            only_block(op.body).erase_arg(only_block(op.body).args[index])
    new = _make_parallel(op, [bounds[index] for index in kept], op.initVals, take_contents(op.body))
    rewriter.replace(op, new)


def _make_parallel(
    op: scf.ParallelOp, bounds: Sequence[Sequence[SSAValue]], initial: Sequence[SSAValue], body: Region
) -> Operation:
    count = len(bounds)
    operands = [bound[which] for which in range(3) for bound in bounds]
    properties = {**op.properties, "operandSegmentSizes": sizes_attr([count, count, count, len(initial)])}
    types = [value.type for value in initial]
    return create(op.name, (*operands, *initial), types, properties, regions=(body,))


def _inline_body(op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
    """Put the body, and the reductions at its end, in place of a loop that runs once."""
    body = only_block(op.body)
    reduce = cast(scf.ReduceOp, terminator(op.body))
    results: list[SSAValue] = []
    while body.first_op is not reduce:
        first = body.first_op
        assert first is not None
        first.detach()
        rewriter.insert(first, InsertPoint.before(op))
    for region, initial, value in zip(reduce.reductions, op.initVals, reduce.args, strict=True):
        last = terminator(region)
        rewriter.inline_block(only_block(region), InsertPoint.before(op), (initial, value))
        results.append(last.operands[0])
        rewriter.erase(last)
    rewriter.replace(op, (), results)


def merge_nested(op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
    """A loop that holds nothing but another one is a loop of more dimensions."""
    outer = only_block(op.body)
    inner = outer.first_op
    if not isinstance(inner, scf.ParallelOp) or inner.next_op is not outer.last_op:
        return
    if op.initVals or inner.initVals or any(value in outer.args for value in inner.operands):
        return
    bounds = [
        *zip(op.lowerBound, op.upperBound, op.step, strict=True),
        *zip(inner.lowerBound, inner.upperBound, inner.step, strict=True),
    ]
    body = take_contents(inner.body)
    block = only_block(body)
    for index, argument in enumerate(outer.args):
        rewriter.replace_all_uses_with(argument, block.insert_arg(argument.type, index))
    rewriter.replace(op, _make_parallel(op, bounds, (), body))


PARALLEL_PATTERNS = (drop_single_iterations, merge_nested)


def _forall_bounds(op: ForallOp) -> tuple[list[Mixed], list[Mixed], list[Mixed]]:
    """Lower bounds, upper bounds and steps."""
    return (
        mixed(op.static_lower_bound, op.dynamic_lower_bound),
        mixed(op.static_upper_bound, op.dynamic_upper_bound),
        mixed(op.static_step, op.dynamic_step),
    )


def _set_forall_bounds(op: ForallOp, lists: Sequence[Sequence[Mixed]]) -> None:
    dynamic = [[value for value in values if isinstance(value, SSAValue)] for values in lists]
    outputs = tuple(op.outputs)
    for name, values in zip(("staticLowerBound", "staticUpperBound", "staticStep"), lists, strict=True):
        op.properties[name] = DenseArrayBase.from_list(i64, static(values))
    op.operands = (*(value for values in dynamic for value in values), *outputs)
    op.properties["operandSegmentSizes"] = sizes_attr([*map(len, dynamic), len(outputs)])


def forall_with_constants(op: ForallOp, rewriter: PatternRewriter) -> None:
    """Bounds that are constants are numbers."""
    lists = _forall_bounds(op)
    for index, values in enumerate(lists):
        known = with_constants(values, allow_negative=True)
        if static(known) != static(values):
            _set_forall_bounds(op, [known if i == index else old for i, old in enumerate(lists)])
            rewriter.notify_op_modified(op)
            return


def _forall_counts(op: ForallOp) -> list[int | None]:
    return [trip_count(*bound) for bound in zip(*_forall_bounds(op), strict=True)]


def drop_single_threads(op: ForallOp, rewriter: PatternRewriter) -> None:
    """A dimension of one thread is no dimension, unless it is mapped to hardware."""
    if op.mapping is not None and len(op.mapping.data):
        return
    counts = _forall_counts(op)
    if 0 in counts:
        rewriter.replace(op, (), op.outputs)
        return
    if 1 not in counts or op.outputs:
        return
    _use_lower_bounds(op, counts, rewriter)
    body = only_block(op.body)
    kept = [index for index, count in enumerate(counts) if count != 1]
    if not kept:
        last = terminator(op.body)
        rewriter.inline_block(body, InsertPoint.before(op))
        rewriter.erase(last)
        rewriter.erase(op)
        return
    for index in reversed(range(len(counts))):
        if index not in kept:
            body.erase_arg(body.args[index])
    new = cast(ForallOp, recreate(op))
    _set_forall_bounds(new, [[values[index] for index in kept] for values in _forall_bounds(op)])
    rewriter.replace(op, new)


def _use_lower_bounds(op: ForallOp, counts: Sequence[int | None], rewriter: PatternRewriter) -> None:
    for argument, lower, count in zip(only_block(op.body).args, _forall_bounds(op)[0], counts, strict=False):
        if count == 1 and argument.first_use is not None:
            value = lower if isinstance(lower, SSAValue) else insert_constant(rewriter, index_attr(lower))
            rewriter.replace_all_uses_with(argument, value)


def use_constant_index(op: ForallOp, rewriter: PatternRewriter) -> None:
    """Where a dimension has one thread, its index is known."""
    _use_lower_bounds(op, _forall_counts(op), rewriter)


FORALL_PATTERNS = (forall_with_constants, drop_single_threads, use_constant_index)
