"""Warns of pushes that a full DMA queue may drop, and of descriptors that may be rewritten while they are in use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.device.hazards import Finding, Hazard, findings
from tilewright.dialects import scf
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import Severity, emit
from tilewright.ir.pass_manager import Pass
from tilewright.passes.sequence.lint_queue_depth.effects import INSTRUCTIONS, TASKS, LintContext
from tilewright.passes.sequence.lint_queue_depth.state import Handles, LintState
from tilewright.rewrite.folding.regions import only_block, terminator
from tilewright.rewrite.unrolling import trip_count


@dataclass(frozen=True)
class LintQueueDepthPass(Pass):
    """Not one of mlir-aie's: changes nothing. It can run before lowering and after; before descriptors have numbers it
    knows of queues only. What a wait for something else makes unlikely is a remark."""

    name = "tilewright-lint-queue-depth"
    anchor = "aie.device"

    severity: Severity = field(default=Severity.WARNING, metadata={"help": "error has the pass fail"})
    likely_only: bool = field(default=False, metadata={"help": "say nothing about what is unlikely"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in [child for child in op.body.ops if isinstance(child, RuntimeSequenceOp)]:
            walk = SequenceWalk(op)
            walk.walk(sequence.body)
            for finding in findings(walk.hazards):
                self._report(op, finding, walk)

    def _report(self, device: DeviceOp, finding: Finding[Operation], walk: SequenceWalk) -> None:
        if not finding.is_likely and self.likely_only:
            return
        origin = finding.hazard.origin
        severity = self.severity if finding.is_likely else Severity.REMARK
        diagnostic = emit(severity, origin, finding.hazard.text(device.model))
        for where, text in finding.notes():
            diagnostic.note(where, text)
        for loop in walk.open_loops[origin]:
            diagnostic.note(loop, "this loop may run often enough for that: how often it runs is not known here")


EFFECTS = {**INSTRUCTIONS, **TASKS}

MAX_ROUNDS = 64
"""Loops are followed until they repeat themselves, which takes a few rounds: a queue has few places."""


class SequenceWalk:
    """Collects the hazards of one sequence."""

    def __init__(self, device: DeviceOp):
        self.context = LintContext(device)
        self.hazards: list[Hazard[Operation]] = []
        self.open_loops: dict[Operation, tuple[Operation, ...]] = {}
        """By the place of a hazard: loops around it that must run more than once, which is not known to happen."""
        self._open: list[Operation] = []

    def walk(self, region: Region) -> None:
        for block in region.blocks:
            for op in block.ops:
                self.visit(op)

    def visit(self, op: Operation) -> None:
        control = _CONTROL.get(type(op))
        if control is not None:
            control(self, op)
            return
        if (effect := EFFECTS.get(type(op))) is not None:
            for hazard in self.context.apply(op, effect):
                self.hazards.append(hazard)
                self.open_loops.setdefault(hazard.origin, tuple(self._open))
        for region in op.regions:
            self.walk(region)

    def read(self, values: Sequence[SSAValue]) -> list[Handles]:
        return [self.context.handles(value) for value in values]

    def bind(self, targets: Sequence[SSAValue], handles: Sequence[Handles]) -> None:
        self.context.state.handles.update(zip(targets, handles, strict=False))

    def visit_for(self, op: scf.ForOp) -> None:
        count = trip_count(op.lb, op.ub, op.step, is_unsigned="unsignedCmp" in op.properties)
        body = only_block(op.body)

        def round(carried: list[Handles]) -> list[Handles]:
            self.bind(body.args[1:], carried)
            self.walk(op.body)
            return self.read(terminator(op.body).operands)

        self.bind(op.results, self._repeat(op, round, self.read(op.iter_args), count))

    def visit_while(self, op: scf.WhileOp) -> None:
        before, after = only_block(op.before_region), only_block(op.after_region)
        self._enter(before, self.read(op.arguments))

        def round(passed: list[Handles]) -> list[Handles]:
            self._enter(after, passed)
            self._enter(before, self.read(terminator(op.after_region).operands))
            return self.read(terminator(op.before_region).operands[1:])

        passed = self.read(terminator(op.before_region).operands[1:])
        self.bind(op.results, self._repeat(op, round, passed, None))

    def _enter(self, block: Block, handles: Sequence[Handles]) -> None:
        self.bind(block.args, handles)
        for op in block.ops:
            self.visit(op)

    def _repeat(
        self, op: Operation, round: Callable[[list[Handles]], list[Handles]], carried: list[Handles], count: int | None
    ) -> list[Handles]:
        """Run a loop `count` times, or any number of times. Gives what it hands on at its end."""
        seen, ends = set[Hashable](), [(self.context.state.copy(), carried)]
        for number in range(MAX_ROUNDS if count is None else min(count, MAX_ROUNDS)):
            key = self.context.state.key(), tuple(carried)
            # The state repeats, so further rounds bring nothing new.
            if key in seen:
                break
            seen.add(key)
            open_before = [*self._open]
            # From the second round on a hazard depends on how often the loop runs, which notes say then.
            self._open += [op] if count is None and number > 0 else []
            carried = round(carried)
            self._open = open_before
            ends.append((self.context.state.copy(), carried))
        # Of a loop that runs so often only its end counts, of another one each round may have been the last.
        return self._meet(ends) if count is None else carried

    def _meet(self, ends: Sequence[tuple[LintState, list[Handles]]]) -> list[Handles]:
        """Go on with whatever may be at the ends of several ways."""
        self.context.state, handed_on = ends[0][0], list(ends[0][1])
        for state, handles in ends[1:]:
            self.context.state = self.context.state.join(state)
            handed_on = [a | b for a, b in zip(handed_on, handles, strict=True)]
        return handed_on

    def visit_if(self, op: scf.IfOp) -> None:
        condition = constant_value(op.cond)
        self._branch(op, op.regions if condition is None else [op.regions[0 if condition else 1]])

    def _branch(self, op: Operation, regions: Sequence[Region]) -> None:
        start, ends = self.context.state, list[tuple[LintState, list[Handles]]]()
        for region in regions:
            # Each branch starts from what was there before all of them.
            self.context.state = start.copy()
            self.walk(region)
            ends.append((self.context.state, self.read(terminator(region).operands) if region.blocks else []))
        self.bind(op.results, self._meet(ends))


_CONTROL: dict[type[Operation], Callable[[SequenceWalk, Any], None]] = {
    scf.ForOp: SequenceWalk.visit_for,
    scf.IfOp: SequenceWalk.visit_if,
    scf.IndexSwitchOp: lambda walk, op: walk._branch(op, op.regions),
    scf.WhileOp: SequenceWalk.visit_while,
}
