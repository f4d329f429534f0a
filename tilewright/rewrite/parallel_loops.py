"""Turns parallel loops into counted ones, one in the other, which combine values iteration by iteration."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import scf
from tilewright.rewrite.folding.building import create
from tilewright.rewrite.folding.regions import only_block, terminator
from tilewright.rewrite.insertion import building_before


def to_counted_loops(op: scf.ParallelOp) -> scf.ForOp:
    """Put loops in place of `op`; gives the outermost."""
    body, variables = only_block(op.body), list(op.body.block.args)
    ranges = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    outer, block, carried = _nest(op, ranges, variables)
    _combine(terminator(op.body), carried)
    for child in list(body.ops):
        child.detach()
        Rewriter.insert_op(child, InsertPoint.at_end(block))
    for result, value in zip(op.results, outer.results, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)
    return outer


def _nest(
    op: scf.ParallelOp, ranges: Sequence[tuple[SSAValue, SSAValue, SSAValue]], variables: Sequence[SSAValue]
) -> tuple[scf.ForOp, Block, Sequence[SSAValue]]:
    """A loop for each range, around each other: the outermost, the innermost body, and what that is handed over."""
    loops: list[scf.ForOp] = []
    values: Sequence[SSAValue] = op.initVals
    for (lower, upper, step), variable in zip(ranges, variables, strict=True):
        types = [value.type for value in values]
        block = Block(arg_types=[variable.type, *types])
        made = create("scf.for", (lower, upper, step, *values), types, regions=[Region(block)])
        assert isinstance(made, scf.ForOp)
        if loops:
            inside = only_block(loops[-1].body)
            end = create("scf.yield", made.results)
            made.location = end.location = op.location
            inside.add_ops([made, end])
        else:
            building_before(op).insert(made)
        variable.replace_all_uses_with(block.args[0])
        values = block.args[1:]
        loops.append(made)
    return loops[0], only_block(loops[-1].body), values


def _combine(reduce: Operation, carried: Sequence[SSAValue]) -> None:
    """Yield, instead of each value to be reduced, what its reduction makes of it and the one so far."""
    combined: list[SSAValue] = []
    for region, so_far, value in zip(reduce.regions, carried, reduce.operands, strict=True):
        block, end = only_block(region), terminator(region)
        for argument, new in zip(block.args, (so_far, value), strict=True):
            argument.replace_all_uses_with(new)
        combined.append(end.operands[0])
        for child in list(block.ops):
            child.detach()
            if child is not end:
                Rewriter.insert_op(child, InsertPoint.before(reduce))
        end.erase()
    made = create("scf.yield", combined)
    made.location = reduce.location
    Rewriter.replace_op(reduce, made)
