"""Folding and canonical forms of structured control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import BlockInsertPoint, InsertPoint, Rewriter

from tilewright.passes.folding import region_branches
from tilewright.passes.folding.arith_patterns import defining
from tilewright.passes.folding.building import create
from tilewright.passes.folding.constants import constant_bits, scalar_int, signed, width_of
from tilewright.passes.folding.regions import (
    has_one_op,
    is_defined_in,
    only_block,
    replace_with_region,
    terminator,
)
from tilewright.passes.folding.scf_if import IF_PATTERNS, fold_if
from tilewright.passes.folding.scf_while import WHILE_PATTERNS

Pattern: TypeAlias = Callable[[Any, PatternRewriter], None]


def trip_count(lower: SSAValue, upper: SSAValue, step: SSAValue, *, is_unsigned: bool = False) -> int | None:
    """How often a loop over these bounds runs, where that is known."""
    if lower is upper:
        return 0
    stride = constant_bits(step) if is_unsigned else scalar_int(step)
    distance = _distance(lower, upper, is_unsigned)
    if (stride is not None and stride <= 0) or (distance is not None and distance <= 0):
        return 0
    return -(-distance // stride) if distance is not None and stride is not None else None


def _distance(lower: SSAValue, upper: SSAValue, is_unsigned: bool) -> int | None:
    width = width_of(lower.type)
    low, high = constant_bits(lower), constant_bits(upper)
    if width is None:
        return None
    if low is not None and high is not None:
        return high - low if is_unsigned else signed(high, width) - signed(low, width)
    add = defining(upper, arith.AddiOp)
    promise = arith.IntegerOverflowFlag.NUW if is_unsigned else arith.IntegerOverflowFlag.NSW
    if add is None or promise not in add.overflow_flags.data:
        return None
    for this, other in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
        bits = constant_bits(other)
        if this is lower and bits is not None:
            return bits if is_unsigned else signed(bits, width)
    return None


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
        rewriter.move(moved, InsertPoint.at_start(after))  # pyright: ignore[reportAttributeAccessIssue]
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
    "scf.while": (*WHILE_PATTERNS, *region_branches.PATTERNS),
    "scf.index_switch": (take_known_case, *region_branches.PATTERNS),
    "scf.execute_region": (inline_region, inline_blocks, *region_branches.PATTERNS),
}
