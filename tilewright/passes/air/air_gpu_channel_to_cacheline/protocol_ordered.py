"""Messages of any size, ordered by release and acquire: right by the memory model of every target.

put   wait until the place is free (acquire)     get   wait until the message is there (acquire)
      store the payload into it                        load the payload
      meet, then say that it is there (release)        meet, then say that the place is free (release)
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tilewright.dialects._llvm_memory import Ordering
from tilewright.passes.air.air_gpu_channel_to_cacheline.channel_endpoints import Endpoint
from tilewright.passes.air.air_gpu_channel_to_cacheline.shared_copies import Copy, share
from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import lead
from tilewright.passes.air.emitter import Emitter


def put(emitter: Emitter, end: Endpoint) -> None:
    _in_parts(emitter, end, lambda inner, first, count: _put_part(inner, end, first, count))


def get(emitter: Emitter, end: Endpoint) -> None:
    _in_parts(emitter, end, lambda inner, first, count: _get_part(inner, end, first, count))


def _in_parts(emitter: Emitter, end: Endpoint, move: Callable[[Emitter, SSAValue, SSAValue], None]) -> None:
    """One message; if its length is known at run time only, as many as it takes, each as long as a place."""
    message, zero = end.message, emitter.constant(0)
    total = message.total(emitter)
    if message.length is not None:
        move(emitter, zero, total)
        return
    room = emitter.constant(end.mailbox.message_bytes // message.element_bytes)

    def part(inner: Emitter, first: SSAValue) -> None:
        left = inner.arith("subi", total, first)
        move(inner, first, inner.arith("minui", left, room))

    emitter.loop(zero, total, room, part)


def _put_part(emitter: Emitter, end: Endpoint, first: SSAValue, count: SSAValue) -> None:
    end.group.meet(emitter)
    number = end.sent(emitter)
    end.wait_for_room(emitter, number, Ordering.acquire)
    place = end.place(emitter, number)

    copy = Copy(
        lambda inner, at: end.message.load(inner, inner.sum(first, at)),
        lambda inner, at, value: end.peer.store(inner, value, _element(inner, end, place, at)),
    )

    def finish(inner: Emitter) -> None:
        counted = inner.arith("addi", number, inner.i64(1))
        end.announce(inner, counted, Ordering.release)
        end.count_sent(inner, counted)

    share(emitter, end.group, count, copy)
    end.group.meet(emitter)
    lead(end.group, emitter, finish)


def _get_part(emitter: Emitter, end: Endpoint, first: SSAValue, count: SSAValue) -> None:
    end.group.meet(emitter)
    number = end.received(emitter)
    if end.mailbox.has_spare:
        lead(end.group, emitter, lambda inner: end.give_back(inner, number, Ordering.release))
    counter = end.mailbox.filled(emitter, end.input_slot)
    emitter.spin(lambda inner: inner.compare("eq", end.own.load(inner, counter, i64, Ordering.acquire), number))
    place = end.place(emitter, number)

    copy = Copy(
        lambda inner, at: end.own.load(inner, _element(inner, end, place, at), end.message.wire),
        lambda inner, at, value: end.message.store(inner, inner.sum(first, at), value),
    )

    def finish(inner: Emitter) -> None:
        counted = inner.arith("addi", number, inner.i64(1))
        if not end.mailbox.has_spare:
            end.give_back(inner, counted, Ordering.release)
        end.count_received(inner, counted)

    if end.message.is_private:
        emitter.loop(emitter.constant(0), count, emitter.constant(1), copy.move)
    else:
        share(emitter, end.group, count, copy)
    end.group.meet(emitter)
    lead(end.group, emitter, finish)


def _element(emitter: Emitter, end: Endpoint, place: SSAValue, number: SSAValue) -> SSAValue:
    """Where an element of a message lies."""
    return emitter.sum(place, emitter.product(number, emitter.constant(end.message.element_bytes)))
