"""Proves that nets cannot run beside each other, by showing the ports between their sources and destinations.

Pretend that it does not matter which source ends up at which destination, and that of several destinations a net needs
only one. If even then fewer paths than nets exist that have no port in common, there is no routing. What is full then
is a smallest set of ports that separates the sources from the destinations (Menger's theorem).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tilewright.passes.routing.grid import Grid
from tilewright.passes.routing.nets import Endpoint, Net

IN, OUT = 0, 1  # before a port, and behind it


class State(NamedTuple):
    node: int
    side: int


class Bottleneck(Exception):
    """Ports that more nets have to pass than there are ports."""

    def __init__(self, ports: Sequence[Endpoint], nets: Sequence[Net]):
        self.ports, self.nets = ports, nets
        super().__init__(f"{len(nets)} nets through {len(ports)} ports")


def check_capacity(grid: Grid, nets: Iterable[Net]) -> None:
    """Raise `Bottleneck` if there is one; `grid` keeps the directions of ports apart."""
    chosen = _that_cannot_share(nets)
    sinks = {grid.output(net.dests[0]) for net in chosen}
    paths = _DisjointPaths(grid, {sink for sink in sinks if sink is not None})
    for net in chosen:
        source = grid.input(net.source)
        if source is not None and not paths.add(source):
            ports = [grid.endpoint(node) for node in paths.cut()]
            crossing = [other for other in chosen if _crosses(grid, paths, other)]
            raise Bottleneck(sorted(ports), crossing)


def _crosses(grid: Grid, paths: _DisjointPaths, net: Net) -> bool:
    return paths.is_before_cut(grid.input(net.source)) and not paths.is_before_cut(grid.output(net.dests[0]))


def _that_cannot_share(nets: Iterable[Net]) -> list[Net]:
    """The circuits and one net of packets, which might share all links with other packets."""
    nets = list(nets)
    return [net for net in nets if net.is_circuit] + [net for net in nets if not net.is_circuit][:1]


class _DisjointPaths:
    """Paths with no node in common, to which more are added by redirecting those that are in the way."""

    def __init__(self, grid: Grid, sinks: set[int]):
        self._grid, self._sinks = grid, sinks
        self._next: dict[int, int | None] = {}  # of nodes on paths
        self._previous: dict[int, int | None] = {}
        self._reached: dict[State, State | None] = {}

    def add(self, source: int) -> bool:
        """One more path; if there is none, what was reached ends at the cut."""
        start = State(source, OUT)
        self._reached = {start: None}
        waiting = deque([start])
        while waiting:
            state = waiting.popleft()
            if state.side == IN and state.node in self._sinks and state.node not in self._next:
                self._apply(state)
                return True
            for following in self._onward(state):
                if following not in self._reached:
                    self._reached[following] = state
                    waiting.append(following)
        return False

    def _onward(self, state: State) -> Iterable[State]:
        node = state.node
        if state.side == IN:
            if node not in self._next:
                yield State(node, OUT)
            elif (previous := self._previous[node]) is not None:
                yield State(previous, OUT)
            return
        if node in self._next:
            yield State(node, IN)
        after = self._next.get(node)
        yield from (State(to, IN) for to, _ in self._grid.arcs(node) if to != after)

    def _apply(self, end: State) -> None:
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
        return [node for node, side in self._reached if side == IN and State(node, OUT) not in self._reached]

    def is_before_cut(self, node: int | None) -> bool:
        return node is not None and State(node, OUT) in self._reached
