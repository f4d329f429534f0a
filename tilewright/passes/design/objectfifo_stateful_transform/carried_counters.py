"""Carries the values of counters through the control flow of a core, as loop-carried values, results and arguments.

Counters are numbers that operations here and there in a program read and change. On the way through the program in
order, the current value of each is known; where control flow forks, joins or loops, a counter that changes inside
becomes one more value that the regions hand on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import scf
from tilewright.dialects.aie.lookup import ancestors
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.control_flow import (
    has_one_block,
    is_branch,
    post_order,
    successor_operands,
    with_successor_operands,
)
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.regions import recreate

CounterT = TypeVar("CounterT", bound=Hashable)
Values: TypeAlias = dict[CounterT, SSAValue]
"""What each counter is at some point of a program."""


class CounterThreading(Generic[CounterT]):
    """Goes through a program in order; `visit` lowers an operation and sets the values that it changes."""

    def __init__(
        self,
        counters: Sequence[CounterT],
        changes: Mapping[Operation, set[CounterT]],
        visit: Callable[[Operation, Values[CounterT]], None],
    ):
        self.counters, self.visit = counters, visit
        self.inside: dict[Operation, set[CounterT]] = {}
        """For each operation in whose regions counters are used, those that change there."""
        for parent, changed in ((parent, changed) for op, changed in changes.items() for parent in ancestors(op)):
            self.inside.setdefault(parent, set()).update(changed)

    def go_through(self, region: Region, values: Values[CounterT]) -> dict[Block, Values[CounterT]]:
        """Lower what is in a region that is entered with some values; returns those at the end of each block."""
        first = region.first_block
        if first is None:
            return {}
        if not has_one_block(region):
            changing = self._ordered(self.inside[region.parent]) if region.parent is not None else []
            return thread_blocks(region, values, changing, self._lower)
        self._lower(first, values)
        return {first: values}

    def _ordered(self, counters: set[CounterT]) -> list[CounterT]:
        return [counter for counter in self.counters if counter in counters]

    def _lower(self, block: Block, values: Values[CounterT]) -> None:
        for op in list(block.ops):
            if op in self.inside:
                self._enter(op, values)
            else:
                self.visit(op, values)

    def _enter(self, op: Operation, values: Values[CounterT]) -> None:
        carried = self._ordered(self.inside[op])
        if not carried:  # inside, counters are only read
            for region in op.regions:
                self.go_through(region, dict(values))
            return
        match op:
            case scf.ForOp() | scf.WhileOp():
                self._enter_loop(op, values, carried)
            case scf.IfOp() | scf.IndexSwitchOp() | scf.ExecuteRegionOp():
                self._enter_branches(op, values, carried)
            case _:
                remedy = (
                    "use loops and branches of scf or cf around them; --lower-affine makes such loops of affine ones"
                )
                text = "cannot carry the state of objectFifos that are acquired or released inside"
                fail_op(op, text, (op, remedy))

    def _enter_loop(self, op: Operation, values: Values[CounterT], carried: list[CounterT]) -> None:
        """Each region gets the values as arguments and hands them on at its end; `scf.while` has two."""
        for region in op.regions:
            block = region.block
            # behind the arguments that there are: results and operands follow the same order
            inner = values | {counter: block.insert_arg(i32, len(block.args)) for counter in carried}
            self._lower(block, inner)
            _hand_on(block, inner, carried)
        self._replace(op, [*op.operands, *(values[counter] for counter in carried)], values, carried)

    def _enter_branches(self, op: Operation, values: Values[CounterT], carried: list[CounterT]) -> None:
        """Each region starts from the same values; an `else` that is not there hands them on as they are."""
        for region in op.regions:
            if region.first_block is None:
                region.add_block(Block([scf.YieldOp.create(location=op.location)]))
            for block, reached in self.go_through(region, dict(values)).items():
                if isinstance(block.last_op, scf.YieldOp):
                    _hand_on(block, reached, carried)
        self._replace(op, op.operands, values, carried)

    def _replace(
        self, op: Operation, operands: Sequence[SSAValue], values: Values[CounterT], carried: list[CounterT]
    ) -> None:
        types = [*(result.type for result in op.results), *(i32 for _ in carried)]
        # An operation cannot get more results, so another takes its place.
        new = Emitter.before(op).insert(recreate(op, operands=operands, result_types=types))
        kept = new.results[: len(op.results)]
        for old, result in zip(op.results, kept, strict=True):
            old.replace_all_uses_with(result)
        Rewriter.erase_op(op)
        values.update(zip(carried, new.results[len(kept) :], strict=True))


def _hand_on(block: Block, values: Values[CounterT], carried: Sequence[CounterT]) -> None:
    """Let the terminator of a block pass on some values too."""
    end = block.last_op
    assert end is not None, "the verifier requires a terminator"
    end.operands = [*end.operands, *(values[counter] for counter in carried)]


def thread_blocks(
    region: Region,
    values: Values[CounterT],
    changing: Sequence[CounterT],
    lower: Callable[[Block, Values[CounterT]], None],
) -> dict[Block, Values[CounterT]]:
    """Lower the blocks of a region that is entered with some values; returns those at the end of each block."""
    order = post_order(region.blocks[0])[::-1]
    reachable = set(order)
    # Blocks that are never reached are lowered too: their accesses must not stay behind.
    order += [block for block in region.blocks if block not in reachable]
    sources: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in block.last_op.successors if block.last_op is not None else ():
            sources[successor].append(block)  # once for each way
    joins, ends = set[Block](), dict[Block, Values[CounterT]]()
    for block in order:
        current = dict(values)
        # One way in, from a block that is done: its values hold here without arguments.
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
