"""Conversions that must succeed: operations of some kinds may not be left."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, Severity


class Legalized(RewritePattern):
    """A pattern of a conversion: what it reports is followed by the error that MLIR's own driver adds."""

    def __init__(self, pattern: RewritePattern):
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        try:
            self.pattern.match_and_rewrite(op, rewriter)
        except DiagnosedError as error:
            text = f"failed to legalize operation '{op.name}' that was explicitly marked illegal"
            raise DiagnosedError([*error.diagnostics, Diagnostic(Severity.ERROR, text, op.location)]) from error
