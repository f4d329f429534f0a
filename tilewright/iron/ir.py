"""Modules, insertion points and blocks, by the names of MLIR's bindings."""

from __future__ import annotations

from typing import Any

from tilewright.ir.diagnostics import DiagnosedError as MLIRError
from tilewright.iron.builders.handles import OpView, Value
from tilewright.iron.builders.location import Location
from tilewright.iron.builders.module import Module
from tilewright.iron.builders.operations import BlockFactory as Block
from tilewright.iron.builders.operations import InsertionPoint


class Context:
    """Nothing is kept in it: programs have all dialects."""

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


__all__ = ["Block", "Context", "InsertionPoint", "Location", "MLIRError", "Module", "OpView", "Value"]
