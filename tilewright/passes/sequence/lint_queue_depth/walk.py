"""All ways through a runtime sequence, as far as they differ in what DMAs may be doing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.device.hazards import Hazard
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.passes.sequence.lint_queue_depth.events import Events
from tilewright.passes.sequence.lint_queue_depth.instructions import INSTRUCTIONS
from tilewright.passes.sequence.lint_queue_depth.state import LintState, Thing
from tilewright.passes.sequence.lint_queue_depth.tasks import TASKS
from tilewright.rewrite.folding.regions import only_block, terminator
from tilewright.rewrite.unrolling import trip_count

ACTS = {**INSTRUCTIONS, **TASKS}
Things = frozenset[Thing]
MAX_ROUNDS = 64
"""Loops are followed until they repeat themselves, which takes a few rounds: a queue has few places."""


class SequenceWalk:
    """Collects the hazards of one sequence."""

    def __init__(self, device: DeviceOp):
        self.events = Events(device)
        self.hazards: list[Hazard[Operation]] = []
        self.open_loops: dict[Operation, tuple[Operation, ...]] = {}
        """By the place of a hazard: loops around it that must run more than once, which is not known to happen."""
        self._open: list[Operation] = []

    def run(self, sequence: RuntimeSequenceOp) -> None:
        self.walk(sequence.body)

    def walk(self, region: Region) -> None:
        for block in region.blocks:
            for op in block.ops:
                self.visit(op)

    def visit(self, op: Operation) -> None:
        control = _CONTROL.get(type(op))
        if control is not None:
            control(self, op)
            return
        if (act := ACTS.get(type(op))) is not None:
            for hazard in self.events.carry_out(op, act):
                self.hazards.append(hazard)
                self.open_loops.setdefault(hazard.origin, tuple(self._open))
        for region in op.regions:
            self.walk(region)

    @property
    def state(self) -> LintState:
        return self.events.state

    @state.setter
    def state(self, state: LintState) -> None:
        self.events.state = state

    def read(self, values: Sequence[SSAValue]) -> list[Things]:
        return [self.events.things(value) for value in values]

    def bind(self, targets: Sequence[SSAValue], things: Sequence[Things]) -> None:
        self.state.things.update(zip(targets, things, strict=False))

    def visit_for(self, op: scf.ForOp) -> None:
        count = trip_count(op.lb, op.ub, op.step, is_unsigned="unsignedCmp" in op.properties)
        body = only_block(op.body)

        def round(carried: list[Things]) -> list[Things]:
            self.bind(body.args[1:], carried)
            self.walk(op.body)
            return self.read(terminator(op.body).operands)

        self.bind(op.results, self._repeat(op, round, self.read(op.iter_args), count))

    def visit_while(self, op: scf.WhileOp) -> None:
        before, after = only_block(op.before_region), only_block(op.after_region)
        self._enter(before, self.read(op.arguments))

        def round(passed: list[Things]) -> list[Things]:
            self._enter(after, passed)
            self._enter(before, self.read(terminator(op.after_region).operands))
            return self.read(terminator(op.before_region).operands[1:])

        passed = self.read(terminator(op.before_region).operands[1:])
        self.bind(op.results, self._repeat(op, round, passed, None))

    def _enter(self, block: Block, things: Sequence[Things]) -> None:
        self.bind(block.args, things)
        for op in block.ops:
            self.visit(op)

    def _repeat(
        self, op: Operation, round: Callable[[list[Things]], list[Things]], carried: list[Things], count: int | None
    ) -> list[Things]:
        """Run a loop `count` times, or any number of times. Gives what it hands on at its end."""
        seen, ends = set[Hashable](), [(self.state.copy(), carried)]
        for number in range(MAX_ROUNDS if count is None else min(count, MAX_ROUNDS)):
            key = self.state.key(), tuple(carried)
            if key in seen:
                break
            seen.add(key)
            open_before = [*self._open]
            self._open += [op] if count is None and number > 0 else []
            carried = round(carried)
            self._open = open_before
            ends.append((self.state.copy(), carried))
        if count is not None:
            return carried
        return self._meet(ends)

    def _meet(self, ends: Sequence[tuple[LintState, list[Things]]]) -> list[Things]:
        """Go on with whatever may be at the ends of several ways."""
        self.state, handed_on = ends[0][0], list(ends[0][1])
        for state, things in ends[1:]:
            self.state = self.state.join(state)
            handed_on = [a | b for a, b in zip(handed_on, things, strict=True)]
        return handed_on

    def visit_if(self, op: scf.IfOp) -> None:
        condition = constant_value(op.cond)
        regions = op.regions if condition is None else [op.regions[0 if condition else 1]]
        self._branch(op, regions)

    def visit_switch(self, op: scf.IndexSwitchOp) -> None:
        self._branch(op, op.regions)

    def _branch(self, op: Operation, regions: Sequence[Region]) -> None:
        start, ends = self.state, list[tuple[LintState, list[Things]]]()
        for region in regions:
            self.state = start.copy()
            self.walk(region)
            ends.append((self.state, self.read(terminator(region).operands) if region.blocks else []))
        self.bind(op.results, self._meet(ends))


_CONTROL: dict[type[Operation], Callable[[SequenceWalk, Any], None]] = {
    scf.ForOp: SequenceWalk.visit_for,
    scf.IfOp: SequenceWalk.visit_if,
    scf.IndexSwitchOp: SequenceWalk.visit_switch,
    scf.WhileOp: SequenceWalk.visit_while,
}
