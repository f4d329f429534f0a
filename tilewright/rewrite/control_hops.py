"""Where control may go from an operation that decides about it, given what is known of the numbers it decides by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias, cast

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects import cf, scf
from tilewright.dialects.cf import case_numbers
from tilewright.rewrite.branches import is_branch, successor_operands
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
