"""The table of a sweep: its rows, the best of them, and the files that they are written to."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import ArgumentError
from tilewright.support.output_files import write_file
from tilewright.sweeps.rows import Status, SweepRow

if TYPE_CHECKING:
    from tilewright.sweeps.definition import Sweep

SHOWN_ROWS = 10
FORMULAS = ("=", "+", "@", "\t", "\r", "-")
"""What sheets take for the beginning of a formula."""


@dataclass(frozen=True, repr=False, eq=False)
class SweepResult:
    """All rows of a sweep, in the order of their points."""

    sweep: Sweep
    rows: Sequence[SweepRow]
    folder: Path | None = None
    """The folder that reports are in."""

    @staticmethod
    def of(sweep: Sweep, rows: Sequence[SweepRow], folder: Path | None) -> SweepResult:
        return SweepResult(sweep, sorted(rows, key=lambda row: row.number), folder)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SweepRow]:
        return iter(self.rows)

    def __repr__(self) -> str:
        best = self.best
        said = "none is ok" if best is None else f"best: {_values(best)}, {self._cost(best)}"
        return f"<SweepResult: {len(self.rows)} points of {self.sweep.target.name}; {said}>"

    def _cost(self, row: SweepRow) -> str:
        objective = self.sweep.objectives
        return ", ".join(f"{t} {c:.6g}" for t, c in zip(objective.texts, objective.costs(row), strict=True))

    @cached_property
    def ranked(self) -> Sequence[SweepRow]:
        """The rows that are ok and can be compared, the best first; of `halving`, those of its last round."""
        ok, budget = [row for row in self.rows if row.is_ok], self.sweep.budget
        if budget is not None and ok:
            order = list(self.sweep.space.parameters[budget])
            last = max(order.index(row.values[budget]) for row in ok)
            ok = [row for row in ok if row.values[budget] == order[last]]
        return self.sweep.objectives.ranked(ok)

    @property
    def best(self) -> SweepRow | None:
        """The best row by the first objective; None if none is ok."""
        return self.ranked[0] if self.ranked else None

    @cached_property
    def front(self) -> Sequence[SweepRow]:
        """The Pareto front over all objectives: nothing is better than these in one without being worse in another."""
        return self.sweep.objectives.front(self.ranked)

    @property
    def command(self) -> str | None:
        """A command line that runs the best point again, where the sweep is in a file."""
        return None if self.best is None else self.sweep.command(self.best)

    @cached_property
    def counts(self) -> Mapping[Status, int]:
        """How many points ended in which way."""
        found = Counter(row.status for row in self.rows)
        return {status: found[status] for status in Status if found[status]}

    @cached_property
    def headings(self) -> Sequence[str]:
        """Columns of the table."""
        return ["point", *self._parameters, "status", *self._fields, "reason", "report"]

    @property
    def _parameters(self) -> Sequence[str]:
        return list(self.sweep.space.parameters)

    @cached_property
    def _fields(self) -> Sequence[str]:
        found = dict.fromkeys(name for row in self.rows for name in row.fields)
        usual = [*self.sweep.definition.fields, *self.sweep.definition.columns]
        return [name for name in (*usual, *(name for name in found if name not in usual)) if name in found]

    def cells(self, row: SweepRow) -> list[Any]:
        """A row of the table, under `headings`."""
        values = [row.values[name] for name in self._parameters]
        fields = [row.fields.get(name) for name in self._fields]
        return [row.number, *values, row.status.value, *fields, row.reason, row.report]

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The table as CSV, also written to a file where a `path` is given."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.headings)
        writer.writerows([_csv_cell(cell) for cell in self.cells(row)] for row in self.rows)
        return _written(path, text.getvalue())

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """All of it for machines, also written to a file where a `path` is given."""
        found: dict[str, Any] = {
            "design": self.sweep.target.name,
            "objective": list(self.sweep.objectives.texts),
            "points": len(self.rows),
            "counts": {status.value: count for status, count in self.counts.items()},
            "best": None if self.best is None else {**self.best.to_json(), "command": self.command},
            "front": [row.number for row in self.front],
            "rows": [row.to_json() for row in self.rows],
        }
        return _written(path, json.dumps(found, indent=1) + "\n")

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """The table as a Parquet file at a `path`; needs `tilewright[parquet]`."""
        try:
            arrow: Any = import_module("pyarrow")
            parquet: Any = import_module("pyarrow.parquet")
        except ImportError as error:
            need = "python3 -m pip install 'tilewright[parquet]'"
            raise ArgumentError(f"Parquet files need pyarrow ({error}): {need}") from error
        rows = [self.cells(row) for row in self.rows]
        columns = {name: [_plain(row[at]) for row in rows] for at, name in enumerate(self.headings)}
        data = io.BytesIO()
        parquet.write_table(arrow.table({name: _column(values) for name, values in columns.items()}), data)
        write_file(path, data.getvalue())

    def page(self, path: str | PathLike[str]) -> Path:
        """Write a page with a scatter plot, the front, parallel coordinates and the table to a `path`; gives that."""
        from tilewright.sweeps.page import sweep_html

        write_file(path, sweep_html(self).encode())
        return Path(path)

    def _repr_html_(self) -> str:
        from tilewright.report.markup import listing_html

        shown = [name for name in self.headings if name not in ("reason", "report")]
        picked = [[str(_short(dict(zip(self.headings, self.cells(row), strict=True))[n])) for n in shown]
                  for row in self.ranked[:SHOWN_ROWS]]  # fmt: skip
        return listing_html(repr(self)[1:-1], [(shown, picked)])


def _values(row: SweepRow) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.values.items())


def _short(cell: Any) -> Any:
    return f"{cell:.6g}" if isinstance(cell, float) else "" if cell is None else cell


def _csv_cell(cell: Any) -> Any:
    cell = _plain(cell)
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell


def _plain(cell: Any) -> Any:
    return json.dumps(cell) if isinstance(cell, tuple | list | dict) else cell


def _column(values: Sequence[Any]) -> Sequence[Any]:
    """Values of one type: texts where there are several."""
    kinds: set[type] = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 or kinds == {int, float}:
        return [float(v) if kinds == {int, float} and v is not None else v for v in values]
    return [None if value is None else str(value) for value in values]


def _written(path: str | PathLike[str] | None, text: str) -> str:
    if path is not None:
        write_file(path, text.encode())
    return text
