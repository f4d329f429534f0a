"""Programs of the library and of the documents as code of real GPUs: it assembles, fits, and stays in registers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from gpu_kernels import PTXAS, needs_ptxas

from tilewright.air.functions import Jit
from tilewright.air.library import Schedule
from tilewright.air.library.collectives import PROGRAMS
from tilewright.air.library.lane_products import lane_product
from tilewright.air.library.overlapped import all_gather_product, product_reduce_scatter
from tilewright.air.library.tensor_cores import tensor_product
from tilewright.cli.main import main
from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.gpu.resources import kernel_resources

MATRIX, STACK, ROW = np.zeros((4, 4), np.float32), np.zeros((1, 4, 4), np.float32), np.zeros(4, np.float32)
SHORT, BYTES = np.zeros((1, 8, 8), ml_dtypes.bfloat16), np.zeros((1, 8, 8), np.uint8)
PLAIN = {"has_bias": False, "function": None, "layouts": ("row", "row")}
SUM = {"kind": "all_reduce", "operation": "sum"}
AMD = ("gfx90a", "gfx942", "gfx950", "gfx1100") if "TILEWRIGHT_ALL_CHIPS" in os.environ else ("gfx1100",)
"""A chip of AMD's compiles all kernels of the library in about a minute: tests do it for one, and a part of them."""
ON_LANES = {
    "collectives by lines": (PROGRAMS["line"], (MATRIX, MATRIX, 0), SUM),
    "collectives by bandwidth": (PROGRAMS["bandwidth"], (MATRIX, MATRIX, 0), SUM),
    "products": (lane_product, (STACK, STACK, ROW, STACK, 1.0), PLAIN),
}
"""Programs of the library for all GPUs."""
FEW_SPILLS = {(lane_product, "gfx1100"): 28}
"""Registers of 256 that a kernel of f32 lacks: that of tiles of 128 x 128 which loads elements one by one."""
if len(AMD) > 1:
    ON_LANES["products after a gathering"] = all_gather_product, (MATRIX, STACK, STACK), {}
    ON_LANES["products before a scattering"] = product_reduce_scatter, (ROW, STACK, MATRIX), {}


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
@pytest.mark.parametrize("program, arguments, constants", ON_LANES.values(), ids=[*ON_LANES])
def test_the_library_is_objects_of_amd_that_fit(program, arguments, constants, chip, tmp_path: Path, capsys) -> None:
    kernels = compiled(program, chip, tmp_path, arguments, constants)
    target = GPU_TARGETS[chip]
    for path in kernels:
        assert path.read_bytes()[:4] == b"\x7fELF"
        (taken,) = kernel_resources(path.with_suffix(".s").read_text(), target)
        assert taken.vgprs > 0 and taken.sgprs > 0 and taken.waves(target), path.name
        assert taken.vgpr_spills <= FEW_SPILLS.get((program, chip), 0), path.name
        assert all("spills" in complaint for complaint in taken.complaints(target)), path.name
    said = json.loads((tmp_path / "out" / "kernels.json").read_text())["kernels"]
    spilling = [kernel for kernel in said if kernel["resources"]["vgpr_spills"]]
    named = capsys.readouterr().err
    assert kernels and len(named.splitlines()) == len(spilling)
    assert all(f"{kernel['module']}: kernel @{kernel['name']} spills" in named for kernel in spilling)


def test_spills_and_what_does_not_fit_are_named() -> None:
    text = """amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .name:           other
        .size:           8
    .group_segment_fixed_size: 70000
    .max_flat_workgroup_size: 1024
    .name:           big
    .private_segment_fixed_size: 64
    .sgpr_count:     20
    .sgpr_spill_count: 0
    .vgpr_count:     512
    .vgpr_spill_count: 16
amdhsa.target: amdgcn
"""
    target = GPU_TARGETS["gfx942"]
    (taken,) = kernel_resources(text, target)
    assert (taken.name, taken.vgprs, taken.vgpr_spills, taken.lds_bytes) == ("big", 512, 16, 70000)
    said = " ".join(taken.complaints(target))
    assert "70000 bytes of LDS for a block; gfx942 has 65536" in said and "spills 16 vector and 0 scalar" in said
    assert "none fits a compute unit" in said


@needs_ptxas
@pytest.mark.parametrize(
    "program, chip, arguments, constants",
    [
        pytest.param(lane_product, "sm_90", (STACK, STACK, ROW, STACK, 1.0), PLAIN, id="f32"),
        pytest.param(
            tensor_product, "sm_90a", (SHORT, SHORT, ROW, SHORT, 1.0), {**PLAIN, "computed_in": "bf16"}, id="bf16"
        ),
        pytest.param(
            tensor_product, "sm_90a", (BYTES, BYTES, ROW, SHORT, 1.0), {**PLAIN, "computed_in": "e4m3"}, id="fp8"
        ),
        pytest.param(
            tensor_product, "sm_90a", (STACK, STACK, ROW, STACK, 1.0), {**PLAIN, "computed_in": "tf32x3"}, id="tf32"
        ),
        pytest.param(
            tensor_product,
            "sm_90a",
            (SHORT, SHORT, ROW, SHORT, 1.0),
            {**PLAIN, "computed_in": "bf16", "schedule": Schedule(cluster=2)},
            id="bf16 in clusters",
        ),
    ],
)
def test_products_stay_in_registers(program, chip, arguments, constants, tmp_path: Path, capsys) -> None:
    for path in compiled(program, chip, tmp_path, arguments, constants):
        command = [str(PTXAS), f"--gpu-name={chip}", "-v", "-o", "/dev/null", str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        assert (
            "0 bytes spill stores, 0 bytes spill loads" in said and "serialized" not in said and "ignored" not in said
        )
