"""The user's line that is being executed: the location of what it builds, and of what is wrong with it."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any, NoReturn

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr

from tilewright.ir.diagnostics import CompileError, Diagnostic, Severity, Where, diagnose
from tilewright.support.lazy import setting

UPSTREAM = "aie"
"""The package that programs for mlir-aie import, whoever serves it."""
_BETWEEN = ("tilewright.iron", "tilewright.air", "tilewright.support.tracebacks", "contextlib", "functools", "numpy")
"""Modules whose frames stand between the user's line and us."""


class UsageError(CompileError, ValueError):
    """A line of the user's program asks for what cannot be built."""

    def __str__(self) -> str:
        # programs for mlir-aie print and compare the words alone; the line is in `diagnostics`, and in the traceback
        if UPSTREAM in sys.modules:
            return "\n".join(diagnostic.text for diagnostic in self.diagnostics)
        return super().__str__()


class UsageTypeError(UsageError, TypeError):
    """One that is about how something is called, where mlir-aie raises a TypeError."""


_fixed: ContextVar[LocationAttr | None] = ContextVar("location", default=None)


@contextmanager
def at(location: LocationAttr | None) -> Generator[None]:
    """Give what is built inside the block this location, instead of the line that is being executed; None changes
    nothing."""
    with setting(_fixed, _fixed.get() if location is None else location):
        yield


class Location:
    """A place for what is built inside its `with`; an unknown one leaves it to the line that builds."""

    def __init__(self, location: LocationAttr | None = None):
        self.location = location
        self._entered: list[Any] = []  # a stack: the same location may be entered again inside its own `with`

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


def user_location() -> LocationAttr:
    """The line and column of the innermost call that is not ours."""
    fixed = _fixed.get()
    if fixed is not None:
        return fixed
    frame = user_frame()
    return UNKNOWN_LOC if frame is None else _location(frame.f_code, frame.f_code.co_filename, frame.f_lasti)


def user_frame() -> FrameType | None:
    """The innermost call that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    # this is gone through, many frames deep, for each operation that is built
    is_between = _is_between
    while frame is not None and is_between[frame.f_globals.get("__name__", "")]:
        frame = frame.f_back
    return frame


def syntax_tree(file: str) -> ast.Module | None:
    """The program in a file; None if it cannot be parsed."""
    # it could when it was run, but it may have been changed since
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None


def given_location(given: LocationAttr | Location | None) -> LocationAttr:
    """The location that a caller asks for, or the user's line."""
    asked = given.location if isinstance(given, Location) else given
    return user_location() if asked is None else asked


def refuse(
    text: str, *notes: tuple[Where, str], at: LocationAttr | None = None, kind: type[UsageError] = UsageError
) -> NoReturn:
    """Raise a `UsageError` about the user's line."""
    raise usage_error(text, *notes, at=at, kind=kind)


def usage_error(
    text: str, *notes: tuple[Where, str], at: LocationAttr | None = None, kind: type[UsageError] = UsageError
) -> UsageError:
    where = user_location() if at is None else at
    error: Diagnostic = diagnose(Severity.ERROR, where, text)
    for place, note in notes:
        error.note(where if place is None else place, note)
    return kind([error])


class _Between(dict[str, bool]):
    """Whether frames of a module stand between the user's line and us, by its name."""

    def __missing__(self, module: str) -> bool:
        # examples are programs like those of users, though they are in this package
        found = self[module] = module.startswith(_BETWEEN) and not module.startswith("tilewright.iron.examples")
        return found


_is_between = _Between()


@lru_cache(1 << 13)
def _location(code: CodeType, file: str, instruction: int) -> LocationAttr:
    """Where an instruction comes from. The same code in two files is equal, so the file is told apart from it."""
    # `co_positions` has an entry for each instruction, which are two bytes each
    line, _, column, _ = next(islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
    # `python -X no_debug_ranges` leaves columns out
    return FileLineColLoc(
        StringAttr(file),
        IntAttr(line or code.co_firstlineno),
        IntAttr(1 if column is None else column + 1),
    )
