"""Report of `tilewright run`: progress while it runs, then the outcome, for people or for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import show_diagnostics
from tilewright.ir.diagnostics import Diagnostic, file_position
from tilewright.ir.escapes import visible, visible_lines
from tilewright.sim.control_code import operation_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from xdsl.dialects.builtin import LocationAttr

    from tilewright.driver.loaded_device import Array
    from tilewright.sim.runs import Progress as Now

SHOWN_VALUES = 8


@dataclass
class RunOutcome:
    """How a run ended."""

    name: str
    """`finished`, `hang`, `fault`, `stopped` or `interrupted`."""
    cycles: int
    seconds: float
    diagnostics: Sequence[Diagnostic] = ()
    notes: Sequence[Diagnostic] = ()
    buffers: Mapping[str, Array] = field(default_factory=dict[str, "Array"])
    kind: str | None = None
    """Which hazard a fault is, by the name that options have for it."""

    def to_json(self, stream: str | None) -> dict[str, Any]:
        found: dict[str, Any] = {"outcome": self.name, "cycles": self.cycles, "seconds": round(self.seconds, 6)}
        if self.kind is not None:
            found["kind"] = self.kind
        # a run ends with one error, whose message and place stand at the top
        for diagnostic in self.diagnostics:
            found |= _as_json(diagnostic, stream)
        found["remarks"] = [_as_json(note, stream) for note in self.notes]
        return found | {"buffers": list(self.buffers)}


def _as_json(diagnostic: Diagnostic, stream: str | None) -> dict[str, Any]:
    notes = [{"message": note.text, **_place(note.location, stream)} for note in diagnostic.notes]
    return {"message": diagnostic.text, **_place(diagnostic.location, stream), "notes": notes}


def _place(location: LocationAttr, stream: str | None) -> dict[str, Any]:
    if (operation := operation_number(location)) is not None:
        return {"file": stream, "operation": operation}
    position = file_position(location)
    return dict(zip(("file", "line", "column"), position, strict=True)) if position else {}


def report(outcome: RunOutcome, sources: Mapping[str, str], stream: str | None, as_json: bool) -> None:
    """Errors and remarks go to stderr, the outcome to stdout."""
    show(outcome.notes, sources, stream)
    show(outcome.diagnostics, sources, stream)
    if as_json:
        print(json.dumps(outcome.to_json(stream)))
    elif not outcome.diagnostics:
        print(f"simulated in {outcome.seconds:.2f} s")
        for name, array in outcome.buffers.items():
            values = ", ".join(map(str, array.reshape(-1)[:SHOWN_VALUES]))
            print(f"  {visible(name)}: {values}{', ...' if array.size > SHOWN_VALUES else ''}")


def show(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], stream: str | None) -> None:
    """Print diagnostics; those about a stream name its operation instead of a line."""
    for diagnostic in diagnostics:
        parts = (diagnostic, *diagnostic.notes)
        if all(operation_number(part.location) is None for part in parts):
            show_diagnostics([diagnostic], sources)
            continue
        for part in parts:
            if (operation := operation_number(part.location)) is not None:
                print(visible_lines(f"{stream}: operation {operation}: {part.severity}: {part.text}"), file=sys.stderr)
            else:
                show_diagnostics([Diagnostic(part.severity, part.text, part.location)], sources)


@contextmanager
def progress_line() -> Generator[Callable[[Now], None] | None]:
    """Something to call with progress, where somebody looks at stderr; it is gone in the end."""
    if not sys.stderr.isatty():  # a log has no use for a line that changes
        yield None
        return
    # no refreshing by a thread: the simulator says when there is something new
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    left = TimeRemainingColumn(compact=True)
    shown = (BarColumn(bar_width=24), TaskProgressColumn(), left, TextColumn("left, {task.description}"))
    with Progress(*shown, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("starting", total=1.0)

        def show(now: Now) -> None:
            said = f"cycle {now.cycles:,}, operation {now.executed:,} of {now.total:,}"
            bar.update(task, completed=now.share, description=said, refresh=True)

        yield show
