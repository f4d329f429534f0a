"""The array's stream switches as a graph of numbered ports.

A node is a port of a tile's switch. Inside a switch, edges lead from ports where data enters to ports where it leaves;
between switches, links join a port to the one it faces. What tiles of a kind have in common is worked out once; edges
of a node are spelt out when a search first reaches it.

In a compact grid both directions of a port are one node, as in upstream's router, whose choices among equal paths come
from that. Such a graph has paths that no hardware has, out of a port and straight back in. A faithful grid keeps the
directions apart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeAlias

from tilewright.device import DeviceModel, DeviceName, TileId, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_MUX_ENTRIES, SHIM_MUX_EXITS, STEPS
from tilewright.dialects.aie.flows import Port
from tilewright.passes.design.create_pathfinder_flows.nets import StreamPort

Arc: TypeAlias = "tuple[int, int]"
"""The node an edge leads to, and the edge's number."""
_Kind: TypeAlias = "tuple[TileType, frozenset[WireBundle]]"
_Count: TypeAlias = "Callable[[int, int, WireBundle], int]"


class TakenPorts(NamedTuple):
    """Ports of a switch that settings already in the design use."""

    inputs: Collection[Port] = ()
    outputs: Collection[Port] = ()


class SwitchShape(NamedTuple):
    """The nodes and edges in any switch of a kind, numbered from 0; the nodes of outputs come first."""

    inputs: Mapping[Port, int]
    outputs: Mapping[Port, int]
    ports: list[Port]
    exits: list[list[Arc]]  # of each node, by the order of the ports they lead to


_SHAPES: dict[tuple[DeviceName, bool], dict[_Kind, SwitchShape]] = {}
"""Shapes of a device's switches, by kind of tile and the sides on which it has neighbours: they never change."""


class Grid:
    def __init__(self, model: DeviceModel, taken: Mapping[TileId, TakenPorts], *, compact: bool):
        self.model, self.compact = model, compact
        self._taken = taken
        self._shapes = _SHAPES.setdefault((model.name, compact), {})
        self.shape_at: dict[TileId, SwitchShape] = {}
        self.first_node: dict[TileId, int] = {}
        self._first_edges: list[int] = []  # by index of the tile
        self.tiles: list[TileId] = []
        self.tile_of: list[int] = []  # index into tiles, for each node
        self.outputs_of: list[tuple[int, int]] = []  # range of a tile's output nodes
        edges = 0
        for tile in model.tiles:
            shape = self.shape_at[tile] = self._shape(tile)
            first = self.first_node[tile] = len(self.tile_of)
            self._first_edges.append(edges)
            edges += len(shape.ports) * len(shape.outputs)  # all pairs: an edge's number follows from its nodes
            self.outputs_of.append((first, first + len(shape.outputs)))
            self.tile_of += [len(self.tiles)] * len(shape.ports)
            self.tiles.append(tile)
        self.num_edges = edges + len(self.tile_of)  # at most one link leads away from each node
        self._first_link = edges
        self.links: list[Arc | None] = [None] * len(self.tile_of)
        for tile in self.tiles:
            self._link(tile)
        self._arcs: list[tuple[Arc, ...] | None] = [None] * len(self.tile_of)

    def _shape(self, tile: TileId) -> SwitchShape:
        ways = frozenset(bundle for bundle, (right, up) in STEPS.items() if self._is_inside(tile, right, up))
        kind = self.model.tile_type(*tile), ways
        if kind not in self._shapes:
            self._shapes[kind] = make_shape(self.model, tile, compact=self.compact)
        return self._shapes[kind]

    def _is_inside(self, tile: TileId, right: int, up: int) -> bool:
        return self.model.is_valid_tile(tile.column + right, tile.row + up)

    def _link(self, tile: TileId) -> None:
        for port, local in self.shape_at[tile].outputs.items():
            step = STEPS.get(port.bundle)
            if step is None or not self._is_inside(tile, *step):
                continue
            facing = TileId(tile.column + step[0], tile.row + step[1])
            entry = self.shape_at[facing].inputs.get(Port(port.bundle.opposite, port.channel))
            if entry is not None:
                node = self.first_node[tile] + local
                self.links[node] = (self.first_node[facing] + entry, self._first_link + node)

    def input(self, end: StreamPort) -> int | None:
        return self._node(end, self.shape_at[end.tile].inputs)

    def output(self, end: StreamPort) -> int | None:
        return self._node(end, self.shape_at[end.tile].outputs)

    def _node(self, end: StreamPort, ports: Mapping[Port, int]) -> int | None:
        local = ports.get(end.port)
        return None if local is None else self.first_node[end.tile] + local

    def endpoint(self, node: int) -> StreamPort:
        tile = self.tiles[self.tile_of[node]]
        return StreamPort(tile, self.shape_at[tile].ports[node - self.first_node[tile]])

    def edge(self, node: int, following: int) -> int:
        """The number of the edge from a node to one it leads to."""
        tile = self.tile_of[node]
        if tile != self.tile_of[following]:
            return self._first_link + node
        first, after = self.outputs_of[tile]
        return self._first_edges[tile] + (node - first) * (after - first) + following - first

    def is_link(self, edge: int) -> bool:
        return edge >= self._first_link

    def ends(self, edge: int) -> tuple[StreamPort, StreamPort]:
        """The ports at both ends of an edge that some search has used."""
        if self.is_link(edge):
            node = edge - self._first_link
            arc = self.links[node]
            assert arc is not None
            return self.endpoint(node), self.endpoint(arc[0])
        node = self.start(edge)
        tile = self.tile_of[node]
        first, after = self.outputs_of[tile]
        dest = (edge - self._first_edges[tile]) % (after - first)
        return self.endpoint(node), self.endpoint(first + dest)

    def start(self, edge: int) -> int:
        """The node that an edge leads away from."""
        if self.is_link(edge):
            return edge - self._first_link
        tile = bisect_right(self._first_edges, edge) - 1
        first, after = self.outputs_of[tile]
        return first + (edge - self._first_edges[tile]) // (after - first)

    def arcs(self, node: int) -> tuple[Arc, ...]:
        """The edges of a node: a link to the south or west, those in the switch, a link to the north or east."""
        known = self._arcs[node]
        if known is None:
            known = self._arcs[node] = tuple(self._spell_out(node))
        return known

    def _spell_out(self, node: int) -> list[Arc]:
        end, link = self.endpoint(node), self.links[node]
        first, edge = self.first_node[end.tile], self._first_edges[self.tile_of[node]]
        shape, taken = self.shape_at[end.tile], self._taken.get(end.tile, TakenPorts())
        exits = [] if end.port in taken.inputs else shape.exits[node - first]
        arcs = [(first + to, edge + number) for to, number in exits if shape.ports[to] not in taken.outputs]
        if link is None:
            return arcs
        # Upstream visits neighbours in this order, which decides between paths of equal cost.
        before = end.port.bundle in (WireBundle.South, WireBundle.West)
        return [link, *arcs] if before else [*arcs, link]


def make_shape(model: DeviceModel, tile: TileId, *, compact: bool) -> SwitchShape:
    """The switch of a tile with, on a shim, the ports that its multiplexer adds below."""
    inputs = _ports(tile, model.num_switchbox_sources, model.num_shim_mux_sources)
    outputs = _ports(tile, model.num_switchbox_dests, model.num_shim_mux_dests)
    output_nodes = {port: number for number, port in enumerate(outputs)}
    ports = [*outputs, *(port for port in inputs if not compact or port not in output_nodes)]
    extra = {port: len(outputs) + number for number, port in enumerate(ports[len(outputs) :])}
    input_nodes = {port: output_nodes[port] if compact and port in output_nodes else extra[port] for port in inputs}
    exits: list[list[Arc]] = [[] for _ in ports]
    for port, node in input_nodes.items():
        edge = node * len(outputs)
        exits[node] = [(to, edge + to) for dest, to in output_nodes.items() if _connects(model, tile, port, dest)]
    return SwitchShape(input_nodes, output_nodes, ports, exits)


def _ports(tile: TileId, in_switch: _Count, in_multiplexer: _Count) -> list[Port]:
    # A shim's switch has no DMA, NoC or PL ports: what the multiplexer calls so are South ports of the switch.
    counts = {bundle: in_switch(*tile, bundle) or in_multiplexer(*tile, bundle) for bundle in WireBundle}
    return [Port(bundle, channel) for bundle, count in counts.items() for channel in range(count)]


def _connects(model: DeviceModel, tile: TileId, source: Port, dest: Port) -> bool:
    """The multiplexer's ports are South ports of the switch by other names, which reach everything there."""
    below = model.is_shim_tile(*tile) and (source in SHIM_MUX_ENTRIES or dest in SHIM_MUX_EXITS)
    return below or model.is_legal_tile_connection(*tile, *source, *dest)
