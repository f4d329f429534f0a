"""Conversions: what becomes of each kind of operation, none of which may be left."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import RewritePattern

from tilewright.ir.diagnostics import CompileError, DiagnosedError, Diagnostic, Severity
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.locating_rewriter import LocatingRewriter, Worklist


def convert(op: Operation, patterns: Mapping[type[Operation], RewritePattern], *, add_error: bool = True) -> None:
    """Apply to everything nested in `op`, and to what comes of it, the pattern for its kind; each once, from the first.

    What a pattern reports is followed by the error that MLIR's own driver adds, unless told.
    """
    for region in op.regions:
        worklist = _Conversion(region, patterns.keys())
        for nested in all_operations(region):
            worklist.push_with_ancestors(nested)
        worklist.reverse()  # a stack: the first operation is on top now
        rewriter: LocatingRewriter | None = None
        while (current := worklist.pop()) is not None:
            rewriter = rewriter or LocatingRewriter(current, worklist)
            rewriter.focus(current)
            try:
                patterns[type(current)].match_and_rewrite(current, rewriter)
            except DiagnosedError as error:
                if not add_error:
                    raise
                text = f"failed to legalize operation '{current.name}' that was explicitly marked illegal"
                illegal = Diagnostic(Severity.ERROR, text, current.location)
                raise CompileError([*error.diagnostics, illegal]) from error


class _Conversion(Worklist):
    """The operations of some kinds that are still to be converted."""

    def __init__(self, scope: Region, kinds: Collection[type[Operation]]):
        super().__init__(scope)
        self._kinds = kinds

    def push_with_ancestors(self, op: Operation) -> None:
        # without them: an ancestor was converted before what is in it, and is not looked at again
        if type(op) in self._kinds:
            self.push(op)

    def push_neglected_operands(self, op: Operation) -> None:
        """What is unused stays."""
