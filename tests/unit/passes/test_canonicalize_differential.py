"""What `canonicalize` and `cse` leave is what MLIR's leave, line by line: compared with `mlir-opt`."""

from __future__ import annotations

import os
import subprocess
from difflib import unified_diff
from pathlib import Path
from shutil import which

import pytest
from random_programs import FAMILIES, Family, program

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import Pass
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify
from tilewright.passes.canonicalize import CanonicalizePass
from tilewright.passes.cse import CsePass
from tilewright.passes.rewriting import Simplify
from tilewright.passes.symbol_dce import SymbolDcePass

MLIR_OPT = which("mlir-opt-22")
PROGRAMS = Path(__file__).parents[2] / "filecheck" / "passes"
SEEDS = range(int(os.environ.get("TILEWRIGHT_DIFFERENTIAL", "25")))
FUNCTION_SIZE = 15

pytestmark = pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt-22 is not installed: nothing to compare with")

CANONICALIZE = pytest.param(CanonicalizePass(), "--canonicalize", id="canonicalize")
PASSES = [
    CANONICALIZE,
    pytest.param(CanonicalizePass(top_down=False), "--canonicalize=top-down=false", id="bottom up"),
    pytest.param(
        CanonicalizePass(region_simplify=Simplify.AGGRESSIVE), "--canonicalize=region-simplify=aggressive", id="merging"
    ),
    pytest.param(
        CanonicalizePass(region_simplify=Simplify.DISABLED), "--canonicalize=region-simplify=disabled", id="no regions"
    ),
    pytest.param(CanonicalizePass(max_iterations=1), "--canonicalize=max-iterations=1", id="one iteration"),
    pytest.param(CsePass(), "--cse", id="cse"),
]


def done_by_mlir(text: str, flag: str) -> str:
    assert MLIR_OPT is not None
    command = [MLIR_OPT, "--allow-unregistered-dialect", flag, "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def done_by_us(text: str, run: Pass) -> str:
    ctx = make_context(allow_unregistered=True)
    module = parse_source(ctx, text, "random.mlir")
    run.apply(ctx, module)
    verify(module)
    return module_text(module)


def difference(text: str, run: Pass, flag: str) -> str:
    expected, got = done_by_mlir(text, flag).strip().splitlines(), done_by_us(text, run).strip().splitlines()
    return "\n".join(unified_diff(expected, got, "mlir-opt", "tilewright", n=4, lineterm=""))


@pytest.mark.parametrize("run, flag", PASSES)
@pytest.mark.parametrize("family", [pytest.param(f, id=f.__name__.lower()) for f in FAMILIES])
def test_random_programs(family: type[Family], run: Pass, flag: str) -> None:
    if not difference(program(family, SEEDS, FUNCTION_SIZE), run, flag):
        return
    for seed in SEEDS:
        text = program(family, range(seed, seed + 1), FUNCTION_SIZE)
        differs = difference(text, run, flag)
        assert not differs, f"{family.__name__}({seed}):\n{differs}\n{text}"


@pytest.mark.parametrize("name", ["affine", "arith", "cf", "constants", "memref", "scf"])
def test_canonicalize_features(name: str) -> None:
    text = (PROGRAMS / "canonicalize" / f"{name}.mlir").read_text()
    assert not difference(text, CanonicalizePass(), "--canonicalize")


def test_cse_features() -> None:
    assert not difference((PROGRAMS / "cse.mlir").read_text(), CsePass(), "--cse")


def test_symbol_dce_features() -> None:
    assert not difference((PROGRAMS / "symbol_dce.mlir").read_text(), SymbolDcePass(), "--symbol-dce")
