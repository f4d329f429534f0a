"""Paths are as cheap as any, whatever edges cost."""

from __future__ import annotations

from heapq import heappop, heappush
from random import Random

import pytest

from tilewright.device import TileId, WireBundle, model
from tilewright.dialects.aie.flows import Port
from tilewright.passes.design.create_pathfinder_flows.grid import Grid
from tilewright.passes.design.create_pathfinder_flows.nets import StreamPort
from tilewright.passes.design.create_pathfinder_flows.router import NOWHERE, cheapest_tree

SOURCE = StreamPort(TileId(0, 0), Port(WireBundle.DMA, 0))


def cost(grid: Grid, demand: list[float], before: list[int], source: int, node: int) -> float:
    total = 0.0
    while node != source:
        total += demand[grid.edge(before[node], node)]
        node = before[node]
    return total


def least_costs(grid: Grid, demand: list[float], source: int) -> dict[int, float]:
    """By the book: Dijkstra's algorithm with a heap of distances."""
    settled: dict[int, float] = {}
    heap = [(0.0, source)]
    while heap:
        distance, node = heappop(heap)
        if node not in settled:
            settled[node] = distance
            for following, edge in grid.arcs(node):
                heappush(heap, (distance + demand[edge], following))
    return settled


@pytest.mark.parametrize("compact", [True, False])
def test_all_costs_equal(compact: bool) -> None:
    grid = Grid(model("npu1"), {}, compact=compact)
    source = grid.input(SOURCE)
    assert source is not None
    demand = [1.0] * grid.num_edges
    least = least_costs(grid, demand, source)
    before = cheapest_tree(grid, demand, source, least.keys()).before
    for node, distance in least.items():
        assert cost(grid, demand, before, source, node) == distance


@pytest.mark.parametrize("seed", range(3))
def test_targets_are_found_though_edges_are_dear(seed: int) -> None:
    """A node that becomes cheaper while it waits keeps its place, so paths are not far from the cheapest."""
    grid, random = Grid(model("npu1_2col"), {}, compact=False), Random(seed)
    source = grid.input(SOURCE)
    assert source is not None
    demand = [1.0 + random.random() for _ in range(grid.num_edges)]
    least = least_costs(grid, demand, source)
    before = cheapest_tree(grid, demand, source, least.keys()).before
    for node, distance in least.items():
        assert node == source or before[node] != NOWHERE
        assert cost(grid, demand, before, source, node) <= 1.2 * distance


def test_faithful_grid_never_turns_in_a_port() -> None:
    """Inside a switch edges lead from inputs to outputs, and only links lead on from there."""
    grid = Grid(model("npu1_2col"), {}, compact=False)
    for node, (tile, port) in enumerate(map(grid.endpoint, range(len(grid.tile_of)))):
        is_output = grid.output(StreamPort(tile, port)) == node
        assert all(grid.is_link(edge) == is_output for _, edge in grid.arcs(node))
