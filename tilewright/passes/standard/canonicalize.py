"""Bring operations to canonical form: fold, apply each operation's own patterns, remove what is dead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from tilewright.ir.diagnostics import emit_op_error
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.canonicalization import FunctionPattern, patterns_of
from tilewright.rewrite.driver import CANONICALIZE, Simplify, rewrite_with


@dataclass(frozen=True)
class CanonicalizePass(Pass):
    """MLIR's canonicalizer, with its options."""

    name = "canonicalize"
    anchor = None

    top_down: bool = True
    region_simplify: Simplify = Simplify.NORMAL
    max_iterations: int = 10
    max_num_rewrites: int = -1
    test_convergence: bool = False
    disable_patterns: tuple[str, ...] = ()
    enable_patterns: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: Operation) -> None:
        config = replace(
            CANONICALIZE,
            top_down=self.top_down,
            simplify=Simplify(self.region_simplify),
            # negative is MLIR's way to say "no limit"
            max_iterations=None if self.max_iterations < 0 else self.max_iterations,
            max_rewrites=None if self.max_num_rewrites < 0 else self.max_num_rewrites,
        )
        patterns = self._patterns_of if self.disable_patterns or self.enable_patterns else patterns_of
        rewrite_with(op, patterns, config)
        if self.test_convergence and rewrite_with(op, patterns, replace(config, max_iterations=1)):
            emit_op_error(op, f"is not in canonical form after {self.max_iterations} iterations")

    def _patterns_of(self, op: Operation) -> Sequence[RewritePattern]:
        return [pattern for pattern in patterns_of(op) if self._is_enabled(pattern)]

    def _is_enabled(self, pattern: RewritePattern) -> bool:
        name = pattern.name if isinstance(pattern, FunctionPattern) else type(pattern).__name__
        return name not in self.disable_patterns and (not self.enable_patterns or name in self.enable_patterns)
