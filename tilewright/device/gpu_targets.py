"""GPUs as data: how wide their waves are and how much of everything a block and a thread may have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

KIB = 1024


class Vendor(StrEnum):
    AMD = "amd"
    NVIDIA = "nvidia"


@dataclass(frozen=True)
class GpuTarget:
    """What a program must fit into on one kind of GPU."""

    chip: str
    vendor: Vendor
    wave_size: int
    """Lanes of a wave: the threads of one processing element."""
    shared_bytes: int
    """Memory of a block (AMD: LDS; NVIDIA: shared memory that a kernel declares)."""
    max_block_threads: int
    max_thread_registers: int
    """32-bit registers of a thread."""


# AMD: LLVM's AMDGPU target description (wavefront size, LDS size, work-group limit); vector registers from the ISA
# documents: CDNA has 512 with accumulation registers from MI200 on, 256 before, RDNA 256.
# NVIDIA: technical specifications per compute capability in the CUDA programming guide.
_TARGETS = (
    GpuTarget("gfx908", Vendor.AMD, 64, 64 * KIB, 1024, 256),
    GpuTarget("gfx90a", Vendor.AMD, 64, 64 * KIB, 1024, 512),
    GpuTarget("gfx942", Vendor.AMD, 64, 64 * KIB, 1024, 512),
    GpuTarget("gfx950", Vendor.AMD, 64, 160 * KIB, 1024, 512),
    GpuTarget("gfx1030", Vendor.AMD, 32, 64 * KIB, 1024, 256),
    GpuTarget("gfx1100", Vendor.AMD, 32, 64 * KIB, 1024, 256),
    GpuTarget("gfx1151", Vendor.AMD, 32, 64 * KIB, 1024, 256),
    GpuTarget("gfx1200", Vendor.AMD, 32, 64 * KIB, 1024, 256),
    GpuTarget("gfx1201", Vendor.AMD, 32, 64 * KIB, 1024, 256),
    GpuTarget("sm_70", Vendor.NVIDIA, 32, 48 * KIB, 1024, 255),
    GpuTarget("sm_75", Vendor.NVIDIA, 32, 48 * KIB, 1024, 255),
    GpuTarget("sm_80", Vendor.NVIDIA, 32, 48 * KIB, 1024, 255),
    GpuTarget("sm_86", Vendor.NVIDIA, 32, 48 * KIB, 1024, 255),
    GpuTarget("sm_89", Vendor.NVIDIA, 32, 48 * KIB, 1024, 255),
    GpuTarget("sm_90", Vendor.NVIDIA, 32, 48 * KIB, 1024, 255),
    GpuTarget("sm_100", Vendor.NVIDIA, 32, 48 * KIB, 1024, 255),
    GpuTarget("sm_120", Vendor.NVIDIA, 32, 48 * KIB, 1024, 255),
)

GPU_TARGETS = {target.chip: target for target in _TARGETS}
"""By the name that compilers know a chip by."""

DEFAULT_AMD = "gfx942"
DEFAULT_NVIDIA = "sm_90"
