"""Upstream's dialects print exactly what mlir-opt prints, from either form and in either form.

The files in `std` are what mlir-opt 22 prints for programs that use every operation. Where it is installed, it is asked
again, so that the files stay true.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify

FILES = Path(__file__).parent / "std"
DIALECTS = sorted(path.name.removesuffix(".generic.mlir") for path in FILES.glob("*.generic.mlir"))
MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
CUSTOM, GENERIC = ".mlir", ".generic.mlir"


def stored(dialect: str, form: str) -> str:
    return (FILES / f"{dialect}{form}").read_text()


@pytest.mark.parametrize("target", [CUSTOM, GENERIC], ids=["to custom", "to generic"])
@pytest.mark.parametrize("source", [CUSTOM, GENERIC], ids=["from custom", "from generic"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_prints_as_mlir_opt_does(dialect: str, source: str, target: str):
    module = parse_source(make_context(allow_unregistered=True), stored(dialect, source), dialect)
    assert not verify(module)
    assert module_text(module, generic=target == GENERIC).strip("\n") == stored(dialect, target).strip("\n")


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_stored_text_is_what_mlir_opt_prints(dialect: str):
    assert MLIR_OPT is not None
    version = subprocess.run([MLIR_OPT, "--version"], capture_output=True, text=True, check=True).stdout
    if "version 22" not in version:
        pytest.skip("the files are from version 22")
    for form, flags in ((CUSTOM, []), (GENERIC, ["--mlir-print-op-generic"])):
        command = [MLIR_OPT, "--allow-unregistered-dialect", *flags]
        printed = subprocess.run(command, input=stored(dialect, CUSTOM), capture_output=True, text=True, check=True)
        assert printed.stdout.strip("\n") == stored(dialect, form).strip("\n")
