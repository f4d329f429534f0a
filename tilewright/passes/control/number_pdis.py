"""Numbers the configurations that sequences load: a device's is its place in the module, counted from one."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.ir.pass_manager import Pass


class NumberPdisPass(Pass):
    """Upstream's driver does the same between its passes, so no pass of that name is known there."""

    name = "tilewright-number-pdis"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        numbers = pdi_numbers(op)
        for load in op.walk():
            # Zero is no number yet; one that the program gives stays.
            if isinstance(load, NpuLoadPdiOp) and load.device_ref is not None and load.id.value.data == 0:
                load.id = IntegerAttr(numbers.get(load.device_ref.root_reference.data, 0), i32)


def pdi_numbers(module: ModuleOp) -> dict[str, int]:
    """The number of each device's configuration, by the device's name."""
    devices = [op for op in module.body.block.ops if isinstance(op, DeviceOp)]
    return {device.sym_name.data: number for number, device in enumerate(devices, start=1)}
