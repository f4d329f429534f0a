"""Turns packets of several ids from one port into packet flows, one for each id."""

from __future__ import annotations

from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.flows import PacketDestOp, PacketFlowOp, PacketSourceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tokens import BpDestOp, BpIdOp, BroadcastPacketOp
from tilewright.rewrite.pass_bases import DevicePass, located, ops_of


class LowerBroadcastPacketPass(DevicePass):
    name = "aie-lower-broadcast-packet"

    def apply_to(self, device: DeviceOp) -> None:
        for broadcast in ops_of(device.body.ops, BroadcastPacketOp):
            for packets in ops_of(broadcast.ports.ops, BpIdOp):
                Rewriter.insert_op(_flow(broadcast, packets), InsertPoint.after(broadcast))
            Rewriter.erase_op(broadcast)


def _flow(broadcast: BroadcastPacketOp, packets: BpIdOp) -> PacketFlowOp:
    source = located(PacketSourceOp(broadcast.tile, broadcast.port), broadcast.location)
    dests = ops_of(packets.ports.ops, BpDestOp)
    ports = [source, *(located(PacketDestOp(dest.tile, dest.port), dest.location) for dest in dests)]
    flow = PacketFlowOp(packets.packet_id.value.data, ports)
    flow.location = broadcast.location
    return flow
