"""Turns a stream to several ports into flows, one to each."""

from __future__ import annotations

from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.flows import FlowOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tokens import MulticastOp, MultiDestOp
from tilewright.passes.design import DevicePass


class LowerMulticastPass(DevicePass):
    name = "aie-lower-multicast"

    def apply_to(self, device: DeviceOp) -> None:
        multicasts = [child for child in device.body.ops if isinstance(child, MulticastOp)]
        for multicast in multicasts:
            for dest in multicast.ports.ops:
                if isinstance(dest, MultiDestOp):
                    _add_flow(device, multicast, dest)
            Rewriter.erase_op(multicast)


def _add_flow(device: DeviceOp, multicast: MulticastOp, dest: MultiDestOp) -> None:
    flow = FlowOp(multicast.tile, multicast.port, dest.tile, dest.port)
    flow.location = dest.location
    assert device.body.last_op is not None
    Rewriter.insert_op(flow, InsertPoint.before(device.body.last_op))
