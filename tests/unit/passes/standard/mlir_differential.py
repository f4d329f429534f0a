"""Comparing what a pass leaves with what MLIR's pass of that name leaves, line by line."""

from __future__ import annotations

import os
from difflib import unified_diff

from helpers import TESTS, mlir_opt
from random_programs import Family, program

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import Pass
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify

PROGRAMS = TESTS / "filecheck" / "passes" / "standard"
SEEDS = range(int(os.environ.get("TILEWRIGHT_DIFFERENTIAL", "25")))
FUNCTION_SIZE = 15


def done_by_us(text: str, run: Pass) -> str:
    ctx = make_context(allow_unregistered=True)
    module = parse_source(ctx, text, "random.mlir")
    run.apply(ctx, module)
    assert not verify(module)
    return module_text(module)


def difference(text: str, run: Pass, flag: str) -> str:
    expected = mlir_opt(text, "--allow-unregistered-dialect", flag).strip().splitlines()
    got = done_by_us(text, run).strip().splitlines()
    return "\n".join(unified_diff(expected, got, "mlir-opt", "tilewright", n=4, lineterm=""))


def check_random_programs(family: type[Family], run: Pass, flag: str) -> None:
    """Compare on programs of a family: on all at once, and one by one if there is a difference to be shown."""
    if not difference(program(family, SEEDS, FUNCTION_SIZE), run, flag):
        return
    for seed in SEEDS:
        text = program(family, range(seed, seed + 1), FUNCTION_SIZE)
        differs = difference(text, run, flag)
        assert not differs, f"{family.__name__}({seed}):\n{differs}\n{text}"
