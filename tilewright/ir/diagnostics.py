"""Located diagnostics: who emits them, who collects them, how they read.

Errors, warnings, remarks and notes are values. Code that finds something wrong calls `emit_error` and friends, or
raises `VerifyError` from a verifier; whoever runs that code decides with `collect()` what becomes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn, TypeAlias, cast

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    UnknownLoc,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PyRDLError, VerifyException

from tilewright.errors import Error
from tilewright.ir.escapes import visible, visible_lines

Where: TypeAlias = "Operation | SSAValue | LocationAttr | None"


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass
class Diagnostic:
    """One message with the place it is about; notes add places and remedies to it."""

    severity: Severity
    text: str
    location: LocationAttr
    notes: list[Diagnostic] = field(default_factory=list["Diagnostic"])

    def note(self, where: Where, text: str) -> Diagnostic:
        """Attach a note and return this diagnostic, so that notes can be chained."""
        self.notes.append(Diagnostic(Severity.NOTE, text, location_of(where)))
        return self

    def lines(self) -> Iterator[str]:
        """`FILE:LINE:COL: severity: text`, then the same for each note."""
        yield f"{place(self.location)}{self.severity}: {visible_lines(self.text)}"
        for note in self.notes:
            yield from note.lines()

    def __str__(self) -> str:
        return "\n".join(self.lines())


def shortened(text: str, most: int = 110) -> str:
    """A text without its end, where it is too long for a line."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


class DiagnosedError(Error):
    """An error that located diagnostics explain."""

    def __init__(self, diagnostics: Sequence[Diagnostic]):
        self.diagnostics = list(diagnostics)
        self.sources = dict[str, str]()
        """Texts of the files that the diagnostics are about, for whoever shows them."""
        super().__init__("\n".join(str(d) for d in self.diagnostics))


class CompileError(DiagnosedError):
    """The program is wrong in ways that the diagnostics explain."""


BROKEN_PROMISES = LookupError, AttributeError, TypeError, ValueError, AssertionError, StopIteration, PyRDLError
"""What accessors of an operation raise when it lacks what its definition promises."""


class VerifyError(VerifyException):
    """A verifier's complaint that needs more than a text: another place, notes, or no `'name' op` in front."""

    def __init__(self, text: str, *notes: tuple[Where, str], at: Where = None, bare: bool = False):
        self.text, self.notes, self.at, self.bare = text, notes, at, bare
        super().__init__(text)


def location_of(where: Where) -> LocationAttr:
    match where:
        case None:
            return UnknownLoc()
        case Operation():
            return where.location
        # A result is where its operation is; an argument knows its place if it was read from text.
        case SSAValue():
            owner = where.owner
            return owner.location if isinstance(owner, Operation) else getattr(where, "location", UnknownLoc())
        case _:
            return where


def file_position(location: LocationAttr) -> tuple[str, int, int] | None:
    """The first file, line and column inside a location, however it is wrapped."""
    match location:
        case FileLineColLoc():
            return location.filename.data, location.line.data, location.column.data
        case NameLoc():
            inner = location.location
        case CallSiteLoc():
            # Where the code stands, not where it was called from.
            inner = location.callee
        case FusedLoc():
            parts = cast(Iterable[Attribute], location.locations)
            # Parts of a fused location may be unknown.
            found = (file_position(part) for part in parts if isinstance(part, LocationAttr))
            return next((position for position in found if position), None)
        case _:
            return None
    return file_position(inner) if isinstance(inner, LocationAttr) else None


def place(location: LocationAttr) -> str:
    """`FILE:LINE:COL: `, or nothing where the place is unknown."""
    position = file_position(location)
    return f"{position_text(position)}: " if position else ""


def position_text(position: tuple[str, int, int]) -> str:
    """`FILE:LINE:COL`, in one line whatever the file is called."""
    file, line, column = position
    return f"{visible(file)}:{line}:{column}"


# Context variables and not globals: several threads may compile at once.
_collector: ContextVar[list[Diagnostic] | None] = ContextVar("diagnostics", default=None)


@contextmanager
def collect() -> Generator[list[Diagnostic]]:
    """Gather what is emitted inside the block, in order, instead of raising at the first error."""
    found: list[Diagnostic] = []
    token = _collector.set(found)
    try:
        yield found
    finally:
        _collector.reset(token)


_describe: ContextVar[Callable[[Operation, Severity], str] | None] = ContextVar("describe", default=None)


@contextmanager
def showing_operations(describe: Callable[[Operation, Severity], str]) -> Generator[None]:
    """Add the note `see current operation`, with what `describe` gives, to what is said about an operation."""
    token = _describe.set(describe)
    try:
        yield
    finally:
        _describe.reset(token)


def diagnose(severity: Severity, where: Where, text: str) -> Diagnostic:
    """A diagnostic that goes nowhere yet."""
    diagnostic = Diagnostic(severity, text, location_of(where))
    describe = _describe.get()
    if describe and isinstance(where, Operation):
        diagnostic.note(where, f"see current operation: {describe(where, severity)}")
    return diagnostic


def emit(severity: Severity, where: Where, text: str) -> Diagnostic:
    """Report to the innermost `collect()`; without one an error raises and anything milder is dropped."""
    return emit_diagnostic(diagnose(severity, where, text))


def emit_diagnostic(diagnostic: Diagnostic) -> Diagnostic:
    found = _collector.get()
    if found is not None:
        found.append(diagnostic)
    # A warning that is not collected has no reader.
    elif diagnostic.severity is Severity.ERROR:
        raise CompileError([diagnostic])
    return diagnostic


def emit_error(where: Where, text: str) -> Diagnostic:
    return emit(Severity.ERROR, where, text)


def emit_op_error(op: Operation, text: str) -> Diagnostic:
    """An error worded as MLIR words those of an operation: `'dialect.op' op text`."""
    return emit(Severity.ERROR, op, op_text(op, text))


def emit_warning(where: Where, text: str) -> Diagnostic:
    return emit(Severity.WARNING, where, text)


def emit_remark(where: Where, text: str) -> Diagnostic:
    return emit(Severity.REMARK, where, text)


def fail(where: Where, text: str, *notes: tuple[Where, str]) -> NoReturn:
    """Stop here: raise a `CompileError` with one error."""
    error = diagnose(Severity.ERROR, where, text)
    for at, note in notes:
        error.note(at, note)
    raise CompileError([error])


def fail_op(op: Operation, text: str, *notes: tuple[Where, str]) -> NoReturn:
    """`fail`, worded `'dialect.op' op text`."""
    fail(op, op_text(op, text), *notes)


def op_text(op: Operation, text: str) -> str:
    # xDSL calls all unknown operations `builtin.unregistered`.
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    return f"'{name}' op {text}"


def from_verify_exception(op: Operation, error: VerifyException) -> Diagnostic:
    """What a verifier raised about `op`, as a diagnostic."""
    if not isinstance(error, VerifyError):
        return diagnose(Severity.ERROR, op, op_text(op, str(error)))
    at = op if error.at is None else error.at
    text = error.text if error.bare else op_text(at if isinstance(at, Operation) else op, error.text)
    diagnostic = diagnose(Severity.ERROR, at, text)
    for at, note in error.notes:
        diagnostic.note(at, note)
    return diagnostic


def errors_in(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [d for d in diagnostics if d.severity is Severity.ERROR]
