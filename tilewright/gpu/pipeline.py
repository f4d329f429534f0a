"""From an AIR program to one module of host functions and kernels, as the names of passes."""

from __future__ import annotations

from tilewright.device.gpu_targets import GpuTarget, Vendor

KERNELS = {Vendor.AMD: "air-to-rocdl", Vendor.NVIDIA: "air-to-nvvm"}
"""What turns launches, segments and herds into kernels that stand in place."""


def split_passes(target: GpuTarget, wave_size: int, heap_bytes: int | None = None) -> tuple[str, ...]:
    """Passes, with their options, after which a program is host functions beside modules of kernels.

    All of them leave alone what they have no business with, so one order serves every program.
    """
    heap = "" if heap_bytes is None else f"{{heap-size={heap_bytes}}}"
    return (
        f"air-gpu-channel-to-cacheline{{wave-size={wave_size}}}",
        "air-symmetric-alloc-to-mgpu",
        f"air-rank-to-mgpu{heap}",
        "air-translate-to-llvm",
        f"{KERNELS[target.vendor]}{{chip={target.chip} wave-size={wave_size}}}",
        "air-gpu-outlining",
    )
