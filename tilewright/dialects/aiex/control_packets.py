"""Control packets of a sequence as the words that go to tiles over the stream switches."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.device.layout import WORD_MASK, Layout
from tilewright.device.packets import WRITES, ControlHeader, PacketHeader, with_parity
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.ir.diagnostics import fail_op


def control_packet_words(device: DeviceOp, sequence: RuntimeSequenceOp) -> list[int]:
    """Each packet in order: stream header, control header, and for a write its data."""
    tiles = {tile.place: tile for tile in device.tiles}
    packets = [op for op in sequence.body.block.ops if isinstance(op, NpuControlPacketOp)]
    return [word for packet in packets for word in _packet(packet, tiles.get(packet.place))]


def _packet(packet: NpuControlPacketOp, tile: TileOp | None) -> Iterator[int]:
    data, operation = packet.payload, packet.opcode.value.data
    # A read asks for words instead of bringing some.
    if data is None and operation in WRITES:
        fail_op(packet, "control packet with a write opcode requires a data payload")
    yield _stream_header(packet, tile)
    yield _header(
        ControlHeader,
        packet,
        return_id=packet.stream_id.value.data,
        operation=operation,
        beats=_beats(packet),
        address=packet.address.value.data & ControlHeader.address.mask,
    )
    for word in data or ():
        yield word & WORD_MASK if operation in WRITES else 0


def _beats(packet: NpuControlPacketOp) -> int:
    """How many words a packet reads or writes."""
    length = packet.length.value.data if packet.length is not None else 0
    beats, limits = len(packet.payload) if packet.payload is not None else length, ControlHeader.beats.limits
    if beats not in limits:
        text = f"moves {beats} words, a control packet moves {limits[0]} to {limits[-1]}"
        fail_op(packet, text, (packet, "`--aie-legalize-ctrl-packet` splits a long write; a read needs a `length`"))
    return beats


def _stream_header(packet: NpuControlPacketOp, tile: TileOp | None) -> int:
    """Type and id of the packets that the tile's control port takes; 0 for a tile that has none."""
    # Ids are given to the control ports by a pass, or in the program.
    controller = tile.controller_id if tile is not None else None
    if controller is None:
        return with_parity(0)
    return _header(PacketHeader, packet, type=controller.pkt_type.data, id=controller.pkt_id.data)


def _header(layout: type[Layout], packet: NpuControlPacketOp, **fields: int) -> int:
    """A header, or a complaint about what does not fit into it."""
    try:
        (word,) = layout.encode(**fields)
    except ValueError as error:
        fail_op(packet, f"does not fit its header: {error}")
    return with_parity(word)
