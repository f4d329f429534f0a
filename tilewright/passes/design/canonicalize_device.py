"""Puts what a module holds into a device, where it has none; designs for the first AIE device were written so."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.device import DeviceName
from tilewright.dialects.aie.interfaces import Target
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.pass_manager import Pass


class CanonicalizeDevicePass(Pass):
    name = "aie-canonicalize-device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        if any(isinstance(child, Target) for child in op.ops):
            return
        contents = list(op.ops)
        for child in contents:
            child.detach()
        device = DeviceOp(DeviceName.xcvc1902, contents)
        device.location = op.location
        op.body.block.add_op(device)
