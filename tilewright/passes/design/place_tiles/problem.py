"""Placement as a problem: the tiles of a design that belong together, and how many DMA channels each one needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from tilewright.device import WireBundle
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.cascade import CascadeFlowOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.flows import FlowOp, PacketDestOp, PacketFlowOp, PacketSourceOp, Port
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoLinkOp
from tilewright.dialects.aie.tiles import DeviceOp, LogicalTileOp
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import ops_of

OpT = TypeVar("OpT", bound=Operation)
End: TypeAlias = "tuple[SSAValue, Port]"

VIEWS = {
    f"memref.{view}"
    for view in ("subview", "cast", "view", "reinterpret_cast", "expand_shape", "collapse_shape", "transpose")
}
"""Operations whose result is the memory of their first operand."""


class Edges:
    """Pairs of tiles that constrain each other, found from either end."""

    def __init__(self, pairs: Iterable[tuple[TileLike | None, TileLike | None]]):
        self.pairs = [(one, other) for one, other in pairs if one is not None and other is not None]
        self._peers: dict[TileLike, list[tuple[TileLike, bool]]] = defaultdict(list)
        for first, second in self.pairs:
            self._peers[first].append((second, True))
            self._peers[second].append((first, False))

    def peers(self, tile: TileLike) -> list[tuple[TileLike, bool]]:
        """The other end of each pair, and whether `tile` is the first of the two."""
        return self._peers.get(tile, [])

    def tiles(self, tile: TileLike) -> list[TileLike]:
        return [peer for peer, _ in self.peers(tile)]


@dataclass
class ChannelCount:
    """Numbers of DMA channels, or of FIFOs that would take one each."""

    inputs: int = 0
    outputs: int = 0

    @property
    def total(self) -> int:
        return self.inputs + self.outputs

    def __add__(self, other: ChannelCount) -> ChannelCount:
        return ChannelCount(self.inputs + other.inputs, self.outputs + other.outputs)

    def __sub__(self, other: ChannelCount) -> ChannelCount:
        return ChannelCount(self.inputs - other.inputs, self.outputs - other.outputs)

    def fits(self, limit: ChannelCount) -> bool:
        return self.inputs <= limit.inputs and self.outputs <= limit.outputs

    def count(self, *, output: bool) -> None:
        if output:
            self.outputs += 1
        else:
            self.inputs += 1

    @property
    def lacking(self) -> ChannelCount:
        """The same without what is below zero."""
        return ChannelCount(max(0, self.inputs), max(0, self.outputs))


class PlacementProblem:
    def __init__(self, device: DeviceOp):
        self.device = device
        self.model = device.model
        self._operations = all_operations(device)
        self.tiles = self.ops(LogicalTileOp)
        self.links = self.ops(ObjectFifoLinkOp)
        self.link_inputs = {name.root_reference for link in self.links for name in link.input_names}
        self.link_outputs = {name.root_reference for link in self.links for name in link.output_names}
        self.buffers = Edges(self._buffer_pairs())
        self.cascades = Edges((tile_of(op.source_tile), tile_of(op.dest_tile)) for op in self.ops(CascadeFlowOp))
        self.core_peers = Edges(self._core_pairs())
        self.needs = self._channel_needs()

    def ops(self, kind: type[OpT]) -> list[OpT]:
        return ops_of(self._operations, kind)

    def need(self, tile: TileLike) -> ChannelCount:
        return self.needs.get(tile, ChannelCount())

    def peer_counts(self, tile: TileLike) -> ChannelCount:
        """FIFOs from and to other logical cores."""
        produces = [is_producer for _, is_producer in self.core_peers.peers(tile)]
        return ChannelCount(inputs=produces.count(False), outputs=produces.count(True))

    def needed_neighbours(self, tile: TileLike) -> ChannelCount:
        """How many of these must go through shared memory, because the core has no channels for them."""
        if not isinstance(tile, LogicalTileOp) or not tile.is_core:
            return ChannelCount()
        limit = ChannelCount(tile.resources.s2mm_channels, tile.resources.mm2s_channels)
        # what its own needs leave of the channels serves peers anywhere; the rest must be near
        return (self.peer_counts(tile) - (limit - self.need(tile))).lacking

    def demand(self, tile: TileLike) -> int:
        return self.needed_neighbours(tile).total

    def _buffer_pairs(self) -> Iterator[tuple[TileLike, TileLike]]:
        """Cores and the other tiles whose buffers their programs touch."""
        for tile in self.tiles:
            users = (use.operation for use in tile.result.uses)
            core = next((user for user in users if isinstance(user, CoreOp)), None)
            if core is None or not tile.is_core:
                continue
            operands = (operand for op in core.body.walk() for operand in op.operands)
            buffers = (buffer for buffer in map(_underlying_buffer, operands) if buffer is not None)
            owners = dict.fromkeys(tile_of(buffer.tile) for buffer in buffers)
            yield from ((tile, owner) for owner in owners if owner is not None and owner is not tile)

    def _core_pairs(self) -> Iterator[tuple[TileLike | None, TileLike | None]]:
        """Logical cores with a FIFO from one to the other."""
        for fifo in self.ops(ObjectFifoOp):
            producer = tile_of(fifo.producer)
            for consumer in map(tile_of, fifo.consumers):
                if producer is not consumer and _is_logical_core(producer) and _is_logical_core(consumer):
                    yield producer, consumer

    def _channel_needs(self) -> dict[TileLike, ChannelCount]:
        needs: dict[TileLike, ChannelCount] = defaultdict(ChannelCount)
        self._add_fifo_needs(needs)
        for link in self.links:
            # all FIFOs of a link meet in one tile
            meeting = next((tile_of(consumer) for fifo in link.inputs for consumer in fifo.consumers), None)
            if meeting is not None:
                needs[meeting] += ChannelCount(len(link.input_names), len(link.output_names))
        self._add_flow_needs(needs)
        return needs

    def _add_fifo_needs(self, needs: dict[TileLike, ChannelCount]) -> None:
        """Ends at which FIFOs are linked count with the link, not here."""
        for fifo in self.ops(ObjectFifoOp):
            producer = tile_of(fifo.producer)
            consumers = map(tile_of, fifo.consumers)
            # Between cores shared memory may do; whether it does depends on their places.
            served = [tile for tile in consumers if not (_is_logical_core(producer) and _is_logical_core(tile))]
            if fifo.sym_name not in self.link_inputs:
                for consumer in served:
                    if consumer is not None:
                        needs[consumer].inputs += 1
            if served and producer is not None and fifo.sym_name not in self.link_outputs:
                needs[producer].outputs += 1

    def _add_flow_needs(self, needs: dict[TileLike, ChannelCount]) -> None:
        """A channel counts once, however many flows begin or end at it."""
        sources, dests = dict[End, None](), dict[End, None]()  # in the order of the program, unlike sets
        for flow in self.ops(FlowOp):
            sources[flow.source, flow.source_port] = None
            dests[flow.dest, flow.dest_port] = None
        for flow in self.ops(PacketFlowOp):
            sources |= {(source.tile, source.port): None for source in flow.ports_of(PacketSourceOp)}
            dests |= {(dest.tile, dest.port): None for dest in flow.ports_of(PacketDestOp)}
        for ends, is_output in ((sources, True), (dests, False)):
            for value, port in ends:
                tile = tile_of(value)
                if isinstance(tile, LogicalTileOp) and port.bundle is WireBundle.DMA:
                    needs[tile].count(output=is_output)

    def connections(self) -> dict[SSAValue, list[list[SSAValue]]]:
        """For every logical tile, the tiles at the other end of each flow and FIFO it takes part in."""
        found: dict[SSAValue, list[list[SSAValue]]] = defaultdict(list)
        for sources, dests in self._endpoints():
            for tiles, others in ((sources, dests), (dests, sources)):
                for tile in tiles:
                    if others and isinstance(tile.owner, LogicalTileOp):
                        found[tile].append(others)
        return found

    def nets(self) -> list[list[TileLike]]:
        """The tiles that each flow and FIFO connects, its source first."""
        ends = ([*sources, *dests] for sources, dests in self._endpoints())
        nets = [[tile for tile in map(tile_of, values) if tile is not None] for values in ends]
        return [net for net in nets if len(net) > 1]

    def _endpoints(self) -> Iterator[tuple[list[SSAValue], list[SSAValue]]]:
        for flow in self.ops(FlowOp):
            yield [flow.source], [flow.dest]
        for flow in self.ops(PacketFlowOp):
            yield [s.tile for s in flow.ports_of(PacketSourceOp)], [d.tile for d in flow.ports_of(PacketDestOp)]
        for fifo in self.ops(ObjectFifoOp):
            yield [fifo.producer], list(fifo.consumers)


def _is_logical_core(tile: TileLike | None) -> bool:
    return isinstance(tile, LogicalTileOp) and tile.is_core


def _underlying_buffer(value: SSAValue) -> BufferOp | None:
    """The buffer that a value is a view of."""
    while isinstance(value.owner, Operation):
        if isinstance(value.owner, BufferOp):
            return value.owner
        if value.owner.name not in VIEWS:
            return None
        value = value.owner.operands[0]
    return None
