"""Canonical forms of branches between blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects import ub
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tilewright.dialects import arith, cf
from tilewright.rewrite.canonicalization import PatternFunction
from tilewright.rewrite.control_flow import branch_op, conditional_branch_op, sizes_attr
from tilewright.rewrite.emitter import constant_op
from tilewright.rewrite.folding.constants import bool_attr, constant_bits, constant_of, is_one, mask, signed, width_of

Target: TypeAlias = "tuple[Block, Sequence[SSAValue]]"
"""A block, and what to pass to its arguments."""


def _branches(op: cf.ConditionalBranchOp) -> tuple[Target, Target]:
    return (op.then_block, op.then_arguments), (op.else_block, op.else_arguments)


def _decision(op: Operation) -> Operation | None:
    """The branch that alone, and by one edge, leads to the block of `op`."""
    use = op.parent.get_unique_use() if op.parent is not None else None
    return use.operation if use is not None else None


def _collapse(target: Target) -> Target | None:
    """Where a block that only branches on would lead in the end."""
    block, values = target
    branch = block.last_op
    if not isinstance(branch, cf.BranchOp) or block.first_op is not branch or branch.successor is block:
        return None
    # an argument that is used further on must be defined on this way too
    if any(use.operation is not branch for argument in block.args for use in argument.uses) or _runs_in_circles(block):
        return None
    return branch.successor, [
        values[value.index] if isinstance(value, BlockArgument) and value.block is block else value
        for value in branch.arguments
    ]


def _runs_in_circles(block: Block) -> bool:
    """Whether unconditional branches from `block` on never lead anywhere else."""
    visited = {block}
    while isinstance(branch := block.last_op, cf.BranchOp):
        block = branch.successor
        if block in visited:
            return True
        visited.add(block)
    return False


def simplify_branch(op: cf.BranchOp, rewriter: PatternRewriter) -> None:
    """Join a block with the only one that leads to it; skip blocks that only branch on."""
    block, target = op.parent, op.successor
    assert block is not None
    if target is block:
        return
    if target.has_one_use():
        values = tuple(op.arguments)
        rewriter.erase(op)
        rewriter.inline_block(target, InsertPoint.at_end(block), values)
    elif (collapsed := _collapse((target, op.arguments))) is not None:
        rewriter.replace(op, branch_op(*collapsed))


def take_known_branch(op: cf.ConditionalBranchOp, rewriter: PatternRewriter) -> None:
    condition = constant_bits(op.cond)
    if condition is not None:
        then, otherwise = _branches(op)
        rewriter.replace(op, branch_op(*then if condition else otherwise))


def collapse_branches(op: cf.ConditionalBranchOp, rewriter: PatternRewriter) -> None:
    then, otherwise = _branches(op)
    new_then, new_else = _collapse(then), _collapse(otherwise)
    if new_then is not None or new_else is not None:
        rewriter.replace(op, conditional_branch_op(op.cond, new_then or then, new_else or otherwise))


def join_branches(op: cf.ConditionalBranchOp, rewriter: PatternRewriter) -> None:
    """Both ways lead to the same block: choose what to pass to it instead."""
    (target, then), (other, otherwise) = _branches(op)
    if target is not other:
        return
    if tuple(then) == tuple(otherwise):
        rewriter.replace(op, branch_op(target, then))
    # MLIR's condition: no other block leads there
    elif all(use.operation is op for use in target.uses):
        values = [
            a if a is b else rewriter.insert(arith.SelectOp(op.cond, a, b)).results[0]
            for a, b in zip(then, otherwise, strict=True)
        ]
        rewriter.replace(op, branch_op(target, values))


def follow_decision(op: cf.ConditionalBranchOp, rewriter: PatternRewriter) -> None:
    """The branch that led here was on the same condition."""
    decision = _decision(op)
    if isinstance(decision, cf.ConditionalBranchOp) and decision.cond is op.cond:
        then, otherwise = _branches(op)
        rewriter.replace(op, branch_op(*then if decision.then_block is op.parent else otherwise))


def propagate_condition(op: cf.ConditionalBranchOp, rewriter: PatternRewriter) -> None:
    """In a block that only this branch leads to, its condition is known."""
    for outcome, block in ((True, op.then_block), (False, op.else_block)):
        # another way into the block may have another condition
        if not block.has_one_use():
            continue
        known: SSAValue | None = None
        for use in tuple(op.cond.uses):
            if use.operation.parent is block:
                known = known or rewriter.insert(constant_op(bool_attr(outcome))).results[0]
                use.operation.operands[use.index] = known
                rewriter.notify_op_modified(use.operation)


def avoid_unreachable(op: cf.ConditionalBranchOp, rewriter: PatternRewriter) -> None:
    """A way that ends in `ub.unreachable` at once is never taken."""
    then, otherwise = _branches(op)
    for (block, _), other in ((then, otherwise), (otherwise, then)):
        if isinstance(block.first_op, ub.UnreachableOp):
            rewriter.replace(op, branch_op(*other))
            return


def drop_true_assertion(op: cf.AssertOp, rewriter: PatternRewriter) -> None:
    if is_one(constant_of(op.arg)):
        rewriter.erase(op)


def _cases(op: cf.SwitchOp) -> list[tuple[int, Target]]:
    """The values of the cases, as bits, and where they lead."""
    bits = mask(cast(int, width_of(op.flag.type)))
    targets = zip(op.case_blocks, op.case_operand, strict=True)
    return [(number & bits, target) for number, target in zip(cf.case_numbers(op), targets, strict=True)]


def _default(op: cf.SwitchOp) -> Target:
    return op.default_block, op.default_operands


def _make_switch(op: cf.SwitchOp, default: Target, cases: Sequence[tuple[int, Target]]) -> Operation:
    targets = [target for _, target in cases]
    properties: dict[str, Any] = {
        "operandSegmentSizes": sizes_attr([1, len(default[1]), sum(len(values) for _, values in targets)]),
        "case_operand_segments": sizes_attr([len(values) for _, values in targets]),
    }
    if cases:
        width = cast(int, width_of(op.flag.type))
        type = VectorType(cast(Any, op.flag.type), [len(cases)])
        # as bits they are told apart, with their sign they are written
        numbers = [signed(value, width) for value, _ in cases]
        properties["case_values"] = DenseIntOrFPElementsAttr.from_list(type, numbers)
    operands = (op.flag, *default[1], *(value for _, values in targets for value in values))
    successors = (default[0], *(block for block, _ in targets))
    return cf.SwitchOp.create(operands=operands, properties=properties, successors=successors)


def _target_for(op: cf.SwitchOp, value: int) -> Target:
    # the first of equal cases wins, so it is put in last
    return dict(reversed(_cases(op))).get(value, _default(op))


def drop_switch_without_cases(op: cf.SwitchOp, rewriter: PatternRewriter) -> None:
    if not op.case_blocks:
        rewriter.replace(op, branch_op(*_default(op)))


def drop_cases_like_default(op: cf.SwitchOp, rewriter: PatternRewriter) -> None:
    default, passed = _default(op)
    kept = ((n, to) for n, to in _cases(op) if to[0] is not default or tuple(to[1]) != tuple(passed))
    _keep_cases(op, rewriter, kept)


def _keep_cases(op: cf.SwitchOp, rewriter: PatternRewriter, kept: Iterable[tuple[int, Target]]) -> None:
    cases = list(kept)
    if len(cases) != len(op.case_blocks):
        rewriter.replace(op, _make_switch(op, _default(op), cases))


def take_known_case(op: cf.SwitchOp, rewriter: PatternRewriter) -> None:
    value = constant_bits(op.flag)
    if value is not None:
        rewriter.replace(op, branch_op(*_target_for(op, value)))


def collapse_cases(op: cf.SwitchOp, rewriter: PatternRewriter) -> None:
    cases = [(value, _collapse(target)) for value, target in _cases(op)]
    default = _collapse(_default(op))
    if default is None and all(target is None for _, target in cases):
        return
    new = [(value, target or old) for (value, target), (_, old) in zip(cases, _cases(op), strict=True)]
    rewriter.replace(op, _make_switch(op, default or _default(op), new))


def _deciding_switch(op: cf.SwitchOp) -> cf.SwitchOp | None:
    """The switch on the same value that alone leads here."""
    decision = _decision(op)
    return decision if isinstance(decision, cf.SwitchOp) and decision.flag is op.flag else None


def follow_switch(op: cf.SwitchOp, rewriter: PatternRewriter) -> None:
    decision = _deciding_switch(op)
    if decision is None or decision.default_block is op.parent:
        return
    value = next((value for value, (block, _) in _cases(decision) if block is op.parent), None)
    rewriter.replace(op, branch_op(*_default(op) if value is None else _target_for(op, value)))


def drop_excluded_cases(op: cf.SwitchOp, rewriter: PatternRewriter) -> None:
    """Where only the default of a switch leads here, its cases do not occur."""
    decision = _deciding_switch(op)
    if decision is None or decision.default_block is not op.parent:
        return
    excluded = {value for value, (block, _) in _cases(decision) if block is not op.parent}
    _keep_cases(op, rewriter, (case for case in _cases(op) if case[0] not in excluded))


PATTERNS: dict[str, Sequence[PatternFunction]] = {
    "cf.assert": (drop_true_assertion,),
    "cf.br": (simplify_branch,),
    "cf.cond_br": (
        take_known_branch,
        collapse_branches,
        join_branches,
        follow_decision,
        propagate_condition,
        avoid_unreachable,
    ),
    "cf.switch": (
        drop_switch_without_cases,
        drop_cases_like_default,
        take_known_case,
        collapse_cases,
        follow_switch,
        drop_excluded_cases,
    ),
}
