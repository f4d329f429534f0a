"""Passes on programs, by the names of MLIR's bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.module import Module

if TYPE_CHECKING:
    from tilewright.ir.pass_manager import Pipeline


class PassManager:
    """Passes in order, which `run` applies to a program."""

    def __init__(self, anchor_op: str = "any", context: Any = None):
        """Passes on one kind of operation, such as `builtin.module`; `add` names them."""
        self._text = f"{anchor_op}()"
        self._verifies = True

    @classmethod
    def parse(cls, pipeline: str, context: Any = None) -> PassManager:
        """The passes that a text names: `builtin.module(aie.device(aie-place-tiles),cse)`."""
        manager = cls()
        manager._text = pipeline
        manager._pipeline()
        return manager

    def add(self, pipeline: str) -> None:
        """Append passes, as the text inside of the parentheses names them."""
        inside = self._text[self._text.index("(") + 1 : -1]
        self._text = f"{self._text.partition('(')[0]}({','.join(part for part in (inside, pipeline) if part)})"

    def enable_verifier(self, enable: bool) -> None:
        """Say whether the program is checked after each pass."""
        self._verifies = enable

    def run(self, operation: Any, invalidate_ops: bool = True) -> None:
        """Run the passes on an operation or a module, which they change."""
        from tilewright.driver.translations import run_passes

        target = operation.op if isinstance(operation, OpView | Module) else operation
        if not isinstance(target, Operation):
            refuse(f"passes run on a module or an operation, not on {operation!r}")
        run_passes(target, self._pipeline(), self._verifies)

    def _pipeline(self) -> Pipeline:
        from tilewright.driver.translations import read_pipeline

        return read_pipeline(self._text)

    def __str__(self) -> str:
        return self._text


__all__ = ["PassManager"]
