"""What we print is what MLIR prints: compared line by line with `mlir-opt`, for operations, features and programs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from functools import cache
from shutil import which

import mlir_modules
import pytest
from print_features import FEATURES

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text

MLIR_OPT = which("mlir-opt-22") or which("mlir-opt")
SEPARATOR = "// -----\n"
GENERIC, LOCATIONS = "--mlir-print-op-generic", "--mlir-print-debuginfo"
FORMS = [
    pytest.param((), id="custom"),
    pytest.param((GENERIC,), id="generic"),
    pytest.param((LOCATIONS,), id="custom with locations"),
    pytest.param((GENERIC, LOCATIONS), id="generic with locations"),
]

needs_mlir_opt = pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt-22 is not installed: nothing to compare with")


@cache
def printed_by_mlir(flags: tuple[str, ...], programs: tuple[str, ...]) -> Sequence[str]:
    assert MLIR_OPT is not None
    command = [MLIR_OPT, "--allow-unregistered-dialect", "--split-input-file", *flags, "-"]
    result = subprocess.run(command, input=SEPARATOR.join(programs), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.split(SEPARATOR)


def printed_by_us(flags: tuple[str, ...], program: str, lines_before: int) -> str:
    ctx = make_context(allow_unregistered=True)
    module = parse_source(ctx, "\n" * lines_before + program, "<stdin>")
    text = module_text(
        module, generic=GENERIC in flags, debuginfo=LOCATIONS in flags, dialects=list(ctx.loaded_dialects)
    )
    return text + "\n"


def differing_lines(flags: tuple[str, ...], programs: tuple[str, ...], index: int) -> list[str]:
    """Empty if the program at `index` prints the same in both; it is one of many so that `mlir-opt` runs only once."""
    lines_before = sum(program.count("\n") + 1 for program in programs[:index])
    ours = printed_by_us(flags, programs[index], lines_before)
    mlir = printed_by_mlir(flags, programs)[index]
    return list(unified_diff(mlir.splitlines(), ours.splitlines(), "mlir-opt", "ours", lineterm="", n=0))


def check_printed(flags: tuple[str, ...], programs: tuple[str, ...], indices: Iterable[int]) -> None:
    different = [line for index in indices for line in differing_lines(flags, programs, index)]
    assert not different, f"{len(different)} lines differ\n" + "\n".join(different[:50])


ROWS = [*mlir_modules.OPERATIONS, *mlir_modules.ALONE]
SINGLE_OPERATIONS = tuple(mlir_modules.single_operation(row) for row in ROWS)
IMPLIED_BODIES = tuple(mlir_modules.single_operation(row) for row in mlir_modules.WITH_IMPLIED_BODY)
FEATURE_TEXTS = tuple(FEATURES.values())


@needs_mlir_opt
@pytest.mark.parametrize("flags", FORMS)
@pytest.mark.parametrize("index", range(len(SINGLE_OPERATIONS)), ids=ROWS)
def test_operation_prints_as_in_mlir(index: int, flags: tuple[str, ...]):
    check_printed(flags, SINGLE_OPERATIONS, [index])


@needs_mlir_opt
@pytest.mark.parametrize("index", range(len(IMPLIED_BODIES)), ids=mlir_modules.WITH_IMPLIED_BODY)
def test_operation_with_implied_body_prints_as_in_mlir(index: int):
    check_printed((), IMPLIED_BODIES, [index])


@needs_mlir_opt
@pytest.mark.parametrize("flags", FORMS)
@pytest.mark.parametrize("index", range(len(FEATURES)), ids=list(FEATURES))
def test_feature_prints_as_in_mlir(index: int, flags: tuple[str, ...]):
    check_printed(flags, FEATURE_TEXTS, [index])


@needs_mlir_opt
@pytest.mark.parametrize("flags", FORMS)
def test_random_programs_print_as_in_mlir(flags: tuple[str, ...]):
    """About 12,000 operations in each form."""
    programs = tuple(mlir_modules.modules(seed=1, count=24, operations=500, locations=LOCATIONS in flags))
    check_printed(flags, programs, range(len(programs)))
