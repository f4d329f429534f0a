"""What each switch has to do with packets: which ids come in where, and through which ports they leave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.device import TileId
from tilewright.dialects.aie.flows import Port
from tilewright.passes.design.create_pathfinder_flows.nets import Request
from tilewright.passes.design.create_pathfinder_flows.routes import Route
from tilewright.passes.design.create_pathfinder_flows.switch_settings import Hop


class Arrival(NamedTuple):
    """Packets with one id at an input of a switch."""

    port: Port
    packet_id: int


@dataclass
class PacketSwitch:
    """The packets in one switch, in the order in which the flows ask for them."""

    outputs: dict[Arrival, dict[Port, Request]] = field(default_factory=dict[Arrival, dict[Port, Request]])
    """Where packets leave, and the first flow that wants them there."""
    with_priority: dict[tuple[Port, int], bool] = field(default_factory=dict[tuple[Port, int], bool])
    _order: list[Arrival] = field(default_factory=list[Arrival])

    def add(self, hop: Hop, request: Request) -> None:
        assert request.packet_id is not None
        arrival = Arrival(hop.source, request.packet_id)
        outputs = self.outputs.setdefault(arrival, {})
        if hop.dest not in outputs:
            outputs[hop.dest] = request
            self._order.append(arrival)
        self.with_priority[hop.dest, request.packet_id] = request.has_priority

    def is_control(self, arrival: Arrival) -> bool:
        return any(self.with_priority[output, arrival.packet_id] for output in self.outputs[arrival])

    def control_outputs(self) -> set[Port]:
        return {output for (output, _), priority in self.with_priority.items() if priority}

    def by_importance(self) -> list[Arrival]:
        """Control packets, then others, by port and id."""
        return sorted(self.outputs, key=lambda arrival: (not self.is_control(arrival), arrival))

    def groups(self) -> list[list[Arrival]]:
        """Packets at one port that leave the same way, to be matched together; those asked for last come first."""
        groups: dict[tuple[Port, frozenset[Port]], dict[Arrival, None]] = {}
        for arrival in reversed(self._order):
            groups.setdefault((arrival.port, frozenset(self.outputs[arrival])), {})[arrival] = None
        return [list(group) for group in groups.values()]


def packet_switches(routes: Iterable[Route], requests: Iterable[Request]) -> dict[TileId, PacketSwitch]:
    """The switches that packets pass, by place."""
    by_request = {request: route for route in routes for request in route.net.requests}
    switches: dict[TileId, PacketSwitch] = {}
    for request in requests:
        if request.packet_id is None:
            continue
        route = by_request[request]
        way = set(route.ways[request.dest])
        for tile in {hop.tile: None for hop in route.ways[request.dest]}:
            for hop in route.hops.get(tile, ()):  # the rest of the way is that of a route which this one joins
                if hop in way:
                    switches.setdefault(tile, PacketSwitch()).add(hop, request)
    return dict(sorted(switches.items()))
