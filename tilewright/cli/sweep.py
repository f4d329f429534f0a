"""Try a design with many values of its parameters: each point is compiled and run on the simulated NPU.

    tilewright sweep tiles.toml
    tilewright sweep program.py --set depth=1,2,4 --set n=1024:8193:1024 --objective time --objective l1_bytes
    tilewright sweep design.mlir --set n=64,128,256 --arg a=random:1 --field busy

FILE is TOML that says what is tried, Python that defines a `Sweep`, a function or a program, or MLIR. Parameters that
the function takes are compiled in; all others are scalar arguments of the runtime sequence, and share one build.

Rows go to a journal as soon as they are known: the same command goes on where an earlier one ended, whatever ended it.
The folder of --out gets table.csv, table.json and index.html, a page with pictures. Points that cannot be compiled,
hang or fail are rows with their reason. Ends with status 1 if no point is ok, with 130 after Ctrl-C.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import CommandLineError, InputError, complaining
from tilewright.cli.parsers import arguments, switch, value, values

if TYPE_CHECKING:
    from tilewright.sweeps import Sweep, SweepResult, SweepRow

INTERRUPTED = 130
SHOWN = 10
PAGE, CSV, JSON, PARQUET = "index.html", "table.csv", "table.json", "table.parquet"

add_arguments = arguments(
    {
        "file": value("FILE", "a sweep in TOML or Python, or a design: .py or .mlir"),
        "--entry": value("NAME", "of a .py file: the sweep, the function or the program (default: the only one)"),
        "--set": values("NAME=V,V...", "values of a parameter; A:B:STEP is a range as Python has it"),
        "--objective": values("EXPR", "what is to be small, -EXPR: large (default: time); several have a front"),
        "--search": {"choices": ("grid", "random", "halving"), "help": "which points (default: grid, all of them)"},
        "--samples": value("N", "points of a random search, or that halving begins with", type=int),
        "--seed": value("N", "of random choices (default: 0)", type=int),
        "--budget": value("NAME", "of halving: the parameter whose values the best go on to, in their order"),
        "--keep": value("N", "of halving: one of N goes on (default: 3)", type=int),
        "--constraint": values("EXPR", "compile only where this holds, such as 'l1_bytes <= 40000'"),
        "--column": values("NAME=EXPR", "one more column, such as 'tops=2*M*K*N/time/1e12'"),
        "--field": values("NAME", "one more field of runs (--field help lists them)"),
        "--arg": values("NAME=SPEC", "what a buffer holds: zeros, arange, random:SEED, FILE.npy"),
        "--sequence": value("NAME", "which runtime sequence (default: the first)"),
        "--max-cycles": value("N", "how many cycles a run may take", type=int),
        "--jobs": value("N", "processes of this machine (default: one for each core; 0: this process)", type=int),
        "--scheduler": value("ADDRESS", "a Dask cluster instead, such as tcp://HOST:8786"),
        "--out": value("DIR", "the folder of journal, table and page (default: NAME.sweep)"),
        "--reports": {
            "choices": ("none", "front", "all"),
            "default": "none",
            "help": "write pages about runs, linked from the table (default: none)",
        },
        "--fresh": switch("forget what an earlier sweep left in DIR"),
        "--parquet": switch("write table.parquet too; needs tilewright[parquet]"),
        "--json": switch("print the table for machines"),
    }
)


def usage(text: str) -> CommandLineError:
    return CommandLineError(f"tilewright sweep: {text}")


def run(args: Namespace) -> int:
    from tilewright.errors import ArgumentError
    from tilewright.sweeps import FIELDS
    from tilewright.sweeps.sweep_files import read_sweep

    if "help" in args.field:
        for name, meaning in FIELDS.items():
            print(f"{name:20}{meaning}")
        return 0
    path = Path(args.file)
    if not path.is_file():
        raise InputError(f"cannot open input file '{path}': No such file or directory")
    with complaining(ArgumentError, usage):
        sweep = read_sweep(path, _changes(args))
        sweep.definition  # noqa: B018, what is wrong with it is said before anything is begun
    out = Path(args.out or f"{path.stem}.sweep")
    start, watch = time.perf_counter(), _Counting()
    try:
        with _progress(sweep, watch):
            given = {"jobs": args.jobs, "scheduler": args.scheduler, "reports": args.reports, "fresh": args.fresh}
            result = sweep.run(out, watch=watch, **given)
    except KeyboardInterrupt:
        print(f"interrupted: {watch.kept} rows are in {out}; the same command goes on", file=sys.stderr)
        return INTERRUPTED
    _write(result, out, args.parquet)
    _show(result, out, watch, time.perf_counter() - start, args.json)
    return 0 if result.best is not None else 1


def _changes(args: Namespace) -> dict[str, Any]:
    """What the command line says of the sweep."""
    from tilewright.cli.run_values import pairs
    from tilewright.sweeps.sweep_files import values_of

    found: dict[str, Any] = {
        "parameters": {name: values_of(name, text) for name, text in pairs("--set", args.set).items()},
        "arguments": pairs("--arg", args.arg),
        "columns": pairs("--column", args.column),
        "objective": args.objective,
        "constraints": args.constraint,
        "fields": args.field,
    }
    plain = ("entry", "search", "samples", "seed", "budget", "keep", "sequence", "max_cycles")
    found |= {name: getattr(args, name) for name in plain}
    return {name: value for name, value in found.items() if value not in (None, [], {})}


class _Counting:
    """Counts rows, and tells a line in the terminal where there is one."""

    def __init__(self) -> None:
        self.kept = self.known = self.total = 0
        self.line: Any = None

    def begin(self, total: int, engine: str) -> None:
        self.total = total
        if self.line is not None:
            self.line.begin(total, engine)

    def row(self, row: SweepRow, is_new: bool) -> None:
        self.kept += 1
        self.known += not is_new
        if self.line is not None:
            self.line.row(row, is_new)

    def reports(self, total: int) -> None:
        if self.line is not None:
            self.line.reports(total)


@contextmanager
def _progress(sweep: Sweep, watch: _Counting) -> Generator[None]:
    """A line with rate, time left and the best so far, where somebody looks at stderr; it is gone in the end."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}"))
    # no refreshing by a thread: workers are forked
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("starting")

        class Line:
            def __init__(self) -> None:
                self.start, self.new, self.best, self.done = time.monotonic(), 0, None, 0

            def begin(self, total: int, engine: str) -> None:
                console.print(f"{total} points {escape(engine)}", highlight=False)
                bar.update(task, total=total, refresh=True)

            def row(self, row: SweepRow, is_new: bool) -> None:
                self.new, self.done = self.new + is_new, self.done + 1
                if row.is_ok:
                    ranked = sweep.objectives.ranked([row, *([] if self.best is None else [self.best])])
                    self.best = ranked[0]
                bar.update(task, completed=self.done, total=max(watch.total, self.done), refresh=True,
                           description=escape(self._said()))  # fmt: skip

            def reports(self, total: int) -> None:
                watch.total += total
                bar.update(task, description="reports of the front", refresh=True)

            def _said(self) -> str:
                rate = self.new / max(time.monotonic() - self.start, 1e-3)
                left = (watch.total - self.done) / rate if rate else 0
                said = f"{rate * 60:.0f} a minute, {_clock(left)} left"
                if self.best is None:
                    return said
                cost = sweep.objectives.costs(self.best)[0]
                return f"{said}, best {sweep.objectives.texts[0]} {cost:.4g} at point {self.best.number}"

        watch.line = Line()
        yield


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _write(result: SweepResult, out: Path, parquet: bool) -> None:
    from tilewright.cli.files import cannot_write

    try:
        result.to_csv(out / CSV)
        result.to_json(out / JSON)
        result.page(out / PAGE)
        if parquet:
            result.to_parquet(out / PARQUET)
    except OSError as error:
        raise cannot_write(out, error) from error


def _show(result: SweepResult, out: Path, watch: _Counting, seconds: float, as_json: bool) -> None:
    if as_json:
        print(result.to_json(), end="")
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    counts = ", ".join(f"{count} {status.value}" for status, count in result.counts.items())
    known = f", {watch.known} of them known from the journal" if watch.known else ""
    console.print(f"{len(result)} points in {seconds:.1f} s: {counts}{known}")
    if result.best is not None:
        console.print(escape(_table(result)), soft_wrap=True)
    for reason, count in _reasons(result).items():
        console.print(f"{count} x {escape(reason)}", soft_wrap=True)
    console.print(f"page: [bold]{escape(str(out / PAGE))}[/], table: {escape(str(out / CSV))}", soft_wrap=True)
    if result.command is not None:
        console.print(f"best: [bold]{escape(result.command)}[/]", soft_wrap=True)


def _reasons(result: SweepResult) -> Mapping[str, int]:
    """Why points are not ok, the most frequent first."""
    from collections import Counter

    found = Counter(f"{row.status.value}: {row.reason}" for row in result if not row.is_ok)
    return dict(found.most_common(SHOWN))


def _table(result: SweepResult) -> str:
    """The best points, with what differs between points and what was asked for."""
    varied = [name for name, found in result.sweep.space.parameters.items() if len(found) > 1]
    asked = {*result.sweep.objectives.names, *result.sweep.fields, *result.sweep.columns, "cycles"}
    fields = [name for name in result.headings if name in asked and name not in varied]
    rows = [["point", *varied, *fields]]
    for row in result.ranked[:SHOWN]:
        rows.append([str(row.number), *(_cell(row.values[name]) for name in varied)])
        rows[-1] += [_cell(row.fields.get(name)) for name in fields]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _cell(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else "" if cell is None else str(cell)
