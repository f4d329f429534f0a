"""Says what `air-opt-shim-dma-bds` would choose for each launch, and why; changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.air_opt_shim_dma_bds import AirOptShimDmaBdsPass
from tilewright.passes.air.air_opt_shim_dma_bds.tiling import EmptyTile
from tilewright.passes.air.shim.host_transfers import host_transfers


@dataclass(frozen=True)
class AirShimExplainPass(Pass):
    name = "air-shim-explain"

    device: str = field(default="", metadata={"help": "the device; that of the module's aie.device unless given"})

    def apply(self, ctx: Context, op: Operation) -> None:
        plan = AirOptShimDmaBdsPass(self.device or device_in(op), empty_tile=EmptyTile.AUTO, explain=True)
        # on a copy: planning cuts and moves transfers
        for function in [found for found in op.clone().walk() if isinstance(found, FuncOp)]:
            if any(True for _ in host_transfers(function)):
                plan.apply(ctx, function)


def device_in(module: Operation) -> str:
    """The name of the device that a module has a design for."""
    device = next((op for op in module.walk() if isinstance(op, DeviceOp)), None)
    if device is None:
        fail_op(
            module,
            "has no aie.device, so it is not known which shim tiles there are",
            (None, "name one, as in --air-shim-explain=device=npu1"),
        )
    return str(device.model)
