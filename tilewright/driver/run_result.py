"""The result of a run on the simulated NPU: numbers, a summary in text, a page, and how a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.device.timing import TIME_ERROR_PERCENT
from tilewright.sim.record import RunRecord

if TYPE_CHECKING:
    from tilewright.ir.diagnostics import Diagnostic
    from tilewright.report.film import Film
    from tilewright.sim.trace import Printed, Rows

SUMMARY_WIDTH = 100


@dataclass(frozen=True, repr=False, eq=False)
class RunResult:
    """How a run went. Of a run that did not end well, `RunResult(error.record)` has what it did until then.

    Args:
        record: all that reports are made of; `Hang`, `Fault`, `Stopped` and `Interrupted` have one, too
    """

    record: RunRecord
    """All that reports are made of."""

    @property
    def cycles(self) -> int:
        """Modelled cycles from the first operation of the sequence to its end."""
        return self.record.cycles

    @property
    def time(self) -> float:
        """The same in seconds, at the clock of the device."""
        return self.record.cycles / self.record.clock_hz

    @property
    def time_error(self) -> float:
        """How far off that may be, in seconds: two of three predicted times are nearer to what was measured."""
        return self.time * TIME_ERROR_PERCENT / 100

    @property
    def notes(self) -> Sequence[Diagnostic]:
        """Remarks of the simulator: nothing that is wrong for sure."""
        return self.record.notes

    @property
    def printed(self) -> Sequence[Printed]:
        """What cores printed with `iron.print_`: cycle, tile and text of each line."""
        return self.record.printed

    @property
    def trace(self) -> Rows:
        """Everything that happened when: rows (cycle, event, part, a, b), see `tilewright.sim.trace`."""
        return self.record.trace

    def summary(self) -> str:
        """A table: the parts of the array, how much they were busy, how much they waited and what for."""
        from io import StringIO

        from rich.console import Console

        from tilewright.report.summary import summarise, table

        text = StringIO()
        Console(file=text, width=SUMMARY_WIDTH, color_system=None).print(table(summarise(self.record)))
        # rich fills lines up with blanks, which have no use in a text
        return "\n".join(line.rstrip() for line in text.getvalue().rstrip().split("\n")).lstrip("\n")

    def report(self, path: str | PathLike[str], title: str | None = None) -> Path:
        """Write a page about the run that works offline: the array, a timeline, stalls by cause; gives its path.

        Args:
            path: the file, which is written whole or not at all
            title: what to call the run; without it, the name of the file that its sequence is in
        """
        # reports take long to import, and most runs have none
        from tilewright.driver.sources import texts_of
        from tilewright.report.page import page_html
        from tilewright.support.output_files import write_file

        write_file(path, page_html(self.record, title or self._name(), texts_of(self.record.locations)).encode())
        return Path(path)

    def film(self, frames: int = 24) -> Film:
        """The run as pictures of the array, one for each of so many `frames`; a notebook shows them one at a time."""
        from tilewright.report.film import Film

        return Film(self.record, frames)

    def _name(self) -> str:
        from tilewright.ir.diagnostics import file_position
        from tilewright.report.tracks import file_name

        positions = map(file_position, self.record.locations)
        return next((file_name(position[0]) for position in positions if position is not None), "run")

    def __repr__(self) -> str:
        from tilewright.report.summary import duration

        record = self.record
        size = f"{len(record.stream.opcodes):,} operations, {len(record.trace):,} events"
        noted = f", {len(record.notes)} notes" if record.notes else ""
        ended = "" if record.error is None else ", not finished"
        time = f"{duration(self.time)} ± {TIME_ERROR_PERCENT} %"
        return f"<RunResult: {record.cycles:,} cycles, {time} on {record.model}, {size}{noted}{ended}>"

    def _repr_html_(self) -> str:
        from tilewright.report.inline import result_html

        return result_html(self.record)
