"""The part of a program that a pass works on, by name."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.air.levels import LaunchOp, SegmentOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail

SCOPES: dict[str, type[Operation]] = {"segment": SegmentOp, "launch": LaunchOp, "func": FuncOp}


def operations_in_scope(module: Operation, scope: str, flag: str) -> list[Operation]:
    """The segments, launches or functions of a module."""
    if scope not in SCOPES:
        fail(module, f"Unknown scope for -{flag}. Must be one of [{', '.join(SCOPES)}].")
    return [op for op in module.walk() if isinstance(op, SCOPES[scope]) and op.regions[0].first_block is not None]
