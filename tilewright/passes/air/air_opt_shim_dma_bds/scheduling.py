"""Puts the waits that a plan asks for into host code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.dialects.air.accesses import Access, Transfer
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.levels import LaunchOp
from tilewright.dialects.air.types import TOKEN
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_opt_shim_dma_bds.cost import (
    POLICIES,
    Await,
    Choice,
    Move,
    NoRoom,
    Policy,
    Start,
    choose,
    fit_at_once,
    room_for,
)
from tilewright.passes.air.air_opt_shim_dma_bds.token_order import TokenOrder
from tilewright.passes.air.shim.cutting import (
    DIMS,
    AccessSpan,
    TooManyPieces,
    Uncuttable,
    cut_repeats,
    cut_steps,
    cut_wraps,
)
from tilewright.passes.air.shim.host_transfers import (
    AWAITED,
    ShimChannel,
    ShimChannels,
    host_access,
    host_side,
    host_transfers,
)
from tilewright.passes.air.shim.launches import blocking_wait, open_tokens
from tilewright.passes.air.shim.linear import Linear
from tilewright.passes.air.shim.patterns import WORD_BITS, PatternDimension, buffer_of, set_pattern
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.regions import recreate
from tilewright.rewrite.folding.strided_views import known_int


@dataclass(frozen=True)
class Planned:
    """Transfers in the order in which they start, as the model sees them, and the plan for them."""

    transfers: Sequence[Transfer]
    moves: Sequence[Move]
    choice: Choice


class TransferScheduler:
    """Plans the transfers of host code for one device."""

    def __init__(
        self,
        channels: ShimChannels,
        model: DeviceModel,
        reserved: Mapping[TileId, int],
        policies: Sequence[Policy] = POLICIES,
    ):
        self._channels = channels
        self._model = model
        self._reserved = Counter(reserved)
        self._policies = policies
        self.planned: list[Planned] = []

    def schedule(self, block: Block, *, ends_launch: bool, most_waits: int | None = None) -> None:
        """Cut transfers to what descriptors can say, and wait where the plan says so, at the latest at the end."""
        for op in list(block.ops):
            if isinstance(op, ChannelEnd) and host_side(op) is not None:
                _cut(op)
        found = [op for op in block.ops if isinstance(op, Transfer) and host_side(op) is not None]
        blocking = {_asynchronous(op) for op in found if op.token is None}
        order = TokenOrder(block, blocking, self._channels.channel_of)
        under_way: list[Transfer] = []
        for transfers, end in list(_parts(block)):
            is_end = end is block.last_op
            if transfers or under_way:
                planned = self._plan([*under_way, *transfers], order, most_waits)
                # the plan knows all dependencies by now
                _forget_tokens(transfers)
                wanted = planned.transfers if is_end else self._wanted(order, end, planned.transfers)
                under_way = self._write(planned, {*transfers}, wanted, end, ends_launch=ends_launch and is_end)
                if transfers:
                    self.planned.append(planned)
            elif is_end and ends_launch:
                Emitter.before(end).insert(blocking_wait(open_tokens(block)))
            self._schedule_inside(end, under_way)

    def _schedule_inside(self, op: Operation, under_way: Sequence[Transfer]) -> None:
        """Plan the blocks of a loop or branch, which run often, while other transfers keep their descriptors."""
        # a launch has a plan of its own
        if isinstance(op, LaunchOp):
            return
        busy = Counter(self._channels.channel_of(transfer).tile for transfer in under_way)
        self._reserved += busy
        for inner in [inner for region in op.regions for inner in region.blocks]:
            # only the end of the launch marks that it has ended
            self.schedule(inner, ends_launch=False)
        self._reserved -= busy

    def _wanted(self, order: TokenOrder, end: Operation, transfers: Sequence[Transfer]) -> Sequence[Transfer]:
        """What has to end before `end`, a wait or a loop; channels of a loop begin it empty."""
        if isinstance(end, WaitAllOp):
            return order.waited_for(end)
        used = {self._channels.channel_of(inner) for inner in host_transfers(end)}
        return [*order.needed_by(end), *(op for op in transfers if self._channels.channel_of(op) in used)]

    def _plan(self, transfers: list[Transfer], order: TokenOrder, most_waits: int | None) -> Planned:
        moves = self._moves(transfers, order)
        try:
            found = [self._ordered(transfers, moves, places, most_waits) for places in self._orders(moves)]
        except NoRoom as error:
            op = next(op for op in transfers if self._channels.channel_of(op) == error.channel)
            fail_op(op, str(error), (op, "free descriptors of that tile, or move a channel to another one"))
        return min(found, key=lambda planned: planned.choice.cost.cycles)

    def _orders(self, moves: Sequence[Move]) -> list[list[int]]:
        """In step; transfers that can all be under way at once may start in any order."""
        # an order that runs far ahead on one channel could block it for ever
        if not fit_at_once(moves, room_for(moves, self._model, self._reserved)):
            return [in_step(moves)]
        return [in_step(moves), list(range(len(moves))), reads_first(moves)]

    def _ordered(
        self, transfers: Sequence[Transfer], moves: Sequence[Move], order: list[int], most_waits: int | None
    ) -> Planned:
        moves = reordered(moves, order)
        choice = choose(moves, self._model, self._reserved, most_waits, self._policies)
        return Planned([transfers[number] for number in order], moves, choice)

    def _moves(self, transfers: Sequence[Transfer], order: TokenOrder) -> list[Move]:
        """What the model sees of transfers: one that uses what another channel changes waits for that."""
        places = {op: number for number, op in enumerate(transfers)}
        found: list[Move] = []
        for op in transfers:
            # others have ended already
            after = [places[other] for other in order.conflicts(op) if other in places]
            found.append(Move(self._channels.channel_of(op), *size_of(host_access(op)), tuple(after)))
        return found

    def _write(
        self,
        planned: Planned,
        new: Collection[Transfer],
        wanted: Sequence[Transfer],
        end: Operation,
        *,
        ends_launch: bool,
    ) -> list[Transfer]:
        """Put new transfers and waits before `end`, in the order of the plan; gives those that are under way there.

        The last waits are one, for what is wanted there.
        """
        transfers, steps = planned.transfers, planned.choice.steps
        build = Emitter(InsertPoint.before(end), transfers[0].location)
        for op in new:
            op.attributes[AWAITED] = BoolAttr.from_bool(False)
            op.detach()
        ended = set[Transfer]()

        def end_with(last: Transfer, released: Sequence[Transfer]) -> list[SSAValue]:
            last.attributes[AWAITED] = BoolAttr.from_bool(True)
            ended.update(released)
            return [token for op in released if (token := op.token) is not None]

        starts = [place for place, step in enumerate(steps) if isinstance(step, Start) and transfers[step.move] in new]
        for step in steps[: max(starts, default=-1) + 1]:
            if isinstance(step, Await):
                released = [transfers[number] for number in step.released]
                build.insert(WaitAllOp.create(operands=end_with(transfers[step.move], released)))
            elif transfers[step.move] in new:
                build.insert(transfers[step.move])
        left: list[SSAValue] = []
        for released in self._ending([op for op in transfers if op not in ended], {*wanted}):
            left += end_with(released[-1], released)
        if ends_launch:
            block = end.parent
            assert block is not None
            known = set(left)
            build.insert(blocking_wait([*left, *(token for token in open_tokens(block) if token not in known)]))
        elif isinstance(end, WaitAllOp):
            end.set_dependencies([*end.dependencies, *left])
        elif left:
            build.insert(WaitAllOp.create(operands=left))
        return [op for op in transfers if op not in ended]

    def _ending(self, transfers: Sequence[Transfer], wanted: Collection[Transfer]) -> list[list[Transfer]]:
        """By channel, what has to be waited for so that all that is wanted has ended; outputs last."""
        channels: dict[ShimChannel, list[Transfer]] = defaultdict(list)
        for op in transfers:
            channels[self._channels.channel_of(op)].append(op)
        cuts = [max((n for n, op in enumerate(line, 1) if op in wanted), default=0) for line in channels.values()]
        ending = [line[:cut] for line, cut in zip(channels.values(), cuts, strict=True) if cut]
        places = {op: place for place, op in enumerate(transfers)}
        # an output ends after the feeds that it is made of
        return sorted(ending, key=lambda line: (host_side(line[0]) == "dst", places[line[-1]]))


def size_of(access: Access) -> tuple[int, int]:
    """The words of one run of a transfer's descriptor, and the runs; what is not known counts as one."""
    buffer = buffer_of(access.memref.type)
    sizes = [known_int(size) or 1 for size in access.sizes] or [buffer.volume or 1]
    # the outermost of four dimensions repeats the descriptor
    runs = sizes[0] if len(sizes) == DIMS else 1
    return max(1, prod(sizes) // runs * buffer.element_bits // WORD_BITS), runs


def _parts(block: Block) -> Iterator[tuple[list[Transfer], Operation]]:
    """The transfers of a block up to each point by which all have ended: waits, loops with transfers, the end."""
    found: list[Transfer] = []
    last = block.last_op
    assert last is not None
    for op in block.ops:
        if isinstance(op, Transfer) and host_side(op) is not None:
            found.append(op)
        elif op is last or (isinstance(op, WaitAllOp) and op.token is None) or any(True for _ in host_transfers(op)):
            yield found, op
            found = []


def _asynchronous(op: Transfer) -> Transfer:
    """The transfer with a token that can be waited for."""
    if op.token is not None:
        return op
    new = Emitter.before(op).insert(recreate(op, result_types=[TOKEN]))
    Rewriter.erase_op(op)
    assert isinstance(new, Transfer)
    return new


def _forget_tokens(transfers: Sequence[Transfer]) -> None:
    """Only the waits of the plan wait for transfers."""
    for op in transfers:
        op.set_dependencies([])
    # loops and yields that take one of their tokens get one that nothing is behind
    for op in transfers:
        token = op.token
        assert token is not None
        for user in dict.fromkeys(use.operation for use in token.uses):
            if isinstance(user, AsyncOp):
                user.set_dependencies([other for other in user.dependencies if other is not token])
            for number, operand in enumerate(user.operands):
                if operand is token:
                    user.operands[number] = Emitter.before(user).value(WaitAllOp.create(result_types=[TOKEN]))


def _cut(op: ChannelEnd) -> None:
    """Make several transfers of one that a descriptor cannot say."""
    pieces = _pieces(op)
    if len(pieces) < 2:
        return
    tokens: list[SSAValue] = []
    for spans in pieces:
        copy = Emitter.before(op).insert(op.clone())
        set_pattern(copy, [PatternDimension(_linear(span.offset), span.size, span.stride) for span in spans])
        tokens += copy.results
    for result in op.results:
        result.replace_all_uses_with(Emitter.before(op).value(WaitAllOp.create(operands=tokens, result_types=[TOKEN])))
    Rewriter.erase_op(op)


def _linear(offset: SSAValue | int) -> Linear:
    return Linear(offset) if isinstance(offset, int) else Linear(0, {offset: 1}, offset)


def _pieces(op: ChannelEnd) -> list[list[AccessSpan]]:
    access = op.access(op.SIDE)
    numbers = [[known_int(entry) for entry in entries] for entries in access.lists]
    is_known = not any(number is None for entries in numbers for number in entries)
    if max(map(len, numbers)) > DIMS or not is_known or not numbers[1]:
        return []
    offsets, sizes, strides = (
        [*[filler] * (DIMS - len(entries)), *(number or 0 for number in entries)]
        for entries, filler in zip(numbers, (0, 1, 0), strict=True)
    )
    spans = [AccessSpan(*span) for span in zip(offsets, sizes, strides, strict=True)]
    try:
        pieces = cut_wraps(spans, buffer_of(access.memref.type).alignment)
        shorter = [short for piece in pieces for short in cut_steps(piece) or [piece]]
        return [part for piece in shorter for part in cut_repeats(piece)]
    except (Uncuttable, TooManyPieces) as error:
        fail_op(op, str(error))


class StepPlace(NamedTuple):
    """Where in the order a transfer belongs; reads of host memory take longest to begin, so they go first."""

    done: float
    receives: bool
    number: int


def in_step(moves: Sequence[Move]) -> list[int]:
    """The transfers by how much of its data their channel has moved before; each channel keeps its own order.

    A core that takes data from several channels takes it at one pace: a channel that ran far ahead would wait for data
    of others, and the host, waiting for that channel, would never start those.
    """
    totals: dict[ShimChannel, int] = defaultdict(int)
    for move in moves:
        totals[move.channel] += move.words * move.runs
    done: dict[ShimChannel, int] = defaultdict(int)
    place: list[StepPlace] = []
    for number, move in enumerate(moves):
        receives = move.channel.direction is DmaDirection.S2MM
        place.append(StepPlace(done[move.channel] / max(1, totals[move.channel]), receives, number))
        done[move.channel] += move.words * move.runs
    return _sorted(moves, place)


def reads_first(moves: Sequence[Move]) -> list[int]:
    """What is read from host memory, then what is written."""
    return sorted(range(len(moves)), key=lambda number: moves[number].channel.direction is DmaDirection.S2MM)


def _sorted(moves: Sequence[Move], place: Sequence[StepPlace]) -> list[int]:
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
