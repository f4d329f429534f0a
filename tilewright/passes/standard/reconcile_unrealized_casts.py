"""Drops casts between types that lead back to where they came from; upstream MLIR's pass."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.effects import is_unused
from tilewright.rewrite.pass_bases import ops_of


class ReconcileUnrealizedCastsPass(Pass):
    name = "reconcile-unrealized-casts"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        casts = ops_of(all_operations(op), UnrealizedConversionCastOp)
        for cast in casts:
            if (origin := _origin(cast)) is not None:
                for result, value in zip(cast.results, origin, strict=True):
                    result.replace_all_uses_with(value)
        # users before what they use, so that whole chains go
        for cast in reversed(casts):
            if is_unused(cast):
                Rewriter.erase_op(cast)


def _origin(cast: UnrealizedConversionCastOp) -> Sequence[SSAValue] | None:
    """The values of the wanted types that a chain of casts began with."""
    types = [result.type for result in cast.results]
    values: Sequence[SSAValue] = cast.operands
    while True:
        if [value.type for value in values] == types:
            return values
        maker = values[0].owner if values else None
        if not isinstance(maker, UnrealizedConversionCastOp) or list(values) != list(maker.results):
            return None
        values = maker.operands
