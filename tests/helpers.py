"""What tests of several areas share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from hypothesis import HealthCheck
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import CompileError, DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import Pass, Pipeline, run_pipeline
from tilewright.ir.verifier import verify
from tilewright.passes.pipelines import passes_of

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"
INCLUDE = ROOT / "tilewright" / "include"

STRESS = os.environ.get("TILEWRIGHT_STRESS", "0") not in ("", "0")
"""Whether tests should take their long form."""
WIDTHS = {f"i{width}": width for width in (1, 8, 16, 32, 64, 5, 12, 31, 33, 48, 63)} | {"index": 64}
"""Bits of MLIR's integers: those for which C has types, and others."""
ANSWER_S = 1.0

HEALTH_CHECKS = cast("list[HealthCheck]", list(HealthCheck))
"""What hypothesis minds about tests whose examples are slow or large on purpose."""

MLIR_OPT = shutil.which("mlir-opt-22")
needs_mlir_opt = pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt-22 is not installed: nothing to compare with")

OpT = TypeVar("OpT", bound=Operation)


def patience_s() -> float:
    """How long an answer to Ctrl-C may take: other work on this computer makes everything slower."""
    return ANSWER_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def toward_zero(a: int, b: int) -> int:
    """The quotient as MLIR and C round it, which is not as Python does."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def parsed(text: str | bytes, name: str = "test.mlir", *, allow_unregistered: bool = False) -> ModuleOp:
    return parse_source(make_context(allow_unregistered), text, name)


def run_passes(module: ModuleOp, *passes: Pass | str, allow_unregistered: bool = False) -> ModuleOp:
    """The module after passes, each checked; text stands for a flag, with options in braces."""
    pipeline = Pipeline()
    for step in passes:
        pipeline.add(passes_of([step])[0] if isinstance(step, str) else step)
    run_pipeline(make_context(allow_unregistered), module, pipeline)
    return module


def lowered(text: str, *passes: Pass | str, name: str = "test.mlir", allow_unregistered: bool = False) -> ModuleOp:
    """The program after passes, as in `run_passes`."""
    module = parsed(text, name, allow_unregistered=allow_unregistered)
    return run_passes(module, *passes, allow_unregistered=allow_unregistered)


def first(kind: type[OpT], within: Operation) -> OpT:
    """The first operation of a kind."""
    return next(op for op in within.walk() if isinstance(op, kind))


def complaint(text: str) -> str | None:
    """The first error about a program, whether reading or checking finds it."""
    try:
        errors = verify(parsed(text))
    except DiagnosedError as error:
        errors = error.diagnostics
    return errors[0].text if errors else None


def mlir_opt(text: str, *flags: str) -> str:
    """What MLIR's own tool prints for a program."""
    assert MLIR_OPT is not None
    done = subprocess.run([MLIR_OPT, *flags], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_mistake(in_kernel: Callable[[Any], Any], file: str, error: str, note: str = "") -> None:
    """What one wave does with a matrix of 8 x 8 is refused, with an error at its line in a test's file, and a note."""
    from tilewright import air

    @air.jit
    def work(a: Any) -> None:
        @air.launch(1, waves=1)
        def _(_: Any) -> None:
            in_kernel(a)

    with pytest.raises(CompileError, match=rf"{re.escape(file)}:\d+:\d+: error: {error}") as raised:
        work.mlir(np.zeros((8, 8), np.float32))
    assert re.search(rf"note: .*{note}" if note else "", str(raised.value))
