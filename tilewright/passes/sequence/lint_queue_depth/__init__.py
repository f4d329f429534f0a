"""Warns of pushes that a full DMA queue may drop, and of descriptors that may be rewritten while they are in use."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.device.hazards import Finding, findings
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import Severity, emit
from tilewright.ir.pass_manager import Pass
from tilewright.passes.sequence.lint_queue_depth.walk import SequenceWalk


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
            walk.run(sequence)
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
