"""The order in which transfers of several channels start: each as far along as the others, so that none has to wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from tilewright.device import DmaDirection
from tilewright.passes.air.air_opt_shim_dma_bds.cost import Move
from tilewright.passes.air.shim.host_transfers import ShimChannel


class Place(NamedTuple):
    """Where in the order a transfer belongs; reads of host memory take longest to begin, so they go first."""

    done: float
    receives: bool
    number: int


def in_step(moves: Sequence[Move]) -> list[int]:
    """The transfers by how much of its data their channel has moved before; each channel keeps its own order.

    Whoever takes data from several channels takes it at one pace: a channel that ran far ahead would wait for data of
    others, and the host, waiting for that channel, would never start those.
    """
    totals: dict[ShimChannel, int] = defaultdict(int)
    for move in moves:
        totals[move.channel] += move.words * move.runs
    done: dict[ShimChannel, int] = defaultdict(int)
    place: list[Place] = []
    for number, move in enumerate(moves):
        receives = move.channel.direction is DmaDirection.S2MM
        place.append(Place(done[move.channel] / max(1, totals[move.channel]), receives, number))
        done[move.channel] += move.words * move.runs
    return _sorted(moves, place)


def reads_first(moves: Sequence[Move]) -> list[int]:
    """What is read from host memory, then what is written."""
    return sorted(range(len(moves)), key=lambda number: moves[number].channel.direction is DmaDirection.S2MM)


def _sorted(moves: Sequence[Move], place: Sequence[Place]) -> list[int]:
    """By place, but each after what it needs and after those before it on its channel."""
    waits = [0] * len(moves)
    followers: dict[int, list[int]] = defaultdict(list)
    last: dict[ShimChannel, int] = {}
    for number, move in enumerate(moves):
        before = {*move.after, *([last[move.channel]] if move.channel in last else [])}
        for other in before:
            followers[other].append(number)
        waits[number] = len(before)
        last[move.channel] = number
    ready = [place[number] for number in range(len(moves)) if not waits[number]]
    heapify(ready)
    order: list[int] = []
    while ready:
        number = heappop(ready).number
        order.append(number)
        for follower in followers[number]:
            waits[follower] -= 1
            if not waits[follower]:
                heappush(ready, place[follower])
    return order


def reordered(moves: Sequence[Move], order: Sequence[int]) -> list[Move]:
    """The transfers in another order."""
    place = {number: new for new, number in enumerate(order)}
    return [moves[number]._replace(after=tuple(place[source] for source in moves[number].after)) for number in order]
