"""Drops casts between types that lead back to where they came from; upstream MLIR's pass."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.ir.pass_manager import Pass


class ReconcileUnrealizedCastsPass(Pass):
    name = "reconcile-unrealized-casts"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        casts = [found for found in op.walk() if isinstance(found, UnrealizedConversionCastOp)]
        for cast in casts:
            origin = _origin(cast)
            if origin is not None:
                for result, value in zip(cast.results, origin, strict=True):
                    result.replace_all_uses_with(value)
        # users before what they use, so that whole chains go
        for cast in reversed(casts):
            if all(result.first_use is None for result in cast.results):
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
