"""The links of a bundle of channels: for each channel, the rank that puts and the rank that gets.

Links follow from the visits of the ends of a channel. In a world whose size is known when the program is compiled, that
is found out for this world; otherwise for a number of sizes, and those for which puts and gets match are kept. A
broadcast then reaches as many receivers as there are ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NoReturn

from tilewright.dialects.air.channels import ChannelEnd, ChannelGetOp, ChannelOp, ChannelPutOp
from tilewright.dialects.air.levels import RankOp
from tilewright.ir.diagnostics import DiagnosedError, fail_op
from tilewright.ir.limits import MOST_CHANNEL_VISITS
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import (
    MAX_WORLD,
    Element,
    Visit,
    Visits,
    Workers,
    are_unordered,
)
from tilewright.rewrite.folding.constants import scalar_int

SMALL_WORLDS = 8
"""Worlds of all sizes up to this one are tried where the size is known at run time only."""
LARGEST_TRIED = 64
ROLES = {"put": ("producer", "puts into"), "get": ("consumer", "gets from")}


@dataclass(frozen=True)
class ChannelLink:
    """The ranks at the two ends of one channel."""

    producer: int
    consumer: int


@dataclass(frozen=True)
class ChannelWorld:
    """A world of ranks and the links that a channel has in it."""

    sizes: tuple[int, ...]
    links: Mapping[Element, ChannelLink]

    @property
    def ranks(self) -> int:
        return prod(self.sizes)


@dataclass(frozen=True)
class Bundle:
    """A channel, its ends, and the shape it has at either end."""

    channel: ChannelOp
    puts: Sequence[ChannelPutOp]
    gets: Sequence[ChannelGetOp]

    @property
    def name(self) -> str:
        return self.channel.sym_name.data

    @property
    def ends(self) -> Sequence[ChannelEnd]:
        return [*self.puts, *self.gets]

    @property
    def narrow(self) -> Element:
        """The shape at the sending end."""
        return tuple(size.value.data for size in self.channel.size)

    @property
    def wide(self) -> Element:
        """The shape at the receiving end, which a broadcast makes larger."""
        shape = self.channel.broadcast_shape
        return self.narrow if shape is None else tuple(getattr(size, "value").data for size in shape)  # noqa: B009

    def shape_at(self, end: ChannelEnd) -> Element:
        return self.narrow if isinstance(end, ChannelPutOp) else self.wide

    def spread_of(self, end: ChannelEnd) -> list[int]:
        """The dimensions in which an end stands for all channels."""
        if not isinstance(end, ChannelPutOp):
            return []
        return [at for at, sizes in enumerate(zip(self.narrow, self.wide, strict=True)) if sizes[0] != sizes[1]]

    def reached_by(self, end: ChannelEnd, element: Element, most: int) -> Iterator[Element]:
        """The channels that an end with these indices moves data through: up to `most` where a put is broadcast."""
        spread = self.spread_of(end)
        starts = [range(min(size, most)) if at in spread else range(1) for at, size in enumerate(self.wide)]
        for step in product(*starts):
            yield tuple(a + b for a, b in zip(element, step, strict=True))


def worlds_of(bundle: Bundle, rank: RankOp) -> list[ChannelWorld]:
    """The worlds that a bundle of channels is for, at least one."""
    visits = [Visits(end) for end in bundle.ends]
    sizes = [scalar_int(size) for size in rank.extents]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes):
        # each rank is gone through by itself
        if prod(known) > MAX_WORLD:
            fail_op(rank, f"has {prod(known)} ranks; channels are told apart in worlds of up to {MAX_WORLD}")
        return [_world(bundle, visits, tuple(known), max(bundle.wide, default=1))]
    return _fitting_worlds(bundle, visits, sizes)


def _fitting_worlds(bundle: Bundle, visits: Sequence[Visits], sizes: Sequence[int | None]) -> list[ChannelWorld]:
    """Those among the sizes that are tried for which puts and gets match."""
    found: list[ChannelWorld] = []
    problem: DiagnosedError | None = None
    for shape in _tried_shapes(bundle, sizes):
        try:
            found.append(_world(bundle, visits, shape, prod(shape)))
        except DiagnosedError as error:
            # too many turns are too many in any world, and the text says what to do
            if any(visit.are_too_many for visit in visits):
                raise
            # the last one is told if no world fits
            problem = error
    if not found:
        assert problem is not None
        raise problem
    return found


def _tried_shapes(bundle: Bundle, sizes: Sequence[int | None]) -> list[tuple[int, ...]]:
    """Small worlds, and those that the bundle is just large enough for."""
    # a rule that holds in these is taken to hold in all: the program may be started with any number of ranks
    lengths = {*range(1, SMALL_WORLDS + 1), *(size for size in bundle.wide if size <= LARGEST_TRIED)}
    choices = [sorted(lengths) if size is None else [size] for size in sizes]
    return [shape for shape in product(*choices) if prod(shape) <= LARGEST_TRIED]


def _world(bundle: Bundle, visits: Sequence[Visits], sizes: tuple[int, ...], most: int) -> ChannelWorld:
    """The links in one world; a broadcast reaches up to `most` receivers in each dimension."""
    ends = {visit.end: visit.in_world(sizes) for visit in visits}
    for end, found in ends.items():
        if not found:
            refuse_rank(end, "the conditions around it hold on no rank of this world; it must be exactly one")
        _check_range(bundle, end, found)
    producers = _Side(bundle, [(end, ends[end]) for end in bundle.puts], most)
    consumers = _Side(bundle, [(end, ends[end]) for end in bundle.gets], most)
    # both ways round: a put without a get waits for ever, and so does a get without a put
    _check_same(bundle, producers, consumers)
    _check_same(bundle, consumers, producers)
    _check_counts(bundle, producers, consumers)
    return ChannelWorld(sizes, {at: ChannelLink(producers.ranks[at], consumers.ranks[at]) for at in producers.ranks})


class _Side:
    """All that put, or all that get: one rank for each channel, and how many messages."""

    def __init__(self, bundle: Bundle, ends: Sequence[tuple[ChannelEnd, Sequence[Visit]]], most: int):
        self.ranks: dict[Element, int] = {}
        self.times: dict[Element, int | None] = {}
        self.ends: dict[Element, ChannelEnd] = {}
        self._workers: dict[Element, dict[Workers, ChannelEnd]] = {}
        self._bundle = bundle
        for end, visits in ends:
            receivers = prod(min(bundle.wide[at], most) for at in bundle.spread_of(end))
            if len(visits) * receivers > MOST_CHANNEL_VISITS:
                text = f"reaches {len(visits) * receivers} channels; {MOST_CHANNEL_VISITS} are told apart"
                fail_op(end, text, (bundle.channel, "make this bundle smaller"))
            for visit in visits:
                for element in bundle.reached_by(end, visit.element, most):
                    self._add(end, visit, element)

    def _add(self, end: ChannelEnd, visit: Visit, element: Element) -> None:
        other = self.ranks.setdefault(element, visit.rank)
        first = self.ends.setdefault(element, end)
        if other != visit.rank:
            _refuse_two_ranks(self._bundle, first, end, element, other, visit.rank)
        self._check_order(end, visit, element)
        # one end that comes an unknown number of times makes the sum unknown
        before = self.times.get(element, 0)
        self.times[element] = None if before is None or visit.times is None else before + visit.times

    def _check_order(self, end: ChannelEnd, visit: Visit, element: Element) -> None:
        """All workers that come to a channel on a rank come one after the other."""
        others = self._workers.setdefault(element, {})
        for workers, other in others.items():
            if are_unordered(workers, visit.workers):
                fail_op(
                    end,
                    f"{ROLES[end.verb][1]} {shown(self._bundle, element)} from several blocks or processing elements "
                    f"of rank {visit.rank}, in no order",
                    *(((other, "others come here"),) if other is not end else ()),
                    (end, "index the bundle so that each of them has a channel of its own"),
                )
        others[visit.workers] = end


def shown(bundle: Bundle, element: Element) -> str:
    """`@C[0, 3]`."""
    return f"@{bundle.name}[{', '.join(map(str, element))}]"


def refuse_rank(end: ChannelEnd, *notes: str) -> NoReturn:
    """It cannot be told which one rank comes to an end."""
    fail_op(
        end,
        f"could not infer {ROLES[end.verb][0]} rank from rank-dispatch context; expected enclosing "
        "`scf.if (arith.cmpi eq, %rid, %const : index)`",
        *((end, note) for note in notes),
    )


def _refuse_two_ranks(
    bundle: Bundle, first: ChannelEnd, end: ChannelEnd, element: Element, rank: int, other: int
) -> NoReturn:
    role, does = ROLES[end.verb]
    ways = "index a bundle of channels by the rank" + (", or declare a broadcast_shape" if end.verb == "get" else "")
    if first is end:
        refuse_rank(
            end,
            f"ranks {rank} and {other} both come here for {shown(bundle, element)}; a channel has one {role}",
            f"{ways}, or put a condition on the rank around it",
        )
    fail_op(
        end,
        f"{does} {shown(bundle, element)} on rank {other}; rank {rank} does so too, and a channel has one {role}",
        (first, f"rank {rank} {does} it here"),
        (end, ways),
    )


def _check_range(bundle: Bundle, end: ChannelEnd, visits: Sequence[Visit]) -> None:
    shape = bundle.shape_at(end)
    for visit in visits:
        for number, (index, size) in enumerate(zip(visit.element, shape, strict=True)):
            if not 0 <= index < size:
                fail_op(
                    end,
                    f"has {index} for index {number} on rank {visit.rank}; the bundle has {size} there",
                    (bundle.channel, "the bundle is declared here"),
                )


def _check_same(bundle: Bundle, side: _Side, other: _Side) -> None:
    """Whatever one side uses the other uses too."""
    for element, end in side.ends.items():
        if element not in other.ranks:
            needed, peers = ("get", bundle.gets) if end.verb == "put" else ("put", bundle.puts)
            place = f"{shown(bundle, element)} on rank {side.ranks[element]}"
            fail_op(
                end,
                f"{ROLES[end.verb][1]} {place}, and nobody does the {needed}",
                *((peer, f"the {needed} here is for other channels") for peer in peers[:1]),
            )


def _check_counts(bundle: Bundle, producers: _Side, consumers: _Side) -> None:
    """As many messages are put as are got, as far as their numbers are known."""
    for element, sent in producers.times.items():
        received = consumers.times[element]
        if sent is not None and received is not None and sent != received:
            fail_op(
                producers.ends[element],
                f"puts {sent} messages into {shown(bundle, element)}, of which {received} are got",
                (consumers.ends[element], "they are got here"),
            )
