"""Recovers flows from switch settings: what leaves a core or DMA is followed along the wires to where it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.ir import Operation

from tilewright.device import WireBundle
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma import MemOp, MemTileDmaOp, ShimDmaOp
from tilewright.dialects.aie.flows import FlowOp, PacketDestOp, PacketFlowOp, PacketSourceOp, Port, WireOp
from tilewright.dialects.aie.lookup import device_model
from tilewright.dialects.aie.switchbox import (
    ConnectOp,
    MasterSetOp,
    PacketRuleOp,
    PacketRulesOp,
    ShimMuxOp,
    SwitchboxOp,
)
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.rewrite.pass_bases import DevicePass, append_to, ops_of

Switch = SwitchboxOp | ShimMuxOp
Tile = TileOp | CoreOp | MemOp | MemTileDmaOp | ShimDmaOp
FROM_TILES = (WireBundle.Core, WireBundle.DMA)


class MaskedIds(NamedTuple):
    """The packet ids that have a value in masked bits; all of them, or a circuit, if no bit is masked."""

    mask: int = 0
    value: int = 0

    def narrowed(self, other: MaskedIds) -> MaskedIds | None:
        both = self.mask & other.mask
        if self.value & both != other.value & both:
            return None
        return MaskedIds(self.mask | other.mask, self.value | other.value & other.mask)


class ReachedPort(NamedTuple):
    """A port of a component, and the packets that get there."""

    component: Operation
    port: Port
    ids: MaskedIds


class FindFlowsPass(DevicePass):
    name = "aie-find-flows"

    def apply_to(self, device: DeviceOp) -> None:
        streams = _Streams(device)
        for tile in list(device.tiles):
            for flow in _flows_from(tile, streams):
                append_to(device.body, flow, tile.location)


def _flows_from(tile: TileOp, streams: _Streams) -> Iterator[Operation]:
    model = device_model(tile)
    # Ports out of a tile, counted as upstream does: by those of its switch or multiplexer that lead back.
    count = model.num_shim_mux_dests if tile.is_shim else model.num_switchbox_dests
    for bundle in FROM_TILES:
        for source in (Port(bundle, channel) for channel in range(count(*tile.place, bundle))):
            yield from (_flow(tile, source, arrival) for arrival in streams.arrivals(tile, source))


def _flow(tile: TileOp, source: Port, arrival: ReachedPort) -> Operation:
    dest = arrival.component.results[0]
    if arrival.ids.mask == 0:
        return FlowOp(tile.result, source, dest, arrival.port)
    return PacketFlowOp(arrival.ids.value, [PacketSourceOp(tile.result, source), PacketDestOp(dest, arrival.port)])


class _Streams:
    """The wires and switch settings of a device, by the ports they start from."""

    def __init__(self, device: DeviceOp):
        self._wires: dict[tuple[Operation, WireBundle], tuple[Operation, WireBundle]] = {}
        self._exits: dict[tuple[Operation, Port], list[tuple[Port, MaskedIds]]] = {}
        for source, source_bundle, dest, dest_bundle in (wire.ends for wire in ops_of(device.body.ops, WireOp)):
            assert isinstance(source.owner, Operation) and isinstance(dest.owner, Operation)
            # a wire is followed from either end; of two at one port the first counts
            self._wires.setdefault((source.owner, source_bundle), (dest.owner, dest_bundle))
            self._wires.setdefault((dest.owner, dest_bundle), (source.owner, source_bundle))
        for switch in ops_of(device.body.ops, SwitchboxOp, ShimMuxOp):
            self._add_switch(switch)

    def _add_switch(self, switch: Switch) -> None:
        for op in ops_of(switch.connections.ops, ConnectOp):
            self._exits.setdefault((switch, op.source), []).append((op.dest, MaskedIds()))
        masters = ops_of(switch.connections.ops, MasterSetOp)
        for rules in ops_of(switch.connections.ops, PacketRulesOp):
            self._exits.setdefault((switch, rules.source), []).extend(
                (master.dest, MaskedIds(rule.mask.value.data, rule.value.value.data))
                for master in masters
                for amsel in master.amsels
                for rule in ops_of(rules.rules.ops, PacketRuleOp)
                if rule.amsel is amsel
            )

    def arrivals(self, tile: TileOp, source: Port) -> Iterator[ReachedPort]:
        """Where data from a port of a tile gets to, last branches first."""
        start = self._along_wire(tile, source, MaskedIds())
        waiting = [] if start is None else [start]
        passed: set[ReachedPort] = set()
        while waiting:
            place = waiting.pop()
            if isinstance(place.component, Tile):
                yield place
            elif place not in passed:  # settings may lead round in a circle
                passed.add(place)
                waiting += self._through_switch(place)

    def _through_switch(self, place: ReachedPort) -> Iterator[ReachedPort]:
        for port, ids in self._exits.get((place.component, place.port), ()):
            remaining = place.ids.narrowed(ids)
            onward = None if remaining is None else self._along_wire(place.component, port, remaining)
            if onward is not None:
                yield onward

    def _along_wire(self, component: Operation, port: Port, ids: MaskedIds) -> ReachedPort | None:
        wire = self._wires.get((component, port.bundle))
        return None if wire is None else ReachedPort(wire[0], Port(wire[1], port.channel), ids)
