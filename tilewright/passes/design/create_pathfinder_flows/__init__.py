"""Routes flows: circuits and packets between tiles become settings of the stream switches they pass.

`nets` reads what is wanted; `grid` has the ports of all switches, `router` finds paths that fit beside each other,
`routes` has it search for all nets of a design, and `bottleneck` proves where none can exist. `interconnect` writes
circuits and `packet_switches` packets as operations of the switches. `switch_settings` follows finished settings,
knowing nothing of their origin, so that what was written is checked against what was wanted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple, NoReturn, TypeAlias

from xdsl.ir import Operation

from tilewright.device import DeviceModel, TileId
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import Where, fail, fail_op
from tilewright.passes.design.create_pathfinder_flows.bottleneck import Bottleneck
from tilewright.passes.design.create_pathfinder_flows.grid import TakenPorts, make_shape
from tilewright.passes.design.create_pathfinder_flows.interconnect import (
    Interconnect,
    add_wires,
    input_port,
    output_port,
    write_circuits,
)
from tilewright.passes.design.create_pathfinder_flows.nets import Net, Request, StreamPort, collect_nets, requests_of
from tilewright.passes.design.create_pathfinder_flows.packet_switches import write_packets
from tilewright.passes.design.create_pathfinder_flows.router import Congested, Unreachable
from tilewright.passes.design.create_pathfinder_flows.routes import NetRoute, find_routes
from tilewright.passes.design.create_pathfinder_flows.switch_settings import (
    check_routes,
    read_settings,
    walk,
    wants_header,
)
from tilewright.rewrite.pass_bases import DevicePass

Fits: TypeAlias = "Callable[[Request, Request], bool]"
Note = tuple[Where, str]
FEW = 6  # as many flows, or places, as are worth naming
NO_ROUTING = "Unable to find a legal routing"
SPREAD_OUT = "move some of these ends to other columns or channels, or let flows share links as packets of one id each"


@dataclass(frozen=True)
class CreatePathfinderFlowsPass(DevicePass):
    name = "aie-create-pathfinder-flows"

    route_circuit: bool = field(default=True, metadata={"help": "replace each aie.flow by its route"})
    route_packet: bool = field(default=True, metadata={"help": "configure switches for each aie.packet_flow"})

    def apply_to(self, device: DeviceOp) -> None:
        requests = _without_routed(device, requests_of(device))
        interconnect = Interconnect(device)
        routes = _find_routes(device, requests, interconnect.taken())
        if self.route_circuit:
            write_circuits(interconnect, routes)
        if self.route_packet:
            write_packets(interconnect, routes, requests)
        add_wires(interconnect)
        _check(device, [r for r in requests if (self.route_circuit if r.packet_id is None else self.route_packet)])


def _without_routed(device: DeviceOp, requests: Sequence[Request]) -> list[Request]:
    """Packet flows stay when they are routed: what switches do already need not be done again."""
    settings, model = read_settings(device), device.model
    arrivals = (walk(settings, model, r.source, r.packet_id, [r.dest]).arrivals for r in requests)
    return [request for request, there in zip(requests, arrivals, strict=True) if request.dest not in there]


def _find_routes(device: DeviceOp, requests: Sequence[Request], taken: Mapping[TileId, TakenPorts]) -> list[NetRoute]:
    # Two flows at one port are named here; the router would only see that some edge is overused.
    if clashes := list(find_clashes(device.model, requests)):
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
        # Upstream's words where data does not arrive; what arrives wrongly it does not notice.
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


class Clash(NamedTuple):
    """Two requests that cannot both be met, and why."""

    first: Request
    second: Request
    text: str


def find_clashes(model: DeviceModel, requests: Iterable[Request]) -> Iterator[Clash]:
    """All pairs of a request and the first one before it that it clashes with, at a source or at a destination."""
    entering: dict[StreamPort, list[Request]] = defaultdict(list)
    leaving: dict[StreamPort, list[Request]] = defaultdict(list)
    for request in requests:
        tile, port = request.source
        yield from _clash_at(StreamPort(tile, input_port(model, tile, port)), entering, request, _enter_together)
        tile, port = request.dest
        yield from _clash_at(StreamPort(tile, output_port(model, tile, port)), leaving, request, _leave_together)


def _clash_at(
    where: StreamPort, present: dict[StreamPort, list[Request]], request: Request, fits: Fits
) -> Iterator[Clash]:
    other = next((other for other in present[where] if not fits(other, request)), None)
    present[where].append(request)
    if other is not None:
        yield Clash(other, request, f"both need {where}")


def _enter_together(one: Request, other: Request) -> bool:
    return one.source == other.source and (one.packet_id is None) == (other.packet_id is None)


def _leave_together(one: Request, other: Request) -> bool:
    if one.packet_id is None or other.packet_id is None:
        return one.source == other.source and one.packet_id == other.packet_id
    return one.dest == other.dest


def explain_clashes(device: DeviceOp, clashes: Sequence[Clash]) -> NoReturn:
    notes: list[Note] = []
    # The later one cannot be routed; the one before it is shown as what is in its way.
    for first, second, text in clashes[:FEW]:
        notes += [(second.op, f"no way for {second}: it and the next one {text}"), (first.op, f"{first}")]
    fail(
        device.location,
        NO_ROUTING,
        *notes,
        (device.location, "use another channel for one of them, or packets with different ids for both"),
    )


def explain_unreachable(device: DeviceOp, error: Unreachable, taken: Mapping[TileId, TakenPorts]) -> NoReturn:
    request = next(request for request in error.net.requests if request.dest == error.dest)
    source, dest, model = request.source, request.dest, device.model
    reasons = [
        # A port that no switch of this kind has, or one that the design's own settings use, is the usual cause.
        *_missing_port(model, source, "enters", make_shape(model, source.tile, compact=False).inputs),
        *_missing_port(model, dest, "leaves", make_shape(model, dest.tile, compact=False).outputs),
        *_taken_port(source, taken.get(source.tile, TakenPorts()).inputs),
        *_taken_port(dest, taken.get(dest.tile, TakenPorts()).outputs),
    ]
    reasons = reasons or [f"no connections of the switches lead from {source} to {dest}"]
    texts = [f"no way for {request}", *reasons]
    fail(device.location, NO_ROUTING, *((request.op, text) for text in texts))


def _missing_port(model: DeviceModel, end: StreamPort, verb: str, ports: Collection[Port]) -> Iterator[str]:
    if end.port not in ports:
        yield f"nothing {verb} the streams at {end}: a {model.tile_type(*end.tile)} has {_list_ports(ports)}"


def _taken_port(end: StreamPort, ports: Collection[Port]) -> Iterator[str]:
    if end.port in ports:
        yield f"{end} is used by switch settings that the design has already"


def _list_ports(ports: Iterable[Port]) -> str:
    """`DMA:0-5, South:0-3` and so on."""
    spans: list[str] = []
    for bundle, group in groupby(sorted(ports), key=lambda port: port.bundle):
        channels = [port.channel for port in group]
        spans.append(f"{bundle}:{channels[0]}" + (f"-{channels[-1]}" if len(channels) > 1 else ""))
    return ", ".join(spans)


def explain_bottleneck(device: DeviceOp, error: Bottleneck) -> NoReturn:
    """Nets on one side of a few ports have their destinations on the other."""
    places = [
        f"{_list_ports(end.port for end in ends)} of ({tile.column}, {tile.row})"
        for tile, group in groupby(error.ports, key=lambda end: end.tile)
        if (ends := list(group))
    ]
    full = f"{len(error.nets)} flows have to pass {len(error.ports)} ports, which are full: {'; '.join(places[:FEW])}"
    fail(device.location, NO_ROUTING, (device.location, full), *_name_nets(error.nets), (device.location, SPREAD_OUT))


def explain_congestion(device: DeviceOp, error: Congested) -> NoReturn:
    notes: list[Note] = []
    for (source, dest), nets in error.overused[:FEW]:
        notes.append((device.location, f"the way from {source} to {dest} is wanted by {len(nets)} flows"))
        notes += _name_nets(nets)
    fail(device.location, NO_ROUTING, *notes, (device.location, SPREAD_OUT))


def _name_nets(nets: Sequence[Net]) -> list[Note]:
    notes: list[Note] = [(net.requests[0].op, f"one of them is {net.requests[0]}") for net in nets[:FEW]]
    return notes + ([(nets[-1].requests[0].op, f"and {len(nets) - FEW} more")] if len(nets) > FEW else [])
