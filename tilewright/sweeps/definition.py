"""A sweep: what is tried, in which order, and what is kept of it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from tilewright.errors import ArgumentError, UnknownNameError, near_match
from tilewright.support.output_files import write_file
from tilewright.support.tracebacks import at_user_line
from tilewright.sweeps.engines import InlineEngine, Job, LocalEngine, SweepEngine, WorkQueue
from tilewright.sweeps.expressions import FieldExpression
from tilewright.sweeps.journal import Journal
from tilewright.sweeps.rows import Objective, Status, SweepRow
from tilewright.sweeps.searches import Search
from tilewright.sweeps.spaces import ParameterSpace, SweepPoint
from tilewright.sweeps.table import SweepResult
from tilewright.sweeps.targets import SweepTarget
from tilewright.sweeps.trials import FIELDS, USUAL_FIELDS, SweepDefinition, TrialOutcome, package

JOURNAL, REPORTS = "journal.jsonl", "reports"
WANTED_REPORTS = ("none", "front", "all")
MOST_FRONT_REPORTS = 20


class SweepWatch(Protocol):
    """What is told how far a sweep has come."""

    def begin(self, total: int, engine: str) -> None: ...
    def row(self, row: SweepRow, is_new: bool) -> None: ...
    def reports(self, total: int) -> None: ...


class _NoWatch:
    def begin(self, total: int, engine: str) -> None:
        pass

    def row(self, row: SweepRow, is_new: bool) -> None:
        pass

    def reports(self, total: int) -> None:
        pass


@dataclass(frozen=True)
class Sweep:
    """A sweep that is yet to run: `tilewright sweep FILE.py` runs the one that a file defines, `run` runs it here."""

    design: Any
    """A function that makes a program, a program, `FILE.py`, `FILE.mlir` or `MODULE:NAME`."""
    parameters: Mapping[str, Any]
    """Values by name. Those that the function takes are compiled in, others are scalars of the sequence."""
    objective: str | Sequence[str] = "time"
    """What is to be small, as an expression; `-busy` for what is to be large. Several have a front."""
    search: str = "grid"
    """`grid`, `random` or `halving`."""
    samples: int | None = None
    """Of a random search: how many points."""
    seed: int = 0
    budget: str | None = None
    """Of `halving`: the parameter whose values, in their order, the best points go on to."""
    keep: int = 3
    """Of `halving`: one of so many goes on."""
    constraints: Sequence[str] = ()
    """What has to hold, as expressions over parameters and resources; other points are not compiled."""
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """More fields, as expressions: `{"tops": "2 * M * K * N / time / 1e12"}`."""
    fields: Sequence[str] = ()
    """More fields of `tilewright.sweeps.FIELDS` for the table."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments of the sequence that all points share: scalars, arrays, texts such as `random:1`."""
    entry: str | None = None
    """Of a file of Python: the function or program."""
    sequence: str | None = None
    """The runtime sequence; without a name the first one."""
    max_cycles: int | None = None
    """How long a run may take, in modelled cycles."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More options of `Design.run`: `model`, `timing`, `kernels`, `levels`, `scratchpad`, `kernel_mode`."""
    measure: Callable[..., Mapping[str, Any]] | None = None
    """A function of `result`, `arrays` and `values` that gives more fields; the point fails if it raises."""

    file: Sequence[str] = ()
    """Words that name it on a command line, where it was read from a file."""

    @cached_property
    def space(self) -> ParameterSpace:
        """All points."""
        return ParameterSpace.of(self.parameters)

    @cached_property
    def target(self) -> SweepTarget:
        """Where the design is found."""
        return SweepTarget(self.design, self.entry)

    @cached_property
    def objectives(self) -> Objective:
        return Objective((self.objective,) if isinstance(self.objective, str) else tuple(self.objective))

    @cached_property
    def _search(self) -> Search:
        return Search(self.search, self.samples, self.seed, self.budget, self.keep)

    @cached_property
    def definition(self) -> SweepDefinition:
        """What a process has to know to compute any point."""
        constraints, columns = [FieldExpression(text) for text in self.constraints], dict(self.columns)
        asked = self.objectives.names.union(*(FieldExpression(text).names for text in columns.values()))
        for name in self.fields:
            if name not in FIELDS:
                raise UnknownNameError(f"no field '{name}'{near_match(name, FIELDS)}; there is {', '.join(FIELDS)}")
        names = [name for name in FIELDS if name in asked or name in self.fields or name in USUAL_FIELDS]
        later = [each.text for each in constraints if not each.names <= self.space.parameters.keys()]
        run = {"sequence": self.sequence, "max_cycles": self.max_cycles, **self.options}
        return SweepDefinition(
            self.target,
            names,
            columns,
            self.objectives.texts,
            later,
            dict(self.arguments),
            run,
            self.measure,
            package(),
        )

    @cached_property
    def digest(self) -> str:
        """Changes with everything that rows depend on beside the values of parameters."""
        known = self.definition
        measure = None if self.measure is None else SweepTarget(self.measure).digest
        parts = (known.target.digest, known.fields, known.columns, known.objective, known.package, measure)
        given = {name: _shown(value) for name, value in (*known.arguments.items(), *known.run.items())}
        return sha256(repr((*parts, sorted(self.constraints), sorted(given.items()))).encode()).hexdigest()

    def pruned(self, point: SweepPoint) -> str | None:
        """The constraint on parameters alone that a point breaks."""
        known = (FieldExpression(text) for text in self.constraints)
        ours = (each for each in known if each.names <= self.space.parameters.keys())
        return next((each.text for each in ours if not each(point.values)), None)

    @at_user_line
    def run(
        self,
        out: str | PathLike[str] | None = None,
        *,
        jobs: int | None = None,
        scheduler: str | None = None,
        reports: str = "none",
        fresh: bool = False,
        watch: SweepWatch | None = None,
    ) -> SweepResult:
        """Compute all points that are not in the journal yet.

        Args:
            out: a folder for the journal, from which a sweep goes on that ended early, and for reports
            jobs: processes of this machine; without a number one for each core, 0 for this process itself
            scheduler: a Dask cluster instead: the address of its scheduler
            reports: pages about runs: `none`, of the `front`, or of `all` points; these need `out`
            fresh: forget what an earlier sweep left in `out`
            watch: told how far it has come
        """
        if reports not in WANTED_REPORTS:
            raise ArgumentError(f"reports is one of {', '.join(WANTED_REPORTS)}, got {reports!r}")
        if jobs is not None and jobs < 0:
            raise ArgumentError(f"jobs is a number of processes, or 0, got {jobs}")
        if reports != "none" and out is None:
            raise ArgumentError("reports need a folder: out")
        with ExitStack() as stack:
            going = _Run(self, None if out is None else Path(out), reports, watch or _NoWatch(), jobs, scheduler, stack)
            return going.result(fresh)

    def command(self, row: SweepRow) -> str | None:
        """A command line that runs the point of a `row` again, with a page about it, where the sweep is in a file."""
        path, texts = self.target.path, [v for v in self.arguments.values() if isinstance(v, str)]
        is_program = path is not None and not any(map(self.target.is_compiled_in, row.values))
        if is_program and all(map(_is_spec, texts)):
            entry = ["--entry", self.entry] if self.entry else []
            scalars = {n: v for n, v in self.arguments.items() if isinstance(v, int | float)}
            specs = [f"{n}={v}" for n, v in self.arguments.items() if isinstance(v, str)]
            words = ["run", str(self.target.path), *entry, *_flags("--set", {**scalars, **row.values})]
            words += [word for spec in specs for word in ("--arg", spec)]
            return shlex.join(["tilewright", *words, "--report", f"point-{row.number}.html"])
        if not self.file:
            return None
        words = [*self.file, *_flags("--set", row.values), "--reports", "all", "--out", f"point-{row.number}"]
        return shlex.join(["tilewright", "sweep", *words])


def _is_spec(text: str) -> bool:
    """Whether a text is about a buffer, not an expression for a scalar."""
    return text in ("zeros", "arange") or text.startswith("random:") or text.endswith(".npy")


def _flags(flag: str, values: Mapping[str, Any]) -> list[str]:
    return [word for name, value in values.items() for word in (flag, f"{name}={_text(value)}")]


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool | tuple) or value is None else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        array = cast("npt.NDArray[Any]", value)
        return sha256(repr((array.shape, array.dtype.str)).encode() + array.tobytes()).hexdigest()
    return f"{getattr(value, '__module__', '')}.{value.__qualname__}" if hasattr(value, "__qualname__") else repr(value)


class _Run:
    """A sweep that is under way."""

    def __init__(
        self,
        sweep: Sweep,
        out: Path | None,
        reports: str,
        watch: SweepWatch,
        jobs: int | None,
        scheduler: str | None,
        stack: ExitStack,
    ):
        self.sweep, self.out, self.reports, self.watch = sweep, out, reports, watch
        self.jobs, self.scheduler, self.stack = jobs, scheduler, stack
        self.journal: Journal | None = None
        self.rows = dict[int, SweepRow]()

    def result(self, fresh: bool) -> SweepResult:
        sweep = self.sweep
        sweep.definition  # noqa: B018, complains about what cannot be, before anything is written
        expected = sweep._search.expected(sweep.space)
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            about = {"design": sweep.target.name, "objective": list(sweep.objectives.texts)}
            self.journal = self.stack.enter_context(Journal(self.out / JOURNAL, sweep.digest, about, fresh))
        self.watch.begin(expected, str(self.engine) if expected else "")
        rounds = sweep._search.rounds(sweep.space, sweep.objectives)
        points = next(rounds, None)
        while points is not None:
            self._round(points)
            try:
                points = rounds.send([self.rows[point.number] for point in points])
            except StopIteration:
                points = None
        result = SweepResult.of(sweep, list(self.rows.values()), self.out)
        if self.reports == "front":
            self._report_front(result)
            result = SweepResult.of(sweep, list(self.rows.values()), self.out)
        return result

    @cached_property
    def engine(self) -> SweepEngine:
        definition = self.sweep.definition
        if self.scheduler is not None:
            from tilewright.sweeps.dask_engine import DaskEngine

            engine: SweepEngine = DaskEngine(definition, self.scheduler)
        elif self.jobs == 0:
            engine = InlineEngine(definition)
        else:
            self.sweep.target.found  # noqa: B018, so that workers have it from the beginning
            engine = LocalEngine(definition, self.jobs or _cores())
        self.stack.callback(engine.close)
        return engine

    def _round(self, points: Sequence[SweepPoint]) -> None:
        """Compute the points that are not known yet."""
        known = {} if self.journal is None else self.journal.rows
        jobs = list[Job]()
        for point in points:
            if (row := known.get(point.key)) is not None and row.status is not Status.LOST and self._has_report(row):
                self._keep(replace(row, number=point.number), is_new=False)
            elif (broken := self.sweep.pruned(point)) is not None:
                row = SweepRow(point.number, point.values, Status.PRUNED, reason=f"constraint: {broken}")
                self.rows[row.number] = row  # no journal: it costs nothing to find out again
                self.watch.row(row, is_new=False)
            else:
                jobs.append(self._job(point, self.reports == "all"))
        for job, outcome in self._results(jobs):
            self._keep(self._row(job, outcome))

    def _results(self, jobs: Sequence[Job]) -> Iterable[tuple[Job, TrialOutcome]]:
        return self.engine.results(WorkQueue(jobs)) if jobs else ()

    def _has_report(self, row: SweepRow) -> bool:
        return self.reports != "all" or row.status is Status.PRUNED or row.report is not None

    def _job(self, point: SweepPoint, wants_report: bool) -> Job:
        is_built_in = self.sweep.target.is_compiled_in
        build = repr({name: value for name, value in point.values.items() if is_built_in(name)})
        scalars = (value for name, value in point.values.items() if not is_built_in(name))
        return Job(point, build, wants_report, size=prod(each for each in scalars if isinstance(each, int | float)))

    def _row(self, job: Job, outcome: TrialOutcome) -> SweepRow:
        row = SweepRow(job.point.number, job.point.values, outcome.status, outcome.fields, outcome.reason)
        return replace(row, seconds=outcome.seconds, report=self._written(job, outcome.report))

    def _written(self, job: Job, report: str | None) -> str | None:
        if report is None or self.out is None:
            return None
        name = f"{REPORTS}/{sha256(job.point.key.encode()).hexdigest()[:16]}.html"
        (self.out / REPORTS).mkdir(exist_ok=True)
        write_file(self.out / name, report.encode())
        return name

    def _keep(self, row: SweepRow, is_new: bool = True) -> None:
        if self.journal is not None and is_new:
            self.journal.add(row)
        self.rows[row.number] = row
        self.watch.row(row, is_new)

    def _report_front(self, result: SweepResult) -> None:
        """Run the points of the front once more, for pages about them."""
        missing = [row for row in result.front[:MOST_FRONT_REPORTS] if row.report is None]
        self.watch.reports(len(missing))
        points = [SweepPoint(row.number, row.values) for row in missing]
        for job, outcome in self._results([self._job(point, True) for point in points]):
            self._keep(replace(self.rows[job.point.number], report=self._written(job, outcome.report)))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@at_user_line
def sweep(
    design: Any,
    parameters: Mapping[str, Any],
    *,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    reports: str = "none",
    fresh: bool = False,
    watch: SweepWatch | None = None,
    **settings: Any,
) -> SweepResult:
    """Try a design with all values of its parameters, or some of them: each point is compiled and run.

    Args:
        design: a function that makes a program, a program, `FILE.py`, `FILE.mlir` or `MODULE:NAME`
        parameters: values by name; those that the function takes are compiled in, others are scalars of the sequence
        out: a folder for the journal, from which a sweep goes on that ended early, and for reports
        jobs: processes of this machine; without a number one for each core, 0 for this process itself
        scheduler: a Dask cluster instead: the address of its scheduler
        reports: pages about runs: `none`, of the `front`, or of `all` points; these need `out`
        fresh: forget what an earlier sweep left in `out`
        watch: told how far it has come
        settings: what else `Sweep` has, such as `objective`, `search` and `constraints`
    """
    made = Sweep(design, parameters, **settings)
    return made.run(out, jobs=jobs, scheduler=scheduler, reports=reports, fresh=fresh, watch=watch)
