"""What compiled kernels take of an AMD GPU: registers, memory of a block, spills, and how many waves it holds then.

LLVM writes it behind the code, as metadata of each kernel. Kernels of NVIDIA's GPUs get registers from the driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tilewright.device.gpu_targets import GpuTarget, Vendor

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
class RegisterFile:
    """Registers of a SIMD for each lane, how many are given at a time, and waves that it holds at most."""

    registers: int
    granule: int
    waves: int
    simds: int


# LLVM's AMDGPU target (total and granule of VGPRs, waves per EU): from gfx90a on, accumulation registers count too.
CDNA, RDNA3 = RegisterFile(512, 8, 8, 4), RegisterFile(1536, 24, 16, 2)
FILES = {"gfx90a": CDNA, "gfx942": CDNA, "gfx950": CDNA, "gfx1100": RDNA3}


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

    def waves(self, target: GpuTarget) -> int | None:
        """Waves that a unit of the GPU holds at a time, as far as registers and memory of blocks let it; None if that
        is not known of the chip."""
        file = FILES.get(target.chip)
        if file is None:
            return None
        taken = -(-max(self.vgprs, 1) // file.granule) * file.granule
        by_registers = min(file.waves, file.registers // taken) * file.simds
        each = max(1, -(-self.threads // target.wave_size))
        blocks = target.unit_shared_bytes // self.lds_bytes if self.lds_bytes else target.unit_blocks
        return min(by_registers // each, blocks, target.unit_blocks) * each

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
