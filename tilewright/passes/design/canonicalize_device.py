"""Puts what a module holds into a device, where it has none; designs for the first AIE device were written so."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.device import DeviceName
from tilewright.dialects.aie.interfaces import Target
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.rewrite.pass_bases import ModulePass


class CanonicalizeDevicePass(ModulePass):
    name = "aie-canonicalize-device"

    def apply_to(self, module: ModuleOp) -> None:
        if any(isinstance(child, Target) for child in module.ops):
            return
        contents = list(module.ops)
        for child in contents:
            child.detach()
        device = DeviceOp(DeviceName.xcvc1902, contents)
        device.location = module.location
        module.body.block.add_op(device)
