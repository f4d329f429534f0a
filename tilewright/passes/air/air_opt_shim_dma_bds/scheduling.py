"""Puts the waits that a plan asks for into host code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
from tilewright.dialects.air.types import TOKEN
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_opt_shim_dma_bds.cost import Await, Choice, Move, NoRoom, choose, fit_at_once, room_for
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
from tilewright.rewrite.folding.air_tokens import leaves_of
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

    def __init__(self, channels: ShimChannels, model: DeviceModel, reserved: Mapping[TileId, int]):
        self._channels = channels
        self._model = model
        self._reserved = reserved
        self.planned: list[Planned] = []

    def schedule(self, block: Block, *, ends_launch: bool, most_waits: int | None = None) -> None:
        """Cut transfers to what descriptors can say, and wait where the plan says so, at the latest at the end."""
        for op in list(block.ops):
            if isinstance(op, ChannelEnd) and host_side(op) is not None:
                _cut(op)
        for transfers, end in list(_parts(block)):
            for inner in [inner for region in end.regions for inner in region.blocks]:
                self.schedule(inner, ends_launch=False)
            # inner blocks run often: only the end of the launch marks that it has ended
            is_end = ends_launch and end is block.last_op
            if transfers:
                planned = self._plan([_asynchronous(op) for op in transfers], most_waits)
                self.planned.append(planned)
                _write(planned, end, ends_launch=is_end)
            elif is_end:
                Emitter.before(end).insert(blocking_wait(open_tokens(block)))

    def _plan(self, transfers: list[Transfer], most_waits: int | None) -> Planned:
        moves = self._moves(transfers)
        try:
            found = [self._ordered(transfers, moves, order, most_waits) for order in self._orders(moves)]
        except NoRoom as error:
            op = next(op for op in transfers if self._channels.channel_of(op) == error.channel)
            fail_op(op, str(error), (op, "free descriptors of that tile, or move a channel to another one"))
        # the plan knows all dependencies by now
        _forget_tokens(transfers)
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
        choice = choose(moves, self._model, self._reserved, most_waits)
        return Planned([transfers[number] for number in order], moves, choice)

    def _moves(self, transfers: Sequence[Transfer]) -> list[Move]:
        """What the model sees of transfers: one that uses what another channel changes waits for that."""
        makers = {op.token: number for number, op in enumerate(transfers) if op.token is not None}
        found: list[Move] = []
        for op in transfers:
            channel = self._channels.channel_of(op)
            sources = [makers[token] for token in leaves_of(op.dependencies) if token in makers]
            after = [n for n in sources if found[n].channel != channel and _conflict(op, transfers[n])]
            found.append(Move(channel, *size_of(host_access(op)), tuple(after)))
        return found


def _conflict(op: Transfer, other: Transfer) -> bool:
    """Whether two transfers use one buffer, and one of them changes it."""
    sides = host_side(op), host_side(other)
    assert sides[0] is not None and sides[1] is not None
    # reading twice does no harm
    return "dst" in sides and op.buffer(sides[0]) is other.buffer(sides[1])


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


def _write(planned: Planned, end: Operation, *, ends_launch: bool) -> None:
    """Put transfers and waits before `end`, in the order of the plan; the last waits are one."""
    transfers, steps = planned.transfers, planned.choice.steps
    build = Emitter(InsertPoint.before(end), transfers[0].location)
    awaited = {step.move for step in steps if isinstance(step, Await)}
    for number, op in enumerate(transfers):
        op.attributes[AWAITED] = BoolAttr.from_bool(number in awaited)
        op.detach()
    # waits behind the last start are the end of the part: one wait for all of them
    last_start = max(number for number, step in enumerate(steps) if not isinstance(step, Await))
    for step in steps[: last_start + 1]:
        if isinstance(step, Await):
            build.insert(WaitAllOp.create(operands=_tokens(transfers, step.released)))
        else:
            build.insert(transfers[step.move])
    final = [number for step in steps[last_start + 1 :] if isinstance(step, Await) for number in step.released]
    left = _tokens(transfers, final)
    if not ends_launch:
        build.insert(WaitAllOp.create(operands=left))
        return
    block = end.parent
    assert block is not None
    known = set(left)
    build.insert(blocking_wait([*left, *(token for token in open_tokens(block) if token not in known)]))


def _tokens(transfers: Sequence[Transfer], numbers: Sequence[int]) -> list[SSAValue]:
    return [token for number in numbers if (token := transfers[number].token) is not None]


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
