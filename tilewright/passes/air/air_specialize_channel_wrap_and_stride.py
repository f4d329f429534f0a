"""Puts loops around transfers into their wraps and strides, without the limits of any device."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.shim.folding_stage import Rest, fold_region
from tilewright.passes.air.shim.patterns import Limits
from tilewright.passes.air.shim.scopes import operations_in_scope


@dataclass(frozen=True)
class SpecializeWrapAndStridePass(Pass):
    name = "air-specialize-channel-wrap-and-stride"

    scope: str = field(default="func", metadata={"help": "where to look for loops: segment, launch or func"})

    def apply(self, ctx: Context, op: Operation) -> None:
        for found in operations_in_scope(op, self.scope, self.name):
            fold_region(found, Limits(), Rest.COPY)
