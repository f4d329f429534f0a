"""Declares the tiles that control packets are for, with the packet ids under which they answer."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Operation

from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.device_tiles import tile_at


class CtrlPacketInferTilesPass(Pass):
    name = "aie-ctrl-packet-infer-tiles"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        controller_ids = op.model.controller_ids()
        sequences = [sequence for sequence in op.body.ops if isinstance(sequence, RuntimeSequenceOp)]
        blocks = [sequence.body.first_block for sequence in sequences]
        packets = [op for block in blocks if block for op in block.ops if isinstance(op, NpuControlPacketOp)]
        for packet in packets:
            tile = tile_at(op, *packet.place)
            # An id that the program gives stays.
            if tile.controller_id is None:
                packet_id = controller_ids.get(tile.place, 0)
                tile.attributes["controller_id"] = PacketInfoAttr.new([IntAttr(0), IntAttr(packet_id)])
