"""Lowers affine loops, conditions and accesses to those of the scf, memref, vector and arith dialects; MLIR's pass."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.affine_lowering import lower_affine


class LowerAffinePass(Pass):
    name = "lower-affine"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        lower_affine(op)
