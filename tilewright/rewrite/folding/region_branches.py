"""Values that travel through structured control flow: from the operation into its regions, between them, and out.

A successor operand is one that an operation or the terminator of one of its regions hands over; a successor input is
the block argument or result that receives it. The patterns here hold for every operation whose `Flow` is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import scf
from tilewright.rewrite.folding.regions import (
    drop_arguments,
    drop_operands,
    drop_results,
    only_block,
    parent_region,
    terminator,
)

Operand: TypeAlias = "tuple[Operation, int]"
"""An operation, and which of its operands."""
Flow: TypeAlias = "dict[Operand, list[SSAValue]]"
"""For each successor operand the successor inputs that it reaches."""


def _connect(flow: Flow, op: Operation, first: int, inputs: Iterable[SSAValue]) -> None:
    """Operands of `op` from number `first` on reach `inputs`, one each."""
    for index, value in enumerate(inputs, first):
        flow.setdefault((op, index), []).append(value)


def _flow_of_for(op: scf.ForOp) -> Flow:
    flow: Flow = {}
    block, last = only_block(op.body), terminator(op.body)
    # after bounds and step; the loop may run no more, or not at all
    for source, first in ((op, 3), (last, 0)):
        _connect(flow, source, first, block.args[1:])
        _connect(flow, source, first, op.results)
    return flow


def _flow_of_while(op: scf.WhileOp) -> Flow:
    flow: Flow = {}
    before, after = only_block(op.before_region), only_block(op.after_region)
    condition = terminator(op.before_region)
    _connect(flow, op, 0, before.args)
    _connect(flow, condition, 1, after.args)
    _connect(flow, condition, 1, op.results)
    _connect(flow, terminator(op.after_region), 0, before.args)
    return flow


def _flow_of_branches(op: Operation) -> Flow:
    flow: Flow = {}
    for region in op.regions:
        for block in region.blocks:
            if isinstance(block.last_op, scf.YieldOp):
                _connect(flow, block.last_op, 0, op.results)
    return flow


_FLOWS: dict[type[Operation], Callable[..., Flow]] = {
    scf.ForOp: _flow_of_for,
    scf.WhileOp: _flow_of_while,
    scf.IfOp: _flow_of_branches,
    scf.IndexSwitchOp: _flow_of_branches,
    scf.ExecuteRegionOp: _flow_of_branches,
}


def flow_of(op: Operation) -> Flow:
    flow = _FLOWS.get(type(op))
    return {} if flow is None else flow(op)


def _sources(flow: Flow) -> dict[SSAValue, list[Operand]]:
    """For each successor input the operands that reach it."""
    sources: dict[SSAValue, list[Operand]] = {}
    for operand, inputs in flow.items():
        for value in inputs:
            sources.setdefault(value, []).append(operand)
    return sources


def _origins(value: SSAValue, sources: dict[SSAValue, list[Operand]]) -> set[SSAValue]:
    """The values, not themselves successor inputs, that `value` can be."""
    found: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if current not in sources:
            found.add(current)
            continue
        for op, index in sources[current]:
            operand = op.operands[index]
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return found


def _is_visible(op: Operation, value: SSAValue, at: SSAValue) -> bool:
    """Whether `value`, one that `at` can be, may be used wherever the successor input `at` is."""
    region = parent_region(value)
    # a value from outside of the operation is visible everywhere in it
    if region is None or region.parent is not op:
        return True
    return isinstance(at, BlockArgument) and isinstance(value, BlockArgument) and value.block is at.block


def forward_single_values(op: Operation, rewriter: PatternRewriter) -> None:
    """Use the one value that a successor input can be, instead of the input."""
    sources = _sources(flow_of(op))
    for value in sources:
        if value.first_use is None:
            continue
        origins = _origins(value, sources)
        if len(origins) == 1 and _is_visible(op, origin := next(iter(origins)), value):
            rewriter.replace_all_uses_with(value, origin)


def merge_equal_inputs(op: Operation, rewriter: PatternRewriter) -> None:
    """Where two successor inputs always receive the same values, use the first for both."""
    sources = _sources(flow_of(op))
    inputs = sorted(sources, key=lambda value: cast("BlockArgument | OpResult", value).index)
    is_changed = True
    while is_changed:  # what one replacement makes equal is found in the next round
        is_changed = False
        firsts: dict[tuple[object, frozenset[tuple[Operation, SSAValue]]], SSAValue] = {}
        for value in inputs:
            received = frozenset((user, user.operands[index]) for user, index in sources[value])
            first = firsts.setdefault((value.owner, received), value)
            if first is not value and value.first_use is not None:
                rewriter.replace_all_uses_with(value, first)
                is_changed = True


def drop_dead_inputs(op: Operation, rewriter: PatternRewriter) -> None:
    """Remove successor inputs that nothing uses, and the operands that feed them."""
    flow = flow_of(op)
    dead = {value for tied in _tied_inputs(flow) if all(v.first_use is None for v in tied) for value in tied}
    if not dead:
        return
    operands: dict[Operation, set[int]] = {}
    arguments: dict[Block, set[int]] = {}
    for (user, index), inputs in flow.items():
        if not dead.isdisjoint(inputs):
            operands.setdefault(user, set()).add(index)
    for value in dead:
        if isinstance(value, BlockArgument):
            arguments.setdefault(value.block, set()).add(value.index)
    for user, indices in operands.items():
        drop_operands(user, rewriter, indices)
    for block, indices in arguments.items():
        drop_arguments(block, rewriter, indices)
    # last: this replaces the operation
    results = {value.index for value in dead if isinstance(value, OpResult)}
    if results:
        drop_results(op, rewriter, results)


def _tied_inputs(flow: Flow) -> Iterable[set[SSAValue]]:
    """Successor inputs that can only be removed together: those that one operand reaches."""
    # one operand feeds the argument of a loop and its result: neither can go without the other
    groups: dict[SSAValue, set[SSAValue]] = {}
    for inputs in flow.values():
        group: set[SSAValue] = set()
        for value in inputs:
            group |= groups.get(value, {value})
        for value in group:
            groups[value] = group
    return {id(group): group for group in groups.values()}.values()


PATTERNS = (forward_single_values, merge_equal_inputs, drop_dead_inputs)
