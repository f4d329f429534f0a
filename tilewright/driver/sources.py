"""Sources that can be compiled: MLIR text, files with it, Python programs and files that define one."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeGuard, cast

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp

from tilewright.ir.diagnostics import file_position
from tilewright.ir.parser import parse_source

PYTHON_SUFFIX = ".py"


class ProgramLike(Protocol):
    """A Python program: `tilewright.iron.Program`, or anything else that can say what it is in MLIR."""

    def resolve_program(self) -> Any: ...


def is_program(value: Any) -> TypeGuard[ProgramLike]:
    """Whether it is a program. Asking a runtime-checkable protocol about a class would put annotations into the
    class's metaclass (Python 3.11), where they hide those of all its classes."""
    return not isinstance(value, type) and callable(getattr(value, "resolve_program", None))


Compilable: TypeAlias = "str | PathLike[str] | ProgramLike | Source | Any"


class Source(Protocol):
    """A program, and the texts that its locations refer to."""

    def read(self, ctx: Context) -> ModuleOp:
        """The program, which the compiler may change."""
        ...

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of files by name."""
        ...


@dataclass
class TextSource:
    """MLIR text that locations call `name`."""

    text: str
    name: str

    def read(self, ctx: Context) -> ModuleOp:
        return parse_source(ctx, self.text, self.name)

    @property
    def texts(self) -> Mapping[str, str]:
        return {self.name: self.text}


@dataclass
class BuiltSource:
    """A program that Python code has built; its locations are lines of that code."""

    module: ModuleOp

    def read(self, ctx: Context) -> ModuleOp:
        return self.module.clone()  # compiling it again has to start from the same

    @property
    def texts(self) -> Mapping[str, str]:
        return texts_of(op.location for op in self.module.walk())


def texts_of(locations: Iterable[LocationAttr]) -> dict[str, str]:
    """The texts of all files that locations are in, as far as they can be read."""
    files = dict.fromkeys(position[0] for position in map(file_position, locations) if position is not None)
    return {file: text for file in files if (text := "".join(linecache.getlines(file)))}


def is_text(given: str) -> bool:
    """Whether a string is a program: a path has neither line breaks nor braces as a rule, a program at least one."""
    return "\n" in given or "{" in given


def source_of(given: Compilable) -> Source:
    """The source in what a user hands over; a string with a line break or a brace is text itself."""
    if isinstance(given, TextSource | BuiltSource):
        return given
    if isinstance(given, str) and is_text(given):
        return TextSource(given, "<text>")
    if not isinstance(given, str | PathLike):
        # text needs no front end
        from tilewright.iron.scripts import built

        return built(given)
    path = Path(cast("str | PathLike[str]", given))
    if path.suffix == PYTHON_SUFFIX:
        from tilewright.iron.scripts import load_script

        return load_script(path)
    return TextSource(path.read_text(encoding="utf-8", errors="surrogateescape"), str(path))
