"""Puts loops around transfers into their wraps and strides, without the limits of any device."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.dialects.air.levels import LaunchOp, SegmentOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.shim.folding import Rest, fold_region
from tilewright.passes.air.shim.patterns import Limits

SCOPES: dict[str, type[Operation]] = {"segment": SegmentOp, "launch": LaunchOp, "func": FuncOp}


@dataclass(frozen=True)
class SpecializeWrapAndStridePass(Pass):
    name = "air-specialize-channel-wrap-and-stride"

    scope: str = field(default="func", metadata={"help": "where to look for loops: segment, launch or func"})

    def apply(self, ctx: Context, op: Operation) -> None:
        for found in operations_in_scope(op, self.scope, self.name):
            fold_region(found, Limits(), Rest.COPY)


def operations_in_scope(module: Operation, scope: str, flag: str) -> list[Operation]:
    """The segments, launches or functions of a module."""
    if scope not in SCOPES:
        fail(module, f"Unknown scope for -{flag}. Must be one of [{', '.join(SCOPES)}].")
    return [op for op in module.walk() if isinstance(op, SCOPES[scope]) and op.regions[0].first_block is not None]
