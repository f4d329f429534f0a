"""Routing all nets beside each other: each takes its cheapest paths, and what two of them took becomes dearer.

Every round starts over, until no edge carries more than it can. An edge that is in use costs more for the nets that
follow, one that was overused costs more in all later rounds. Numbers and their order are upstream's, so that the same
design gets the same routes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tilewright.passes.design.create_pathfinder_flows.grid import Grid
from tilewright.passes.design.create_pathfinder_flows.nets import Endpoint, Net
from tilewright.passes.design.create_pathfinder_flows.search import LEAST_DEMAND, NOWHERE, cheapest_tree
from tilewright.passes.design.create_pathfinder_flows.sharing import Occupancy, kept_apart, same_packets

OVERUSED = 0.1  # dearer by this for every round in which nets met here
OVERUSED_FAITHFUL = 0.5  # where upstream's routes are not to be had, nets get out of each other's way sooner
USED = 0.02  # dearer by this for every net here in the round before
CROWDED = 1.1  # times dearer for every net here in this round
RESERVED = float(2**31 - 1)  # the same where a net with priority runs
DEAREST = 1e300  # so that sums stay finite
MAX_PACKET_NETS = 32  # on one edge


@dataclass
class Tree:
    """How a net runs: the pairs of nodes it connects inside switches, and the nodes on the way to each destination."""

    net: Net
    crossings: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    paths: dict[Endpoint, list[int]] = field(default_factory=dict[Endpoint, list[int]])


class Unreachable(Exception):
    """There is no path to a destination, whatever the other nets do."""

    def __init__(self, net: Net, dest: Endpoint):
        self.net, self.dest = net, dest
        super().__init__(f"{net.source} does not reach {dest}")


class Meeting(NamedTuple):
    """An edge between two ports that several nets use."""

    ends: tuple[Endpoint, Endpoint]
    nets: list[Net]


class Congested(Exception):
    """Nets still met, between these ports, when the rounds were over."""

    def __init__(self, meetings: list[Meeting]):
        self.meetings = meetings
        super().__init__(f"{len(meetings)} edges are overused")


class Router:
    """Routes nets on a grid. On a faithful one they have an id each, and one may join another of the same id."""

    def __init__(self, grid: Grid, nets: Sequence[Net]):
        self.grid, self.nets = grid, nets
        self._memory = OVERUSED if grid.compact else OVERUSED_FAITHFUL
        self._groups: dict[int, list[int]] = defaultdict(list)
        for number, net in enumerate(nets):
            self._groups[net.group].append(number)
        self._has_priority = [net.has_priority for net in nets]
        self._targets = [{dest: grid.output(dest) for dest in net.dests} for net in nets]
        self._apart = kept_apart(nets, with_itself=grid.compact)
        self._used: dict[int, int] = {}  # how often each edge is taken; packet nets that share it count once
        self._overused: dict[int, int] = defaultdict(int)
        self._reserved: dict[int, bool] = {}
        self._leaders = {} if grid.compact else same_packets(nets)

    def route(self, rounds: int) -> list[Tree]:
        """Try for some rounds, or for some more after earlier ones."""
        trees: list[Tree] = []
        overused: list[int] = []
        for _ in range(rounds):
            trees = self._round()
            overused = [edge for edge, count in self._used.items() if count > 1]
            if not overused:
                return trees
            for edge in overused:
                self._overused[edge] += 1
        raise Congested(_meetings(self.grid, trees, overused))

    def _round(self) -> list[Tree]:
        self._demand = [LEAST_DEMAND] * self.grid.num_edges
        for edge in self._used.keys() | self._overused.keys():
            history = 1.0 + self._memory * self._overused.get(edge, 0)
            self._demand[edge] = history * (1.0 + USED * self._used.get(edge, 0))
        self._used = {}
        self._occupancy = Occupancy(self.nets, self._apart)
        self._trunks: dict[int, dict[int, list[int]]] = {}
        trees: dict[int, Tree] = {}
        for numbers in self._groups.values():
            self._sharing: dict[int, int] = {}
            for number in numbers:
                trees[number] = self._join(number) or self._route_net(number)
                self._extend_trunk(number, trees[number])
            self._close_group()
        return [trees[number] for number in range(len(self.nets))]

    def _route_net(self, number: int) -> Tree:
        net, grid, targets = self.nets[number], self.grid, self._targets[number]
        source = grid.input(net.source)
        wanted = {target for target in targets.values() if target is not None}
        before = [] if source is None else cheapest_tree(grid, self._demand, source, wanted).before
        tree, traced = Tree(net), {source}
        for dest, target in targets.items():
            if source is None or target is None or (before[target] == NOWHERE and target != source):
                raise Unreachable(net, dest)
            if target == source:
                tree.crossings.append((source, target))
            self._trace(number, tree, target, before, traced)
            tree.paths[dest] = _path(source, target, before)
        return tree

    def _join(self, number: int) -> Tree | None:
        """Lead a net to the nearest output of one that sends the same packets to the same place, if there is one."""
        net, trunk = self.nets[number], self._trunks.get(self._leaders.get(number, number))
        source = self.grid.input(net.source)
        if trunk is None or source is None:
            return None
        found = cheapest_tree(self.grid, self._demand, source, trunk.keys(), only_nearest=True)
        if found.last == NOWHERE:
            return None
        tree = Tree(net)
        self._trace(number, tree, found.last, found.before, {source})
        tree.paths[net.dests[0]] = _path(source, found.last, found.before) + trunk[found.last]
        return tree

    def _extend_trunk(self, number: int, tree: Tree) -> None:
        """Remember what follows on each output of a net that others may join."""
        if number in self._leaders:
            path = tree.paths[tree.net.dests[0]]
            trunk = self._trunks.setdefault(self._leaders[number], {})
            trunk |= {node: path[index + 1 :] for index, node in enumerate(path) if index % 2}

    def _trace(self, number: int, tree: Tree, node: int, before: list[int], traced: set[int | None]) -> None:
        """Take the edges between a node and what is already part of the tree, last one first."""
        grid = self.grid
        while node not in traced:
            traced.add(node)
            previous = before[node]
            edge = grid.edge(previous, node)
            if grid.is_link(edge):
                self._take(number, edge, [edge])
            else:
                # Packets are told apart where they come into a switch: at the end of a link. Upstream does it here too.
                self._take(number, edge, [~previous, node] if grid.compact else [])
                tree.crossings.append((previous, node))
            node = previous

    def _take(self, number: int, edge: int, ports: list[int]) -> None:
        """Use an edge; `ports` are the numbers of what else this use concerns, an input's being negative."""
        self._reserved[edge] = self._has_priority[number]
        if not self.nets[number].is_circuit and self._occupancy.join(number, ports):
            sharing = self._sharing[edge] = (self._sharing.get(edge, 0) + 1) % MAX_PACKET_NETS
            full = sharing == 0
        else:
            full = True
        if full:
            self._used[edge] = self._used.get(edge, 0) + 1
        self._raise_demand(edge)

    def _close_group(self) -> None:
        """Packet nets that share an edge count as one for the groups that follow."""
        for edge, count in self._sharing.items():
            if count:
                self._used[edge] = self._used.get(edge, 0) + 1
        for edge in self._used:
            self._raise_demand(edge)

    def _raise_demand(self, edge: int) -> None:
        if edge in self._used:
            factor = RESERVED if self._reserved[edge] else CROWDED
            self._demand[edge] = min(self._demand[edge] * factor, DEAREST)


def _path(source: int, node: int, before: Sequence[int]) -> list[int]:
    """The nodes from the source to a node; one that is both its start and its end is there twice."""
    path = [node, node] if node == source else [node]
    while node != source:
        node = before[node]
        path.append(node)
    return path[::-1]


def _meetings(grid: Grid, trees: Sequence[Tree], overused: Sequence[int]) -> list[Meeting]:
    meetings = {edge: Meeting(grid.ends(edge), []) for edge in overused}
    for tree in trees:
        edges = {grid.edge(*step) for path in tree.paths.values() for step in pairwise(path)}
        for edge in edges & meetings.keys():
            meetings[edge].nets.append(tree.net)
    return list(meetings.values())
