"""The documented AIR programs and those of bench/gpu, compiled for real GPUs; NVIDIA's assembler takes their PTX."""

import subprocess
from pathlib import Path

import pytest
from gpu_kernels import PTXAS, needs_ptxas
from helpers import EXAMPLES
from matmul import matmul_f32
from matmul_bf16 import matmul_bf16
from matmul_bf16_wgmma import matmul_bf16_wgmma

from tilewright.cli.main import main

PROGRAMS = sorted(EXAMPLES.glob("air_*.mlir"))
CHIPS = "sm_90", "gfx906", "gfx90a", "gfx950", "gfx1100"
SIZE = 4096, 4096, 4096


def compiled(source: Path, chip: str, folder: Path, *options: str) -> list[Path]:
    assert main(["air", "compile", str(source), "--target", chip, "-o", str(folder), *options]) == 0
    suffix = ".ptx" if chip.startswith("sm_") else ".o"
    kernels = [path for path in folder.iterdir() if path.suffix == suffix and path.name != "host.o"]
    assert kernels, "there are kernels in it"
    return kernels


def assemble(kernels: list[Path], chip: str = "sm_90") -> str:
    """What ptxas says of registers, memory and spills."""
    command = [str(PTXAS), f"--gpu-name={chip}", "-v", "-o", "/dev/null"]
    return "".join(
        subprocess.run([*command, str(path)], capture_output=True, text=True, check=True).stderr for path in kernels
    )


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_examples_compile(source, chip, tmp_path, capsys):
    kernels = compiled(source, chip, tmp_path)
    if chip == "sm_90" and PTXAS is not None:
        assemble(kernels)


@needs_ptxas
@pytest.mark.parametrize(
    "text, chip",
    [
        pytest.param(matmul_f32(*SIZE), "sm_90", id="f32"),
        pytest.param(matmul_bf16(*SIZE), "sm_90", id="bf16"),
        pytest.param(matmul_bf16_wgmma(*SIZE), "sm_90a", id="bf16 wgmma"),
    ],
)
def test_products_stay_in_registers(text, chip, tmp_path, capsys):
    source = tmp_path / "matmul.mlir"
    source.write_text(text)
    said = assemble(compiled(source, chip, tmp_path / "out", "--wave-size", "32", "--entry", "matmul"), chip)
    assert "0 bytes spill stores, 0 bytes spill loads" in said and "0 bytes stack frame" in said
    assert "serialized" not in said, "products of one step go on while those of the next one begin"
