"""Passes, and running a pipeline of them over a module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.traits import IsolatedFromAbove

from tilewright.ir.diagnostics import (
    CompileError,
    DiagnosedError,
    Diagnostic,
    collect,
    emit_diagnostic,
    errors_in,
    fail,
    fail_op,
)
from tilewright.ir.pass_options import options_of
from tilewright.ir.pipeline_text import PipelineElement, parse_options
from tilewright.ir.verifier import verify

ANY = "any"


class Pass(ABC):
    """One rewrite of the IR, named as its flag.

    A pass with options is a frozen dataclass; the field `some_option` is the option `some-option`, its metadata may
    give another name (`option`) and a line of help (`help`). It runs on every operation called `anchor` (on whatever
    operation the pipeline stands on, if `anchor` is None). It reports through `ir.diagnostics`; a pass that emitted an
    error has failed.
    """

    name: ClassVar[str]
    anchor: ClassVar[str | None] = "builtin.module"

    @abstractmethod
    def apply(self, ctx: Context, op: Operation) -> None: ...


PassLookup: TypeAlias = "Callable[[str], type[Pass] | None]"
Watcher: TypeAlias = "Callable[[str, Pass, Operation], None]"
"""Told "before" and "after" each run of a pass on an operation."""


@dataclass
class Pipeline:
    """Passes and nested pipelines that run, in order, on each operation called `anchor`; `any` stands for all names."""

    anchor: str = "builtin.module"
    steps: list[Pass | Pipeline] = field(default_factory=list["Pass | Pipeline"])

    def add(self, step: Pass) -> None:
        """Append a pass; one that is anchored elsewhere goes into a nested pipeline for its anchor."""
        if step.anchor in (None, self.anchor):
            self.steps.append(step)
            return
        # Neighbours of one anchor share a pipeline, so that each operation is visited once, as in MLIR.
        last = self.steps[-1] if self.steps else None
        if not isinstance(last, Pipeline) or last.anchor != step.anchor:
            last = Pipeline(step.anchor or ANY)
            self.steps.append(last)
        last.steps.append(step)

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(s.name if isinstance(s, Pass) else str(s) for s in self.steps)})"


def build_pipeline(element: PipelineElement, lookup: PassLookup) -> Pipeline:
    """The pipeline that a text describes; nesting has to be written out, as MLIR wants it."""
    pipeline = Pipeline(element.name)
    for part in element.nested or ():
        if part.nested is not None:
            pipeline.steps.append(build_pipeline(part, lookup))
            continue
        pass_type = lookup(part.name)
        if pass_type is None:
            fail(None, f"'{part.name}' does not refer to a registered pass or pass pipeline")
        # On `any` what a pass can run on is only known when it runs.
        if pipeline.anchor != ANY and pass_type.anchor not in (None, pipeline.anchor):
            fail(
                None,
                f"Can't add pass '{pass_type.__name__}' restricted to '{pass_type.anchor}' on a PassManager "
                f"intended to run on '{pipeline.anchor}', did you intend to nest?",
            )
        pipeline.steps.append(make_pass(pass_type, part.options))
    return pipeline


def run_pipeline(
    ctx: Context, op: Operation, pipeline: Pipeline, verify_each: bool = True, watch: Watcher | None = None
) -> None:
    """Run every step on `op`, checking the result of each; raises `DiagnosedError` at the first step that fails."""
    if pipeline.anchor not in (ANY, op.name):
        fail(op, f"can't run '{pipeline.anchor}' pass manager on '{op.name}' op")
    for step in pipeline.steps:
        if isinstance(step, Pipeline):
            # A list: passes may add and remove operations beside the one that they run on.
            for child in list(_children(op)):
                if child.parent is not None and _runs_on(step, child):
                    run_pipeline(ctx, child, step, verify_each, watch)
            continue
        if step.anchor not in (None, op.name):
            fail_op(op, f"trying to schedule pass '{type(step).__name__}' on an unsupported operation")
        if watch:
            watch("before", step, op)
        _run_pass(ctx, op, step)
        if watch:
            watch("after", step, op)
        if verify_each:
            _check(op, step)


def _children(op: Operation) -> Iterator[Operation]:
    return (child for region in op.regions for block in region.blocks for child in block.ops)


def _runs_on(pipeline: Pipeline, op: Operation) -> bool:
    if pipeline.anchor == ANY:
        # MLIR runs `any` pipelines on isolated operations only, which threads could share out.
        return op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
    return op.name == pipeline.anchor


def _run_pass(ctx: Context, op: Operation, step: Pass) -> None:
    found = list[Diagnostic]()
    try:
        with collect() as found:
            step.apply(ctx, op)
    except DiagnosedError as error:
        # Warnings that came before the error are not lost.
        raise CompileError([*found, *error.diagnostics]) from error
    if errors_in(found):
        raise CompileError(found)
    for diagnostic in found:
        emit_diagnostic(diagnostic)


def _check(op: Operation, step: Pass) -> None:
    errors = verify(op)
    if errors:
        errors[0].note(None, f"this is what --{step.name} left behind")
        raise CompileError(errors)


def make_pass(pass_type: type[Pass], options: str) -> Pass:
    """The pass with its options set from text such as `count=3 names=a,b`."""
    known = {option.name: option for option in options_of(pass_type)}
    values = dict[str, Any]()
    for name, value in parse_options(options):
        if name not in known:
            fail(None, f"<Pass-Options-Parser>: no such option {name}")
        values[known[name].field] = known[name].read(value)
    return pass_type(**values)
