"""How far ahead the host runs: the plan that fits queues and descriptors and takes the least modelled time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.device import TASK_QUEUE_DEPTH, DeviceModel, TileId, TileType
from tilewright.device.timing import timing_of
from tilewright.passes.air.air_opt_shim_dma_bds.cost import Cost, Move, Policy, Step, cost_of, plan
from tilewright.passes.air.shim.host_transfers import ShimChannel

POLICIES = [Policy(window, group) for window in range(TASK_QUEUE_DEPTH, 0, -1) for group in range(1, window + 1)]


@dataclass(frozen=True)
class Choice:
    """A plan, why it is that one, and what it costs."""

    policy: Policy
    steps: list[Step]
    cost: Cost
    waits_are_needed: bool


class NoRoom(Exception):
    """A shim tile has fewer free descriptors than channels in use."""

    def __init__(self, channel: ShimChannel, needed: int, left: int):
        self.channel = channel
        tile = f"({channel.tile.column}, {channel.tile.row})"
        super().__init__(
            f"{channel.direction.name} {channel.number} of shim tile {tile} needs {needed} descriptors, one at a "
            f"time at least, but the {left} that the tile has left are taken by its other channels"
        )


def room_for(moves: Sequence[Move], model: DeviceModel, reserved: Mapping[TileId, int]) -> dict[ShimChannel, int]:
    """How many transfers of each channel may be under way: what its queue holds, and its share of the descriptors."""
    counts = Counter(move.channel for move in moves)
    tiles: dict[TileId, list[ShimChannel]] = defaultdict(list)
    for channel in counts:
        tiles[channel.tile].append(channel)
    room: dict[ShimChannel, int] = {}
    for tile, channels in tiles.items():
        left = model.resources(TileType.ShimNOCTile).bds - reserved.get(tile, 0)
        if left < len(channels):
            raise NoRoom(channels[max(left, 0)], counts[channels[max(left, 0)]], left)
        room |= _shares(channels, counts, left)
    return room


def _shares(channels: Sequence[ShimChannel], counts: Counter[ShimChannel], left: int) -> dict[ShimChannel, int]:
    """Deal out descriptors in turn, until a channel has enough or none are left."""
    shares = dict.fromkeys(channels, 0)
    while left:
        wanting = [c for c in channels if shares[c] < min(TASK_QUEUE_DEPTH, counts[c])]
        if not wanting:
            break
        for channel in wanting[:left]:
            shares[channel] += 1
        left -= min(left, len(wanting))
    return shares


def fit_at_once(moves: Sequence[Move], room: Mapping[ShimChannel, int]) -> bool:
    """Whether all transfers can be under way at the same time."""
    counts = Counter(move.channel for move in moves)
    return all(count <= room[channel] for channel, count in counts.items()) and not any(move.after for move in moves)


def choose(
    moves: Sequence[Move],
    model: DeviceModel,
    reserved: Mapping[TileId, int] | None = None,
    most_waits: int | None = None,
) -> Choice:
    """The plan that takes the least time, then the fewest operations; among those with few waits, if there are any."""
    timing, room = timing_of(model.arch), room_for(moves, model, reserved or {})
    if fit_at_once(moves, room):
        policy = Policy(TASK_QUEUE_DEPTH, TASK_QUEUE_DEPTH)
        steps = plan(moves, policy, room)
        return Choice(policy, steps, cost_of(moves, steps, timing), False)
    found = [(policy, plan(moves, policy, room)) for policy in POLICIES]
    choices = [Choice(policy, steps, cost_of(moves, steps, timing), True) for policy, steps in found]
    if most_waits is not None:
        choices = [choice for choice in choices if choice.cost.waits <= most_waits] or choices
    return min(choices, key=lambda choice: (choice.cost.cycles, choice.cost.operations))
