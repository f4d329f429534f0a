"""Carries counters between the blocks of a region, as arguments of blocks where ways come together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Region, SSAValue

from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.control_flow import is_branch, post_order, successor_operands, with_successor_operands

CounterT = TypeVar("CounterT", bound=Hashable)
Values: TypeAlias = dict[CounterT, SSAValue]
"""What each counter is at some point of a program."""


def thread_blocks(
    region: Region,
    values: Values[CounterT],
    changing: Sequence[CounterT],
    lower: Callable[[Block, Values[CounterT]], None],
) -> dict[Block, Values[CounterT]]:
    """Lower the blocks of a region that is entered with some values; returns those at the end of each block."""
    order = post_order(region.blocks[0])[::-1]
    reachable = set(order)
    order += [block for block in region.blocks if block not in reachable]
    sources = _sources(order)
    joins, ends = set[Block](), dict[Block, Values[CounterT]]()
    for block in order:
        current = dict(values)
        if len(sources[block]) == 1 and sources[block][0] in ends:
            current = dict(ends[sources[block][0]])
        elif sources[block]:
            joins.add(block)
            current |= {counter: block.insert_arg(i32, len(block.args)) for counter in changing}
        lower(block, current)
        ends[block] = current
    for block in order:
        _pass_on(block, joins, [ends[block][counter] for counter in changing])
    return ends


def _sources(blocks: Sequence[Block]) -> dict[Block, list[Block]]:
    """The blocks from which control comes to each block, once for each way."""
    sources: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        for successor in block.last_op.successors if block.last_op is not None else ():
            sources[successor].append(block)
    return sources


def _pass_on(block: Block, joins: set[Block], values: Sequence[SSAValue]) -> None:
    """Let the branch at the end of a block pass values to those successors that have arguments for them."""
    end = block.last_op
    if end is None or not values or not any(successor in joins for successor in end.successors):
        return
    if not is_branch(end):
        fail_op(end, "cannot carry the state of objectFifos to the blocks it leads to", (end, "use branches of cf"))
    lists = [
        [*successor_operands(end, index), *(values if successor in joins else ())]
        for index, successor in enumerate(end.successors)
    ]
    with_successor_operands(end, lists)
