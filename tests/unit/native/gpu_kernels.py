"""Kernels for the tests of code generation, and what LLVM and NVIDIA's assembler make of them."""

import subprocess
from pathlib import Path

import pytest
from helpers import first, parsed

from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.gpu.resources import find_ptxas
from tilewright.native.gpu_code import GpuCode, compile_kernels, machine_of

PTXAS = find_ptxas()
needs_ptxas = pytest.mark.skipif(PTXAS is None, reason="no ptxas: pip install nvidia-cuda-nvcc-cu12")


def kernel(body: str, arguments: str = "%data: memref<64xi32>", threads: int = 64, extra: str = "") -> str:
    """A module with one kernel; `extra` goes before its attributes."""
    block = f"attributes {{known_block_size = array<i32: {threads}, 1, 1>}}" if threads else ""
    return f"""
    gpu.module @module {{
      gpu.func @kernel({arguments}) {extra} kernel {block} {{
        {body}
        gpu.return
      }}
    }}"""


def compiled(text: str, chip: str = "sm_90", wave_size: int = 64, *, contract: bool = True) -> GpuCode:
    machine = machine_of(GPU_TARGETS[chip], wave_size, contract=contract)
    return compile_kernels(first(GPUModuleOp, parsed(text)), machine)


def instructions(code: GpuCode) -> list[str]:
    """The lines of the assembly without what only orders or names things."""
    lines = (line.split("//")[0].strip() for line in code.assembly.splitlines())
    return [" ".join(line.split()) for line in lines if line and not line.startswith((".", "$"))]


def assembled(code: GpuCode, folder: Path) -> str:
    """What ptxas says about PTX that it accepts."""
    assert PTXAS is not None
    source = folder / "kernel.ptx"
    source.write_text(code.assembly)
    command = [PTXAS, f"--gpu-name={code.target.chip}", "-v", str(source), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr
