"""Outcome of a run: one report for each rank, in a form that travels between processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc

from tilewright.gpu.host.arguments import Array
from tilewright.gpu.profile import LaunchProfile, Profile
from tilewright.ir.diagnostics import CompileError, DiagnosedError, Diagnostic, Severity, file_position
from tilewright.ir.run_errors import Fault, Hang

FAILED, INTERNAL_ERROR = 1, 70
MOST_SHOWN = 8
"""Of how many ranks it is said where they were when another one failed."""


@dataclass
class DiagnosticRecord:
    """A diagnostic without the program that it is about."""

    severity: str
    text: str
    position: tuple[str, int, int] | None
    notes: list[DiagnosticRecord] = field(default_factory=list["DiagnosticRecord"])

    @classmethod
    def of(cls, diagnostic: Diagnostic) -> DiagnosticRecord:
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


class Ending(StrEnum):
    """What ended a rank that did not end itself."""

    FAULT = "fault"
    HANG = "hang"
    COMPILE = "compile"
    """The program is wrong in a way that only its run brought to light."""
    INTERNAL = "internal"


@dataclass(repr=False)
class RankReport:
    """How one rank ended."""

    rank: int
    status: int = 0
    messages: list[DiagnosticRecord] = field(default_factory=list[DiagnosticRecord])
    """What was wrong, if the program itself did not end it."""
    ending: Ending = Ending.FAULT
    """Of which kind that was."""
    values: Sequence[int | float | None] = ()
    """What the entry returned."""
    counters: Mapping[str, int] = field(default_factory=dict[str, int])
    is_consequence: bool = False
    """Whether it ended only because another one did."""
    output: str = ""
    """What it printed, errors included."""
    arrays: Sequence[Array] = ()
    """The arrays that the entry was called with, as they are now."""
    launches: Sequence[LaunchProfile] = ()
    """Of a run that is profiled."""

    def __repr__(self) -> str:
        said = f", {len(self.messages)} messages" if self.messages else ""
        return f"<RankReport: rank {self.rank}, status {self.status}{said}>"

    @property
    def last_position(self) -> tuple[str, int, int] | None:
        """Where in the program it was when it ended, as far as that is known."""
        places = [place.position for message in self.messages for place in (*message.notes, message) if place.position]
        return places[0] if places else None


@dataclass(repr=False)
class AirRunResult:
    """How all ranks ended."""

    ranks: list[RankReport]
    output: str
    """What they printed, line by line in the order of arrival."""
    seconds: float
    profile: Profile | None = None
    """Of all ranks together, if that was asked for."""

    def __repr__(self) -> str:
        ranks = f"{len(self.ranks)} rank{'s' * (len(self.ranks) != 1)}"
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<RunResult: {ranks}{failed}, {self.seconds:.2f} s, {len(self.output):,} characters of output>"

    def _repr_html_(self) -> str:
        from tilewright.report.markup import listing_html

        ranks = [[str(rank.rank), str(rank.status), rank.output[-200:].strip()] for rank in self.ranks]
        counters = [[name, f"{value:,}"] for name, value in self.counters.items()]
        tables = [(("rank", "status", "printed last"), ranks), (("counter", "all ranks"), counters)]
        return listing_html(f"AIR program on {len(self.ranks)} ranks, {self.seconds:.2f} s", tables)

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

    @property
    def causes(self) -> list[RankReport]:
        """The ranks that failed by themselves; all that failed where they only wait for each other."""
        return [rank for rank in self.failed if not rank.is_consequence] or self.failed

    def error(self) -> DiagnosedError | None:
        """What is to be raised about ranks that did not end by themselves, if there are any."""
        found, endings = self.diagnostics(), {rank.ending for rank in self.causes}
        if not found:
            return None
        if Ending.INTERNAL in endings:
            # a bug of ours is not reported as a fault of the program
            raise AssertionError("\n".join(map(str, found)))
        # the gravest of the causes gives the kind of error
        if Ending.COMPILE in endings:
            return CompileError(found)
        return Fault.of(found) if Ending.FAULT in endings else Hang.of(found)

    def diagnostics(self) -> list[Diagnostic]:
        """What is to be said about ranks that failed; of those that did because of others only where they were."""
        causes = self.causes
        found: dict[tuple[str, object], Diagnostic] = {}
        for rank in causes:
            for message in rank.messages:
                key = message.text, message.position
                diagnostic = found.setdefault(key, message.diagnostic())
                # equal messages of several ranks are one, with a note for each
                if len(self.ranks) > 1 and f"rank {rank.rank}" not in message.text:
                    diagnostic.note(None, f"this is rank {rank.rank} of {len(self.ranks)}")
        for diagnostic in list(found.values())[:1]:
            for rank in [rank for rank in self.failed if rank not in causes][:MOST_SHOWN]:
                diagnostic.note(_location(rank.last_position), f"rank {rank.rank} was here")
        return list(found.values())
