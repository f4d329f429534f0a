"""What compiled kernels take of a GPU: registers, memory of a block, spills, and how many waves it holds then.

For AMD's GPUs LLVM writes it behind the code, as metadata of each kernel. Kernels of NVIDIA's get registers from the
driver, or from `ptxas` where that is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tilewright.device.gpu_targets import REGISTER_FILES, GpuTarget, Vendor
from tilewright.errors import Error

if TYPE_CHECKING:
    from tilewright.dialects.gpu.kernels import GPUModuleOp

FIELDS = {
    "vgprs": "vgpr_count",
    "agprs": "agpr_count",
    "sgprs": "sgpr_count",
    "vgpr_spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "scratch_bytes": "private_segment_fixed_size",
    "lds_bytes": "group_segment_fixed_size",
    "threads": "max_flat_workgroup_size",
}
"""By our name, that of the metadata (LLVM's AMDGPU usage guide, code object V5 metadata)."""
KERNELS = re.compile(r"^amdhsa\.kernels:\n(.*?)^amdhsa\.", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class KernelResources:
    """Of one kernel; spills are registers that do not fit and go to memory."""

    name: str
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch_bytes: int
    lds_bytes: int
    threads: int

    def waves(self, target: GpuTarget) -> int:
        """Waves that a unit of the GPU holds at a time, as far as registers and memory of blocks let it."""
        return occupancy(target, self.threads, self.lds_bytes, self.vgprs).waves

    def complaints(self, target: GpuTarget) -> Iterator[str]:
        """What does not fit, or fits badly."""
        if self.lds_bytes > target.shared_bytes:
            yield f"needs {self.lds_bytes} bytes of LDS for a block; {target.chip} has {target.shared_bytes}"
        if self.vgprs > target.max_thread_registers:
            yield f"needs {self.vgprs} vector registers; {target.chip} has {target.max_thread_registers}"
        if self.vgpr_spills or self.sgpr_spills:
            yield f"spills {self.vgpr_spills} vector and {self.sgpr_spills} scalar registers to memory"
        elif self.scratch_bytes:
            yield f"has {self.scratch_bytes} bytes of private memory that no registers hold"
        if self.waves(target) == 0:
            yield f"has blocks of {self.threads} threads, of which none fits a compute unit of {target.chip}"

    def facts(self, target: GpuTarget) -> dict[str, Any]:
        """For a file that machines read."""
        return {**asdict(self), "waves": self.waves(target)}


@dataclass(frozen=True)
class Occupancy:
    """Waves that a unit of a GPU holds at a time, how many it could, and what keeps it from more."""

    waves: int
    most: int
    limit: str

    @property
    def share(self) -> float:
        return self.waves / self.most


def occupancy(target: GpuTarget, threads: int, shared_bytes: int, registers: int | None) -> Occupancy:
    """Of blocks of so many threads; by everything but registers if these are not known."""
    file = REGISTER_FILES[target.chip]
    each = max(1, -(-threads // target.wave_size))
    blocks = {"waves": target.unit_waves // each, "blocks": target.unit_blocks}
    if shared_bytes:
        blocks["LDS" if target.vendor is Vendor.AMD else "shared memory"] = target.unit_shared_bytes // shared_bytes
    if registers is not None:
        taken = -(-max(registers, 1) // file.granule) * file.granule
        blocks["registers"] = min(file.waves, file.registers // taken) * file.simds // each
    limit = min(blocks, key=lambda cause: blocks[cause])
    return Occupancy(blocks[limit] * each, target.unit_waves, limit)


def kernel_resources(assembly: str, target: GpuTarget) -> list[KernelResources]:
    """Of all kernels of a module, from its assembly."""
    if target.vendor is not Vendor.AMD:
        return []
    found = KERNELS.search(assembly)
    if found is None:
        return []
    kernels = re.split(r"^  - ", found.group(1), flags=re.MULTILINE)[1:]
    return [_kernel(text) for text in kernels]


def _kernel(text: str) -> KernelResources:
    # a line of arguments has names as well, further in
    lines = dict(re.findall(r"^(?:    |)\.(\w+): +(\S+)$", text, re.MULTILINE))
    numbers = {ours: int(lines.get(name, 0)) for ours, name in FIELDS.items()}
    return KernelResources(lines["name"].strip("'\""), **numbers)


PTXAS_OF_PYPI = Path("nvidia") / "cuda_nvcc" / "bin" / "ptxas"
"""Where PyPI's nvidia-cuda-nvcc-cu12 puts it, among packages."""
PTXAS_SECONDS = 120
PTXAS_KERNEL = re.compile(r"Compiling entry function '([^']+)'.*?Used (\d+) registers", re.DOTALL)


def find_ptxas() -> str | None:
    """NVIDIA's assembler, if it is installed."""
    ours = Path(sysconfig.get_path("purelib")) / PTXAS_OF_PYPI
    return str(ours) if ours.is_file() else shutil.which("ptxas")


def ptx_registers(ptx: str, target: GpuTarget) -> dict[str, int]:
    """Registers of a thread that `ptxas` gives kernels, by name; none where there is no `ptxas`, or it fails."""
    tool = find_ptxas()
    if tool is None:
        return {}
    with TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_text(ptx)
        command = [tool, "-v", f"-arch={target.chip}", str(source), "-o", str(Path(folder) / "kernels.cubin")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PTXAS_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return {}
    return {name: int(registers) for name, registers in PTXAS_KERNEL.findall(done.stderr + done.stdout)}


def thread_registers(module: GPUModuleOp, target: GpuTarget, wave_size: int) -> dict[str, int]:
    """Registers of a thread, by kernel, as compilers give them; none for a module that they do not take."""
    from tilewright.native.gpu_code import compile_kernels, machine_of

    try:
        code = compile_kernels(module, machine_of(target, wave_size))
    # the emulator runs more than compilers take
    except Error:
        return {}
    if target.vendor is Vendor.NVIDIA:
        return ptx_registers(code.assembly, target)
    return {kernel.name: kernel.vgprs for kernel in kernel_resources(code.assembly, target)}
