"""Replaces values that are always the same constant by that constant; upstream MLIR's pass.

What functions are given counts as unknown, even where all calls agree.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.constant_propagation import propagate_constants


class SccpPass(Pass):
    name = "sccp"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        propagate_constants(op)
