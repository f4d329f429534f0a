"""A rule for the rank at the other end of a channel: how it follows from the indices of the channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Protocol

from xdsl.ir import SSAValue

from tilewright.dialects.air.channels import ChannelEnd
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import Element
from tilewright.passes.air.emitter import Emitter

MAX_LISTED = 256
"""Channels whose ranks are compared one by one where no rule is found."""
MAX_SHIFT = 8
"""How far apart ranks may be in worlds of unknown size."""


@dataclass(frozen=True)
class Sample:
    """In a world of so many ranks, this channel belongs to that rank."""

    ranks: int
    element: Element
    rank: int


class Rule(Protocol):
    def rank(self, element: Element, ranks: int) -> int: ...
    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue: ...


@dataclass(frozen=True)
class Always:
    """One rank for all channels."""

    number: int

    def rank(self, element: Element, ranks: int) -> int:
        return self.number

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        return emitter.constant(self.number)


@dataclass(frozen=True)
class FromTheEnd:
    """One rank for all channels, counted from the last."""

    back: int

    def rank(self, element: Element, ranks: int) -> int:
        return ranks - self.back

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        return emitter.arith("subi", ranks, emitter.constant(self.back))


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
            number = emitter.sum(element[at], emitter.product(emitter.constant(self.shape[at]), number))
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
        index, shift = element[self.dimension], emitter.constant(abs(self.shift))
        start = shift if self.shift >= 0 else emitter.arith("subi", emitter.product(ranks, shift), shift)
        total = (
            emitter.arith("subi", emitter.sum(start, ranks), index) if self.is_mirrored else emitter.sum(start, index)
        )
        return emitter.arith("remui", total, ranks)


@dataclass(frozen=True)
class Paired:
    """Ranks that differ from an index in some bits."""

    dimension: int
    bits: int

    def rank(self, element: Element, ranks: int) -> int:
        return element[self.dimension] ^ self.bits

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        return emitter.arith("xori", element[self.dimension], emitter.constant(self.bits))


@dataclass(frozen=True)
class Listed:
    """A rank for each channel, by comparing with all of them."""

    ranks_of: tuple[tuple[Element, int], ...]

    def rank(self, element: Element, ranks: int) -> int:
        return dict(self.ranks_of)[element]

    def emit(self, emitter: Emitter, element: Sequence[SSAValue], ranks: SSAValue) -> SSAValue:
        found = emitter.constant(self.ranks_of[0][1])
        for place, rank in self.ranks_of[1:]:
            same = [
                emitter.compare("eq", index, emitter.constant(number))
                for index, number in zip(element, place, strict=True)
            ]
            is_this = reduce(lambda a, b: emitter.arith("andi", a, b), same)
            found = emitter.value("arith.select", (is_this, emitter.constant(rank), found), found.type)
        return found


def find_rule(end: ChannelEnd, samples: Sequence[Sample], shape: Element) -> Rule:
    """The simplest rule that holds for all channels in all worlds."""
    for rule in _candidates(samples, shape):
        if all(rule.rank(sample.element, sample.ranks) == sample.rank for sample in samples):
            return rule
    worlds = {sample.ranks for sample in samples}
    if len(worlds) == 1 and len(samples) <= MAX_LISTED:
        return Listed(tuple((sample.element, sample.rank) for sample in samples))
    fail_op(
        end,
        "has at its other end a rank that follows from the indices of the bundle by no rule known here",
        (end, "index the bundle by the ranks of both ends, as in `@C[%source, %destination]`"),
    )


def _candidates(samples: Sequence[Sample], shape: Element) -> Iterator[Rule]:
    dimensions = range(len(shape))
    yield Always(samples[0].rank)
    yield FromTheEnd(samples[0].ranks - samples[0].rank)
    yield from (Numbered((at,), shape) for at in dimensions)
    turns = [(shift, mirrored) for mirrored in (False, True) for shift in _shifts(samples)]
    yield from (Around(at, shift, mirrored) for at in dimensions for shift, mirrored in turns)
    yield from (Paired(at, samples[0].element[at] ^ samples[0].rank) for at in dimensions)
    if len(shape) > 1 and prod(shape) >= max(sample.ranks for sample in samples):
        yield Numbered(tuple(dimensions), shape)
        yield Numbered(tuple(reversed(dimensions)), shape)


def _shifts(samples: Sequence[Sample]) -> list[int]:
    """How far apart ranks may be: anything in one world, a few ranks either way in worlds of all sizes."""
    worlds = {sample.ranks for sample in samples}
    if len(worlds) == 1:
        return list(range(min(worlds)))
    return sorted(range(-MAX_SHIFT, MAX_SHIFT + 1), key=abs)
