"""What goes wrong in a run: faults, hangs, and the judge that decides what each kind of hazard is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, Severity, Where, location_of


class Level(Enum):
    """What is made of a hazard."""

    OFF = "off"
    NOTE = "note"
    FAULT = "fault"


class FaultKind(Enum):
    """Things that the hardware does wrong without a word, each with its option's name and what it is by default."""

    DROPPED_PUSH = "dropped-push", Level.FAULT
    DESCRIPTOR_IN_USE = "descriptor-in-use", Level.FAULT
    INVALID_DESCRIPTOR = "invalid-descriptor", Level.FAULT
    UNREACHABLE_DESCRIPTOR = "unreachable-descriptor", Level.FAULT
    OUTSIDE_MEMORY = "outside-memory", Level.FAULT
    UNWRITTEN_MEMORY = "unwritten-memory", Level.OFF
    LOCK_OVERFLOW = "lock-overflow", Level.FAULT
    LOCK_UNDERFLOW = "lock-underflow", Level.FAULT
    NO_ROUTE = "no-route", Level.FAULT
    UNORDERED_WRITES = "unordered-writes", Level.FAULT
    PROGRAM_MEMORY = "program-memory", Level.FAULT
    CORE = "core", Level.FAULT
    UNKNOWN_REGISTER = "unknown-register", Level.NOTE
    LEFT_OVER = "left-over", Level.NOTE

    def __init__(self, option: str, default: Level):
        self.option = option
        self.default = default


class Fault(DiagnosedError):
    """Something that the hardware would do wrong silently."""

    def __init__(
        self, text: str, where: Where = None, notes: Sequence[tuple[Where, str]] = (), kind: FaultKind = FaultKind.CORE
    ):
        self.kind = kind
        super().__init__([_error(text, where, notes)])


class Hang(DiagnosedError):
    """Nobody can move any more; the notes say who waits for what."""

    def __init__(self, text: str, where: Where = None, notes: Sequence[tuple[Where, str]] = ()):
        super().__init__([_error(text, where, notes)])


def _error(text: str, where: Where, notes: Sequence[tuple[Where, str]]) -> Diagnostic:
    error = Diagnostic(Severity.ERROR, text, location_of(where))
    for at, note in notes:
        error.note(at, note)
    return error


def place_of(thing: object) -> LocationAttr:
    """Where in the program a block of the machine, or what it does now, comes from."""
    location = getattr(thing, "location", None)
    return location if isinstance(location, LocationAttr) else UNKNOWN_LOC


@dataclass
class Judge:
    """Decides, by options, which hazards end a run, and keeps the others as notes."""

    levels: Mapping[FaultKind, Level] = field(default_factory=dict[FaultKind, Level])
    notes: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def level(self, kind: FaultKind) -> Level:
        return self.levels.get(kind, kind.default)

    def fault(self, kind: FaultKind, text: str, asker: object = None, *notes: tuple[Where, str]) -> None:
        """Something went wrong at the place that `asker` comes from."""
        match self.level(kind):
            case Level.FAULT:
                raise Fault(text, place_of(asker), notes, kind)
            case Level.NOTE:
                remark = Diagnostic(Severity.REMARK, text, place_of(asker))
                for at, note in notes:
                    remark.note(at, note)
                self.notes.append(remark)
            case Level.OFF:
                pass
