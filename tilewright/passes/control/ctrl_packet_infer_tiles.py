"""Declares the tiles that control packets are for, with the packet ids under which they answer."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr

from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.rewrite.device_tiles import tile_at
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class CtrlPacketInferTilesPass(DevicePass):
    name = "aie-ctrl-packet-infer-tiles"

    def apply_to(self, device: DeviceOp) -> None:
        controller_ids = device.model.controller_ids()
        blocks = [sequence.body.first_block for sequence in ops_of(device.body.ops, RuntimeSequenceOp)]
        for packet in (packet for block in blocks if block for packet in ops_of(block.ops, NpuControlPacketOp)):
            tile = tile_at(device, *packet.place)
            # An id that the program gives stays.
            if tile.controller_id is None:
                packet_id = controller_ids.get(tile.place, 0)
                tile.attributes["controller_id"] = PacketInfoAttr.new([IntAttr(0), IntAttr(packet_id)])
