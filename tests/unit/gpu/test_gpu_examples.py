"""The documented AIR programs compiled for real GPUs; NVIDIA's assembler takes their PTX."""

import subprocess
from pathlib import Path

import pytest
from gpu_kernels import PTXAS
from helpers import EXAMPLES

from tilewright.cli.main import main

PROGRAMS = sorted(EXAMPLES.glob("air_*.mlir"))
CHIPS = "sm_90", "gfx906", "gfx90a", "gfx950", "gfx1100"


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
