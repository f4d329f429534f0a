"""Turns a stream to several ports into flows, one to each."""

from __future__ import annotations

from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.flows import FlowOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tokens import MulticastOp, MultiDestOp
from tilewright.rewrite.pass_bases import DevicePass, append_to


class LowerMulticastPass(DevicePass):
    name = "aie-lower-multicast"

    def apply_to(self, device: DeviceOp) -> None:
        multicasts = [child for child in device.body.ops if isinstance(child, MulticastOp)]
        for multicast in multicasts:
            for dest in multicast.ports.ops:
                if isinstance(dest, MultiDestOp):
                    flow = FlowOp(multicast.tile, multicast.port, dest.tile, dest.port)
                    append_to(device.body, flow, dest.location)
            Rewriter.erase_op(multicast)
