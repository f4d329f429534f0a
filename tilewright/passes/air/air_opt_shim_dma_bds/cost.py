"""Cost of a plan of shim transfers, by a small model of the controller, the queues and the channels, and the best plan.

The model knows what the simulator's clock knows (device/timing.py), but looks at whole transfers, not at words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tilewright.device import TASK_QUEUE_DEPTH, DeviceModel, DmaDirection, TileId, TileType
from tilewright.device.layout import WORD_BYTES
from tilewright.device.timing import Timing, timing_of
from tilewright.passes.air.shim.host_transfers import ShimChannel

START_ACCESSES = 8, 3, 1
"""Of the block write and the address patch for the descriptor, and of the write to the queue."""
TOKEN_ACCESSES = (2,)
"""Of the masked write that says where the token goes."""
AWAIT_ACCESSES = (1,)


class Move(NamedTuple):
    """One transfer: its channel, the words of one run of its descriptor, the runs, and what has to end before it."""

    channel: ShimChannel
    words: int
    runs: int = 1
    after: tuple[int, ...] = ()


class Start(NamedTuple):
    """Give a transfer to its channel."""

    move: int


class Await(NamedTuple):
    """Wait for the end of a transfer; descriptors of those before it on its channel are free then too."""

    move: int
    released: tuple[int, ...]


Step: TypeAlias = "Start | Await"


@dataclass(frozen=True)
class PlanCost:
    """What a plan takes."""

    cycles: int
    descriptors: int
    operations: int
    waits: int


@dataclass
class _Channel:
    """Where a channel stands while a plan is gone through."""

    free_at: float = 0.0
    ends: dict[int, float] = field(default_factory=dict[int, float])


def cost_of(moves: Sequence[Move], steps: Sequence[Step], timing: Timing) -> PlanCost:
    """Go through a plan in modelled time."""
    awaited = {step.move for step in steps if isinstance(step, Await)}
    channels = {move.channel: _Channel() for move in moves}
    rates = {channel: _cycles_per_word(channel, channels, timing) for channel in channels}
    now, operations = 0.0, 0
    for step in steps:
        move = moves[step.move]
        channel = channels[move.channel]
        if isinstance(step, Start):
            accesses = START_ACCESSES + (TOKEN_ACCESSES if step.move in awaited else ())
            now += sum(map(timing.operation_cycles, accesses))
            channel.ends[step.move] = _run(channel, move, now, rates[move.channel], timing)
        else:
            accesses = AWAIT_ACCESSES
            # the controller stands still until the token has come
            now = max(now + sum(map(timing.operation_cycles, accesses)), channel.ends[step.move])
            now += timing.cycles(timing.token_ns)
        operations += len(accesses)
    return PlanCost(round(now), len(moves), operations, len(awaited))


def _run(channel: _Channel, move: Move, pushed: float, rate: float, timing: Timing) -> float:
    """When a transfer that was pushed ends."""
    reads = move.channel.direction is DmaDirection.MM2S
    # reads first wait for host memory; writes begin with what the array sends
    begin = max(pushed + (timing.host_read_cycles(len(channel.ends)) if reads else 0), channel.free_at)
    last = 0 if reads else timing.cycles(timing.host_write_ns)
    least = 0 if reads else begin + timing.host_write_cycles(len(channel.ends))
    channel.free_at = max(begin + move.runs * (timing.descriptor + move.words * rate + last), least)
    return channel.free_at


def _cycles_per_word(channel: ShimChannel, active: Collection[ShimChannel], timing: Timing) -> float:
    """A channel's own pace, or its share of the ways to host memory."""
    reads = channel.direction is DmaDirection.MM2S
    own = (timing.host_read_millicycles if reads else timing.host_write_millicycles) / 1000
    sharing = [
        (len(active), timing.host_mb_per_s),
        (sum(other.tile == channel.tile for other in active), timing.column_mb_per_s),
        (sum(other.direction is DmaDirection.MM2S for other in active) if reads else 0, timing.host_read_mb_per_s),
    ]
    return max(own, *(count * WORD_BYTES * timing.clock_mhz / limit for count, limit in sharing))


class Policy(NamedTuple):
    """At most `window` transfers of a channel are under way; when there are, the oldest `group` are waited for."""

    window: int
    group: int


def plan(moves: Sequence[Move], policy: Policy, room: Mapping[ShimChannel, int]) -> list[Step]:
    """Start transfers in order, and wait where a channel has no room left; in the end wait for all."""
    steps: list[Step] = []
    flying: dict[ShimChannel, list[int]] = {move.channel: [] for move in moves}
    for number, move in enumerate(moves):
        for source in move.after:
            before = flying[moves[source].channel]
            # else it was waited for before
            if source in before:
                steps.append(_end(before, before.index(source) + 1))
        window = min(policy.window, room[move.channel])
        under_way = flying[move.channel]
        if len(under_way) >= window:
            steps.append(_end(under_way, min(policy.group, window)))
        steps.append(Start(number))
        under_way.append(number)
    return [*steps, *drained(moves, flying)]


def _end(under_way: list[int], count: int) -> Await:
    """Wait for the oldest `count` transfers of a channel."""
    released = tuple(under_way[:count])
    del under_way[:count]
    return Await(released[-1], released)


def drained(moves: Sequence[Move], flying: Mapping[ShimChannel, Sequence[int]]) -> list[Step]:
    """Wait for the last transfer of each channel, in the order in which they were started; outputs last."""
    left = [under_way for under_way in flying.values() if under_way]
    # an output ends after the feeds that it is made of
    left.sort(key=lambda under_way: (moves[under_way[0]].channel.direction is DmaDirection.S2MM, under_way[-1]))
    return [Await(under_way[-1], tuple(under_way)) for under_way in left]


def in_tiles(moves: Sequence[Move], ends: Sequence[int]) -> list[Step]:
    """Start the transfers of one tile after the other, and wait for all of a tile before the next; `ends` of tiles."""
    steps: list[Step] = []
    begin = 0
    for end in ends:
        flying: dict[ShimChannel, list[int]] = {}
        for number in range(begin, end):
            steps.append(Start(number))
            flying.setdefault(moves[number].channel, []).append(number)
        steps += drained(moves, flying)
        begin = end
    return steps


POLICIES = [Policy(window, group) for window in range(TASK_QUEUE_DEPTH, 0, -1) for group in range(1, window + 1)]


@dataclass(frozen=True)
class Choice:
    """A plan, why it is that one, and what it costs."""

    policy: Policy
    steps: list[Step]
    cost: PlanCost
    waits_are_needed: bool


class NoRoom(Exception):
    """A shim tile has fewer free descriptors than channels in use."""

    def __init__(self, channel: ShimChannel, needed: int, left: int):
        self.channel = channel
        super().__init__(
            f"{channel} needs {needed} descriptors, one at a time at least, but the {left} that the tile has left are "
            "taken by its other channels"
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
    # more than its queue holds would be of no use to a channel
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
    policies: Sequence[Policy] = POLICIES,
) -> Choice:
    """The plan that takes the least time, then the fewest operations; among those with few waits, if there are any."""
    timing, room = timing_of(model.arch), room_for(moves, model, reserved or {})
    if fit_at_once(moves, room):
        policy = Policy(TASK_QUEUE_DEPTH, TASK_QUEUE_DEPTH)
        steps = plan(moves, policy, room)
        return Choice(policy, steps, cost_of(moves, steps, timing), False)
    found = [(policy, plan(moves, policy, room)) for policy in policies]
    choices = [Choice(policy, steps, cost_of(moves, steps, timing), True) for policy, steps in found]
    if most_waits is not None:
        # more waits than tiles of one iteration would need are never worth it
        choices = [choice for choice in choices if choice.cost.waits <= most_waits] or choices
    return min(choices, key=lambda choice: (choice.cost.cycles, choice.cost.operations))
