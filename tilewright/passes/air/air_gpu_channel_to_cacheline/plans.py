"""Decisions about a channel before the program changes: protocol, links, memory, and the rule for the peer's rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Protocol

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import SSAValue

from tilewright.dialects import arith
from tilewright.dialects.aie.lookup import ancestors, parent_of_type
from tilewright.dialects.air.channels import ChannelEnd, ChannelOp
from tilewright.dialects.air.levels import HerdOp, LaunchOp, RankOp, SegmentOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_gpu_channel_to_cacheline.links import Bundle, ChannelWorld, worlds_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.mailboxes import LINE_BYTES, Mailbox, find_slots
from tilewright.passes.air.air_gpu_channel_to_cacheline.messages import Message, check_match
from tilewright.passes.air.air_gpu_channel_to_cacheline.protocol_line import check_fits
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import Element
from tilewright.passes.air.hierarchies import enclosing_function
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import scalar_int

ORDERED, LINE = PROTOCOLS = "ordered", "line"
PROTOCOL, DEPTH = "protocol", "buffer_resources"
"""Attributes of a channel: how messages are passed, and how many may be on their way."""
PART_ELEMENTS = 4096
"""Elements that are sent at once where no buffer says how many there may be."""
SMALL_BYTES = 4096
"""Messages for which time counts more than memory: they get a place to spare."""
MAX_LISTED = 256
"""Channels whose ranks are compared one by one where no rule is found."""
MAX_SHIFT = 8
"""How far apart ranks may be in worlds of unknown size."""


@dataclass(frozen=True)
class ChannelPlan:
    """How one bundle of channels is lowered."""

    bundle: Bundle
    protocol: str
    worlds: Sequence[ChannelWorld]
    is_sized: bool
    """Whether the size of the world is known when compiling."""
    mailbox: Mailbox
    producer: RankRule
    consumer: RankRule

    @property
    def world_size(self) -> int | None:
        """How many ranks there are, if that is known when compiling."""
        return self.worlds[0].ranks if self.is_sized else None


def stated_protocol(channel: ChannelOp) -> str | None:
    """The protocol that a channel asks for itself."""
    stated = channel.attributes.get(PROTOCOL)
    if stated is None:
        return None
    if not isinstance(stated, StringAttr) or stated.data not in PROTOCOLS:
        known = " or ".join(f'"{name}"' for name in PROTOCOLS)
        fail_op(channel, f"has an unknown protocol; it must be {known}")
    return stated.data


def make_plan(bundle: Bundle, protocol: str, start_bytes: int) -> ChannelPlan:
    """Find out about the links of a channel, and give it memory from `start_bytes` on."""
    messages = [Message(end) for end in bundle.ends]
    for message in messages:
        message.check()
        _check_place(message.end)
        _check_indices(bundle, message.end)
        if protocol == LINE:
            check_fits(message)
    check_match(messages)
    rank = _common_rank(bundle)
    worlds = worlds_of(bundle, rank)
    is_sized = all(scalar_int(size) is not None for size in rank.extents)
    shape = bundle.wide
    # a receiver has slots for its channels as consumer, a sender as producer
    inputs, outputs = (find_slots(worlds, shape, side) for side in ("consumer", "producer"))
    size = LINE_BYTES if protocol == LINE else _length(messages) * messages[0].element_bytes
    # a spare place saves the receiver a round trip (see mailboxes); it costs a message of memory
    has_spare = protocol == ORDERED and size <= SMALL_BYTES
    mailbox = Mailbox(start_bytes, inputs, outputs, _depth(bundle.channel), size, has_spare)
    producer, consumer = (_rule(bundle, worlds, side) for side in ("producer", "consumer"))
    return ChannelPlan(bundle, protocol, worlds, is_sized, mailbox, producer, consumer)


def _length(messages: Sequence[Message]) -> int:
    """The elements that a place in a mailbox has room for."""
    known = [amount for message in messages for amount in (message.length,) if amount is not None]
    rooms = [message.room for message in messages if message.length is None]
    bounded = [room for room in rooms if room is not None]
    # a buffer of unknown size says nothing: its messages go in parts of this length
    if len(bounded) != len(rooms):
        bounded.append(PART_ELEMENTS)
    return max([*known, *bounded])


def _rule(bundle: Bundle, worlds: Sequence[ChannelWorld], side: str) -> RankRule:
    samples = [Sample(world.ranks, at, getattr(link, side)) for world in worlds for at, link in world.links.items()]
    end = bundle.gets[0] if side == "producer" else bundle.puts[0]
    return find_rule(end, samples, bundle.wide)


def _depth(channel: ChannelOp) -> int:
    depth = channel.attributes.get(DEPTH)
    if depth is None:
        return 1
    if not isinstance(depth, IntegerAttr) or depth.value.data < 1:
        fail_op(channel, f'"{DEPTH}" must be an integer of at least 1: messages that may be on their way')
    return depth.value.data


def _check_indices(bundle: Bundle, end: ChannelEnd) -> None:
    given, needed = len(end.indices_in_bundle), len(bundle.shape_at(end))
    if given != needed:
        fail_op(
            end,
            f"has {given} indices into a bundle of {needed} dimensions",
            (bundle.channel, "the bundle is declared here"),
        )


def _check_place(end: ChannelEnd) -> None:
    """A transfer is done by a kernel."""
    if not any(isinstance(parent, LaunchOp | SegmentOp | HerdOp) for parent in ancestors(end)):
        fail_op(
            end,
            "must be enclosed by an air.herd op for the cacheline lowering",
            (end, "the host takes no part in transfers between ranks: do them in a kernel"),
        )


def _common_rank(bundle: Bundle) -> RankOp:
    """A rank that has ends of a channel; if there are others, they are of the same world and in the same function."""
    ranks = list(dict.fromkeys(parent_of_type(end, RankOp) for end in bundle.ends))
    first = ranks[0]
    assert first is not None
    for other in ranks[1:]:
        assert other is not None
        if _world_of(other) != _world_of(first) or enclosing_function(other) is not enclosing_function(first):
            fail_op(
                other,
                f"uses channel @{bundle.name} of a rank in another world or function",
                (first, "it is used here too; both must have the same sizes and be in one function"),
            )
    return first


def _world_of(rank: RankOp) -> list[object]:
    return [size if scalar_int(size) is None else scalar_int(size) for size in rank.extents]


@dataclass(frozen=True)
class Sample:
    """In a world of so many ranks, this channel belongs to that rank."""

    ranks: int
    element: Element
    rank: int


class RankRule(Protocol):
    def rank(self, element: Element, ranks: int) -> int: ...
    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue: ...


@dataclass(frozen=True)
class Always:
    """One rank for all channels."""

    number: int

    def rank(self, element: Element, ranks: int) -> int:
        return self.number

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        return emitter.index(self.number)


@dataclass(frozen=True)
class FromTheEnd:
    """One rank for all channels, counted from the last."""

    back: int

    def rank(self, element: Element, ranks: int) -> int:
        return ranks - self.back

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        return emitter.value(arith.SubiOp(ranks, emitter.index(self.back)))


@dataclass(frozen=True)
class Numbered:
    """The rank is an index, or a place in several dimensions, the first counting fastest."""

    dimensions: tuple[int, ...]
    shape: Element

    def rank(self, element: Element, ranks: int) -> int:
        return reduce(lambda rest, at: element[at] + self.shape[at] * rest, reversed(self.dimensions), 0)

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        number = element[self.dimensions[-1]]
        for at in reversed(self.dimensions[:-1]):
            number = emitter.folded_sum(element[at], emitter.folded_product(emitter.index(self.shape[at]), number))
        return number


@dataclass(frozen=True)
class Around:
    """So many ranks on from an index, or back from it, in a circle."""

    dimension: int
    shift: int
    """Negative for ranks before."""
    is_mirrored: bool = False

    def rank(self, element: Element, ranks: int) -> int:
        index = element[self.dimension]
        return (self.shift - index if self.is_mirrored else index + self.shift) % ranks

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        """Counts up from a multiple of the ranks, so that nothing is negative on the way."""
        index, shift = element[self.dimension], emitter.index(abs(self.shift))
        start = shift if self.shift >= 0 else emitter.value(arith.SubiOp(emitter.folded_product(ranks, shift), shift))
        total = (
            emitter.value(arith.SubiOp(emitter.folded_sum(start, ranks), index))
            if self.is_mirrored
            else emitter.folded_sum(start, index)
        )
        return emitter.value(arith.RemUIOp(total, ranks))


@dataclass(frozen=True)
class Paired:
    """Ranks that differ from an index in some bits."""

    dimension: int
    bits: int

    def rank(self, element: Element, ranks: int) -> int:
        return element[self.dimension] ^ self.bits

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        return emitter.value(arith.XOrIOp(element[self.dimension], emitter.index(self.bits)))


@dataclass(frozen=True)
class Listed:
    """A rank for each channel, by comparing with all of them."""

    ranks_of: tuple[tuple[Element, int], ...]

    def rank(self, element: Element, ranks: int) -> int:
        return dict(self.ranks_of)[element]

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        found = emitter.index(self.ranks_of[0][1])
        for place, rank in self.ranks_of[1:]:
            same = [
                emitter.compare("eq", index, emitter.index(number))
                for index, number in zip(element, place, strict=True)
            ]
            is_this = reduce(lambda a, b: emitter.value(arith.AndIOp(a, b)), same)
            found = emitter.value(arith.SelectOp(is_this, emitter.index(rank), found))
        return found


def find_rule(end: ChannelEnd, samples: Sequence[Sample], shape: Element) -> RankRule:
    """The simplest rule that holds for all channels in all worlds."""
    # simplest first: a later rule would hold for these samples too, but costs more instructions
    for rule in _candidates(samples, shape):
        if all(rule.rank(sample.element, sample.ranks) == sample.rank for sample in samples):
            return rule
    worlds = {sample.ranks for sample in samples}
    # a list is true of the one world it was made for, never of other sizes
    if len(worlds) == 1 and len(samples) <= MAX_LISTED:
        return Listed(tuple((sample.element, sample.rank) for sample in samples))
    fail_op(
        end,
        "has at its other end a rank that follows from the indices of the bundle by no rule known here",
        (end, "index the bundle by the ranks of both ends, as in `@C[%source, %destination]`"),
    )


def _candidates(samples: Sequence[Sample], shape: Element) -> Iterator[RankRule]:
    dimensions = range(len(shape))
    # of each kind, the only rule that the first sample leaves
    yield Always(samples[0].rank)
    yield FromTheEnd(samples[0].ranks - samples[0].rank)
    yield from (Numbered((at,), shape) for at in dimensions)
    turns = [(shift, mirrored) for mirrored in (False, True) for shift in _shifts(samples)]
    yield from (Around(at, shift, mirrored) for at in dimensions for shift, mirrored in turns)
    yield from (Paired(at, samples[0].element[at] ^ samples[0].rank) for at in dimensions)
    # numbers of places are ranks only if there are as many places as ranks
    if len(shape) > 1 and prod(shape) >= max(sample.ranks for sample in samples):
        yield Numbered(tuple(dimensions), shape)
        yield Numbered(tuple(reversed(dimensions)), shape)


def _shifts(samples: Sequence[Sample]) -> list[int]:
    """How far apart ranks may be: anything in one world, a few ranks either way in worlds of all sizes."""
    worlds = {sample.ranks for sample in samples}
    if len(worlds) == 1:
        return list(range(min(worlds)))
    return sorted(range(-MAX_SHIFT, MAX_SHIFT + 1), key=abs)
