"""Routed flows as JSON, for tools that draw them: how busy each switch is, and the switches on the way of each flow."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from tilewright.device import TileId, WireBundle
from tilewright.device.stream_switch import STEPS
from tilewright.dialects.aie.flows import FlowOp, PacketDestOp, PacketFlowOp, PacketSourceOp, Port
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.switchbox import (
    ConnectOp,
    MasterSetOp,
    PacketRuleOp,
    PacketRulesOp,
    ShimMuxOp,
    SwitchboxOp,
)
from tilewright.dialects.aie.tiles import DeviceOp

BOUNDS = {
    "northbound": WireBundle.North,
    "eastbound": WireBundle.East,
    "southbound": WireBundle.South,
    "westbound": WireBundle.West,
}

Source = tuple[TileId, Port]


def flows_to_json(device: DeviceOp) -> str:
    """The document in upstream's layout, one entry a line inside of switches and one route a line."""
    circuits, packets = _flows(device)
    switches = {op.place: op for op in device.body.ops if isinstance(op, SwitchboxOp) and op.place is not None}
    multiplexers = {op.place: op for op in device.body.ops if isinstance(op, ShimMuxOp) and op.place is not None}
    routes = [_route(switches, multiplexers, source, by_packet=False) for source in dict.fromkeys(circuits)]
    routes += [_route(switches, multiplexers, source, by_packet=True) for source in dict.fromkeys(packets)]
    lines = [
        "{",
        *_switch_lines(device, switches),
        f'"total_path_length": {_path_length(switches, multiplexers)},',
        *(f'"route{number}": [ {route} ],' for number, route in enumerate(routes)),
        '"route_all": [],',
        "",
        '"end json": 0',
        "}",
    ]
    return "\n".join(lines)


def _flows(device: DeviceOp) -> tuple[list[Source], list[Source]]:
    """Where circuits and packets come from; a packet flow with several sources counts with the last."""
    circuits: list[Source] = []
    packets: list[Source] = []
    for op in device.body.ops:
        if isinstance(op, FlowOp) and (place := _place(op.source)) is not None:
            circuits.append((place, op.source_port))
        elif isinstance(op, PacketFlowOp):
            # Upstream keeps the last one that it sees.
            source = op.ports_of(PacketSourceOp)[-1]
            if (place := _place(source.tile)) is not None:
                packets.append((place, source.port))
    return circuits, packets


def _place(tile: SSAValue) -> TileId | None:
    owner = tile_of(tile)
    return None if owner is None else owner.place


def _switch_lines(device: DeviceOp, switches: dict[TileId, SwitchboxOp]) -> Iterator[str]:
    sources: Counter[TileId | None] = Counter()
    dests: Counter[TileId | None] = Counter()
    for op in device.body.ops:
        if isinstance(op, FlowOp):
            sources[_place(op.source)] += 1
            dests[_place(op.dest)] += 1
        elif isinstance(op, PacketFlowOp):
            sources.update(_place(port.tile) for port in op.ports_of(PacketSourceOp))
            dests.update(_place(port.tile) for port in op.ports_of(PacketDestOp))
    for place, switch in switches.items():
        yield f'"switchbox{place.column}{place.row}": {{'
        counts = {"col": place.column, "row": place.row}
        counts |= {"source_count": sources[place], "destination_count": dests[place]} | _bounds(switch)
        yield ",\n".join(f'"{name}": {count}' for name, count in counts.items())
        yield "},"


def _bounds(switch: SwitchboxOp) -> dict[str, int]:
    """How many ports of a switch lead each way."""
    # A set: several rules may lead to the same port.
    outputs = {op.dest for op in switch.connections.ops if isinstance(op, ConnectOp | MasterSetOp)}
    bundles = Counter(port.bundle for port in outputs)
    return {name: bundles[bundle] for name, bundle in BOUNDS.items()}


def _path_length(switches: dict[TileId, SwitchboxOp], multiplexers: dict[TileId, ShimMuxOp]) -> int:
    """The links in use; a way out through a shim's multiplexer is none."""
    length = sum(sum(_bounds(switch).values()) for switch in switches.values())
    for place, multiplexer in multiplexers.items():
        if place in switches:
            connects = [op.source for op in multiplexer.connections.ops if isinstance(op, ConnectOp)]
            length -= len({port for port in connects if port.bundle is WireBundle.North})
    return length


def _route(
    switches: dict[TileId, SwitchboxOp], multiplexers: dict[TileId, ShimMuxOp], source: Source, *, by_packet: bool
) -> str:
    """The switches on the way from a source, nearest first, each with the directions in which it is left."""
    waiting = deque([(source[0], _entry(multiplexers.get(source[0]), source[1]))])
    passed: set[Source] = set()
    steps: list[str] = []
    while waiting:
        place, port = waiting.popleft()
        switch = switches.get(place)
        if switch is None or (place, port) in passed:  # an entry is followed once
            continue
        passed.add((place, port))
        connects = [op for op in switch.connections.ops if isinstance(op, ConnectOp) and op.source == port]
        outputs = _packet_outputs(switch, port) if by_packet else [connect.dest for connect in connects]
        if outputs:
            steps.append(json.dumps([[*place], [output.bundle.name for output in outputs]]))
        for output in outputs:
            step = STEPS.get(output.bundle)
            # South of a shim is the outside, not a tile.
            if step is not None and not (place.row == 0 and output.bundle is WireBundle.South):
                onward = TileId(place.column + step[0], place.row + step[1])
                waiting.append((onward, Port(output.bundle.opposite, output.channel)))
    return ", ".join([*steps, "[]"])


def _entry(multiplexer: ShimMuxOp | None, port: Port) -> Port:
    for op in multiplexer.connections.ops if multiplexer is not None else ():
        if isinstance(op, ConnectOp) and op.source == port:
            return Port(op.dest.bundle.opposite, op.dest.channel)
    return port


def _packet_outputs(switch: SwitchboxOp, port: Port) -> Sequence[Port]:
    """One output of those that packets from a port get to, the last: upstream follows no other."""
    outputs: list[Port] = []
    for rules in switch.connections.ops:
        if isinstance(rules, PacketRulesOp) and rules.source == port:
            amsels = {rule.amsel for rule in rules.rules.ops if isinstance(rule, PacketRuleOp)}
            masters = [op for op in switch.connections.ops if isinstance(op, MasterSetOp) and amsels & {*op.amsels}]
            outputs += [masters[-1].dest] if masters else []
    return outputs
