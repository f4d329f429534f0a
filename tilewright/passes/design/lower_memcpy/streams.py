"""Streams of copies: the DMA channels they use, and the flows between them.

Copies along the same route share a stream. A stream has channels of its own, and a circuit, where enough are free;
where not, streams share channels and send packets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Operation, SSAValue

from tilewright.device import DmaDirection, TileId, WireBundle
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma import DmaBody, DmaOp, DmaStartOp
from tilewright.dialects.aie.flows import (
    FlowOp,
    PacketDestOp,
    PacketFlowOp,
    PacketSourceOp,
    Port,
    ShimDmaAllocationOp,
)
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.queue import NpuPushQueueOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.lower_memcpy.copies import Channel, CopySide, TokenCopy
from tilewright.rewrite.pass_bases import append_to, ops_of

DATA_PACKET = 0


@dataclass(eq=False)
class CopyStream:
    """All copies from one tile to the same others."""

    copies: list[TokenCopy] = field(default_factory=list[TokenCopy])
    packet: PacketInfoAttr | None = None

    @property
    def channels(self) -> list[Channel]:
        return [side.channel for side in self.copies[0].sides]


class CopyStreams:
    """The streams of a design, by the copies that use them."""

    def __init__(self, device: DeviceOp, copies: Sequence[TokenCopy]):
        self.device, self.model = device, device.model
        self.taken: dict[Channel, Operation] = dict(used_channels(device))
        """Channels that the rest of the design uses."""
        self.shared: dict[Channel, list[CopyStream]] = {}
        """Streams on each of the other channels."""
        routes: dict[tuple[TileId, ...], CopyStream] = {}
        for copy in copies:
            routes.setdefault(copy.route, CopyStream()).copies.append(copy)
        self.streams = list(routes.values())
        self.of = {copy: stream for stream in self.streams for copy in stream.copies}

    def connect(self) -> None:
        """Find channels for all, and add the flows."""
        for stream in self.streams:
            for index, side in enumerate(stream.copies[0].sides):
                number = self._find(side)
                for copy in stream.copies:  # all copies of a stream use its channels
                    copy.sides[index].number = number
                self.shared.setdefault(side.channel, []).append(stream)
        # Only now is it known which channels are shared, and so which streams have to be packets.
        packet_ids = _free_packet_ids(self.device)
        for stream in self.streams:
            if any(len(self.shared[channel]) > 1 for channel in stream.channels):
                stream.packet = self._packet(stream, next(packet_ids, None))
            self._add_flow(stream)
        self._name_shim_channels()

    def _find(self, side: CopySide) -> int:
        """A free channel; else the one of ours with the fewest streams."""
        count = self.model.num_dma_channels(*side.place, side.direction)
        channels: list[Channel] = [(side.place, side.direction, number) for number in range(count)]
        ours = [channel for channel in channels if channel not in self.taken]
        if not ours:
            way = side.direction.name
            fail_op(
                side.op,
                f"needs a {way} channel of tile {tuple(side.place)}, and all {len(channels)} are in use",
                *((self.taken[channel], f"{way} {channel[-1]} is used here") for channel in channels),
            )
        return min(ours, key=lambda channel: len(self.shared.get(channel, ())))[-1]

    def _packet(self, stream: CopyStream, packet_id: int | None) -> PacketInfoAttr:
        if packet_id is None:
            fail_op(
                stream.copies[0].op,
                "shares a channel with other copies, and there are no more packet ids to tell them apart",
                (self.device, f"the design has {len(self.streams)} different routes"),
            )
        return PacketInfoAttr.new([IntAttr(DATA_PACKET), IntAttr(packet_id)])

    def _add_flow(self, stream: CopyStream) -> None:
        copy = stream.copies[0]
        source, destinations = copy.source, copy.destinations
        if stream.packet is None:
            start = source.tile.result, _port(source)
            flows: list[Operation] = [FlowOp(*start, side.tile.result, _port(side)) for side in destinations]
        else:
            ports = [PacketSourceOp(source.tile.result, _port(source))]
            ports += [PacketDestOp(side.tile.result, _port(side)) for side in destinations]
            flows = [PacketFlowOp(stream.packet.pkt_id.data, [*ports, EndOp()])]
        for flow in flows:
            append_to(self.device.body, flow, copy.op.location)

    def _name_shim_channels(self) -> None:
        """Say which shim channels are in use, and for which token they were first."""
        named = set[Channel]()
        for copy, side in ((stream.copies[0], side) for stream in self.streams for side in stream.copies[0].sides):
            if side.is_host and side.channel not in named:
                named.add(side.channel)
                token, (column, row) = copy.op.token_name.root_reference.data, side.place
                name = f"shim_dma_{token}_{column}_{row}_{side.number}"
                if self.device.lookup(name) is None:
                    allocation = ShimDmaAllocationOp(name, side.tile.result, side.direction, side.number)
                    append_to(self.device.body, allocation, copy.op.location)


def _port(side: CopySide) -> Port:
    return Port(WireBundle.DMA, side.number)


CHANNEL_USERS = (
    DmaBody,
    ShimDmaAllocationOp,
    DmaConfigureTaskOp,
    NpuPushQueueOp,
    FlowOp,
    PacketSourceOp,
    PacketDestOp,
)


def used_channels(device: DeviceOp) -> Iterator[tuple[Channel, Operation]]:
    """The DMA channels that a design uses, each with an operation that does."""
    for op in ops_of(all_operations(device), *CHANNEL_USERS):
        match op:
            case DmaBody():
                for start in ops_of(op.ops, DmaStartOp, DmaOp):
                    yield from _at(op.tile, *start.channel, start)
            case ShimDmaAllocationOp():
                yield from _at(op.tile, op.direction, op.channel, op)
            case DmaConfigureTaskOp():
                yield from _at(op.tile, op.dma_direction, op.channel.value.data, op)
            case NpuPushQueueOp():
                yield from ((channel, op) for channel in op.channels(device.model))
            case FlowOp():
                yield from _at_port(op.source, op.source_port, DmaDirection.MM2S, op)
                yield from _at_port(op.dest, op.dest_port, DmaDirection.S2MM, op)
            case PacketSourceOp():
                yield from _at_port(op.tile, op.port, DmaDirection.MM2S, op)
            case PacketDestOp():
                yield from _at_port(op.tile, op.port, DmaDirection.S2MM, op)
            case _:
                pass


def _at_port(
    tile: SSAValue, port: Port, direction: DmaDirection, user: Operation
) -> Iterator[tuple[Channel, Operation]]:
    if port.bundle is WireBundle.DMA:
        yield from _at(tile, direction, port.channel, user)


def _at(tile: SSAValue, direction: DmaDirection, number: int, user: Operation) -> Iterator[tuple[Channel, Operation]]:
    found = tile_of(tile)
    if found is not None and found.place is not None:
        yield (found.place, direction, number), user


def _free_packet_ids(device: DeviceOp) -> Iterator[int]:
    """Packet ids that no flow has; control has some of its own."""
    model = device.model
    used = {flow.packet_id.value.data for flow in ops_of(device.body.ops, PacketFlowOp)}
    # what tiles answer with must not look like data
    used |= {tile.controller_id.pkt_id.data for tile in device.tiles if tile.controller_id is not None}
    used |= set(model.controller_ids().values())
    return (number for number in range(model.max_packet_id + 1) if number not in used)
