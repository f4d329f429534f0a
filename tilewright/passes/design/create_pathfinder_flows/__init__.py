"""Routes flows: circuits and packets between tiles become settings of the stream switches they pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.device import TileId
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.design.create_pathfinder_flows.bottleneck import Bottleneck
from tilewright.passes.design.create_pathfinder_flows.check import check_routes, wants_header
from tilewright.passes.design.create_pathfinder_flows.circuits import write_circuits
from tilewright.passes.design.create_pathfinder_flows.endpoints import find_clashes
from tilewright.passes.design.create_pathfinder_flows.failure import (
    explain_bottleneck,
    explain_clashes,
    explain_congestion,
    explain_unreachable,
)
from tilewright.passes.design.create_pathfinder_flows.grid import Taken
from tilewright.passes.design.create_pathfinder_flows.interconnect import Interconnect, add_wires
from tilewright.passes.design.create_pathfinder_flows.nets import Request, collect_nets, requests_of
from tilewright.passes.design.create_pathfinder_flows.packet_switches import write_packets
from tilewright.passes.design.create_pathfinder_flows.router import Congested, Unreachable
from tilewright.passes.design.create_pathfinder_flows.routes import Route, find_routes
from tilewright.passes.design.create_pathfinder_flows.switch_settings import read_settings
from tilewright.passes.design.create_pathfinder_flows.walk import walk


@dataclass(frozen=True)
class CreatePathfinderFlowsPass(Pass):
    name = "aie-create-pathfinder-flows"
    anchor = "aie.device"

    route_circuit: bool = field(default=True, metadata={"help": "replace each aie.flow by its route"})
    route_packet: bool = field(default=True, metadata={"help": "configure switches for each aie.packet_flow"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        requests = _without_routed(op, requests_of(op))
        interconnect = Interconnect(op)
        routes = _find_routes(op, requests, interconnect.taken())
        if self.route_circuit:
            write_circuits(interconnect, routes)
        if self.route_packet:
            write_packets(interconnect, routes, requests)
        add_wires(interconnect)
        written = [r for r in requests if (self.route_circuit if r.packet_id is None else self.route_packet)]
        _check(op, written)


def _without_routed(device: DeviceOp, requests: Sequence[Request]) -> list[Request]:
    """Packet flows stay when they are routed: what switches do already need not be done again."""
    settings, model = read_settings(device), device.model
    arrivals = (walk(settings, model, r.source, r.packet_id, [r.dest]).arrivals for r in requests)
    return [request for request, there in zip(requests, arrivals, strict=True) if request.dest not in there]


def _find_routes(device: DeviceOp, requests: Sequence[Request], taken: Mapping[TileId, Taken]) -> list[Route]:
    clashes = list(find_clashes(device.model, requests))
    if clashes:
        explain_clashes(device, clashes)
    try:
        return find_routes(device.model, collect_nets(requests), taken)
    except Unreachable as error:
        explain_unreachable(device, error, taken)
    except Bottleneck as error:
        explain_bottleneck(device, error)
    except Congested as error:
        explain_congestion(device, error)


def _check(device: DeviceOp, requests: Sequence[Request]) -> None:
    """Follow what was written from end to end: a flow that gets lost is an error, never a surprise on the device."""
    for request, text, misses in check_routes(read_settings(device), device.model, requests):
        if misses:
            fail_op(
                request.op,
                f"packet flow source {request.source} could not be routed to destination {request.dest}; the "
                "pathfinder produced an incomplete routing for this placement.",
                (request.op, text),
            )
        fail(request.op, f"{request} {text}", *_other_headers(request, requests))


def _other_headers(request: Request, requests: Sequence[Request]) -> list[tuple[Operation, str]]:
    """The flows that end at the same port and want packet headers where this one does not, or the other way round."""
    sharing = (other for other in requests if other.dest == request.dest and other.packet_id is not None)
    others = {other.op: other for other in sharing if wants_header(other) != wants_header(request)}
    return [(op, f"{other} has the same destination and another keep_pkt_header") for op, other in others.items()]
