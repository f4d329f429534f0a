"""Modules, insertion points and blocks, by the names of MLIR's bindings."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr

from tilewright.ir.diagnostics import DiagnosedError as MLIRError
from tilewright.iron.build.handles import OpView, Value
from tilewright.iron.build.insertion import InsertionPoint
from tilewright.iron.build.location import at
from tilewright.iron.build.module import Module
from tilewright.iron.build.regions import BlockFactory as Block


class Context:
    """Nothing is kept in it: programs have all dialects."""

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


class Location:
    """A place for what is built inside its `with`; an unknown one leaves it to the line that builds."""

    def __init__(self, location: LocationAttr | None = None):
        self.location = location
        self._entered: list[Any] = []

    @classmethod
    def unknown(cls, context: Any = None) -> Location:
        return cls()

    @classmethod
    def file(cls, filename: str, line: int, col: int, context: Any = None) -> Location:
        return cls(FileLineColLoc(StringAttr(filename), IntAttr(line), IntAttr(col)))

    def __enter__(self) -> Location:
        self._entered.append(at(self.location))
        self._entered[-1].__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


__all__ = ["Block", "Context", "InsertionPoint", "Location", "MLIRError", "Module", "OpView", "Value"]
