"""Finds the values that are always the same constant, following only the branches that can be taken.

Sparse conditional constant propagation: nothing is known of a value at first, blocks are visited once something leads
to them, and what reaches a value from several sides is a constant only where all sides agree. A loop is therefore
taken to keep a constant until an iteration changes it. What functions are given and give back counts as varying.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects import cf, scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.cf import case_numbers
from tilewright.rewrite.canonicalization import fold
from tilewright.rewrite.control_flow import is_branch, successor_operands
from tilewright.rewrite.effects import facts_of
from tilewright.rewrite.emitter import constant_op
from tilewright.rewrite.folding.constants import constant_of, int_bits, signed, width_of
from tilewright.rewrite.folding.regions import only_block


class Varying(Enum):
    """What a value is that no constant stands for."""

    VARYING = "varying"


VARYING = Varying.VARYING
Known: TypeAlias = "int | Varying | None"
"""None: nothing is known as yet, so that control goes nowhere."""
Numbers: TypeAlias = "Callable[[SSAValue], Known]"


class Hop(NamedTuple):
    """A way that control may take: the block it enters, if any, and which values become which there."""

    block: Block | None
    sent: Sequence[SSAValue]
    received: Sequence[SSAValue]


def hops_from(op: Operation, number: Numbers) -> Iterable[Hop] | None:
    """The ways that control may take from `op`; None if it just goes on."""
    hops = _HOPS.get(type(op))
    if hops is not None:
        return hops(op, number)
    if is_branch(op):
        return _from_branch(op, number)
    if op.successors:
        return [Hop(block, (), ()) for block in op.successors]
    return None


def _from_branch(op: Operation, number: Numbers) -> Iterator[Hop]:
    taken = _taken_successor(op, number)
    for index, block in enumerate(op.successors):
        if taken is VARYING or index == taken:
            yield Hop(block, successor_operands(op, index), block.args)


def _taken_successor(op: Operation, number: Numbers) -> Known:
    match op:
        case cf.ConditionalBranchOp():
            condition = number(op.cond)
            return int(not condition) if isinstance(condition, int) else condition
        case cf.SwitchOp():
            flag = number(op.flag)
            cases = case_numbers(op)
            return (1 + cases.index(flag) if flag in cases else 0) if isinstance(flag, int) else flag
        case _:
            return VARYING


def _may_be(known: Known, wanted: bool) -> bool:
    return known is VARYING or (isinstance(known, int) and bool(known) is wanted)


def _from_for(op: scf.ForOp, number: Numbers) -> Iterator[Hop]:
    """A loop may run or not: its bounds are looked at when it is simplified."""
    body = only_block(op.body)
    yield Hop(body, op.iter_args, body.args[1:])
    yield Hop(None, op.iter_args, op.results)


def _from_if(op: scf.IfOp, number: Numbers) -> Iterator[Hop]:
    condition = number(op.cond)
    for region, wanted in ((op.true_region, True), (op.false_region, False)):
        if region.first_block is not None and _may_be(condition, wanted):
            yield Hop(region.first_block, (), ())


def _from_switch(op: scf.IndexSwitchOp, number: Numbers) -> Iterator[Hop]:
    value = number(op.arg)
    regions = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
    if value is VARYING:
        yield from (Hop(only_block(region), (), ()) for region in (*regions.values(), op.default_region))
    elif isinstance(value, int):
        yield Hop(only_block(regions.get(value, op.default_region)), (), ())


def _from_while(op: scf.WhileOp, number: Numbers) -> Iterator[Hop]:
    before = only_block(op.before_region)
    yield Hop(before, op.arguments, before.args)


def _from_condition(op: scf.ConditionOp, number: Numbers) -> Iterator[Hop]:
    loop = cast(scf.WhileOp, op.parent_op())
    condition, after = number(op.condition), only_block(loop.after_region)
    if _may_be(condition, True):
        yield Hop(after, op.args, after.args)
    if _may_be(condition, False):
        yield Hop(None, op.args, loop.results)


def _from_execute_region(op: scf.ExecuteRegionOp, number: Numbers) -> Iterator[Hop]:
    yield Hop(only_block(op.region), (), ())


def _from_yield(op: scf.YieldOp, number: Numbers) -> Iterator[Hop]:
    match parent := op.parent_op():
        case scf.ForOp():
            body = only_block(parent.body)
            yield Hop(body, op.operands, body.args[1:])
            yield Hop(None, op.operands, parent.results)
        case scf.WhileOp():
            before = only_block(parent.before_region)
            yield Hop(before, op.operands, before.args)
        case scf.IfOp() | scf.IndexSwitchOp() | scf.ExecuteRegionOp():
            yield Hop(None, op.operands, parent.results)
        case _:
            return


_HOPS: dict[type[Operation], Callable[..., Iterator[Hop]]] = {
    scf.ForOp: _from_for,
    scf.IfOp: _from_if,
    scf.IndexSwitchOp: _from_switch,
    scf.WhileOp: _from_while,
    scf.ConditionOp: _from_condition,
    scf.ExecuteRegionOp: _from_execute_region,
    scf.YieldOp: _from_yield,
}


State: TypeAlias = "Attribute | Varying"


class ConstantPropagation:
    """What is known of the values nested in an operation that is isolated from what is around it."""

    def __init__(self, op: Operation):
        self._states: dict[SSAValue, State] = {}
        self._reached: set[Block] = set()
        self._pending: list[Operation] = []
        self._enter_regions(op)
        while self._pending:
            self._visit(self._pending.pop())

    def constant(self, value: SSAValue) -> Attribute | None:
        """The constant that `value` always is."""
        state = self._states.get(value)
        return state if isinstance(state, Attribute) else None

    def _enter_regions(self, op: Operation) -> None:
        """Every region may run, with any arguments."""
        for region in op.regions:
            if region.first_block is not None:
                self._take(Hop(region.first_block, (), ()))

    def _take(self, hop: Hop) -> None:
        for source, target in zip(hop.sent, hop.received, strict=True):
            self._join(target, self._states.get(source))
        if hop.block is None:
            return
        received = set(hop.received)
        for argument in hop.block.args:
            if argument not in received:
                self._join(argument, VARYING)
        if hop.block not in self._reached:
            self._reached.add(hop.block)
            self._pending.extend(reversed(list(hop.block.ops)))

    def _join(self, value: SSAValue, state: State | None) -> None:
        known = self._states.get(value)
        if state is None or known is VARYING or known == state:
            return
        self._states[value] = state if known is None else VARYING
        users = (use.operation for use in value.uses)
        self._pending.extend(user for user in users if user.parent in self._reached)

    def _visit(self, op: Operation) -> None:
        hops = hops_from(op, self._number)
        if hops is not None:
            for hop in hops:
                self._take(hop)
        elif op.regions:
            self._enter_regions(op)
            self._set_results(op, None)
        elif op.results:
            self._compute(op)

    def _number(self, value: SSAValue) -> Known:
        """The integer that a value is known to be."""
        state = self._states.get(value)
        bits = int_bits(state) if isinstance(state, Attribute) else None
        if bits is None:
            return None if state is None else VARYING
        return signed(bits, cast(int, width_of(value.type)))

    def _set_results(self, op: Operation, states: Sequence[State | None] | None) -> None:
        for result, state in zip(op.results, states or [VARYING] * len(op.results), strict=True):
            self._join(result, state)

    def _compute(self, op: Operation) -> None:
        states = [self._states.get(operand) for operand in op.operands]
        if facts_of(op).constant:
            value = constant_of(op.results[0])
            self._join(op.results[0], VARYING if value is None else value)
        elif None not in states:
            self._set_results(op, self._fold(op, cast("Sequence[State]", states)))

    def _fold(self, op: Operation, states: Sequence[State]) -> list[State | None] | None:
        """What `op` folds to with operands as they are known. A copy is folded, because folding may change it."""
        stand_ins = {
            operand: constant_op(state).results[0]
            for operand, state in zip(op.operands, states, strict=True)
            if isinstance(state, Attribute) and constant_of(operand) is None
        }
        operands = [stand_ins.get(operand, operand) for operand in op.operands]
        types = [result.type for result in op.results]
        copy = type(op).create(
            operands=operands, result_types=types, properties=op.properties, attributes=op.attributes
        )
        folded = fold(copy)
        copy.drop_all_references()
        return [self._folded_state(new) for new in folded] if folded else None

    def _folded_state(self, new: SSAValue | Attribute) -> State | None:
        if isinstance(new, Attribute):
            return new
        constant = constant_of(new)
        return self._states.get(new) if constant is None else constant
