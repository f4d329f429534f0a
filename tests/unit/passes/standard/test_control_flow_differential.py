"""What `sccp`, `lower-affine` and `convert-scf-to-cf` leave is what MLIR's leave: compared with `mlir-opt`."""

from __future__ import annotations

import pytest
from helpers import needs_mlir_opt
from mlir_differential import PROGRAMS, check_random_programs, difference
from random_programs import FAMILIES, Arithmetic, Branches, Family

from tilewright.ir.pass_manager import Pass
from tilewright.passes.standard.convert_scf_to_cf import ConvertScfToCfPass
from tilewright.passes.standard.lower_affine import LowerAffinePass
from tilewright.passes.standard.sccp import SccpPass

pytestmark = needs_mlir_opt

CASES = [
    *[pytest.param(ConvertScfToCfPass(), "--convert-scf-to-cf", f, id=f"branches of {f.__name__}") for f in FAMILIES],
    *[pytest.param(SccpPass(), "--sccp", f, id=f"propagate {f.__name__}") for f in (Arithmetic, Branches)],
]


@pytest.mark.parametrize("run, flag, family", CASES)
def test_random_programs(run: Pass, flag: str, family: type[Family]) -> None:
    check_random_programs(family, run, flag)


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
