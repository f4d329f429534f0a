"""What `sccp`, `lower-affine` and `convert-scf-to-cf` leave is what MLIR's leave: compared with `mlir-opt`."""

from __future__ import annotations

from shutil import which

import pytest
from random_programs import FAMILIES, Arithmetic, Branches, Family, program
from test_canonicalize_differential import FUNCTION_SIZE, PROGRAMS, difference

from tilewright.ir.pass_manager import Pass
from tilewright.passes.convert_scf_to_cf import ConvertScfToCfPass
from tilewright.passes.lower_affine import LowerAffinePass
from tilewright.passes.sccp import SccpPass

pytestmark = pytest.mark.skipif(which("mlir-opt-22") is None, reason="mlir-opt-22 is not installed")

SEEDS = range(25)


CASES = [
    *[pytest.param(ConvertScfToCfPass(), "--convert-scf-to-cf", f, id=f"branches of {f.__name__}") for f in FAMILIES],
    *[pytest.param(SccpPass(), "--sccp", f, id=f"propagate {f.__name__}") for f in (Arithmetic, Branches)],
]


@pytest.mark.parametrize("run, flag, family", CASES)
def test_random_programs(run: Pass, flag: str, family: type[Family]) -> None:
    if not difference(program(family, SEEDS, FUNCTION_SIZE), run, flag):
        return
    for seed in SEEDS:
        text = program(family, range(seed, seed + 1), FUNCTION_SIZE)
        differs = difference(text, run, flag)
        assert not differs, f"{family.__name__}({seed}):\n{differs}\n{text}"


@pytest.mark.parametrize(
    "run, flag, name",
    [
        (SccpPass(), "--sccp", "sccp"),
        (ConvertScfToCfPass(), "--convert-scf-to-cf", "convert_scf_to_cf"),
        (LowerAffinePass(), "--lower-affine", "lower_affine"),
    ],
)
def test_features(run: Pass, flag: str, name: str) -> None:
    assert not difference((PROGRAMS / f"{name}.mlir").read_text(), run, flag)
