"""Lowers structured control flow to branches, except in runtime sequences, which have a lowering of their own."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.scf_lowering import lower_structured_control


class ScfToControlFlowPass(Pass):
    name = "aie-scf-to-control-flow"

    def apply(self, ctx: Context, op: Operation) -> None:
        lower_structured_control(op, except_in=RuntimeSequenceOp)
