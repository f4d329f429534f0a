"""Lowers launches, segments and herds to kernels that stand in place; for AMD and for NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.device.gpu_targets import DEFAULT_AMD, DEFAULT_NVIDIA, Vendor
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp, LaunchOp, SegmentOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.air_to_rocdl.kernel_body import KernelLowering
from tilewright.passes.air.targets import find_target, wave_size_of


@dataclass(frozen=True)
class AirToRocdlPass(Pass):
    name = "air-to-rocdl"
    vendor: ClassVar[Vendor] = Vendor.AMD

    wave_size: int = field(default=0, metadata={"help": "lanes of a wave; 0 for what the chip has"})
    chip: str = field(default=DEFAULT_AMD, metadata={"help": "the GPU to compile for"})

    def apply(self, ctx: Context, op: Operation) -> None:
        target = find_target(self.chip, self.vendor)
        wave_size = wave_size_of(target, self.wave_size)
        for root in list(_outermost(op)):
            KernelLowering(root, target, wave_size).run()


@dataclass(frozen=True)
class AirToNvvmPass(AirToRocdlPass):
    name = "air-to-nvvm"
    vendor: ClassVar[Vendor] = Vendor.NVIDIA

    chip: str = field(default=DEFAULT_NVIDIA, metadata={"help": "the GPU to compile for"})


def _outermost(op: Operation) -> Iterator[Hierarchy]:
    """What becomes a kernel: a launch, or a segment or herd without one."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if isinstance(inner, LaunchOp | SegmentOp | HerdOp):
                    yield inner
                else:
                    yield from _outermost(inner)
