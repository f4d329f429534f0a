"""The GPU that a pass is told to compile for."""

from __future__ import annotations

from tilewright.device.gpu_targets import GPU_TARGETS, GpuTarget, Vendor
from tilewright.ir.diagnostics import fail


def find_target(chip: str, vendor: Vendor | None = None) -> GpuTarget:
    """The chip of that name, of this vendor if one is given."""
    known = [name for name, target in GPU_TARGETS.items() if vendor in (None, target.vendor)]
    if chip not in known:
        fail(None, f"unknown chip '{chip}'; known are {', '.join(known)}")
    return GPU_TARGETS[chip]


def wave_size_of(target: GpuTarget, wanted: int) -> int:
    """The lanes of a wave: what is asked for, or what the chip has if that is 0."""
    if wanted < 0 or wanted & (wanted - 1):
        fail(None, f"wave-size must be a power of two, or 0 for that of {target.chip}; got {wanted}")
    return wanted or target.wave_size
