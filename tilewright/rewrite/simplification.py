"""Structural clean-up of regions: unreachable blocks, dead operations and block arguments, identical blocks."""

from __future__ import annotations

from xdsl.ir import BlockArgument, Operation, Region, SSAValue, Use

from tilewright.rewrite.block_merging import drop_redundant_arguments, merge_identical_blocks
from tilewright.rewrite.branches import (
    disconnect,
    has_one_block,
    is_branch,
    nested_regions,
    post_order,
    successor_argument,
    successor_operands,
    with_successor_operands,
)
from tilewright.rewrite.effects import facts_of, would_be_dead


def simplify_region(region: Region, *, merge_blocks: bool) -> bool:
    """Clean up `region` and the regions nested in it. Returns whether anything changed."""
    changed = erase_unreachable_blocks(region)
    changed |= eliminate_dead_code(region)
    if merge_blocks:
        changed |= merge_identical_blocks(region)
        changed |= drop_redundant_arguments(region)
    return changed


def erase_unreachable_blocks(region: Region) -> bool:
    changed = False
    if not has_one_block(region) and region.first_block is not None:
        reachable = set(post_order(region.first_block))
        dead = [block for block in region.blocks if block not in reachable]
        for block in dead:
            disconnect(block)
        for block in dead:
            region.detach_block(block)
        changed = bool(dead)
    for nested in tuple(nested_regions(region)):
        changed |= erase_unreachable_blocks(nested)
    return changed


class _Liveness:
    """Assumes that everything is dead until an effect, a terminator or a live user shows otherwise."""

    def __init__(self, region: Region):
        self._arguments: set[BlockArgument] = set()
        self._ops: set[Operation] = set()
        self._changed = True
        while self._changed:
            self._changed = False
            self._visit_region(region)

    def is_live(self, op: Operation) -> bool:
        return op in self._ops

    def is_live_argument(self, argument: BlockArgument) -> bool:
        return argument in self._arguments

    def _visit_region(self, region: Region) -> None:
        if region.first_block is None:
            return
        blocks = (region.first_block,) if has_one_block(region) else post_order(region.first_block)
        for block in blocks:
            op = block.last_op
            while op is not None:
                self._visit_op(op)
                op = op.prev_op
            if block is not region.first_block:
                for argument in block.args:
                    if argument not in self._arguments and self._has_live_use(argument):
                        self._arguments.add(argument)
                        self._changed = True

    def _visit_op(self, op: Operation) -> None:
        for region in op.regions:
            self._visit_region(region)
        if op in self._ops:
            return
        if facts_of(op).terminator:
            self._visit_terminator(op)
        elif would_be_dead(op) and not any(map(self._has_live_use, op.results)):
            return
        self._ops.add(op)
        self._changed = True

    def _visit_terminator(self, op: Operation) -> None:
        if op.successors and not is_branch(op):
            for successor in op.successors:
                self._arguments.update(successor.args)

    def _has_live_use(self, value: SSAValue) -> bool:
        return any(use.operation in self._ops and not self._feeds_dead_argument(use) for use in value.uses)

    def _feeds_dead_argument(self, use: Use) -> bool:
        argument = successor_argument(use.operation, use.index)
        return argument is not None and argument not in self._arguments


def eliminate_dead_code(region: Region) -> bool:
    """Remove operations and block arguments on which nothing observable depends, even in a cycle."""
    return _remove_dead(region, _Liveness(region))


def _remove_dead(region: Region, liveness: _Liveness) -> bool:
    if region.first_block is None:
        return False
    changed = False
    single = has_one_block(region)
    for block in (region.first_block,) if single else post_order(region.first_block):
        if not single and block.last_op is not None:
            _drop_dead_successor_operands(block.last_op, liveness)
        op = block.last_op
        while op is not None:
            preceding = op.prev_op
            if liveness.is_live(op):
                for nested in op.regions:
                    changed |= _remove_dead(nested, liveness)
            else:
                changed = True
                block.erase_op(op, safe_erase=False)
            op = preceding
    for block in tuple(region.blocks)[1:]:
        for argument in tuple(block.args):
            if not liveness.is_live_argument(argument):
                block.erase_arg(argument, safe_erase=False)
    return changed


def _drop_dead_successor_operands(op: Operation, liveness: _Liveness) -> None:
    if not is_branch(op):
        return
    kept = [
        [
            value
            for value, argument in zip(successor_operands(op, index), block.args, strict=True)
            if liveness.is_live_argument(argument)
        ]
        for index, block in enumerate(op.successors)
    ]
    if sum(map(len, kept)) != sum(len(successor_operands(op, index)) for index in range(len(kept))):
        with_successor_operands(op, kept)
