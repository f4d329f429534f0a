"""Programs of the library and of the documents as code of real GPUs: it assembles, fits, and stays in registers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from gpu_kernels import PTXAS, needs_ptxas

from tilewright.air.functions import Jit
from tilewright.air.library.collectives import PROGRAMS
from tilewright.air.library.products import _product
from tilewright.air.library.tensor_cores import MAPS_BYTES, tensor_product
from tilewright.cli.main import main

MATRIX, STACK, ROW = np.zeros((4, 4), np.float32), np.zeros((1, 4, 4), np.float32), np.zeros(4, np.float32)
SHORT = np.zeros((8, 8), ml_dtypes.bfloat16)
PLAIN = {"has_bias": False, "activation": None, "layouts": ("row", "row")}
SUM = {"kind": "all_reduce", "operation": "sum"}
AMD = ("gfx90a", "gfx942", "gfx950", "gfx1100") if "TILEWRIGHT_ALL_CHIPS" in os.environ else ("gfx1100",)
"""A chip of AMD's compiles all kernels of a product in about ten seconds, so that tests do it for one."""


def compiled(program: Jit, chip: str, folder: Path, arguments: tuple, constants: dict) -> list[Path]:
    """The kernels of a program, as `air compile` writes them."""
    backend, lanes = ("cuda", "32") if chip.startswith("sm_") else ("hip", "32" if chip == "gfx1100" else "64")
    source = folder / "program.mlir"
    source.write_text(program.options(backend=backend, chip=chip).mlir(*arguments, **constants))
    options = ["--target", chip, "--wave-size", lanes, "--entry", program.function.__name__, "-o", str(folder / "out")]
    assert main(["air", "compile", str(source), *options]) == 0
    suffix = ".ptx" if backend == "cuda" else ".o"
    return [path for path in (folder / "out").iterdir() if path.suffix == suffix and path.name != "host.o"]


@pytest.mark.parametrize("chip", AMD)
def test_collectives_are_objects_of_amd(chip: str, tmp_path: Path, capsys) -> None:
    for name, program in PROGRAMS.items():
        folder = tmp_path / name
        folder.mkdir()
        kernels = compiled(program, chip, folder, (MATRIX, MATRIX, 0), SUM)
        assert kernels and all(path.read_bytes()[:4] == b"\x7fELF" for path in kernels)


@pytest.mark.parametrize("chip", AMD)
def test_products_are_objects_of_amd_without_spills(chip: str, tmp_path: Path, capsys) -> None:
    kernels = compiled(_product, chip, tmp_path, (STACK, STACK, ROW, STACK, 1.0), PLAIN)
    assert len(kernels) == 7
    for path in kernels:
        said = path.with_suffix(".s").read_text()
        assert ".vgpr_spill_count: 0" in said and ".private_segment_fixed_size: 0" in said, path.name


@needs_ptxas
@pytest.mark.parametrize(
    "program, chip, arguments, constants",
    [
        pytest.param(_product, "sm_90", (STACK, STACK, ROW, STACK, 1.0), PLAIN, id="f32"),
        pytest.param(
            tensor_product,
            "sm_90a",
            (SHORT, SHORT, ROW, SHORT, np.zeros(MAPS_BYTES, np.uint8), 1.0),
            {"has_bias": False, "finish": None},
            id="bf16 on tensor cores",
        ),
    ],
)
def test_products_stay_in_registers(program, chip, arguments, constants, tmp_path: Path, capsys) -> None:
    for path in compiled(program, chip, tmp_path, arguments, constants):
        command = [str(PTXAS), f"--gpu-name={chip}", "-v", "-o", "/dev/null", str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        assert "0 bytes spill stores, 0 bytes spill loads" in said and "serialized" not in said
