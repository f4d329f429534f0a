"""The cheapest paths from one port to others.

Among paths of equal cost the one that is found is upstream's: neighbours are visited in the same order, and candidates
wait in the same heap, four children to a parent, in which a node keeps its place when its distance shrinks, and the
source waits a second time if it leads to itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tilewright.passes.design.create_pathfinder_flows.grid import Grid

UNREACHED = float("inf")
LEAST_DEMAND = 1.0  # no edge costs less, so a node cannot improve ports that are less than this farther away
NOWHERE = -1


class Search(NamedTuple):
    """The node before each node on the cheapest path from the source, as far as targets need it."""

    before: list[int]
    last: int  # the target that was found last


def cheapest_tree(
    grid: Grid, demand: Sequence[float], source: int, targets: Collection[int], *, only_nearest: bool = False
) -> Search:
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
                    keys[heap.index(following)] = there
            elif is_first and following == source:
                _push(heap, keys, source, 0.0)
        is_first = False
        if not all_known:
            first, after = outputs_of[tile]
            farthest[tile] = max(distance[first:after])
    return Search(before, last)


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
