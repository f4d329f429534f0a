"""Proves that nets cannot run beside each other, by showing the ports between their sources and destinations.

Pretend that it does not matter which source ends up at which destination, and that of several destinations a net needs
only one. If even then fewer paths than nets exist that have no port in common, there is no routing. What is full then
is a smallest set of ports that separates the sources from the destinations (Menger's theorem).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from tilewright.passes.design.create_pathfinder_flows.grid import Grid
from tilewright.passes.design.create_pathfinder_flows.nets import Net, StreamPort

FEWEST_LINKS = 4  # between two tiles, one way
IN, OUT = 0, 1  # before a port, and behind it


class SplitNode(NamedTuple):
    node: int
    side: int


class Bottleneck(Exception):
    """Ports that more nets have to pass than there are ports."""

    def __init__(self, ports: Sequence[StreamPort], nets: Sequence[Net]):
        self.ports, self.nets = ports, nets
        super().__init__(f"{len(nets)} nets through {len(ports)} ports")


class TwoPinNet(NamedTuple):
    """A net and one of its destinations."""

    net: Net
    dest: StreamPort


def check_capacity(grid: Grid, nets: Sequence[Net]) -> None:
    """Raise `Bottleneck` if there is one; `grid` keeps the directions of ports apart.

    Nets that go the same way are looked at by themselves: if others come towards them, too much could be swapped.
    """
    _check_trips(grid, [TwoPinNet(net, net.dests[0]) for net in nets])
    lines = [(axis, line) for axis, size in enumerate((grid.model.columns, grid.model.rows)) for line in range(1, size)]
    for (axis, line), upwards in product(lines, (True, False)):
        trips = [trip for net in nets if (trip := _across(net, axis, line, upwards=upwards))]
        if len(trips) > FEWEST_LINKS:  # fewer fit between any two tiles
            _check_trips(grid, trips)


def _across(net: Net, axis: int, line: int, *, upwards: bool) -> TwoPinNet | None:
    """The trip of a net from one side of a line between columns or rows to the other, if it makes one."""
    if (net.source.tile[axis] >= line) == upwards:
        return None
    dest = next((dest for dest in net.dests if (dest.tile[axis] >= line) == upwards), None)
    return None if dest is None else TwoPinNet(net, dest)


def _check_trips(grid: Grid, trips: Sequence[TwoPinNet]) -> None:
    """Circuits together, then one net of packets at a time beside them: packets might share all links with packets."""
    circuits = [trip for trip in trips if trip.net.is_circuit]
    paths = _DisjointPaths(grid)
    for trip in circuits:
        paths.sinks.add(grid.output(trip.dest))
    for trip in circuits:
        end = paths.search(grid.input(trip.net.source))
        if end is None:
            raise _bottleneck(grid, paths, circuits)
        paths.use(end)
    for trip in trips:
        sink = grid.output(trip.dest)
        if not trip.net.is_circuit and sink not in paths.sinks:
            paths.sinks.add(sink)
            if paths.search(grid.input(trip.net.source)) is None:
                raise _bottleneck(grid, paths, [*circuits, trip])
            paths.sinks.remove(sink)  # the next net may not end here


def _bottleneck(grid: Grid, paths: _DisjointPaths, trips: Sequence[TwoPinNet]) -> Bottleneck:
    """The cut, and the nets that start before it and end behind it."""
    crossing = [
        net
        for net, dest in trips
        if paths.is_before_cut(grid.input(net.source)) and not paths.is_before_cut(grid.output(dest))
    ]
    return Bottleneck(sorted(grid.endpoint(node) for node in paths.cut()), crossing)


class _DisjointPaths:
    """Paths with no node in common, to which more are added by redirecting those that are in the way."""

    def __init__(self, grid: Grid):
        self._grid = grid
        self.sinks: set[int | None] = set()
        self._next: dict[int, int | None] = {}  # of nodes on paths
        self._previous: dict[int, int | None] = {}
        self._reached: dict[SplitNode, SplitNode | None] = {}

    def search(self, source: int | None) -> SplitNode | None:
        """The end of one more path; if there is none, what was reached ends at the cut."""
        assert source is not None, "sources that do not exist are found before"
        start = SplitNode(source, OUT)
        self._reached = {start: None}
        waiting = deque([start])
        while waiting:
            state = waiting.popleft()
            if state.side == IN and state.node in self.sinks and state.node not in self._next:
                return state
            for following in self._onward(state):
                if following not in self._reached:
                    self._reached[following] = state
                    waiting.append(following)
        return None

    def _onward(self, state: SplitNode) -> Iterable[SplitNode]:
        node = state.node
        if state.side == IN:
            if node not in self._next:
                yield SplitNode(node, OUT)
            # A path runs through the port: the only way on is back along it, which redirects that path.
            elif (previous := self._previous[node]) is not None:
                yield SplitNode(previous, OUT)
            return
        if node in self._next:
            yield SplitNode(node, IN)  # the port's own capacity, given back
        # The edge that a path uses is full in this direction.
        after = self._next.get(node)
        yield from (SplitNode(to, IN) for to, _ in self._grid.arcs(node) if to != after)

    def use(self, end: SplitNode) -> None:
        """Use the edges on the way to the end, and no longer those that the way runs along backwards."""
        way = [end]
        while (before := self._reached[way[-1]]) is not None:
            way.append(before)
        steps = [(one, other) for other, one in pairwise(way) if one.node != other.node]
        for one, other in steps:
            if one.side == IN:
                self._next.pop(other.node, None)
                self._previous.pop(one.node, None)
        self._previous.setdefault(way[-1].node, None)
        for one, other in steps:
            if one.side == OUT:
                self._next[one.node], self._previous[other.node] = other.node, one.node
        self._next[end.node] = None

    def cut(self) -> list[int]:
        return [node for node, side in self._reached if side == IN and SplitNode(node, OUT) not in self._reached]

    def is_before_cut(self, node: int | None) -> bool:
        return node is not None and SplitNode(node, OUT) in self._reached
