"""Rewriting operations that hold regions: inlining a body, moving bodies to a new operation, dropping results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint


def is_inside(op: Operation, region: Region) -> bool:
    """Whether `op` is nested in `region`, at any depth."""
    return _is_within(op.parent_region(), region)


def _is_within(inner: Region | None, region: Region) -> bool:
    while inner is not None and inner is not region:
        inner = inner.parent.parent_region() if inner.parent is not None else None
    return inner is region


def parent_region(value: SSAValue) -> Region | None:
    """The region in which `value` is defined."""
    if isinstance(value, BlockArgument):
        return value.block.parent
    return cast(Operation, value.owner).parent_region()


def is_defined_in(value: SSAValue, region: Region) -> bool:
    """Whether `value` is defined in `region`, at any depth."""
    return _is_within(parent_region(value), region)


def only_block(region: Region) -> Block:
    block = region.first_block
    assert block is not None
    return block


def terminator(region: Region) -> Operation:
    """The terminator of a region that has one block."""
    op = only_block(region).last_op
    assert op is not None
    return op


def has_one_op(block: Block | None) -> bool:
    return block is not None and block.first_op is not None and block.first_op is block.last_op


def replace_with_region(
    op: Operation, rewriter: PatternRewriter, region: Region, arguments: Sequence[SSAValue] = ()
) -> None:
    """Put the one block of `region` in place of `op`, and what it yields in place of the results."""
    last = terminator(region)
    rewriter.inline_block(only_block(region), InsertPoint.before(op), arguments)
    # the terminator stands before `op` now, and its operands name what the block made
    rewriter.replace(op, (), tuple(last.operands))
    rewriter.erase(last)


def take_contents(region: Region) -> Region:
    """A new region with the blocks of `region`, which is left empty."""
    taken = Region()
    region.move_blocks(taken)
    return taken


def recreate(
    op: Operation,
    *,
    operands: Sequence[SSAValue] | None = None,
    result_types: Sequence[Attribute] | None = None,
    regions: Sequence[Region] | None = None,
) -> Operation:
    """An operation like `op`, properties and attributes included; it takes over the regions unless others are given."""
    return type(op).create(
        operands=op.operands if operands is None else operands,
        result_types=[result.type for result in op.results] if result_types is None else result_types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        successors=op.successors,
        regions=[take_contents(region) for region in op.regions] if regions is None else regions,
    )


def drop_results(op: Operation, rewriter: PatternRewriter, dropped: set[int]) -> None:
    """Replace `op` by one without some of its results, which must be unused."""
    kept = [result for result in op.results if result.index not in dropped]
    new = rewriter.insert(recreate(op, result_types=[result.type for result in kept]), InsertPoint.before(op))
    for old, value in zip(kept, new.results, strict=True):
        rewriter.replace_all_uses_with(old, value)
    rewriter.erase(op)


def drop_operands(op: Operation, rewriter: PatternRewriter, dropped: set[int]) -> None:
    op.operands = [value for index, value in enumerate(op.operands) if index not in dropped]
    rewriter.notify_op_modified(op)


def drop_arguments(block: Block, rewriter: PatternRewriter, dropped: set[int]) -> None:
    # from the last, so that those to come keep their numbers
    for index in sorted(dropped, reverse=True):
        block.erase_arg(block.args[index])
    parent = block.parent_op()
    if parent is not None:
        rewriter.notify_op_modified(parent)
