"""Allocation of DMA channels to the ends of FIFOs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn, TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.device import DmaDirection, WireBundle
from tilewright.dialects.aie.dma import Channel, DmaBody, DmaOp, DmaStartOp
from tilewright.dialects.aie.flows import FlowOp, ShimDmaAllocationOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import Where, fail, fail_op, op_text
from tilewright.passes.design.objectfifo_stateful_transform.ends import FifoEnd, SplitFifo

TileChannel: TypeAlias = tuple[SSAValue, Channel]
"""A channel of a tile."""
USES = {DmaDirection.MM2S: "output", DmaDirection.S2MM: "input"}
STREAM_AND_PIN = (
    "cannot pin a DMA channel on an objectfifo that also uses aie_stream (stream ports bypass DMA channels)"
)


class ChannelAllocator:
    """Gives out the channels of a device that are still free."""

    def __init__(self, device: DeviceOp):
        self.model = device.model
        self.taken: dict[TileChannel, Operation] = dict(_used_channels(device))
        """The operation that uses each channel."""
        self.streams: dict[TileChannel, Operation] = dict(_used_streams(device))
        """The operation that uses each stream port of a core."""

    def assign(self, connections: list[SplitFifo]) -> dict[FifoEnd, Channel]:
        """A channel for each end: first as the program wants, then where only some channels will do, then the rest."""
        ends = [end for connection in connections for end in connection.ends]
        channels = {end: self._pinned(end, end.pinned_channel) for end in ends if end.pinned_channel is not None}
        # Buffers in a neighbour are reached by some channels only, so those ends choose first.
        for spread in (True, False):
            for end in ends:
                if end not in channels and end.stream_port is None and _is_spread(end) == spread:
                    channels[end] = self._first_free(end, spread)
        return channels | {end: self._stream(end, end.stream_port) for end in ends if end.stream_port is not None}

    def _pinned(self, end: FifoEnd, number: int) -> Channel:
        if end.stream_port is not None:
            fail_op(end.fifo, STREAM_AND_PIN)
        channel = Channel(end.direction, number)
        user = self.taken.get((end.tile.result, channel))
        if number >= self._count(end) or user is not None:
            text = f"pinned {end.direction} DMA channel {number} is out of range or already in use on this tile"
            limit = f"tile {tuple(end.tile.place)} has {self._count(end)} {end.direction} channels"
            fail_op(end.fifo, text, (end.fifo, limit), *_named(channel, user))
        return self._take(end, channel)

    def _first_free(self, end: FifoEnd, spread: bool) -> Channel:
        limit = min(self._count(end), self.model.adjacent_mem_tile_channels) if spread else self._count(end)
        for number in range(limit):
            channel = Channel(end.direction, number)
            if (end.tile.result, channel) not in self.taken:
                return self._take(end, channel)
        self._report_none_free(end, limit, spread)

    def _take(self, end: FifoEnd, channel: Channel) -> Channel:
        self.taken[end.tile.result, channel] = end.fifo
        return channel

    def _count(self, end: FifoEnd) -> int:
        return self.model.num_dma_channels(*end.tile.place, end.direction)

    def _report_none_free(self, end: FifoEnd, limit: int, spread: bool) -> NoReturn:
        text = f"number of {USES[end.direction]} DMA channel exceeded!"
        reach = " that reach the neighbour with some of its buffers" if spread else ""
        place = tuple(end.tile.place)
        channels = [Channel(end.direction, number) for number in range(limit)]
        users = [note for channel in channels for note in _named(channel, self.taken[end.tile.result, channel])]
        fail(
            end.fifo,
            op_text(end.tile, text),
            (end.fifo, f"@{end.name} needs one of the {limit} {end.direction} channels of tile {place}{reach}"),
            *users,
            (end.fifo, "move this end to another tile, or let FIFOs share a channel by linking or broadcasting them"),
        )

    def _stream(self, end: FifoEnd, port: int) -> Channel:
        channel = Channel(end.direction, port)
        user = self.streams.setdefault((end.tile.result, channel), end.fifo)
        if user is not end.fifo:
            text = f"number of {USES[end.direction]} Core channels exceeded!"
            wanted = f"@{end.name} wants stream port {port} of tile {tuple(end.tile.place)}"
            fail(end.fifo, op_text(end.tile, text), (end.fifo, wanted), (user, "that port is used here"))
        return channel


def _named(channel: Channel, user: Operation | None) -> Iterator[tuple[Where, str]]:
    if user is not None:
        yield user, f"{channel.direction} {channel.number} is used here"


def _is_spread(end: FifoEnd) -> bool:
    return end.storage is not None and end.storage.is_spread


def _used_channels(device: DeviceOp) -> Iterator[tuple[TileChannel, Operation]]:
    """Channels that the program already runs or has named."""
    for op in device.body.ops:
        match op:
            case DmaBody():
                for start in op.ops:
                    if isinstance(start, DmaStartOp | DmaOp):
                        yield (op.tile, start.channel), start
            # The runtime sequence drives these; the device has no program for them.
            case ShimDmaAllocationOp():
                yield (op.tile, Channel(op.direction, op.channel)), op
            case _:
                pass


def _used_streams(device: DeviceOp) -> Iterator[tuple[TileChannel, Operation]]:
    """Stream ports of cores that flows begin or end at."""
    for op in device.body.ops:
        if isinstance(op, FlowOp):
            if op.source_port.bundle is WireBundle.Core:
                yield (op.source, Channel(DmaDirection.MM2S, op.source_port.channel)), op
            if op.dest_port.bundle is WireBundle.Core:
                yield (op.dest, Channel(DmaDirection.S2MM, op.dest_port.channel)), op
