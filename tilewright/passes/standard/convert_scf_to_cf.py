"""Lowers structured control flow to branches everywhere; upstream MLIR's pass."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.scf_lowering import lower_structured_control


class ConvertScfToCfPass(Pass):
    name = "convert-scf-to-cf"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        lower_structured_control(op)
