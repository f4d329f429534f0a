"""Folding and canonical forms of `scf.if`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tilewright.dialects import arith, scf
from tilewright.rewrite.emitter import Emitter, constant_op
from tilewright.rewrite.folding.constants import TRUE, bool_attr, constant_of, defining, is_one
from tilewright.rewrite.folding.regions import (
    has_one_op,
    is_inside,
    only_block,
    parent_region,
    recreate,
    replace_with_region,
    take_contents,
    terminator,
)


def _inverted_condition(condition: SSAValue) -> SSAValue | None:
    """`c`, where `condition` is `!c`."""
    xor = defining(condition, arith.XOrIOp)
    return xor.lhs if xor is not None and is_one(constant_of(xor.rhs)) else None


def _has_else(op: scf.IfOp) -> bool:
    return op.false_region.first_block is not None


def _make_if(condition: SSAValue, types: Sequence[Attribute], then: Region, otherwise: Region) -> Operation:
    return scf.IfOp.create(operands=(condition,), result_types=types, regions=(then, otherwise))


def _replace_yield(region: Region, rewriter: PatternRewriter, values: Sequence[SSAValue]) -> None:
    last = terminator(region)
    rewriter.insert(scf.YieldOp(*values), InsertPoint.at_end(only_block(region)))
    rewriter.erase(last)


def fold_if(op: scf.IfOp) -> Sequence[SSAValue] | None:
    """`if (!c) A else B` is `if (c) B else A`."""
    condition = _inverted_condition(op.cond)
    if not _has_else(op) or condition is None:
        return None
    op.operands = (condition,)
    # by way of new regions, or the blocks of the two would mix
    then, otherwise = take_contents(op.true_region), take_contents(op.false_region)
    otherwise.move_blocks(op.true_region)
    then.move_blocks(op.false_region)
    return ()


def combine_neighbours(op: scf.IfOp, rewriter: PatternRewriter) -> None:
    """Two ifs in a row on the same condition, or on a condition and its opposite, are one."""
    previous = op.prev_op
    if not isinstance(previous, scf.IfOp):
        return
    branches = _branches_under(op, previous)
    if branches is None:
        return
    then, otherwise = branches
    _use_yielded_values(previous, then, otherwise, rewriter)
    combined = rewriter.insert(
        _make_if(previous.cond, [r.type for r in (*previous.results, *op.results)], Region(), Region())
    )
    merged_then, merged_else = combined.regions
    previous.true_region.move_blocks(merged_then)
    if then is not None:
        _append_block(merged_then, then, rewriter)
    previous.false_region.move_blocks(merged_else)
    # the first if may have no else for the second to continue
    if otherwise is not None:
        if merged_else.first_block is None and otherwise.parent is not None:
            otherwise.parent.move_blocks(merged_else)
        else:
            _append_block(merged_else, otherwise, rewriter)
    count = len(previous.results)
    rewriter.replace(previous, (), combined.results[:count])
    rewriter.replace(op, (), combined.results[count:])


def _branches_under(op: scf.IfOp, previous: scf.IfOp) -> tuple[Block | None, Block | None] | None:
    """What `op` does where the condition of `previous` holds, and where not; None if they are unrelated."""
    then, otherwise = only_block(op.true_region), op.false_region.first_block
    if _inverted_condition(op.cond) is previous.cond or _inverted_condition(previous.cond) is op.cond:
        return otherwise, then
    return (then, otherwise) if op.cond is previous.cond else None


def _use_yielded_values(
    previous: scf.IfOp, then: Block | None, otherwise: Block | None, rewriter: PatternRewriter
) -> None:
    """In the branches that are about to follow those of `previous`, use what these yield instead of its results."""
    if not _has_else(previous):
        return
    yields = zip(
        previous.results,
        terminator(previous.true_region).operands,
        terminator(previous.false_region).operands,
        strict=True,
    )
    for result, from_then, from_else in yields:
        for use in tuple(result.uses):
            for block, value in ((then, from_then), (otherwise, from_else)):
                if block is not None and block.parent is not None and is_inside(use.operation, block.parent):
                    use.operation.operands[use.index] = value
                    rewriter.notify_op_modified(use.operation)
                    break


def _append_block(region: Region, block: Block, rewriter: PatternRewriter) -> None:
    """Continue the block of `region` with `block`, yielding what both yield."""
    first, second = terminator(region), block.last_op
    assert second is not None
    body = only_block(region)
    rewriter.inline_block(block, InsertPoint.at_end(body))
    rewriter.insert(scf.YieldOp(*first.operands, *second.operands), InsertPoint.at_end(body))
    rewriter.erase(first)
    rewriter.erase(second)


def combine_nested(op: scf.IfOp, rewriter: PatternRewriter) -> None:
    """`if (a) { if (b) X }` is `if (a & b) X`."""
    inner = only_block(op.true_region).first_op
    if not isinstance(inner, scf.IfOp) or inner.next_op is not terminator(op.true_region):
        return
    # an else that does something would have to run where either condition fails
    if any(_has_else(x) and not has_one_op(x.false_region.first_block) for x in (op, inner)):
        return
    then = list(terminator(op.true_region).operands)
    otherwise = list(terminator(op.false_region).operands) if _has_else(op) else []
    selected: list[int] = []
    for index, value in enumerate(then):
        if value.owner is inner:
            number = inner.results.index(value)
            if terminator(inner.false_region).operands[number] is not otherwise[index]:
                return
            then[index] = terminator(inner.true_region).operands[number]
        # computed beside the inner if, so that it would have to run without its condition
        elif parent_region(value) is op.true_region:
            return
        else:
            selected.append(index)
    both = rewriter.insert(arith.AndIOp(op.cond, inner.cond)).results[0]
    new = rewriter.insert(_make_if(both, [r.type for r in op.results], Region(Block()), Region()))
    results: list[SSAValue] = list(new.results)
    for index in selected:
        choice = arith.SelectOp(op.cond, then[index], otherwise[index])
        results[index] = rewriter.insert(choice, InsertPoint.before(new)).results[0]
    # an if that is made with an empty block gives it a yield
    body = only_block(new.regions[0])
    for leftover in tuple(body.ops):
        rewriter.erase(leftover)
    rewriter.inline_block(only_block(inner.true_region), InsertPoint.at_end(body))
    _replace_yield(new.regions[0], rewriter, then)
    if otherwise:
        block = Block()
        new.regions[1].add_block(block)
        rewriter.insert(scf.YieldOp(*otherwise), InsertPoint.at_end(block))
    rewriter.replace(op, (), results)


def propagate_condition(op: scf.IfOp, rewriter: PatternRewriter) -> None:
    """Inside the branches of an if, its condition is known."""
    # such an if is taken apart instead
    if constant_of(op.cond) is not None:
        return
    known: dict[bool, SSAValue] = {}
    for use in tuple(op.cond.uses):
        if is_inside(use.operation, op.true_region):
            outcome = True
        elif is_inside(use.operation, op.false_region):
            outcome = False
        else:
            continue
        if outcome not in known:
            known[outcome] = rewriter.insert(constant_op(bool_attr(outcome))).results[0]
        use.operation.operands[use.index] = known[outcome]
        rewriter.notify_op_modified(use.operation)


def yield_to_select(op: scf.IfOp, rewriter: PatternRewriter) -> None:
    """A result for which both branches yield values from outside is a choice between them."""
    if not op.results:
        return
    then, otherwise = terminator(op.true_region).operands, terminator(op.false_region).operands
    pairs = list(zip(then, otherwise, strict=True))
    local = [parent_region(a) is op.true_region or parent_region(b) is op.false_region for a, b in pairs]
    if all(local):
        return
    types = [a.type for (a, _), is_local in zip(pairs, local, strict=True) if is_local]
    new = rewriter.insert(_make_if(op.cond, types, take_contents(op.true_region), take_contents(op.false_region)))
    remaining = iter(new.results)
    results: list[SSAValue] = []
    for (a, b), is_local in zip(pairs, local, strict=True):
        if is_local:
            results.append(next(remaining))
        elif a is b:
            results.append(a)
        else:
            results.append(rewriter.insert(arith.SelectOp(op.cond, a, b), InsertPoint.before(new)).results[0])
    for region, side in zip(new.regions, (0, 1), strict=True):
        kept = [pair[side] for pair, is_local in zip(pairs, local, strict=True) if is_local]
        _replace_yield(region, rewriter, kept)
    rewriter.replace(op, (), results)


def drop_empty_else(op: scf.IfOp, rewriter: PatternRewriter) -> None:
    if op.results or not has_one_op(op.false_region.first_block):
        return
    rewriter.insert(recreate(op, regions=(take_contents(op.true_region), Region())))
    rewriter.erase(op)


def take_known_branch(op: scf.IfOp, rewriter: PatternRewriter) -> None:
    condition = constant_of(op.cond)
    if not isinstance(condition, IntegerAttr):
        return
    if condition.value.data:
        replace_with_region(op, rewriter, op.true_region)
    elif _has_else(op):
        replace_with_region(op, rewriter, op.false_region)
    else:
        rewriter.erase(op)


def yield_to_condition(op: scf.IfOp, rewriter: PatternRewriter) -> None:
    """A result that is true in one branch and false in the other is the condition or its opposite."""
    if not op.results:
        return
    then, otherwise = terminator(op.true_region).operands, terminator(op.false_region).operands
    for result, a, b in zip(op.results, then, otherwise, strict=True):
        if result.first_use is None:
            continue
        outcomes = constant_of(a), constant_of(b)
        if a is b:
            rewriter.replace_all_uses_with(result, a)
        elif outcomes == (bool_attr(False), TRUE):
            emit = Emitter(rewriter)
            rewriter.replace_all_uses_with(result, emit.value(arith.XOrIOp(op.cond, emit.constant(1, i1))))
        elif outcomes == (TRUE, bool_attr(False)):
            rewriter.replace_all_uses_with(result, op.cond)


IF_PATTERNS = (
    combine_neighbours,
    combine_nested,
    propagate_condition,
    yield_to_select,
    drop_empty_else,
    take_known_branch,
    yield_to_condition,
)
