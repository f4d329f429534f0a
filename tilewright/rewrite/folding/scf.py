"""Folding and canonical forms of structured control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, dropwhile
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import BlockInsertPoint, InsertPoint, Rewriter

from tilewright.dialects import arith, scf
from tilewright.dialects.func import FuncOp
from tilewright.rewrite.canonicalization import PatternFunction
from tilewright.rewrite.control_flow import branch_op, has_one_block, sizes_attr
from tilewright.rewrite.emitter import Emitter, constant_op
from tilewright.rewrite.folding import region_branches
from tilewright.rewrite.folding.constants import TRUE, bool_attr, defining, scalar_int
from tilewright.rewrite.folding.predicates import INVERTED
from tilewright.rewrite.folding.regions import (
    has_one_op,
    is_defined_in,
    is_inside,
    only_block,
    recreate,
    replace_with_region,
    take_contents,
    terminator,
)
from tilewright.rewrite.folding.scf_if import IF_PATTERNS, fold_if
from tilewright.rewrite.folding.strided_views import Mixed, mixed, static, with_constants
from tilewright.rewrite.unrolling import trip_count


def _condition(op: scf.WhileOp) -> scf.ConditionOp:
    return cast(scf.ConditionOp, terminator(op.before_region))


def propagate_true(op: scf.WhileOp, rewriter: PatternRewriter) -> None:
    """The body runs only where the condition holds."""
    condition = _condition(op)
    known: SSAValue | None = None
    for value, argument in zip(condition.args, only_block(op.after_region).args, strict=True):
        if value is condition.condition and argument.first_use is not None:
            known = known or Emitter(rewriter).value(constant_op(TRUE))
            rewriter.replace_all_uses_with(argument, known)


def decide_comparisons(op: scf.WhileOp, rewriter: PatternRewriter) -> None:
    """In the body, the comparison that is the loop's condition is true, and its opposite false."""
    condition = _condition(op)
    compared = defining(condition.condition, arith.CmpiOp)
    if compared is None:
        return
    for value, argument in zip(condition.args, only_block(op.after_region).args, strict=True):
        for side in (0, 1):
            if value is not compared.operands[side]:
                continue
            for use in tuple(argument.uses):
                again = use.operation
                if not isinstance(again, arith.CmpiOp) or again.operands[1 - side] is not compared.operands[1 - side]:
                    continue
                predicates = compared.predicate.value.data, again.predicate.value.data
                if predicates[0] == predicates[1] or INVERTED[predicates[0]] == predicates[1]:
                    rewriter.replace(again, constant_op(bool_attr(predicates[0] == predicates[1])))


def align_arguments(op: scf.WhileOp, rewriter: PatternRewriter) -> None:
    """Pass on the arguments of the condition region in their own order."""
    condition = _condition(op)
    arguments, passed = tuple(only_block(op.before_region).args), tuple(condition.args)
    if arguments == passed or len(arguments) != len(passed) or set(arguments) != set(passed):
        return
    position = {value: index for index, value in enumerate(arguments)}
    order = [position[cast(BlockArgument, value)] for value in passed]
    rewriter.replace(condition, scf.ConditionOp.create(operands=(condition.condition, *arguments)))
    new = rewriter.insert(
        recreate(op, result_types=[a.type for a in arguments], regions=(take_contents(op.before_region), Region()))
    )
    # the new arguments come in front of the old ones, which are then unused
    body = take_contents(op.after_region)
    block = only_block(body)
    old_arguments = tuple(block.args)
    for index, argument in enumerate(arguments):
        block.insert_arg(argument.type, index)
    for index, old in zip(order, old_arguments, strict=True):
        rewriter.replace_all_uses_with(old, block.args[index])
    for old in reversed(old_arguments):
        block.erase_arg(old)
    body.move_blocks(new.regions[1])
    rewriter.replace(op, (), [new.results[index] for index in order])


def sink_if(op: scf.WhileOp, rewriter: PatternRewriter) -> None:
    """An if on the loop's own condition, last before it is tested, belongs to the body."""
    condition = _condition(op)
    branch = condition.prev_op
    if not isinstance(branch, scf.IfOp) or branch.cond is not condition.condition:
        return
    # an else would run once more, when the loop ends
    if branch.false_region.first_block is not None and not has_one_op(branch.false_region.first_block):
        return
    arguments = only_block(op.after_region).args
    for value, argument in zip(tuple(condition.args), arguments, strict=True):
        if isinstance(value, OpResult) and value.op is branch:
            rewriter.replace_all_uses_with(value, terminator(branch.false_region).operands[value.index])
            rewriter.replace_all_uses_with(argument, terminator(branch.true_region).operands[value.index])
    needed = _values_from_outside(branch.true_region, op.before_region)
    types = [*(result.type for result in op.results), *(value.type for value in needed)]
    new = cast(scf.WhileOp, rewriter.insert(recreate(op, result_types=types)))
    body = only_block(new.after_region)
    passed = [body.insert_arg(value.type, len(body.args)) for value in needed]
    condition.operands = (*condition.operands, *needed)
    rewriter.notify_op_modified(condition)
    then = branch.true_region
    # the condition region's own values are not visible in the body: they are passed on
    for value, argument in zip(needed, passed, strict=True):
        rewriter.replace_uses_with_if(value, argument, lambda use: is_inside(use.operation, then))
    rewriter.erase(terminator(then))
    rewriter.inline_block(only_block(then), InsertPoint.at_start(body))
    rewriter.erase(branch)
    rewriter.replace(op, (), new.results[: len(op.results)])


def _values_from_outside(region: Region, within: Region) -> list[SSAValue]:
    """What the operations in `region` use of the values defined around it, but still in `within`."""
    used = (value for op in region.walk(region_first=True) for value in op.operands)
    return list(dict.fromkeys(v for v in used if is_defined_in(v, within) and not is_defined_in(v, region)))


def drop_single_iterations(op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
    """A dimension that runs once is no dimension; a loop with one that never runs is no loop."""
    bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    counts = [trip_count(*bound) for bound in bounds]
    if 0 in counts:
        rewriter.replace(op, (), op.initVals)
        return
    if 1 not in counts:
        return
    kept = [index for index, count in enumerate(counts) if count != 1]
    for argument, (lower, _, _), count in zip(only_block(op.body).args, bounds, counts, strict=True):
        if count == 1:
            rewriter.replace_all_uses_with(argument, lower)
    if not kept:
        _inline_body(op, rewriter)
        return
    for index in reversed(range(len(counts))):
        if index not in kept:
            only_block(op.body).erase_arg(only_block(op.body).args[index])
    kept_bounds = [bounds[index] for index in kept]
    rewriter.replace(op, _make_parallel(op, kept_bounds, op.initVals, take_contents(op.body)))


def _make_parallel(
    op: scf.ParallelOp, bounds: Sequence[Sequence[SSAValue]], initial: Sequence[SSAValue], body: Region
) -> Operation:
    # all lower bounds, then all upper bounds, then all steps
    operands = [*chain.from_iterable(zip(*bounds, strict=True)), *initial]
    sizes = sizes_attr([len(bounds), len(bounds), len(bounds), len(initial)])
    properties = {**op.properties, "operandSegmentSizes": sizes}
    types = [value.type for value in initial]
    return type(op).create(operands=operands, result_types=types, properties=properties, regions=(body,))


def _inline_body(op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
    """Put the body, and the reductions at its end, in place of a loop that runs once."""
    body = only_block(op.body)
    reduce = cast(scf.ReduceOp, terminator(op.body))
    results: list[SSAValue] = []
    for moved in [*body.ops][:-1]:
        moved.detach()
        rewriter.insert(moved, InsertPoint.before(op))
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
    # dimensions of one loop run in any order: the inner bounds may not depend on the outer index
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


def _forall_bounds(op: scf.ForallOp) -> tuple[list[Mixed], list[Mixed], list[Mixed]]:
    """Lower bounds, upper bounds and steps."""
    return (
        mixed(op.static_lower_bound.get_values(), op.dynamic_lower_bound),
        mixed(op.static_upper_bound.get_values(), op.dynamic_upper_bound),
        mixed(op.static_step.get_values(), op.dynamic_step),
    )


def _set_forall_bounds(op: scf.ForallOp, lists: Sequence[Sequence[Mixed]]) -> None:
    dynamic = [[value for value in values if isinstance(value, SSAValue)] for values in lists]
    outputs = tuple(op.outputs)
    for name, values in zip(("staticLowerBound", "staticUpperBound", "staticStep"), lists, strict=True):
        op.properties[name] = DenseArrayBase.from_list(i64, static(values))
    op.operands = (*chain.from_iterable(dynamic), *outputs)
    op.properties["operandSegmentSizes"] = sizes_attr([*map(len, dynamic), len(outputs)])


def forall_with_constants(op: scf.ForallOp, rewriter: PatternRewriter) -> None:
    """Bounds that are constants are numbers."""
    lists = _forall_bounds(op)
    for index, values in enumerate(lists):
        known = with_constants(values, allow_negative=True)
        if static(known) != static(values):
            _set_forall_bounds(op, [known if i == index else old for i, old in enumerate(lists)])
            rewriter.notify_op_modified(op)
            return


def _forall_counts(op: scf.ForallOp) -> list[int | None]:
    return [trip_count(*bound) for bound in zip(*_forall_bounds(op), strict=True)]


def drop_single_threads(op: scf.ForallOp, rewriter: PatternRewriter) -> None:
    """A dimension of one thread is no dimension, unless it is mapped to hardware."""
    # a mapping names a place for each dimension
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
    new = cast(scf.ForallOp, recreate(op))
    _set_forall_bounds(new, [[values[index] for index in kept] for values in _forall_bounds(op)])
    rewriter.replace(op, new)


def _use_lower_bounds(op: scf.ForallOp, counts: Sequence[int | None], rewriter: PatternRewriter) -> None:
    for argument, lower, count in zip(only_block(op.body).args, _forall_bounds(op)[0], counts, strict=False):
        if count == 1 and argument.first_use is not None:
            value = lower if isinstance(lower, SSAValue) else Emitter(rewriter).index(lower)
            rewriter.replace_all_uses_with(argument, value)


def use_constant_index(op: scf.ForallOp, rewriter: PatternRewriter) -> None:
    """Where a dimension has one thread, its index is known."""
    _use_lower_bounds(op, _forall_counts(op), rewriter)


def simplify_trivial_loop(op: scf.ForOp, rewriter: PatternRewriter) -> None:
    """Remove loops that never run, unroll those that run once, and drop those that only yield outside values."""
    count = trip_count(op.lb, op.ub, op.step, is_unsigned="unsignedCmp" in op.properties)
    if count is None:
        return
    if count == 0:
        rewriter.replace(op, (), op.iter_args)
    elif count == 1:
        replace_with_region(op, rewriter, op.body, (op.lb, *op.iter_args))
    elif has_one_op(only_block(op.body)):
        yielded = tuple(terminator(op.body).operands)
        if not any(is_defined_in(value, op.body) for value in yielded):
            rewriter.replace(op, (), yielded)


def take_known_case(op: scf.IndexSwitchOp, rewriter: PatternRewriter) -> None:
    value = scalar_int(op.arg)
    if value is None:
        return
    cases = op.cases.get_values()
    region = op.case_regions[cases.index(value)] if value in cases else op.default_region
    last = terminator(region)
    results = tuple(last.operands)
    rewriter.inline_block(only_block(region), InsertPoint.before(op))
    rewriter.erase(last)
    rewriter.replace(op, (), results)


def inline_region(op: scf.ExecuteRegionOp, rewriter: PatternRewriter) -> None:
    if "no_inline" not in op.properties and has_one_block(op.region):
        replace_with_region(op, rewriter, op.region)


def inline_blocks(op: scf.ExecuteRegionOp, rewriter: PatternRewriter) -> None:
    """Splice several blocks into the surrounding region, if that may have several."""
    if "no_inline" in op.properties or not isinstance(op.parent_op(), FuncOp | scf.ExecuteRegionOp):
        return
    before = op.parent
    assert before is not None and before.parent is not None
    after = Block()
    Rewriter.insert_block(after, BlockInsertPoint.after(before))
    # `op` goes along, to be replaced by the arguments of the block once they are there
    for moved in reversed([*dropwhile(lambda other: other is not op, before.ops)]):
        moved.detach()
        rewriter.insert(moved, InsertPoint.at_start(after))
    rewriter.insert(branch_op(only_block(op.region)), InsertPoint.at_end(before))
    for block in op.region.blocks:
        if isinstance(leave := block.last_op, scf.YieldOp):
            rewriter.insert(branch_op(after, tuple(leave.operands)), InsertPoint.before(leave))
            rewriter.erase(leave)
    rewriter.inline_region(op.region, BlockInsertPoint.before(after))
    rewriter.replace(op, (), [after.insert_arg(type, index) for index, type in enumerate(op.result_types)])


FOLDERS: dict[str, Callable[[Any], Sequence[SSAValue] | None]] = {"scf.if": fold_if}

PATTERNS: dict[str, Sequence[PatternFunction]] = {
    "scf.for": (simplify_trivial_loop, *region_branches.PATTERNS),
    "scf.if": (*IF_PATTERNS, *region_branches.PATTERNS),
    "scf.forall": (forall_with_constants, drop_single_threads, use_constant_index),
    "scf.parallel": (drop_single_iterations, merge_nested),
    "scf.while": (propagate_true, decide_comparisons, align_arguments, sink_if, *region_branches.PATTERNS),
    "scf.index_switch": (take_known_case, *region_branches.PATTERNS),
    "scf.execute_region": (inline_region, inline_blocks, *region_branches.PATTERNS),
}
