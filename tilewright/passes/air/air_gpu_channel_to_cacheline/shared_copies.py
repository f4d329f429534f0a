"""Copies that threads of a group share: neighbours move neighbouring elements, several at once if there are many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import Group
from tilewright.passes.air.emitter import Emitter
from tilewright.rewrite.folding.constants import scalar_int

AT_ONCE = 8
"""Elements that a thread loads before it stores the first: so many loads are on their way at a time."""


@dataclass(frozen=True)
class Copy:
    """How an element is moved, by its number."""

    load: Callable[[Emitter, SSAValue], SSAValue]
    store: Callable[[Emitter, SSAValue, SSAValue], None]

    def move(self, emitter: Emitter, number: SSAValue) -> None:
        self.store(emitter, number, self.load(emitter, number))


def share(emitter: Emitter, group: Group, count: SSAValue, copy: Copy) -> None:
    """Have the threads of a group copy `count` elements."""
    first, threads = group.number(emitter), group.count(emitter)
    if _is_worth_it(count, threads):
        stride = emitter.product(threads, emitter.constant(AT_ONCE))
        whole = emitter.product(emitter.arith("divui", count, stride), stride)
        emitter.loop(first, whole, stride, lambda inner, start: _move_several(inner, start, threads, copy))
        first = emitter.sum(whole, first)
    emitter.loop(first, count, threads, copy.move)


def _is_worth_it(count: SSAValue, threads: SSAValue) -> bool:
    """Whether there may be enough elements for each thread to move several at once."""
    elements, workers = scalar_int(count), scalar_int(threads)
    return elements is None or elements >= AT_ONCE * (workers or 1)


def _move_several(emitter: Emitter, start: SSAValue, threads: SSAValue, copy: Copy) -> None:
    numbers = [start]
    for _ in range(AT_ONCE - 1):
        numbers.append(emitter.sum(numbers[-1], threads))
    values = [copy.load(emitter, number) for number in numbers]
    for number, value in zip(numbers, values, strict=True):
        copy.store(emitter, number, value)
