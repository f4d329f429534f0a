"""Writes routed circuits: a connection in each switch on the way, and in the multiplexers at a shim."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import LocationAttr

from tilewright.device import TileId
from tilewright.dialects.aie.flows import FlowOp, Port
from tilewright.dialects.aie.switchbox import ConnectOp
from tilewright.passes.design.create_pathfinder_flows.interconnect import Interconnect, append, connections_in
from tilewright.passes.design.create_pathfinder_flows.nets import Request
from tilewright.passes.design.create_pathfinder_flows.routes import Route
from tilewright.passes.design.create_pathfinder_flows.shim import input_port, multiplexer_side, output_port


def write_circuits(interconnect: Interconnect, routes: Iterable[Route]) -> None:
    """Replace the flows of circuits by their routes, in the order of the flows."""
    by_source = {route.net.source: route for route in routes if route.net.is_circuit}
    requests = {request.op: request for route in by_source.values() for request in route.net.requests}
    for op in list(interconnect.device.body.ops):
        if isinstance(op, FlowOp):
            route = by_source.pop(requests[op].source, None)
            if route is not None:
                _write(interconnect, route, requests[op])
            op.detach()
            op.erase()


def _write(interconnect: Interconnect, route: Route, request: Request) -> None:
    model, location = interconnect.device.model, request.op.location
    for tile, hops in route.hops.items():
        switch = interconnect.switch(tile, location)
        if tile == route.net.source.tile:
            _enter(interconnect, tile, route.net.source.port, location)
        for _, source, dest in hops:
            entry, left = input_port(model, tile, source), output_port(model, tile, dest)
            if left != dest and interconnect.has_multiplexer(tile):
                _multiplex(interconnect, tile, multiplexer_side(left), dest, location)
            append(switch.connections.block, [ConnectOp(entry, left)], location)


def _enter(interconnect: Interconnect, tile: TileId, port: Port, location: LocationAttr) -> None:
    entry = input_port(interconnect.device.model, tile, port)
    if entry != port and interconnect.has_multiplexer(tile):
        _multiplex(interconnect, tile, port, multiplexer_side(entry), location)


def _multiplex(interconnect: Interconnect, tile: TileId, source: Port, dest: Port, location: LocationAttr) -> None:
    multiplexer = interconnect.multiplexer(tile, location)
    if (source, dest) not in connections_in(multiplexer):
        append(multiplexer.connections.block, [ConnectOp(source, dest)], location)
