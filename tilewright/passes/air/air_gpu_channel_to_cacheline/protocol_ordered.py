"""Messages of any size, ordered by release and acquire: right by the memory model of every target.

put   wait until the place is free (acquire)     get   wait until the message is there (acquire)
      store the payload into it                        load the payload
      meet, then say that it is there (release)        meet, then say that the place is free (release)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tilewright.dialects import arith
from tilewright.dialects._llvm_memory import Ordering
from tilewright.passes.air.air_gpu_channel_to_cacheline.mailboxes import ChannelEndpoint
from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import ThreadGroup, lead
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import scalar_int

AT_ONCE = 8
"""Elements that a thread loads before it stores the first: so many loads are on their way at a time."""


def put(emitter: Emitter, end: ChannelEndpoint) -> None:
    _in_parts(emitter, end, lambda inner, first, count: _put_part(inner, end, first, count))


def get(emitter: Emitter, end: ChannelEndpoint) -> None:
    _in_parts(emitter, end, lambda inner, first, count: _get_part(inner, end, first, count))


def _in_parts(emitter: Emitter, end: ChannelEndpoint, move: Callable[[Emitter, SSAValue, SSAValue], None]) -> None:
    """One message; if its length is known at run time only, as many as it takes, each as long as a place."""
    message, zero = end.message, emitter.index(0)
    total = message.total(emitter)
    if message.length is not None:
        move(emitter, zero, total)
        return
    room = emitter.index(end.mailbox.message_bytes // message.element_bytes)

    def part(inner: Emitter, first: SSAValue) -> None:
        left = inner.value(arith.SubiOp(total, first))
        move(inner, first, inner.value(arith.MinUIOp(left, room)))

    emitter.loop(zero, total, room, part)


# The group meets before it begins: all threads then see the buffer as it is to be sent, and
# the counter, which one of them stored after the message before.
def _put_part(emitter: Emitter, end: ChannelEndpoint, first: SSAValue, count: SSAValue) -> None:
    end.group.meet(emitter)
    number = end.sent(emitter)
    end.wait_for_room(emitter, number, Ordering.acquire)
    place = end.place(emitter, number)

    copy = ElementCopy(
        lambda inner, at: end.message.load(inner, inner.folded_sum(first, at)),
        lambda inner, at, value: end.peer.store(inner, value, _element(inner, end, place, at)),
    )

    def finish(inner: Emitter) -> None:
        counted = inner.value(arith.AddiOp(number, inner.i64(1)))
        end.announce(inner, counted, Ordering.release)
        end.count_sent(inner, counted)

    share(emitter, end.group, count, copy)
    end.group.meet(emitter)
    lead(end.group, emitter, finish)


def _get_part(emitter: Emitter, end: ChannelEndpoint, first: SSAValue, count: SSAValue) -> None:
    end.group.meet(emitter)
    number = end.received(emitter)
    # says so of the message before only now: its place was the spare one
    if end.mailbox.has_spare:
        lead(end.group, emitter, lambda inner: end.give_back(inner, number, Ordering.release))
    counter = end.mailbox.filled(emitter, end.input_slot)
    emitter.spin(lambda inner: inner.compare("eq", end.own.load(inner, counter, i64, Ordering.acquire), number))
    place = end.place(emitter, number)

    copy = ElementCopy(
        lambda inner, at: end.own.load(inner, _element(inner, end, place, at), end.message.wire),
        lambda inner, at, value: end.message.store(inner, inner.folded_sum(first, at), value),
    )

    def finish(inner: Emitter) -> None:
        counted = inner.value(arith.AddiOp(number, inner.i64(1)))
        if not end.mailbox.has_spare:
            end.give_back(inner, counted, Ordering.release)
        end.count_received(inner, counted)

    # each thread has a buffer of its own, so that all of them load all elements
    if end.message.is_private:
        emitter.loop(emitter.index(0), count, emitter.index(1), copy.move)
    else:
        share(emitter, end.group, count, copy)
    end.group.meet(emitter)
    lead(end.group, emitter, finish)


def _element(emitter: Emitter, end: ChannelEndpoint, place: SSAValue, number: SSAValue) -> SSAValue:
    """Where an element of a message lies."""
    return emitter.folded_sum(place, emitter.folded_product(number, emitter.index(end.message.element_bytes)))


@dataclass(frozen=True)
class ElementCopy:
    """How an element is moved, by its number."""

    load: Callable[[Emitter, SSAValue], SSAValue]
    store: Callable[[Emitter, SSAValue, SSAValue], None]

    def move(self, emitter: Emitter, number: SSAValue) -> None:
        self.store(emitter, number, self.load(emitter, number))


def share(emitter: Emitter, group: ThreadGroup, count: SSAValue, copy: ElementCopy) -> None:
    """Have the threads of a group copy `count` elements."""
    first, threads = group.number(emitter), group.count(emitter)
    if _is_worth_it(count, threads):
        stride = emitter.folded_product(threads, emitter.index(AT_ONCE))
        whole = emitter.folded_product(emitter.value(arith.DivUIOp(count, stride)), stride)
        emitter.loop(first, whole, stride, lambda inner, start: _move_several(inner, start, threads, copy))
        first = emitter.folded_sum(whole, first)
    emitter.loop(first, count, threads, copy.move)


def _is_worth_it(count: SSAValue, threads: SSAValue) -> bool:
    """Whether there may be enough elements for each thread to move several at once."""
    elements, workers = scalar_int(count), scalar_int(threads)
    return elements is None or elements >= AT_ONCE * (workers or 1)


def _move_several(emitter: Emitter, start: SSAValue, threads: SSAValue, copy: ElementCopy) -> None:
    numbers = [start]
    for _ in range(AT_ONCE - 1):
        numbers.append(emitter.folded_sum(numbers[-1], threads))
    # all loads before the first store: they are under way at the same time
    values = [copy.load(emitter, number) for number in numbers]
    for number, value in zip(numbers, values, strict=True):
        copy.store(emitter, number, value)
