"""Control packets of a sequence as the words that go to tiles over the stream switches."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.ir.diagnostics import fail_op

WORD_MASK = 0xFFFFFFFF
WRITE_OPCODES = (0, 2)


def control_packet_words(device: DeviceOp, sequence: RuntimeSequenceOp) -> list[int]:
    """Each packet in order: stream header, control header, and for a write its data."""
    tiles = {tile.place: tile for tile in device.tiles}
    packets = [op for op in sequence.body.block.ops if isinstance(op, NpuControlPacketOp)]
    return [word for packet in packets for word in _packet(packet, tiles.get(packet.place))]


def _packet(packet: NpuControlPacketOp, tile: TileOp | None) -> Iterator[int]:
    data, opcode = packet.payload, packet.opcode.value.data
    if data is None and opcode in WRITE_OPCODES:
        fail_op(packet, "control packet with a write opcode requires a data payload")
    length = packet.length.value.data if packet.length is not None else 0
    beats = len(data) if data is not None else length
    yield _with_parity(_stream_header(tile))
    header = packet.stream_id.value.data << 24 | opcode << 22 | (beats - 1 & WORD_MASK) << 20
    yield _with_parity((header | packet.address.value.data & 0xFFFFF) & WORD_MASK)
    for word in data or ():
        yield word & WORD_MASK if opcode in WRITE_OPCODES else 0


def _stream_header(tile: TileOp | None) -> int:
    """Type and id of the packets that the tile's control port takes; 0 for a tile that has none."""
    controller = tile.controller_id if tile is not None else None
    if controller is None:
        return 0
    return (controller.pkt_type.data & 0x7) << 12 | controller.pkt_id.data & 0xFF


def _with_parity(word: int) -> int:
    """The uppermost bit makes the number of ones odd."""
    return word | (1 << 31 if word.bit_count() % 2 == 0 else 0)
