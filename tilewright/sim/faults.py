"""Hazards of a run, and the policy that makes each kind of them a fault, a note or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.errors import ArgumentError, near_match
from tilewright.ir.diagnostics import Diagnostic, Severity, Where
from tilewright.ir.run_errors import Fault


class FaultLevel(Enum):
    """What is made of a hazard."""

    OFF = "off"
    NOTE = "note"
    FAULT = "fault"


class FaultKind(Enum):
    """Things that the hardware does wrong without a word: the name of each in options, what it is by default, and how
    it comes about."""

    DROPPED_PUSH = "dropped-push", FaultLevel.FAULT, "a task is pushed on a channel with six in flight, which drops it"
    DESCRIPTOR_IN_USE = (
        "descriptor-in-use",
        FaultLevel.FAULT,
        "a BD is rewritten while a task in flight has yet to load it",
    )
    INVALID_DESCRIPTOR = "invalid-descriptor", FaultLevel.FAULT, "a channel comes to a BD that is not marked valid"
    UNREACHABLE_DESCRIPTOR = "unreachable-descriptor", FaultLevel.FAULT, "a channel is sent to a BD that it cannot use"
    UNREACHABLE_LOCK = "unreachable-lock", FaultLevel.FAULT, "a BD names a lock that its channel cannot reach"
    OUTSIDE_MEMORY = (
        "outside-memory",
        FaultLevel.FAULT,
        "an access outside of a host argument, a tile's memory or a buffer",
    )
    UNWRITTEN_MEMORY = (
        "unwritten-memory",
        FaultLevel.OFF,
        "a DMA sends words of a tile's memory that nobody has written",
    )
    LOCK_OVERFLOW = "lock-overflow", FaultLevel.FAULT, "a release takes a lock above 63"
    LOCK_UNDERFLOW = "lock-underflow", FaultLevel.FAULT, "a release of a negative amount takes a lock below 0"
    NO_ROUTE = "no-route", FaultLevel.FAULT, "a packet comes to a port that has no rule for its id"
    UNORDERED_WRITES = (
        "unordered-writes",
        FaultLevel.FAULT,
        "a DMA writes words that another one writes or reads meanwhile",
    )
    PROGRAM_MEMORY = (
        "program-memory",
        FaultLevel.FAULT,
        "a core is started on machine code, which runs from packages only, and on npu1",
    )
    CORE = "core", FaultLevel.FAULT, "a core's program stops itself: an assertion fails, or calls go too deep"
    UNKNOWN_OPERATION = (
        "unknown-operation",
        FaultLevel.FAULT,
        "an operation, or a configuration to load, that is not known",
    )
    UNKNOWN_REGISTER = "unknown-register", FaultLevel.NOTE, "a write to a register that is not modelled"
    LEFT_OVER = "left-over", FaultLevel.NOTE, "at the end, a token that nobody waited for or a host transfer in flight"

    def __init__(self, option: str, default: FaultLevel, meaning: str):
        self.option = option
        self.default = default
        self.meaning = meaning


JUDGE = "TILEWRIGHT_JUDGE"
"""Environment: what is made of hazards where nothing else says so."""


class LevelError(ArgumentError):
    """A text that sets no level."""


def levels_of(texts: Iterable[str]) -> dict[FaultKind, FaultLevel]:
    """What is made of hazards, from texts like `unwritten-memory=fault`."""
    return dict(map(_level_of, texts))


def environment_levels() -> dict[FaultKind, FaultLevel]:
    """What TILEWRIGHT_JUDGE says, for programs that load their devices themselves: `left-over=off,core=note`."""
    texts = (text.strip() for text in os.environ.get(JUDGE, "").split(","))
    try:
        return levels_of(text for text in texts if text)
    except LevelError as error:
        raise LevelError(f"{JUDGE}: {error}") from error


def _level_of(text: str) -> tuple[FaultKind, FaultLevel]:
    option, equals, value = text.partition("=")
    kinds, levels = {kind.option: kind for kind in FaultKind}, {level.value: level for level in FaultLevel}
    if not equals:
        raise LevelError(
            f"expected KIND=LEVEL, such as {FaultKind.LEFT_OVER.option}={FaultLevel.FAULT.value}, got {text!r}"
        )
    if option not in kinds:
        raise LevelError(f"there is no hazard {option!r}{near_match(option, kinds)}; there are: {', '.join(kinds)}")
    if value not in levels:
        raise LevelError(f"{option} cannot be {value!r}{near_match(value, levels)}; it can be: {', '.join(levels)}")
    return kinds[option], levels[value]


class At:
    """A place in the source to complain about."""

    def __init__(self, location: LocationAttr):
        self.location = location


def place_of(thing: object) -> LocationAttr:
    """Where in the program a block of the machine, or what it does now, comes from."""
    location = getattr(thing, "location", None)
    return location if isinstance(location, LocationAttr) else UNKNOWN_LOC


@dataclass
class FaultPolicy:
    """Decides, by options, which hazards end a run, and keeps the others as notes."""

    levels: Mapping[FaultKind, FaultLevel] = field(default_factory=dict[FaultKind, FaultLevel])
    notes: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def level(self, kind: FaultKind) -> FaultLevel:
        return self.levels.get(kind, kind.default)

    def fault(self, kind: FaultKind, text: str, asker: object = None, *notes: tuple[Where, str]) -> None:
        """Something went wrong at the place that `asker` comes from."""
        match self.level(kind):
            case FaultLevel.FAULT:
                raise Fault(text, place_of(asker), notes, kind)
            case FaultLevel.NOTE:
                remark = Diagnostic(Severity.REMARK, text, place_of(asker))
                for at, note in notes:
                    remark.note(at, note)
                if remark not in self.notes:
                    self.notes.append(remark)
            case FaultLevel.OFF:
                pass
