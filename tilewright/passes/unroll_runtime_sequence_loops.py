"""Unrolls the loops of runtime sequences whose number of iterations is known."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.loop_unrolling import iterations, loops_innermost_first, unroll


class UnrollRuntimeSequenceLoopsPass(Pass):
    name = "aie-unroll-runtime-sequence-loops"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        sequences = [child for child in op.walk() if isinstance(child, RuntimeSequenceOp)]
        for loop in [loop for sequence in sequences for loop in loops_innermost_first(sequence)]:
            count = iterations(loop)
            if count:  # a loop that never runs is left to the canonicalizer
                unroll(loop, count)
