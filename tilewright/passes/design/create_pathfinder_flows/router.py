"""Routing all nets beside each other: each takes its cheapest paths, and what two of them took becomes dearer.

Every round starts over, until no edge carries more than it can. An edge that is in use costs more for the nets that
follow, one that was overused costs more in all later rounds. Numbers and their order are upstream's, so that the same
design gets the same routes.

Among paths of equal cost `cheapest_tree` finds upstream's: neighbours are visited in the same order, and candidates
wait in the same heap, four children to a parent, in which a node keeps its place when its distance shrinks, and the
source waits a second time if it leads to itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tilewright.passes.design.create_pathfinder_flows.grid import Grid
from tilewright.passes.design.create_pathfinder_flows.nets import Net, StreamPort

OVERUSED = 0.1  # dearer by this for every round in which nets met here
OVERUSED_FAITHFUL = 0.5  # where upstream's routes are not to be had, nets get out of each other's way sooner
USED = 0.02  # dearer by this for every net here in the round before
CROWDED = 1.1  # times dearer for every net here in this round
RESERVED = float(2**31 - 1)  # the same where a net with priority runs
DEAREST = 1e300  # so that sums stay finite
MAX_PACKET_NETS = 32  # on one edge
UNREACHED = float("inf")
LEAST_DEMAND = 1.0  # no edge costs less, so a node cannot improve ports that are less than this farther away
NOWHERE = -1


@dataclass
class NetTree:
    """How a net runs: the pairs of nodes it connects inside switches, and the nodes on the way to each destination."""

    net: Net
    crossings: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    paths: dict[StreamPort, list[int]] = field(default_factory=dict[StreamPort, list[int]])


class Unreachable(Exception):
    """There is no path to a destination, whatever the other nets do."""

    def __init__(self, net: Net, dest: StreamPort):
        self.net, self.dest = net, dest
        super().__init__(f"{net.source} does not reach {dest}")


class OverusedEdge(NamedTuple):
    """An edge between two ports that several nets use."""

    ends: tuple[StreamPort, StreamPort]
    nets: list[Net]


class Congested(Exception):
    """Nets still met, between these ports, when the rounds were over."""

    def __init__(self, overused: list[OverusedEdge]):
        self.overused = overused
        super().__init__(f"{len(overused)} edges are overused")


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
        self._leaders = {} if grid.compact else same_packets(nets)  # upstream never joins nets that send the same

    def route(self, rounds: int) -> list[NetTree]:
        """Try for some rounds, or for some more after earlier ones."""
        trees: list[NetTree] = []
        overused: list[int] = []
        for _ in range(rounds):
            trees = self._round()
            overused = [edge for edge, count in self._used.items() if count > 1]
            if not overused:
                return trees
            for edge in overused:
                self._overused[edge] += 1
        raise Congested(_overused_edges(self.grid, trees, overused))

    def _round(self) -> list[NetTree]:
        self._demand = [LEAST_DEMAND] * self.grid.num_edges
        for edge in self._used.keys() | self._overused.keys():
            # Negotiated congestion: what was overused in any round stays dearer in all that follow.
            history = 1.0 + self._memory * self._overused.get(edge, 0)
            self._demand[edge] = history * (1.0 + USED * self._used.get(edge, 0))
        self._used = {}
        self._occupancy = Occupancy(self.nets, self._apart)
        self._trunks: dict[int, dict[int, list[int]]] = {}
        trees: dict[int, NetTree] = {}
        for numbers in self._groups.values():
            self._sharing: dict[int, int] = {}
            for number in numbers:
                trees[number] = self._join(number) or self._route_net(number)
                self._extend_trunk(number, trees[number])
            self._close_group()
        return [trees[number] for number in range(len(self.nets))]

    def _route_net(self, number: int) -> NetTree:
        net, grid, targets = self.nets[number], self.grid, self._targets[number]
        source = grid.input(net.source)
        wanted = {target for target in targets.values() if target is not None}
        before = [] if source is None else cheapest_tree(grid, self._demand, source, wanted).before
        tree, traced = NetTree(net), {source}
        for dest, target in targets.items():
            if source is None or target is None or (before[target] == NOWHERE and target != source):
                raise Unreachable(net, dest)
            # The compact grid has one node for both directions of a port: data goes out where it came in.
            if target == source:
                tree.crossings.append((source, target))
            self._trace(number, tree, target, before, traced)
            tree.paths[dest] = _path(source, target, before)
        return tree

    def _join(self, number: int) -> NetTree | None:
        """Lead a net to the nearest output of one that sends the same packets to the same place, if there is one."""
        net, trunk = self.nets[number], self._trunks.get(self._leaders.get(number, number))
        source = self.grid.input(net.source)
        if trunk is None or source is None:
            return None
        found = cheapest_tree(self.grid, self._demand, source, trunk.keys(), only_nearest=True)
        if found.last == NOWHERE:
            return None
        tree = NetTree(net)
        self._trace(number, tree, found.last, found.before, {source})
        tree.paths[net.dests[0]] = _path(source, found.last, found.before) + trunk[found.last]
        return tree

    def _extend_trunk(self, number: int, tree: NetTree) -> None:
        """Remember what follows on each output of a net that others may join."""
        if number in self._leaders:
            path = tree.paths[tree.net.dests[0]]
            trunk = self._trunks.setdefault(self._leaders[number], {})
            # outputs have odd places
            trunk |= {node: path[index + 1 :] for index, node in enumerate(path) if index % 2}

    def _trace(self, number: int, tree: NetTree, node: int, before: list[int], traced: set[int | None]) -> None:
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
        # All edges in use, also by earlier groups: upstream raises each of them at the end of every group.
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


def _overused_edges(grid: Grid, trees: Sequence[NetTree], overused: Sequence[int]) -> list[OverusedEdge]:
    found = {edge: OverusedEdge(grid.ends(edge), []) for edge in overused}
    for tree in trees:
        edges = {grid.edge(*step) for path in tree.paths.values() for step in pairwise(path)}
        for edge in edges & found.keys():
            found[edge].nets.append(tree.net)
    return list(found.values())


def kept_apart(nets: Sequence[Net], *, with_itself: bool) -> list[int]:
    """For each net, as bits, those with the same first packet id: a switch could not tell them apart.

    That is exact for nets of one id each. Upstream applies it to nets of several, and to the branches of one.
    """
    alike: dict[int | None, int] = {}
    for number, net in enumerate(nets):
        alike[net.first_id] = alike.get(net.first_id, 0) | 1 << number
    return [alike[net.first_id] & ~(0 if with_itself else 1 << number) for number, net in enumerate(nets)]


def same_packets(nets: Sequence[Net]) -> dict[int, int]:
    """Nets of packets to a single place, and the first of them that sends the same packets to the same place."""
    first: dict[object, int] = {}
    return {
        number: first.setdefault((net.first_id, net.dests[0]), number)
        for number, net in enumerate(nets)
        if len(net.dests) == 1 and not net.is_circuit
    }


class Occupancy:
    """The packet nets at each port, and the group that came there last."""

    def __init__(self, nets: Sequence[Net], apart: Sequence[int]):
        self._nets, self._apart = nets, apart
        self._present: dict[int, int] = {}
        self._group: dict[int, tuple[int, int]] = {}
        self._time = 0

    def join(self, number: int, ports: Sequence[int]) -> bool:
        """Let a net use ports at which only its group is, and no net it must be kept apart from."""
        group, present = self._nets[number].group, 0
        for port in ports:
            present |= self._present.get(port, 0)
        # The group that came to any of these ports last holds them all.
        _, holder = max((self._group[port] for port in ports if port in self._group), default=(0, group))
        if holder != group or present & self._apart[number]:
            return False
        self._time += 1
        for port in ports:
            self._present[port] = self._present.get(port, 0) | 1 << number
            self._group[port] = self._time, group
        return True


class ShortestPaths(NamedTuple):
    """The node before each node on the cheapest path from the source, as far as targets need it."""

    before: list[int]
    last: int  # the target that was found last


def cheapest_tree(
    grid: Grid, demand: Sequence[float], source: int, targets: Collection[int], *, only_nearest: bool = False
) -> ShortestPaths:
    """Search until all targets are found, or the one that costs least."""
    size = len(grid.tile_of)
    distance = [UNREACHED] * size
    before = [NOWHERE] * size
    settled = bytearray(size)
    farthest = [UNREACHED] * len(grid.tiles)  # of the outputs of a tile, when they were last looked at
    tile_of, outputs_of, links, arcs_of = grid.tile_of, grid.outputs_of, grid.links, grid.arcs
    missing, last = set(targets), NOWHERE
    distance[source] = 0.0
    heap, keys = [source], [0.0]  # keys are the distances of what is in the heap
    is_first = True
    while heap and missing:
        node, moved, weight = heap[0], heap.pop(), keys.pop()
        length = len(heap)
        if length:
            # heapq has two children to a parent, which would choose others among paths of equal cost.
            index, child = 0, 1
            while child < length:
                children = keys[child : child + 4]
                least = min(children)
                if least >= weight:
                    break
                best = child + children.index(least)
                heap[index], keys[index] = heap[best], least
                index, child = best, 4 * best + 1
            heap[index], keys[index] = moved, weight
        settled[node] = 1
        if node in missing:
            missing.discard(node)
            last = node
            if only_nearest:
                break
        here = distance[node]
        tile = tile_of[node]
        all_known = here + LEAST_DEMAND >= farthest[tile]
        if all_known:
            link = links[node]
            arcs = () if link is None else (link,)
        else:
            arcs = arcs_of(node)
        for following, edge in arcs:
            there = here + demand[edge]
            known = distance[following]
            if there < known and not settled[following]:
                distance[following] = there
                before[following] = node
                if known == UNREACHED:
                    _push(heap, keys, following, there)
                else:
                    keys[heap.index(following)] = there  # not moved up, as in upstream's heap
            elif is_first and following == source:
                _push(heap, keys, source, 0.0)
        is_first = False
        if not all_known:
            first, after = outputs_of[tile]
            # As long as this is not much farther than a node, the node cannot improve the outputs of its tile.
            farthest[tile] = max(distance[first:after])
    return ShortestPaths(before, last)


def _push(heap: list[int], keys: list[float], node: int, weight: float) -> None:
    """Add a node at the end; it rises above larger ones."""
    index = len(heap)
    heap.append(node)
    keys.append(weight)
    while index:
        parent = (index - 1) >> 2
        if weight >= keys[parent]:
            break
        heap[index], keys[index] = heap[parent], keys[parent]
        index = parent
    heap[index], keys[index] = node, weight
