"""Folding and canonical forms of structured control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import BlockInsertPoint, InsertPoint, Rewriter

from tilewright.dialects import scf
from tilewright.dialects.func import FuncOp
from tilewright.rewrite.folding import region_branches
from tilewright.rewrite.folding.building import create
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import (
    has_one_op,
    is_defined_in,
    only_block,
    replace_with_region,
    terminator,
)
from tilewright.rewrite.folding.scf_if import IF_PATTERNS, fold_if
from tilewright.rewrite.folding.scf_parallel import FORALL_PATTERNS, PARALLEL_PATTERNS
from tilewright.rewrite.folding.scf_while import WHILE_PATTERNS
from tilewright.rewrite.folding.trip_counts import trip_count

Pattern: TypeAlias = Callable[[Any, PatternRewriter], None]


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
    if "no_inline" in op.properties or op.region.first_block is not op.region.last_block:
        return
    replace_with_region(op, rewriter, op.region)


def inline_blocks(op: scf.ExecuteRegionOp, rewriter: PatternRewriter) -> None:
    """Splice several blocks into the surrounding region, if that may have several."""
    if "no_inline" in op.properties or not isinstance(op.parent_op(), FuncOp | scf.ExecuteRegionOp):
        return
    before = op.parent
    assert before is not None and before.parent is not None
    after = Block()
    Rewriter.insert_block(after, BlockInsertPoint.after(before))
    following: list[Operation] = []
    last: Operation | None = op
    while last is not None:
        following.append(last)
        last = last.next_op
    for moved in reversed(following):
        moved.detach()
        rewriter.insert(moved, InsertPoint.at_start(after))
    rewriter.insert(create("cf.br", successors=(only_block(op.region),)), InsertPoint.at_end(before))
    for block in op.region.blocks:
        if isinstance(block.last_op, scf.YieldOp):
            leave = block.last_op
            rewriter.insert(create("cf.br", tuple(leave.operands), successors=(after,)), InsertPoint.before(leave))
            rewriter.erase(leave)
    rewriter.inline_region(op.region, BlockInsertPoint.before(after))
    arguments = [after.insert_arg(result.type, index) for index, result in enumerate(op.results)]
    rewriter.replace(op, (), arguments)


FOLDERS: dict[str, Callable[[Any], Sequence[SSAValue] | None]] = {"scf.if": fold_if}

PATTERNS: dict[str, Sequence[Pattern]] = {
    "scf.for": (simplify_trivial_loop, *region_branches.PATTERNS),
    "scf.if": (*IF_PATTERNS, *region_branches.PATTERNS),
    "scf.forall": FORALL_PATTERNS,
    "scf.parallel": PARALLEL_PATTERNS,
    "scf.while": (*WHILE_PATTERNS, *region_branches.PATTERNS),
    "scf.index_switch": (take_known_case, *region_branches.PATTERNS),
    "scf.execute_region": (inline_region, inline_blocks, *region_branches.PATTERNS),
}
