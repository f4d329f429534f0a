"""Canonical forms of `scf.while`."""

from __future__ import annotations

from typing import cast

from xdsl.ir import BlockArgument, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tilewright.dialects import arith, scf
from tilewright.rewrite.folding.building import create, insert_constant
from tilewright.rewrite.folding.constants import TRUE, bool_attr, make_constant
from tilewright.rewrite.folding.matching import defining
from tilewright.rewrite.folding.predicates import INVERTED
from tilewright.rewrite.folding.regions import (
    has_one_op,
    is_defined_in,
    is_inside,
    only_block,
    recreate,
    take_contents,
    terminator,
)


def _condition(op: scf.WhileOp) -> scf.ConditionOp:
    return cast(scf.ConditionOp, terminator(op.before_region))


def propagate_true(op: scf.WhileOp, rewriter: PatternRewriter) -> None:
    """The body runs only where the condition holds."""
    condition = _condition(op)
    known: SSAValue | None = None
    for value, argument in zip(condition.args, only_block(op.after_region).args, strict=True):
        if value is condition.condition and argument.first_use is not None:
            known = known or insert_constant(rewriter, TRUE)
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
                    rewriter.replace(again, make_constant(bool_attr(predicates[0] == predicates[1])))


def align_arguments(op: scf.WhileOp, rewriter: PatternRewriter) -> None:
    """Pass on the arguments of the condition region in their own order."""
    condition = _condition(op)
    arguments, passed = tuple(only_block(op.before_region).args), tuple(condition.args)
    if arguments == passed or len(arguments) != len(passed) or set(arguments) != set(passed):
        return
    position = {value: index for index, value in enumerate(arguments)}
    order = [position[cast(BlockArgument, value)] for value in passed]
    new_condition = create("scf.condition", (condition.condition, *arguments))
    rewriter.replace(condition, new_condition)
    new = rewriter.insert(
        recreate(op, result_types=[a.type for a in arguments], regions=(take_contents(op.before_region), Region()))
    )
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
    for value, argument in zip(needed, passed, strict=True):
        rewriter.replace_uses_with_if(value, argument, lambda use: is_inside(use.operation, then))
    rewriter.erase(terminator(then))
    rewriter.inline_block(only_block(then), InsertPoint.at_start(body))
    rewriter.erase(branch)
    rewriter.replace(op, (), new.results[: len(op.results)])


def _values_from_outside(region: Region, within: Region) -> list[SSAValue]:
    """What the operations in `region` use of the values defined around it, but still in `within`."""
    found: dict[SSAValue, None] = {}
    for op in region.walk(region_first=True):
        for value in op.operands:
            if is_defined_in(value, within) and not is_defined_in(value, region):
                found[value] = None
    return list(found)


WHILE_PATTERNS = (propagate_true, decide_comparisons, align_arguments, sink_if)
