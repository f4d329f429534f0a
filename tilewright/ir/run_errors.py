"""Runs that do not come to their end: hangs and faults, of NPUs and of GPUs alike."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Self

from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, Severity, Where, location_of


class Unfinished(DiagnosedError):
    """A run that did not come to its end."""

    record: Any = None
    """A `RunRecord` of what a simulated NPU did until then."""

    @classmethod
    def of(cls, diagnostics: Sequence[Diagnostic]) -> Self:
        """One that several diagnostics explain."""
        error = cls.__new__(cls)
        DiagnosedError.__init__(error, diagnostics)
        return error


class Fault(Unfinished):
    """Something that the hardware would do wrong silently. `kind` says which hazard of the simulated NPU it is."""

    kind: Enum | None = None

    def __init__(
        self, text: str, where: Where = None, notes: Sequence[tuple[Where, str]] = (), kind: Enum | None = None
    ):
        self.kind = kind
        super().__init__([located_error(text, where, notes)])


class Hang(Unfinished):
    """Nothing can make progress any more; the notes say what waits for what."""

    def __init__(self, text: str, where: Where = None, notes: Sequence[tuple[Where, str]] = ()):
        super().__init__([located_error(text, where, notes)])


def located_error(text: str, where: Where, notes: Sequence[tuple[Where, str]]) -> Diagnostic:
    error = Diagnostic(Severity.ERROR, text, location_of(where))
    for at, note in notes:
        error.note(at, note)
    return error
