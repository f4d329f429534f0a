"""Says why a design cannot be routed: which flows, which ports, and what would help."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NoReturn

from tilewright.device import DeviceModel, TileId
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import Where, fail
from tilewright.passes.design.create_pathfinder_flows.bottleneck import Bottleneck
from tilewright.passes.design.create_pathfinder_flows.endpoints import Clash
from tilewright.passes.design.create_pathfinder_flows.grid import Taken, make_shape
from tilewright.passes.design.create_pathfinder_flows.nets import Endpoint, Net
from tilewright.passes.design.create_pathfinder_flows.router import Congested, Unreachable

Note = tuple[Where, str]
FEW = 6  # as many flows, or places, as are worth naming
NO_ROUTING = "Unable to find a legal routing"
SPREAD_OUT = "move some of these ends to other columns or channels, or let flows share links as packets of one id each"


def explain_clashes(device: DeviceOp, clashes: Sequence[Clash]) -> NoReturn:
    notes: list[Note] = []
    for first, second, text in clashes[:FEW]:
        notes += [(second.op, f"no way for {second}: it and the next one {text}"), (first.op, f"{first}")]
    fail(
        device.location,
        NO_ROUTING,
        *notes,
        (device.location, "use another channel for one of them, or packets with different ids for both"),
    )


def explain_unreachable(device: DeviceOp, error: Unreachable, taken: Mapping[TileId, Taken]) -> NoReturn:
    request = next(request for request in error.net.requests if request.dest == error.dest)
    source, dest, model = request.source, request.dest, device.model
    notes: list[Note] = [(request.op, f"no way for {request}")]
    reasons = [
        *_missing_port(model, source, "enters", make_shape(model, source.tile, compact=False).inputs),
        *_missing_port(model, dest, "leaves", make_shape(model, dest.tile, compact=False).outputs),
        *_taken_port(source, taken.get(source.tile, Taken()).inputs),
        *_taken_port(dest, taken.get(dest.tile, Taken()).outputs),
    ]
    reasons = reasons or [f"no connections of the switches lead from {source} to {dest}"]
    fail(device.location, NO_ROUTING, *notes, *((request.op, reason) for reason in reasons))


def _missing_port(model: DeviceModel, end: Endpoint, verb: str, ports: Collection[Port]) -> Iterator[str]:
    if end.port not in ports:
        kind = model.tile_type(*end.tile)
        yield f"nothing {verb} the streams at {end}: a {kind} has {_list_ports(ports)}"


def _taken_port(end: Endpoint, ports: Collection[Port]) -> Iterator[str]:
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
    for (source, dest), nets in error.meetings[:FEW]:
        notes.append((device.location, f"the way from {source} to {dest} is wanted by {len(nets)} flows"))
        notes += _name_nets(nets)
    fail(device.location, NO_ROUTING, *notes, (device.location, SPREAD_OUT))


def _name_nets(nets: Sequence[Net]) -> list[Note]:
    notes: list[Note] = [(net.requests[0].op, f"one of them is {net.requests[0]}") for net in nets[:FEW]]
    return notes + ([(nets[-1].requests[0].op, f"and {len(nets) - FEW} more")] if len(nets) > FEW else [])
