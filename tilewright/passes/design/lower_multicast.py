"""Turns a stream to several ports into flows, one to each."""

from __future__ import annotations

from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.flows import FlowOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tokens import MulticastOp, MultiDestOp
from tilewright.rewrite.pass_bases import DevicePass, append_to, ops_of


class LowerMulticastPass(DevicePass):
    name = "aie-lower-multicast"

    def apply_to(self, device: DeviceOp) -> None:
        for multicast in ops_of(device.body.ops, MulticastOp):
            for dest in ops_of(multicast.ports.ops, MultiDestOp):
                flow = FlowOp(multicast.tile, multicast.port, dest.tile, dest.port)
                append_to(device.body, flow, dest.location)
            Rewriter.erase_op(multicast)
