"""Switches and shim multiplexers of a device, made as they are needed; the circuits written into them; their wires.

Streams that enter or leave the array at a shim are routed by the name of their end, and run through a South port.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DeviceModel, TileId, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_MUX_ENTRIES, SHIM_MUX_EXITS
from tilewright.dialects.aie.flows import FlowOp, Port, WireEnds, WireOp
from tilewright.dialects.aie.switchbox import ConnectOp, MasterSetOp, PacketRulesOp, ShimMuxOp, SwitchboxOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.passes.design.create_pathfinder_flows.grid import TakenPorts
from tilewright.passes.design.create_pathfinder_flows.nets import Request
from tilewright.passes.design.create_pathfinder_flows.routes import NetRoute
from tilewright.rewrite.device_tiles import tiles_by_place
from tilewright.rewrite.pass_bases import append_to, located, ops_of

SwitchT = TypeVar("SwitchT", SwitchboxOp, ShimMuxOp)
South, West, North, East = WireBundle.South, WireBundle.West, WireBundle.North, WireBundle.East


class Interconnect:
    def __init__(self, device: DeviceOp):
        self.device, self.tiles = device, tiles_by_place(device)
        switches, multiplexers = ops_of(device.body.ops, SwitchboxOp), ops_of(device.body.ops, ShimMuxOp)
        self.switches = {op.place: op for op in switches if op.place is not None}
        self.multiplexers = {op.place: op for op in multiplexers if op.place is not None}

    def tile(self, place: TileId, location: LocationAttr) -> TileOp:
        """The tile at a place; one that is new goes to the end of the device."""
        if place not in self.tiles:
            self.tiles[place] = TileOp(*place)
            append_to(self.device.body, self.tiles[place], location)
        return self.tiles[place]

    def switch(self, place: TileId, location: LocationAttr, *, at_tile: bool = False) -> SwitchboxOp:
        """The switch of a tile; one that is new goes to the end of the device, or right after the tile."""
        return self._component(self.switches, SwitchboxOp, place, location, at_tile)

    def multiplexer(self, place: TileId, location: LocationAttr, *, at_tile: bool = False) -> ShimMuxOp:
        return self._component(self.multiplexers, ShimMuxOp, place, location, at_tile)

    def _component(
        self, present: dict[TileId, SwitchT], kind: type[SwitchT], place: TileId, location: LocationAttr, at_tile: bool
    ) -> SwitchT:
        if place not in present:
            tile = self.tile(place, location)
            present[place] = kind(tile.result)
            if at_tile:
                Rewriter.insert_op(located(present[place], location), InsertPoint.after(tile))
            else:
                append_to(self.device.body, present[place], location)
        return present[place]

    def has_multiplexer(self, place: TileId) -> bool:
        return self.device.model.tile_type(*place) is TileType.ShimNOCTile  # a shim without NoC has none

    def taken(self) -> dict[TileId, TakenPorts]:
        """The ports that switches already use, by all the names they go by."""
        return {place: _taken(op, self.device.model.is_shim_tile(*place)) for place, op in self.switches.items()}


def _taken(switch: SwitchboxOp, is_shim: bool) -> TakenPorts:
    inputs: set[Port] = set()
    outputs: set[Port] = set()
    for op in switch.connections.ops:
        if isinstance(op, ConnectOp | PacketRulesOp):
            inputs.add(op.source)
        if isinstance(op, ConnectOp | MasterSetOp):
            outputs.add(op.dest)
    # Routes name the ports behind a multiplexer, settings the South ports that those run through.
    if is_shim:
        inputs |= {Port(*port) for port, channel in SHIM_MUX_ENTRIES.items() if Port(South, channel) in inputs}
        outputs |= {Port(*port) for port, channel in SHIM_MUX_EXITS.items() if Port(South, channel) in outputs}
    return TakenPorts(inputs, outputs)


def connections_in(op: SwitchboxOp | ShimMuxOp) -> set[tuple[Port, Port]]:
    return {(connect.source, connect.dest) for connect in ops_of(op.connections.ops, ConnectOp)}


def add_wires(interconnect: Interconnect) -> None:
    """Say which components face each other, for passes that follow streams later, unless the design says so already."""
    body = interconnect.device.body
    present = {wire.ends for wire in ops_of(body.ops, WireOp)}
    for place in sorted(interconnect.switches.keys() & interconnect.tiles.keys()):
        for ends in _wires_at(interconnect, place):
            if ends not in present:
                append_to(body, WireOp(*ends), interconnect.tiles[place].location)


def _wires_at(interconnect: Interconnect, place: TileId) -> Iterator[WireEnds]:
    """The wires of a tile to its switch and of that to those in the west and south."""
    tile, switch = interconnect.tiles[place].result, interconnect.switches[place].result
    west = _result_at(interconnect.switches, TileId(place.column - 1, place.row))
    south = _result_at(interconnect.switches, TileId(place.column, place.row - 1))
    below = _result_at(interconnect.multiplexers, place)
    if west is not None:
        yield west, East, switch, West
    if place.row > 0:  # row 0 is the shim, which has no core and a multiplexer between DMA and switch
        yield tile, WireBundle.Core, switch, WireBundle.Core
        yield tile, WireBundle.DMA, switch, WireBundle.DMA
        if south is not None:
            yield south, North, switch, South
    elif below is not None and interconnect.has_multiplexer(place):
        yield below, North, switch, South
        yield tile, WireBundle.DMA, below, WireBundle.DMA


def _result_at(ops: Mapping[TileId, SwitchboxOp | ShimMuxOp], place: TileId) -> SSAValue | None:
    op = ops.get(place)
    return None if op is None else op.result


def write_circuits(interconnect: Interconnect, routes: Iterable[NetRoute]) -> None:
    """Replace the flows of circuits by their routes, in the order of the flows."""
    by_source = {route.net.source: route for route in routes if route.net.is_circuit}
    requests = {request.op: request for route in by_source.values() for request in route.net.requests}
    for op in ops_of(interconnect.device.body.ops, FlowOp):
        # Flows with one source are one tree, written where the first of them stands.
        route = by_source.pop(requests[op].source, None)
        if route is not None:
            _write_circuit(interconnect, route, requests[op])
        Rewriter.erase_op(op)


def _write_circuit(interconnect: Interconnect, route: NetRoute, request: Request) -> None:
    model, location = interconnect.device.model, request.op.location
    for tile, hops in route.hops.items():
        switch = interconnect.switch(tile, location)
        port = route.net.source.port
        if tile == route.net.source.tile and (entry := input_port(model, tile, port)) != port:
            _multiplex(interconnect, tile, port, multiplexer_side(entry), location)
        for _, source, dest in hops:
            entry, left = input_port(model, tile, source), output_port(model, tile, dest)
            if left != dest:
                _multiplex(interconnect, tile, multiplexer_side(left), dest, location)
            append_to(switch.connections.block, ConnectOp(entry, left), location)


def _multiplex(interconnect: Interconnect, tile: TileId, source: Port, dest: Port, location: LocationAttr) -> None:
    if not interconnect.has_multiplexer(tile):  # a shim without NoC has the logic's ports there
        return
    multiplexer = interconnect.multiplexer(tile, location)
    if (source, dest) not in connections_in(multiplexer):
        append_to(multiplexer.connections.block, ConnectOp(source, dest), location)


def input_port(model: DeviceModel, tile: TileId, port: Port) -> Port:
    """The port of the switch through which data from some port of a tile comes in."""
    channel = SHIM_MUX_ENTRIES.get(port) if model.is_shim_tile(*tile) else None
    return port if channel is None else Port(WireBundle.South, channel)


def output_port(model: DeviceModel, tile: TileId, port: Port) -> Port:
    """The port of the switch through which data for some port of a tile goes out."""
    channel = SHIM_MUX_EXITS.get(port) if model.is_shim_tile(*tile) else None
    return port if channel is None else Port(WireBundle.South, channel)


def multiplexer_side(port: Port) -> Port:
    """A South port of the switch as its multiplexer sees it."""
    return Port(WireBundle.North, port.channel)
