"""What `canonicalize` and `cse` leave is what MLIR's leave, line by line: compared with `mlir-opt`."""

from __future__ import annotations

import pytest
from helpers import needs_mlir_opt
from mlir_differential import PROGRAMS, check_random_programs, difference
from random_programs import FAMILIES, Family

from tilewright.ir.pass_manager import Pass
from tilewright.passes.standard.canonicalize import CanonicalizePass
from tilewright.passes.standard.cse import CsePass
from tilewright.passes.standard.symbol_dce import SymbolDcePass
from tilewright.rewrite.driver import Simplify

pytestmark = needs_mlir_opt

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


@pytest.mark.parametrize("run, flag", PASSES)
@pytest.mark.parametrize("family", [pytest.param(f, id=f.__name__.lower()) for f in FAMILIES])
def test_random_programs(family: type[Family], run: Pass, flag: str) -> None:
    check_random_programs(family, run, flag)


@pytest.mark.parametrize("name", ["affine", "arith", "cf", "constants", "memref", "scf"])
def test_canonicalize_features(name: str) -> None:
    text = (PROGRAMS / "canonicalize" / f"{name}.mlir").read_text()
    assert not difference(text, CanonicalizePass(), "--canonicalize")


def test_cse_features() -> None:
    assert not difference((PROGRAMS / "cse.mlir").read_text(), CsePass(), "--cse")


def test_symbol_dce_features() -> None:
    assert not difference((PROGRAMS / "symbol_dce.mlir").read_text(), SymbolDcePass(), "--symbol-dce")
