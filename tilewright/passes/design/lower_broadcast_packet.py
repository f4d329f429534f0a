"""Turns packets of several ids from one port into packet flows, one for each id."""

from __future__ import annotations

from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.flows import PacketDestOp, PacketFlowOp, PacketSourceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tokens import BpDestOp, BpIdOp, BroadcastPacketOp
from tilewright.rewrite.pass_bases import DevicePass, located


class LowerBroadcastPacketPass(DevicePass):
    name = "aie-lower-broadcast-packet"

    def apply_to(self, device: DeviceOp) -> None:
        broadcasts = [child for child in device.body.ops if isinstance(child, BroadcastPacketOp)]
        for broadcast in broadcasts:
            for packets in broadcast.ports.ops:
                if isinstance(packets, BpIdOp):
                    Rewriter.insert_op(_flow(broadcast, packets), InsertPoint.after(broadcast))
            Rewriter.erase_op(broadcast)


def _flow(broadcast: BroadcastPacketOp, packets: BpIdOp) -> PacketFlowOp:
    source = located(PacketSourceOp(broadcast.tile, broadcast.port), broadcast.location)
    dests = [dest for dest in packets.ports.ops if isinstance(dest, BpDestOp)]
    ports = [source, *(located(PacketDestOp(dest.tile, dest.port), dest.location) for dest in dests)]
    flow = PacketFlowOp(packets.packet_id.value.data, ports)
    flow.location = broadcast.location
    return flow
