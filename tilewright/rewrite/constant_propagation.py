"""Finds the values that are always the same constant, following only the branches that can be taken.

Sparse conditional constant propagation: nothing is known of a value at first, blocks are visited once something leads
to them, and what reaches a value from several sides is a constant only where all sides agree. A loop is therefore
taken to keep a constant until an iteration changes it. What functions are given and give back counts as varying.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.rewrite.canonicalization import fold
from tilewright.rewrite.control_hops import VARYING, Hop, Known, Varying, hops_from
from tilewright.rewrite.effects import facts_of
from tilewright.rewrite.emitter import constant_op
from tilewright.rewrite.folding.constants import constant_of, int_bits, signed, width_of

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
