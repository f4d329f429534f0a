"""Sends control packets from host memory: each batch of packets is a transfer of a new last argument, then a wait."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device import Arch, DeviceModel, DmaDirection, TileId
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.access_pattern import AccessPattern
from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.dialects.aiex.control_packets import control_packet_words
from tilewright.dialects.aiex.instructions import NpuSyncOp
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.control.generate_column_control_overlay import row_channels
from tilewright.rewrite.emitter import constant_op
from tilewright.rewrite.pass_bases import DevicePass, ops_of

HEADER_WORDS = 2  # of the stream packet, and of the control packet in it
BD_ID = 0


@dataclass
class Batch:
    """Packets to one tile that travel in one transfer. Offset and length count words of the packet buffer."""

    place: TileId
    offset: int
    packets: list[NpuControlPacketOp]

    @property
    def length(self) -> int:
        return sum(map(packet_words, self.packets))


def packet_words(packet: NpuControlPacketOp) -> int:
    if packet.data is not None:
        return len(packet.data) + HEADER_WORDS
    return (packet.length.value.data if packet.length is not None else 0) + HEADER_WORDS


def batches_of(block: Block, model: DeviceModel) -> list[Batch]:
    """The packets of a sequence in order; AIE2p takes neighbouring packets to the same tile in one transfer."""
    offset, previous, batches = 0, None, list[Batch]()
    for op in block.ops:
        if isinstance(op, NpuControlPacketOp):
            # Only packets that nothing stands between: the order of instructions is kept.
            joins = isinstance(previous, NpuControlPacketOp) and previous.place == op.place
            if joins and model.arch is Arch.AIE2p:
                batches[-1].packets.append(op)
            else:
                batches.append(Batch(op.place, offset, [op]))
            offset += packet_words(op)
        previous = op
    return batches


@dataclass(frozen=True)
class CtrlPacketToDmaPass(DevicePass):
    name = "aie-ctrl-packet-to-dma"

    keep_words: bool = field(default=False, metadata={"help": "keep the words of the packets in an attribute"})

    def apply_to(self, device: DeviceOp) -> None:
        if device.model.arch is Arch.AIE1:
            return
        for sequence in ops_of(device.body.ops, RuntimeSequenceOp):
            words = control_packet_words(device, sequence) if self.keep_words and sequence.body.blocks else []
            if sequence.body.first_block is not None:
                send_packets(sequence, device.model)
            if words:
                sequence.keep_control_packets(words)


def send_packets(sequence: RuntimeSequenceOp, model: DeviceModel) -> None:
    block = sequence.body.block
    batches = batches_of(block, model)
    if not batches:
        return
    # Behind all arguments of the program, whose positions the host relies on.
    sequence.add_argument(MemRefType(i32, [DYNAMIC_INDEX]), "control_packets")
    buffer = block.args[-1]
    for batch in batches:
        first = batch.packets[0]
        if not model.is_valid_tile(*batch.place):
            fail_op(first, f"is for tile {tuple(batch.place)}, which the device does not have")
        for op in transfer(batch, buffer, row_channels(model)[batch.place.row]):
            op.location = first.location
            block.insert_op_before(op, first)
        for packet in batch.packets:
            Rewriter.erase_op(packet)


def transfer(batch: Batch, buffer: SSAValue, channel: int) -> list[Operation]:
    """Move the words of a batch out of host memory and wait until they are gone."""
    column = batch.place.column
    pattern = AccessPattern.from_outermost([1, 1, 1, batch.length], [0, 0, 0, 1], [0, 0, 0, batch.offset])
    memcpy = NpuDmaMemcpyNdOp(buffer, pattern, f"ctrlpkt_col{column}_mm2s_chan{channel}", BD_ID, issue_token=True)
    # The order in which upstream makes these constants, which differs from that of the operands.
    row, *others = constants = [constant_op(n) for n in (0, column, DmaDirection.MM2S, channel, 1, 1)]
    column_value, *rest = (constant.result for constant in others)
    return [memcpy, *constants, NpuSyncOp([column_value, row.result, *rest])]
