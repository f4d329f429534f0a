"""Finds routes for all nets of a design, and makes sure that they do what was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.device import DeviceModel, TileId
from tilewright.dialects.aie.flows import Port
from tilewright.passes.design.create_pathfinder_flows.bottleneck import check_capacity
from tilewright.passes.design.create_pathfinder_flows.grid import Grid, TakenPorts
from tilewright.passes.design.create_pathfinder_flows.nets import Net, StreamPort, split_by_id
from tilewright.passes.design.create_pathfinder_flows.router import Congested, NetTree, Router
from tilewright.passes.design.create_pathfinder_flows.switch_settings import (
    PacketRule,
    SwitchHop,
    SwitchSettings,
    check_routes,
)

ALL_BITS = -1  # a mask under which an id matches only itself
PATIENCE = 20  # rounds before it is asked whether there is a routing at all
MAX_ROUNDS = 1000  # upstream's limit
FAITHFUL_ROUNDS = 100
MAX_EFFORT = 100_000  # rounds x nets x tiles, a limit on the time


@dataclass
class NetRoute:
    """How a net runs: the connections of each switch, and those on the way to each destination."""

    net: Net
    hops: dict[TileId, list[SwitchHop]]
    ways: dict[StreamPort, list[SwitchHop]]


def find_routes(model: DeviceModel, nets: Sequence[Net], taken: Mapping[TileId, TakenPorts]) -> list[NetRoute]:
    """A route for each net, upstream's where they are sound; raises `Unreachable`, `Bottleneck` or `Congested`."""
    compact = Grid(model, taken, compact=True)
    router = Router(compact, nets)
    try:
        try:
            trees = router.route(PATIENCE)
        except Congested:
            # Most designs that can be routed are done by now; for the others a proof is cheaper than all rounds.
            check_capacity(Grid(model, taken, compact=False), nets)
            trees = router.route(_rounds(compact, nets, MAX_ROUNDS) - PATIENCE)
        # The compact grid has paths that no hardware has: out of a port and straight back in.
        if all(_alternates(compact, path) for tree in trees for path in tree.paths.values()):
            routes = [_route(compact, tree) for tree in trees]
            requests = [request for net in nets for request in net.requests]
            if not check_routes(settings_of(routes), model, requests, headers=False):
                return routes
    except Congested:
        pass  # the compact grid and upstream's rules for sharing forbid some of what the hardware can do
    faithful = Grid(model, taken, compact=False)
    nets = split_by_id(nets)
    trees = Router(faithful, nets).route(_rounds(faithful, nets, FAITHFUL_ROUNDS))
    return [_route(faithful, tree) for tree in trees]


def _rounds(grid: Grid, nets: Sequence[Net], limit: int) -> int:
    """How long to try: at least twice as long as it takes to become doubtful."""
    return min(limit, 2 * PATIENCE + MAX_EFFORT // (len(grid.tiles) * len(nets) or 1))


def _alternates(grid: Grid, path: Sequence[int]) -> bool:
    """Whether a path crosses a switch, a link, a switch and so on, as data does."""
    steps = list(pairwise(path))
    links = [grid.is_link(grid.edge(*step)) for step in steps]
    exists = all(any(arc[0] == following for arc in grid.arcs(node)) for node, following in steps)
    return exists and links == [bool(number % 2) for number in range(len(links))] and not links[-1]


def _route(grid: Grid, tree: NetTree) -> NetRoute:
    hops: dict[TileId, list[SwitchHop]] = {}
    for node, following in tree.crossings:
        hop = _hop(grid, node, following)
        hops.setdefault(hop.tile, []).append(hop)
    # every other step is a link
    ways = {dest: [_hop(grid, *step) for step in list(pairwise(path))[::2]] for dest, path in tree.paths.items()}
    return NetRoute(tree.net, dict(sorted(hops.items())), ways)


def _hop(grid: Grid, node: int, following: int) -> SwitchHop:
    return SwitchHop(*grid.endpoint(node), grid.endpoint(following).port)


def settings_of(routes: Iterable[NetRoute]) -> SwitchSettings:
    """What routes have the switches do, each packet id by a rule of its own."""
    settings = SwitchSettings()
    by_id: dict[StreamPort, dict[int, dict[Port, None]]] = {}
    for route in routes:
        for request in route.net.requests:
            for hop in route.ways[request.dest]:
                entry = StreamPort(hop.tile, hop.source)
                if request.packet_id is not None:
                    by_id.setdefault(entry, {}).setdefault(request.packet_id, {})[hop.dest] = None
                elif hop.dest not in settings.circuits[entry]:
                    settings.circuits[entry].append(hop.dest)
    for entry, outputs in by_id.items():
        settings.rules[entry] = [PacketRule(ALL_BITS, packet_id, tuple(ports)) for packet_id, ports in outputs.items()]
    return settings
