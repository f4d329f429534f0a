"""Conversions: what becomes of each kind of operation, none of which may be left."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, Severity
from tilewright.passes.rewriting import Config, rewrite_with


def convert(op: Operation, patterns: Mapping[type[Operation], RewritePattern]) -> None:
    """Apply to everything nested in `op` the pattern for its kind."""
    by_kind = {kind: (_Legalized(pattern),) for kind, pattern in patterns.items()}
    rewrite_with(op, lambda nested: by_kind.get(type(nested), ()), Config())


class _Legalized(RewritePattern):
    """What a pattern reports is followed by the error that MLIR's own driver adds."""

    def __init__(self, pattern: RewritePattern):
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        try:
            self.pattern.match_and_rewrite(op, rewriter)
        except DiagnosedError as error:
            text = f"failed to legalize operation '{op.name}' that was explicitly marked illegal"
            raise DiagnosedError([*error.diagnostics, Diagnostic(Severity.ERROR, text, op.location)]) from error
