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
    """Memory that a block can have (AMD: LDS; NVIDIA: shared memory, where a launch asks for what is over 48 KiB)."""
    max_block_threads: int
    max_thread_registers: int
    """32-bit registers of a thread."""
    compute_units: int
    """Units that blocks run on (AMD: compute units; NVIDIA: streaming multiprocessors) of the largest such GPU."""
    unit_waves: int
    """Waves that a unit holds at a time."""
    unit_shared_bytes: int
    """Memory of blocks that a unit has."""
    unit_blocks: int
    """Blocks that a unit holds at a time, however small."""
    max_thread_bytes: int
    """Private memory of a thread."""
    max_grid: tuple[int, int, int]

    @property
    def lanes_are_free(self) -> bool:
        """Whether lanes of a wave get on one without the other: NVIDIA's do from compute capability 7.0 on (CUDA
        programming guide, independent thread scheduling), AMD's go in step."""
        return self.vendor is Vendor.NVIDIA


# AMD: LLVM's AMDGPU target description (wavefront size, LDS size, work-group limit); vector registers from the ISA
# documents: CDNA has 512 with accumulation registers from MI200 on, 256 before, as Vega and RDNA.
# Compute units and waves per unit from the makers' product pages and LLVM's AMDGPU usage guide (40 waves per compute
# unit on gfx906 and gfx908, 32 later; 16 per SIMD on RDNA, two SIMDs). AMD's private memory is what the scratch
# descriptor of a wave can address (AMDGPU usage guide, private segment), its grid what HIP reports.
# NVIDIA: technical specifications per compute capability in the CUDA programming guide.
_AMD_THREAD, _NVIDIA_THREAD = 128 * KIB, 512 * KIB
_AMD_GRID = 2**31 - 1, 65535, 65535
_NVIDIA_GRID = 2**31 - 1, 65535, 65535
_TARGETS = (
    GpuTarget("gfx906", Vendor.AMD, 64, 64 * KIB, 1024, 256, 64, 40, 64 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx908", Vendor.AMD, 64, 64 * KIB, 1024, 256, 120, 40, 64 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx90a", Vendor.AMD, 64, 64 * KIB, 1024, 512, 110, 32, 64 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx942", Vendor.AMD, 64, 64 * KIB, 1024, 512, 304, 32, 64 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx950", Vendor.AMD, 64, 160 * KIB, 1024, 512, 256, 32, 160 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx1030", Vendor.AMD, 32, 64 * KIB, 1024, 256, 80, 32, 128 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx1100", Vendor.AMD, 32, 64 * KIB, 1024, 256, 96, 32, 128 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx1151", Vendor.AMD, 32, 64 * KIB, 1024, 256, 40, 32, 128 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx1200", Vendor.AMD, 32, 64 * KIB, 1024, 256, 32, 32, 128 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("gfx1201", Vendor.AMD, 32, 64 * KIB, 1024, 256, 64, 32, 128 * KIB, 32, _AMD_THREAD, _AMD_GRID),
    GpuTarget("sm_70", Vendor.NVIDIA, 32, 96 * KIB, 1024, 255, 84, 64, 96 * KIB, 32, _NVIDIA_THREAD, _NVIDIA_GRID),
    GpuTarget("sm_75", Vendor.NVIDIA, 32, 64 * KIB, 1024, 255, 72, 32, 64 * KIB, 16, _NVIDIA_THREAD, _NVIDIA_GRID),
    GpuTarget("sm_80", Vendor.NVIDIA, 32, 163 * KIB, 1024, 255, 108, 64, 164 * KIB, 32, _NVIDIA_THREAD, _NVIDIA_GRID),
    GpuTarget("sm_86", Vendor.NVIDIA, 32, 99 * KIB, 1024, 255, 84, 48, 100 * KIB, 16, _NVIDIA_THREAD, _NVIDIA_GRID),
    GpuTarget("sm_89", Vendor.NVIDIA, 32, 99 * KIB, 1024, 255, 144, 48, 100 * KIB, 24, _NVIDIA_THREAD, _NVIDIA_GRID),
    GpuTarget("sm_90", Vendor.NVIDIA, 32, 227 * KIB, 1024, 255, 132, 64, 228 * KIB, 32, _NVIDIA_THREAD, _NVIDIA_GRID),
    GpuTarget("sm_90a", Vendor.NVIDIA, 32, 227 * KIB, 1024, 255, 132, 64, 228 * KIB, 32, _NVIDIA_THREAD, _NVIDIA_GRID),
    GpuTarget("sm_100", Vendor.NVIDIA, 32, 227 * KIB, 1024, 255, 148, 64, 228 * KIB, 32, _NVIDIA_THREAD, _NVIDIA_GRID),
    GpuTarget("sm_120", Vendor.NVIDIA, 32, 99 * KIB, 1024, 255, 188, 48, 100 * KIB, 24, _NVIDIA_THREAD, _NVIDIA_GRID),
)

GPU_TARGETS = {target.chip: target for target in _TARGETS}
"""By the name that compilers know a chip by."""

_CDNA, _RDNA3_ON = {"gfx908", "gfx90a", "gfx942", "gfx950"}, {"gfx1100", "gfx1151", "gfx1200", "gfx1201"}
AMD_MATRIX_CHIPS = {
    "mfma": _CDNA,
    "smfmac": {"gfx942", "gfx950"},
    "wmma": _RDNA3_ON,
    "swmmac": {"gfx1200", "gfx1201"},
}
"""Which chips have the matrix instructions that LLVM's intrinsics are named after (AMDGPU usage guide, features of
processors; the ISA documents); gfx906 and gfx1030 have none."""

DEFAULT_AMD = "gfx942"
DEFAULT_NVIDIA = "sm_90"
