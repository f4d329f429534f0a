"""Trials: what a process does for one point of a sweep. It builds, prunes, compiles, runs and measures."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from traceback import extract_tb
from typing import Any, NamedTuple

from tilewright.driver.compiled_design import Design, compile_watched
from tilewright.driver.host_values import argument_values
from tilewright.driver.run_result import RunResult
from tilewright.driver.sources import Source, texts_of
from tilewright.errors import ArgumentError, Error, MissingResultsWarning, UnknownNameError
from tilewright.ir.diagnostics import CompileError, DiagnosedError, Severity, place
from tilewright.ir.escapes import visible
from tilewright.ir.run_errors import Fault, Hang, Unfinished
from tilewright.iron.utils.compile.jit.design_cache import compiled_design, forget_designs
from tilewright.native.object_cache import package_key
from tilewright.report.page import page_html
from tilewright.report.spans import cores_busy, shares_of, spans_of
from tilewright.report.traffic import host_uses
from tilewright.sim.control_code import as_control_code
from tilewright.sim.host_needs import needed_bytes
from tilewright.sim.runs import Stopped
from tilewright.sweeps.expressions import FieldExpression, Value
from tilewright.sweeps.resources import RESOURCE_FIELDS, ResourceWatch, resources_of
from tilewright.sweeps.rows import Status
from tilewright.sweeps.targets import SweepTarget, Trial, source_of_trial

RUN_FIELDS = {
    "cycles": "modelled cycles from the first operation of the sequence to its end",
    "time": "the same in seconds, at the clock of the device",
    "words": "words of the instruction stream, with its header",
    "operations": "operations of it",
    "notes": "remarks of the simulator",
    "host_read_bytes": "what the array read of host buffers",
    "host_written_bytes": "what it wrote to them",
    "host_bytes": "both together",
    "busy": "the share of the time in which cores compute, of those that are used",
}
FIELDS = {**RUN_FIELDS, **RESOURCE_FIELDS}
USUAL_FIELDS = ("cycles", "time", "words", "l1_bytes", "l2_bytes")
"""Those of every table; others are found out where something asks for them."""
KEPT_DESIGNS = 4
"""In the memory of a process; all are on disk, where all processes find them."""
LONGEST_REASON = 400
HOME = str(Path(__file__).parents[1])
STATUSES: Sequence[tuple[type[Exception], Status]] = (
    (Hang, Status.HANG),
    (Fault, Status.FAULT),
    (Stopped, Status.STOPPED),
    (CompileError, Status.COMPILE_ERROR),
)


class WrongSweep(Error):
    """Something is wrong with the sweep itself, so that no point of it can be computed."""


@dataclass(frozen=True)
class SweepDefinition:
    """What a process has to know to compute any point of a sweep."""

    target: SweepTarget
    fields: Sequence[str]
    columns: Mapping[str, str]
    """More fields, as expressions over parameters and others."""
    objective: Sequence[str]
    constraints: Sequence[str]
    """Those that are about more than parameters."""
    arguments: Mapping[str, Any]
    """What buffers hold: arrays, or texts; scalars as numbers or as expressions over parameters."""
    run: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of `Design.run`."""
    measure: Callable[..., Mapping[str, Any]] | None = None
    package: str = ""
    """What `package` gives where the sweep was begun."""


class TrialOutcome(NamedTuple):
    """What became of a point, as a process tells it."""

    status: Status
    fields: Mapping[str, Any] = {}
    reason: str = ""
    report: str | None = None
    """A page about its run, where one was asked for."""
    seconds: float = 0.0


def package() -> str:
    """The same in all processes that would give the same rows."""
    return package_key("**")


def compute(
    definition: SweepDefinition, values: Mapping[str, Value], wants_report: bool, is_shared: bool
) -> TrialOutcome:
    """Compute a point; what goes wrong with it is part of the outcome. `WrongSweep` is what goes wrong with all.

    The design of a build that `is_shared` by several points is kept, in memory and on disk.
    """
    start, trial = time.perf_counter(), _Trial(definition, values, wants_report, is_shared)
    try:
        found = trial.outcome()
    except WrongSweep:
        raise
    except Exception as error:  # a point is a row, whatever its function or its kernels raise
        status = next((status for kind, status in STATUSES if isinstance(error, kind)), Status.ERROR)
        record = error.record if isinstance(error, Unfinished) else None
        report = trial.report(RunResult(record)) if wants_report and record is not None else None
        found = TrialOutcome(status, dict(trial.known), _reason(error), report)
    return found._replace(seconds=time.perf_counter() - start)


def check_package(definition: SweepDefinition) -> None:
    """Complain where this process has another tilewright than the one that began the sweep."""
    if definition.package != package():
        raise WrongSweep("a worker has another tilewright than this process: rows would not be comparable")


class _Pruned(Exception):
    """A constraint does not hold."""


class _Trial:
    def __init__(self, definition: SweepDefinition, values: Mapping[str, Value], wants_report: bool, is_shared: bool):
        self.definition, self.values, self.wants_report = definition, values, wants_report
        self.is_shared = is_shared
        self.known = dict[str, Any]()
        """Fields so far."""

    @property
    def named(self) -> dict[str, Any]:
        return {**self.values, **self.known}

    def outcome(self) -> TrialOutcome:
        trial = self.definition.target.trial(self.values)
        self.known |= trial.fields
        source = source_of_trial(trial)
        try:
            design = self._compiled(source)
        except _Pruned as reason:
            return TrialOutcome(Status.PRUNED, dict(self.known), f"constraint: {reason}")
        call = self._call(design, trial)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingResultsWarning)
            result = design.run(*call.arguments, **self.definition.run)
        self.known |= self._fields(design, result, call)
        self.known |= self._measured(design, result, call)
        for name, text in self.definition.columns.items():
            self.known[name] = self._value(FieldExpression(text))
        for text in self.definition.objective:
            _check_cost(text, self._value(FieldExpression(text)))
        report = self.report(result) if self.wants_report else None
        return TrialOutcome(Status.OK, dict(self.known), report=report)

    def _compiled(self, source: Source) -> Design:
        """The design, unless a constraint does not hold: what is known before is checked before."""
        constraints = [FieldExpression(text) for text in self.definition.constraints]
        later = [each for each in constraints if (each.names - self.named.keys()) & RESOURCE_FIELDS.keys()]
        self._check(each for each in constraints if each not in later)

        def check(found: Mapping[str, int]) -> None:
            wanted = frozenset(self.definition.fields).union(*(each.names for each in later))
            self.known = {**{name: count for name, count in found.items() if name in wanted}, **self.known}
            self._check(later)

        watch = ResourceWatch(check) if later else None
        design = _memory.compiled(source, watch) if self.is_shared else compile_watched(source, watch)
        if watch is not None and not watch.has_checked:  # it was compiled before
            check(resources_of(design.device_ops))
        return design

    def _check(self, constraints: Iterable[FieldExpression]) -> None:
        for constraint in constraints:
            if not self._value(constraint):
                raise _Pruned(constraint.text)

    def _value(self, expression: FieldExpression) -> Any:
        try:
            return expression(self.named)
        except UnknownNameError as error:
            raise WrongSweep(f"{error}; there is {', '.join(dict.fromkeys([*self.named, *FIELDS]))}") from error

    def _call(self, design: Design, trial: Trial) -> _Call:
        """What the sequence is called with: parameters first, then what the trial says, then what all points share."""
        sequence = self.definition.run.get("sequence")
        op = design.operation(sequence)
        names = design.scalars(sequence)
        run_time = {n: v for n, v in self.values.items() if not self.definition.target.is_compiled_in(n)}
        given = {**self.definition.arguments, **trial.arguments}
        linked = frozenset[str]().union(*(FieldExpression(each).names for n, each in given.items()
                                         if n in names and isinstance(each, str)))  # fmt: skip
        if unknown := [name for name in run_time if name not in names and name not in linked]:
            taken = ", ".join([*(self.definition.target.taken or ()), *names]) or "nothing"
            raise WrongSweep(f"nothing takes the parameter {unknown[0]}; the design and its sequence take {taken}")
        scalars = {name: self._scalar(name, {**given, **run_time}) for name in names}
        specs = {name: value for name, value in given.items() if name not in names}
        model = design.device(design.device_of(sequence)).model

        def needs(numbers: Mapping[str, int | float]) -> Mapping[int, int]:
            return needed_bytes(as_control_code(design.txn(sequence, **numbers)), model)

        return _Call(argument_values(op, scalars, specs, needs), scalars, op.argument_names)

    def _scalar(self, name: str, given: Mapping[str, Any]) -> Any:
        if name not in given:
            raise WrongSweep(f"the sequence takes {name}; make it a parameter, or give its value as an argument")
        value = given[name]
        return self._value(FieldExpression(value)) if isinstance(value, str) else value

    def _fields(self, design: Design, result: RunResult, call: _Call) -> Iterator[tuple[str, Any]]:
        record, asked = result.record, {*self.definition.fields}
        if asked & RESOURCE_FIELDS.keys():
            found = {**resources_of(design.device_ops), **self.known}
            yield from ((name, found[name]) for name in RESOURCE_FIELDS if name in asked)
        simple: dict[str, Callable[[], Any]] = {
            "cycles": lambda: result.cycles,
            "time": lambda: result.time,
            "words": lambda: int(design.txn(self.definition.run.get("sequence"), **call.scalars).size),
            "operations": lambda: len(record.stream.opcodes),
            "notes": lambda: len(record.notes),
            "busy": lambda: cores_busy(record, shares_of(record, spans_of(record))).share,
        }
        yield from ((name, find()) for name, find in simple.items() if name in asked)
        if any(name.startswith("host_") for name in asked):
            uses = host_uses(record).values()
            read, written = sum(use.read_bytes for use in uses), sum(use.written_bytes for use in uses)
            found = {"host_read_bytes": read, "host_written_bytes": written, "host_bytes": read + written}
            yield from ((name, count) for name, count in found.items() if name in asked)

    def _measured(self, design: Design, result: RunResult, call: _Call) -> Mapping[str, Any]:
        measure = self.definition.measure
        if measure is None:
            return {}
        arrays = {n: v for n, v in zip(call.names, call.arguments, strict=True) if n not in call.scalars}
        found = measure(result=result, arrays=arrays, values=dict(self.values))
        if not isinstance(found, Mapping):
            raise ArgumentError(f"measure gives a dictionary of fields, not {type(found).__name__}")
        return {name: value.item() if hasattr(value, "item") else value for name, value in found.items()}

    def report(self, result: RunResult) -> str:
        title = ", ".join(f"{name} {value}" for name, value in self.values.items())
        return page_html(result.record, title, texts_of(result.record.locations))


def _check_cost(text: str, cost: Any) -> None:
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not isfinite(cost):
        raise ArgumentError(f"the objective {text} is {cost!r}, which is no number to compare")


class _Call(NamedTuple):
    arguments: Sequence[Any]
    scalars: Mapping[str, Any]
    names: Sequence[str]


class _Memory:
    """Counts the designs that a process remembers: native code of hundreds would fill its memory."""

    def __init__(self) -> None:
        self.last: Design | None = None
        self.count = 0

    def compiled(self, source: Source, watch: ResourceWatch | None) -> Design:
        """The design of a program, from memory, from disk, or compiled."""
        if self.count > KEPT_DESIGNS:
            forget_designs()
            self.count = 0
        design = compiled_design(source, watch=watch)
        self.count += design is not self.last
        self.last = design
        return design


_memory = _Memory()


def _user_line(error: Exception) -> str:
    """The line of a user's program that an error came through last."""
    theirs = [frame for frame in extract_tb(error.__traceback__) if not frame.filename.startswith(HOME)]
    return f"{theirs[-1].filename}:{theirs[-1].lineno}: " if theirs else ""


def _reason(error: Exception) -> str:
    """One line about what went wrong."""
    if isinstance(error, DiagnosedError):
        wrong = next((d for d in error.diagnostics if d.severity is Severity.ERROR), error.diagnostics[0])
        text = f"{place(wrong.location)}{wrong.text}"
    else:
        text = str(error) if isinstance(error, Error) else f"{_user_line(error)}{type(error).__name__}: {error}"
    line = visible(text.strip().split("\n")[0])
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}..."
