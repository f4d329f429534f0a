"""The documented AIR programs and those of bench/gpu, compiled for real GPUs; NVIDIA's assembler takes their PTX."""

import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.cli.main import main

sys.path.append(str(Path(__file__).parents[3] / "bench" / "gpu"))
sys.path.append(str(Path(__file__).parents[1] / "native"))
from gpu_kernels import PTXAS, needs_ptxas
from matmul import matmul_f32
from matmul_bf16 import matmul_bf16

EXAMPLES = sorted((Path(__file__).parents[3] / "docs" / "examples").glob("air_*.mlir"))
ASSEMBLY = {"sm_90": ".ptx", "gfx90a": ".o", "gfx950": ".o", "gfx1100": ".o"}


def compiled(source: Path, chip: str, folder: Path, *options: str) -> list[Path]:
    assert main(["air", "compile", str(source), "--target", chip, "-o", str(folder), *options]) == 0
    kernels = [path for path in folder.iterdir() if path.suffix == ASSEMBLY[chip] and path.name != "host.o"]
    assert kernels, "there are kernels in it"
    return kernels


def assemble(kernels: list[Path]) -> str:
    """What ptxas says of registers, memory and spills."""
    command = [str(PTXAS), "--gpu-name=sm_90", "-v", "-o", "/dev/null"]
    return "".join(
        subprocess.run([*command, str(path)], capture_output=True, text=True, check=True).stderr for path in kernels
    )


@pytest.mark.parametrize("chip", ASSEMBLY)
@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.stem)
def test_examples_compile(source, chip, tmp_path, capsys):
    kernels = compiled(source, chip, tmp_path)
    if chip == "sm_90" and PTXAS is not None:
        assemble(kernels)


@needs_ptxas
@pytest.mark.parametrize("text", [matmul_f32(4096, 4096, 4096), matmul_bf16(4096, 4096, 4096)], ids=["f32", "bf16"])
def test_products_stay_in_registers(text, tmp_path, capsys):
    source = tmp_path / "matmul.mlir"
    source.write_text(text)
    said = assemble(compiled(source, "sm_90", tmp_path / "out", "--wave-size", "32", "--entry", "matmul"))
    assert "0 bytes spill stores, 0 bytes spill loads" in said and "0 bytes stack frame" in said
