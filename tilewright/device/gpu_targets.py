"""GPUs as data: how wide their waves are, how much of everything a block and a thread may have, and how fast the
fastest products with them are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod

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

    def cluster_fault(self, sizes: Sequence[int]) -> str | None:
        """Why there can be no clusters of such sizes: blocks that run together and see each other's memory."""
        most = MOST_CLUSTERED if self.chip in CLUSTERED else 1
        if min(sizes) >= 1 and prod(sizes) <= most:
            return None
        few = f"takes 1 to {most}" if most > 1 else "has none, NVIDIA's GPUs from sm_90 on have"
        return f"clusters of {' x '.join(map(str, sizes))} blocks; {self.chip} {few}"

    @property
    def begins_early(self) -> bool:
        """Whether a launch can begin while the one before it ends: NVIDIA's from compute capability 9.0 on (CUDA
        programming guide, programmatic dependent launch)."""
        return self.chip in CLUSTERED

    def copy_engine_fault(self) -> str | None:
        """Why there can be no tensor maps, which tell an engine what to copy."""
        has_engine = self.chip in CLUSTERED
        return None if has_engine else f"a tensor map; {self.chip} has no copy engine, NVIDIA's GPUs from sm_90 on have"


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

CLUSTERED = {"sm_90", "sm_90a", "sm_100", "sm_120"}
"""These have the copy engine too, and launches that begin early."""
MOST_CLUSTERED = 8
"""Blocks of a cluster that all GPUs with clusters take: NVIDIA's from compute capability 9.0 on (CUDA programming
guide, thread block clusters)."""

NAMED_BARRIERS = 15
"""Barriers that parts of a block have on NVIDIA's GPUs, for waves of several warps: of 16, number 0 is for the whole
block (PTX ISA, `barrier`)."""

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


@dataclass(frozen=True)
class RegisterFile:
    """Registers of a SIMD for each lane, how many are given at a time, and waves that it holds at most."""

    registers: int
    granule: int
    waves: int
    simds: int


# AMD: LLVM's AMDGPU target (total and granule of VGPRs, waves per EU): from gfx90a on, accumulation registers count
# too. NVIDIA: 64 K registers in four parts of a multiprocessor, given to a warp 256 at a time (CUDA occupancy
# calculator), which is 512 for each lane of a part, 8 at a time.
_GCN, _CDNA2, _RDNA2 = RegisterFile(256, 4, 10, 4), RegisterFile(512, 8, 8, 4), RegisterFile(1024, 16, 16, 2)
_RDNA3 = RegisterFile(1536, 24, 16, 2)
REGISTER_FILES = {
    **dict.fromkeys(("gfx906", "gfx908"), _GCN),
    **dict.fromkeys(("gfx90a", "gfx942", "gfx950"), _CDNA2),
    "gfx1030": _RDNA2,
    **dict.fromkeys(("gfx1100", "gfx1151", "gfx1200", "gfx1201"), _RDNA3),
    **{t.chip: RegisterFile(512, 8, t.unit_waves // 4, 4) for t in _TARGETS if t.vendor is Vendor.NVIDIA},
}
"""By chip."""


@dataclass(frozen=True)
class MemoryShape:
    """How accesses of a wave are served."""

    transaction_bytes: int
    """What global memory is read and written in."""
    banks: int
    """Of memory of a block, four bytes wide each."""


# NVIDIA: transactions of 32 bytes and 32 banks (CUDA programming guide, device memory accesses and shared memory).
# AMD: lines of the vector cache (CDNA2 and CDNA3 white papers: 64 and 128 bytes; RDNA white paper: 128), 32 banks of
# LDS (ISA documents), 64 on CDNA4 (its ISA document).
_NVIDIA_MEMORY, _OLDER_CDNA, _WIDE_LINES = MemoryShape(32, 32), MemoryShape(64, 32), MemoryShape(128, 32)
MEMORY_SHAPES = {
    **dict.fromkeys(("gfx906", "gfx908", "gfx90a"), _OLDER_CDNA),
    **dict.fromkeys(("gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201"), _WIDE_LINES),
    "gfx950": MemoryShape(128, 64),
    **{t.chip: _NVIDIA_MEMORY for t in _TARGETS if t.vendor is Vendor.NVIDIA},
}
"""By chip."""


@dataclass(frozen=True)
class GpuPeaks:
    """What the maker says of a product: tera-operations per second without sparsity, and bytes per second."""

    product: str
    memory_gbs: float
    lanes: float
    """On the lanes, in f32."""
    matrix: dict[str, float] = field(default_factory=dict[str, float])
    """In matrix instructions, by the type of what is multiplied."""


# As the makers' data sheets have it of what is named; nothing here was measured. MI250X has two such GPUs: half of the
# product each. RDNA's number for lanes is with two operations issued at once, as AMD gives it.
PEAKS = {
    "gfx906": GpuPeaks("Instinct MI60", 1024, 14.7),
    "gfx908": GpuPeaks("Instinct MI100", 1228.8, 23.1, {"f32": 46.1, "f16": 184.6, "bf16": 92.3, "i8": 184.6}),
    "gfx90a": GpuPeaks(
        "one of two GPUs of an Instinct MI250X", 1638.4, 23.95, {"f32": 47.85, "f16": 191.5, "bf16": 191.5, "i8": 191.5}
    ),
    "gfx942": GpuPeaks(
        "Instinct MI300X",
        5300,
        163.4,
        {"f32": 163.4, "tf32": 653.7, "f16": 1307.4, "bf16": 1307.4, "fp8": 2614.9, "i8": 2614.9},
    ),
    "gfx950": GpuPeaks(
        "Instinct MI355X", 8000, 157.3, {"f32": 157.3, "f16": 2516.6, "bf16": 2516.6, "fp8": 5033.2, "i8": 5033.2}
    ),
    "gfx1030": GpuPeaks("Radeon RX 6900 XT", 512, 23.04),
    "gfx1100": GpuPeaks("Radeon RX 7900 XTX", 960, 61.4, {"f16": 122.8, "bf16": 122.8, "i8": 122.8}),
    "gfx1151": GpuPeaks("Radeon 8060S of a Ryzen AI Max+ 395", 256, 29.7, {"f16": 59.4, "bf16": 59.4, "i8": 59.4}),
    "gfx1200": GpuPeaks("Radeon RX 9060 XT", 320, 25.6, {"f16": 103, "bf16": 103, "fp8": 205, "i8": 205}),
    "gfx1201": GpuPeaks("Radeon RX 9070 XT", 640, 48.7, {"f16": 195, "bf16": 195, "fp8": 389, "i8": 389}),
    "sm_70": GpuPeaks("Tesla V100 SXM2", 900, 15.7, {"f16": 125}),
    "sm_75": GpuPeaks("Quadro RTX 8000", 672, 16.3, {"f16": 130.5, "i8": 261}),
    "sm_80": GpuPeaks("A100 SXM 80GB", 2039, 19.5, {"tf32": 156, "f16": 312, "bf16": 312, "i8": 624}),
    "sm_86": GpuPeaks("RTX A6000", 768, 38.7, {"tf32": 77.4, "f16": 154.8, "bf16": 154.8, "i8": 309.7}),
    "sm_89": GpuPeaks(
        "RTX 6000 Ada", 960, 91.1, {"tf32": 182.1, "f16": 364.2, "bf16": 364.2, "fp8": 728.5, "i8": 728.5}
    ),
    **dict.fromkeys(
        ("sm_90", "sm_90a"),
        GpuPeaks("H200 SXM", 4800, 66.9, {"tf32": 494.7, "f16": 989.4, "bf16": 989.4, "fp8": 1978.9, "i8": 1978.9}),
    ),
    "sm_100": GpuPeaks("B200 SXM", 8000, 75, {"tf32": 1100, "f16": 2250, "bf16": 2250, "fp8": 4500, "i8": 4500}),
    "sm_120": GpuPeaks("RTX PRO 6000 Blackwell", 1792, 125, {"f16": 503.8, "bf16": 503.8, "fp8": 1007.6, "i8": 1007.6}),
}
"""By chip."""
