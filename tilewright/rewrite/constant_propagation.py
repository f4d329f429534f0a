"""Finds the values that are always the same constant, following only the branches that can be taken.

Sparse conditional constant propagation: nothing is known of a value at first, blocks are visited once something leads
to them, and what reaches a value from several sides is a constant only where all sides agree. A loop is therefore
taken to keep a constant until an iteration changes it. What functions are given and give back counts as varying.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias, cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import cf, scf
from tilewright.ir.diagnostics import location_of
from tilewright.rewrite.canonicalization import fold, materialize
from tilewright.rewrite.control_flow import is_branch, successor_operands
from tilewright.rewrite.driver import materialization_region
from tilewright.rewrite.effects import facts_of, would_be_dead
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


class ControlEdge(NamedTuple):
    """A way that control may take: the block it enters, if any, and which values become which there."""

    block: Block | None
    sent: Sequence[SSAValue]
    received: Sequence[SSAValue]


def edges_from(op: Operation, number: Numbers) -> Iterable[ControlEdge] | None:
    """The ways that control may take from `op`; None if it just goes on."""
    edges = _EDGES.get(type(op))
    if edges is not None:
        return edges(op, number)
    if is_branch(op):
        return _from_branch(op, number)
    if op.successors:
        return [ControlEdge(block, (), ()) for block in op.successors]
    return None


def _from_branch(op: Operation, number: Numbers) -> Iterator[ControlEdge]:
    taken = _taken_successor(op, number)
    for index, block in enumerate(op.successors):
        if taken is VARYING or index == taken:
            yield ControlEdge(block, successor_operands(op, index), block.args)


def _taken_successor(op: Operation, number: Numbers) -> Known:
    match op:
        case cf.ConditionalBranchOp():
            condition = number(op.cond)
            return int(not condition) if isinstance(condition, int) else condition
        case cf.SwitchOp():
            flag = number(op.flag)
            cases = cf.case_numbers(op)
            # successor 0 is the default
            return (1 + cases.index(flag) if flag in cases else 0) if isinstance(flag, int) else flag
        case _:
            return VARYING


def _may_be(known: Known, wanted: bool) -> bool:
    return known is VARYING or (isinstance(known, int) and bool(known) is wanted)


def _from_for(op: scf.ForOp, number: Numbers) -> Iterator[ControlEdge]:
    """A loop may run or not: its bounds are looked at when it is simplified."""
    body = only_block(op.body)
    # the counter is left out: nothing that is passed becomes it
    yield ControlEdge(body, op.iter_args, body.args[1:])
    yield ControlEdge(None, op.iter_args, op.results)


def _from_if(op: scf.IfOp, number: Numbers) -> Iterator[ControlEdge]:
    condition = number(op.cond)
    for region, wanted in ((op.true_region, True), (op.false_region, False)):
        if region.first_block is not None and _may_be(condition, wanted):
            yield ControlEdge(region.first_block, (), ())


def _from_switch(op: scf.IndexSwitchOp, number: Numbers) -> Iterator[ControlEdge]:
    value = number(op.arg)
    regions = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
    if value is VARYING:
        yield from (ControlEdge(only_block(region), (), ()) for region in (*regions.values(), op.default_region))
    elif isinstance(value, int):
        yield ControlEdge(only_block(regions.get(value, op.default_region)), (), ())


def _from_while(op: scf.WhileOp, number: Numbers) -> Iterator[ControlEdge]:
    before = only_block(op.before_region)
    yield ControlEdge(before, op.arguments, before.args)


def _from_condition(op: scf.ConditionOp, number: Numbers) -> Iterator[ControlEdge]:
    loop = cast(scf.WhileOp, op.parent_op())
    condition, after = number(op.condition), only_block(loop.after_region)
    if _may_be(condition, True):
        yield ControlEdge(after, op.args, after.args)
    if _may_be(condition, False):
        yield ControlEdge(None, op.args, loop.results)


def _from_execute_region(op: scf.ExecuteRegionOp, number: Numbers) -> Iterator[ControlEdge]:
    yield ControlEdge(only_block(op.region), (), ())


def _from_yield(op: scf.YieldOp, number: Numbers) -> Iterator[ControlEdge]:
    match parent := op.parent_op():
        case scf.ForOp():
            body = only_block(parent.body)
            yield ControlEdge(body, op.operands, body.args[1:])
            yield ControlEdge(None, op.operands, parent.results)
        case scf.WhileOp():
            before = only_block(parent.before_region)
            yield ControlEdge(before, op.operands, before.args)
        case scf.IfOp() | scf.IndexSwitchOp() | scf.ExecuteRegionOp():
            yield ControlEdge(None, op.operands, parent.results)
        case _:
            return


_EDGES: dict[type[Operation], Callable[..., Iterator[ControlEdge]]] = {
    scf.ForOp: _from_for,
    scf.IfOp: _from_if,
    scf.IndexSwitchOp: _from_switch,
    scf.WhileOp: _from_while,
    scf.ConditionOp: _from_condition,
    scf.ExecuteRegionOp: _from_execute_region,
    scf.YieldOp: _from_yield,
}


State: TypeAlias = "Attribute | Varying"
ConstantKey: TypeAlias = "tuple[str, Attribute, Attribute]"


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
                self._take(ControlEdge(region.first_block, (), ()))

    def _take(self, edge: ControlEdge) -> None:
        for source, target in zip(edge.sent, edge.received, strict=True):
            self._join(target, self._states.get(source))
        if edge.block is None:
            return
        # such as the counter of a loop: no value is passed to it
        received = set(edge.received)
        for argument in edge.block.args:
            if argument not in received:
                self._join(argument, VARYING)
        if edge.block not in self._reached:
            self._reached.add(edge.block)
            self._pending.extend(reversed(list(edge.block.ops)))

    def _join(self, value: SSAValue, state: State | None) -> None:
        known = self._states.get(value)
        # a value only ever goes from unknown to a constant to varying, so that this ends
        if state is None or known is VARYING or known == state:
            return
        self._states[value] = state if known is None else VARYING
        # what is not reached yet is visited anyway once it is
        self._pending.extend(use.operation for use in value.uses if use.operation.parent in self._reached)

    def _visit(self, op: Operation) -> None:
        edges = edges_from(op, self._number)
        if edges is not None:
            for edge in edges:
                self._take(edge)
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
        # an operand of which nothing is known may still turn out to be a constant: wait for it
        elif None not in states:
            self._set_results(op, self._fold(op, cast("Sequence[State]", states)))

    def _fold(self, op: Operation, states: Sequence[State]) -> list[State | None] | None:
        """What `op` folds to with operands as they are known. A copy is folded, because folding may change it."""
        # folders look for constants behind operands: give them some, where only the analysis knows it
        stand_ins = {
            operand: constant_op(state).results[0]
            for operand, state in zip(op.operands, states, strict=True)
            if isinstance(state, Attribute) and constant_of(operand) is None
        }
        operands = [stand_ins.get(operand, operand) for operand in op.operands]
        copy = type(op).create(
            operands=operands, result_types=op.result_types, properties=op.properties, attributes=op.attributes
        )
        folded = fold(copy)
        copy.drop_all_references()
        return [self._folded_state(new) for new in folded] if folded else None

    def _folded_state(self, new: SSAValue | Attribute) -> State | None:
        if isinstance(new, Attribute):
            return new
        constant = constant_of(new)
        return self._states.get(new) if constant is None else constant


def propagate_constants(op: Operation) -> None:
    """Replace values nested in `op` that are always the same constant by that constant."""
    _Replacement(ConstantPropagation(op)).replace_in(op)


class _Replacement:
    """Puts in constants in the order in which MLIR does: each once, the newest at the start of its region."""

    def __init__(self, known: ConstantPropagation):
        self._known = known
        self._constants: dict[Region, dict[ConstantKey, SSAValue]] = {}

    def replace_in(self, op: Operation) -> None:
        pending = [block for region in reversed(op.regions) for block in reversed(region.blocks)]
        while pending:
            block = pending.pop()
            for child in list(block.ops):
                if self._replace_results(child) and would_be_dead(child):
                    Rewriter.erase_op(child)
                    continue
                pending.extend(b for region in child.regions for b in reversed(region.blocks))
            for argument in block.args:
                self._replace(argument, block)

    def _replace_results(self, op: Operation) -> bool:
        """Whether all results have been replaced."""
        assert op.parent is not None
        replaced = [self._replace(result, op.parent) for result in op.results]
        return bool(replaced) and all(replaced)

    def _replace(self, value: SSAValue, block: Block) -> bool:
        attribute = self._known.constant(value)
        constant = self._constant(value, attribute, block) if attribute is not None else None
        if constant is None:
            return False
        value.replace_all_uses_with(constant)
        return True

    def _constant(self, value: SSAValue, attribute: Attribute, block: Block) -> SSAValue | None:
        op = value.owner if isinstance(value.owner, Operation) else block.parent_op()
        constant = materialize(op, attribute, value.type) if op is not None else None
        if constant is None:
            return None
        region = materialization_region(block)
        constants, key = self._constants.setdefault(region, {}), (constant.name, attribute, value.type)
        if key not in constants:
            assert region.first_block is not None
            constant.location = location_of(value)
            Rewriter.insert_op(constant, InsertPoint.at_start(region.first_block))
            constants[key] = constant.results[0]
        return constants[key]
