"""Turns a stream to several ports into flows, one to each."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.flows import FlowOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tokens import MulticastOp, MultiDestOp
from tilewright.ir.pass_manager import Pass


class LowerMulticastPass(Pass):
    name = "aie-lower-multicast"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        multicasts = [child for child in op.body.ops if isinstance(child, MulticastOp)]
        for multicast in multicasts:
            for dest in multicast.ports.ops:
                if isinstance(dest, MultiDestOp):
                    _add_flow(op, multicast, dest)
            Rewriter.erase_op(multicast)


def _add_flow(device: DeviceOp, multicast: MulticastOp, dest: MultiDestOp) -> None:
    flow = FlowOp(multicast.tile, multicast.port, dest.tile, dest.port)
    flow.location = dest.location
    assert device.body.last_op is not None
    Rewriter.insert_op(flow, InsertPoint.before(device.body.last_op))
