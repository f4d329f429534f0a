"""What became of a run: one report for each rank, in a form that travels between processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc

from tilewright.gpu.host.arguments import Array
from tilewright.ir.diagnostics import Diagnostic, Severity, file_position

FAILED, INTERNAL_ERROR = 1, 70
MOST_SHOWN = 8
"""Of how many ranks it is said where they were when another one failed."""


@dataclass
class Message:
    """A diagnostic without the program that it is about."""

    severity: str
    text: str
    position: tuple[str, int, int] | None
    notes: list[Message] = field(default_factory=list["Message"])

    @classmethod
    def of(cls, diagnostic: Diagnostic) -> Message:
        notes = [cls.of(note) for note in diagnostic.notes]
        return cls(str(diagnostic.severity), diagnostic.text, file_position(diagnostic.location), notes)

    def diagnostic(self) -> Diagnostic:
        notes = [note.diagnostic() for note in self.notes]
        return Diagnostic(Severity(self.severity), self.text, _location(self.position), notes)


def _location(position: tuple[str, int, int] | None) -> LocationAttr:
    if position is None:
        return UnknownLoc()
    file, line, column = position
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


@dataclass
class RankReport:
    """How one rank ended."""

    rank: int
    status: int = 0
    messages: list[Message] = field(default_factory=list[Message])
    """What was wrong, if the program itself did not end it."""
    values: Sequence[int | float | None] = ()
    """What the entry returned."""
    counters: Mapping[str, int] = field(default_factory=dict[str, int])
    is_consequence: bool = False
    """Whether it ended only because another one did."""
    output: str = ""
    """What it printed, errors included."""
    arrays: Sequence[Array] = ()
    """The arrays that the entry was called with, as they are now."""

    @property
    def last_position(self) -> tuple[str, int, int] | None:
        """Where in the program it was when it ended, as far as that is known."""
        places = [place.position for message in self.messages for place in (*message.notes, message) if place.position]
        return places[0] if places else None


@dataclass
class RunResult:
    """How all ranks ended."""

    ranks: list[RankReport]
    output: str
    """What they printed, line by line in the order of arrival."""
    seconds: float

    @property
    def status(self) -> int:
        """0 if every rank ended well, else 1."""
        return FAILED if any(rank.status for rank in self.ranks) else 0

    @property
    def counters(self) -> dict[str, int]:
        """Sums over all ranks."""
        names = dict.fromkeys(name for rank in self.ranks for name in rank.counters)
        return {name: sum(rank.counters.get(name, 0) for rank in self.ranks) for name in names}

    @property
    def failed(self) -> list[RankReport]:
        """The ranks that failed, those first that others failed because of."""
        return sorted((rank for rank in self.ranks if rank.status), key=lambda rank: rank.is_consequence)

    def diagnostics(self) -> list[Diagnostic]:
        """What is to be said about ranks that failed; of those that did because of others only where they were."""
        causes = [rank for rank in self.failed if not rank.is_consequence] or self.failed
        found: dict[tuple[str, object], Diagnostic] = {}
        for rank in causes:
            for message in rank.messages:
                key = message.text, message.position
                diagnostic = found.setdefault(key, message.diagnostic())
                if len(self.ranks) > 1 and f"rank {rank.rank}" not in message.text:
                    diagnostic.note(None, f"this is rank {rank.rank} of {len(self.ranks)}")
        for diagnostic in list(found.values())[:1]:
            for rank in [rank for rank in self.failed if rank not in causes][:MOST_SHOWN]:
                diagnostic.note(_location(rank.last_position), f"rank {rank.rank} was here")
        return list(found.values())
