"""Mailboxes of messages: memory of a channel on the symmetric heap, the same on every rank.

A rank that receives has a slot for each of its channels, and one that sends has too. All counters begin at 0 and count
messages; each has a line of its own, so that ranks do not disturb each other.

    of a receiver   filled     messages that the sender has put into the slot (the sender writes this)
                    received   messages that were taken out of it
    of a sender     emptied    messages that the receiver is done with (the receiver writes this)
                    sent       messages that were put
    payload         some places for messages in each slot of a receiver

So message n goes to place n mod places once `emptied` says that the message before it there is done with, and is read
once `filled` is above n.

There are as many places as messages may be on their way, and with small messages one to spare: the receiver then says
that it is done with a message when it asks for the next one, and not while its own answer is waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.device.layout import WORD_BYTES
from tilewright.dialects import arith, llvm, memref
from tilewright.dialects._llvm_memory import NOT_ATOMIC, Ordering
from tilewright.dialects._syntax import INDEX
from tilewright.passes.air.air_gpu_channel_to_cacheline.links import ChannelWorld
from tilewright.passes.air.air_gpu_channel_to_cacheline.messages import Message, size_bytes
from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import ThreadGroup
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import Element
from tilewright.passes.air.runtime_calls import POINTER
from tilewright.rewrite.emitter import Emitter

LINE_BYTES = 128
"""Bytes that travel between devices as one."""
LINE_WORDS = LINE_BYTES // WORD_BYTES
FLAG = LINE_WORDS - 1
"""The word of a line that tells whether a message is there."""


@dataclass(frozen=True)
class Slots:
    """Numbers for the channels that a rank has on one side, from some of their indices."""

    dimensions: tuple[int, ...]
    shape: Element

    @property
    def count(self) -> int:
        return prod(self.shape[at] for at in self.dimensions)

    def number(self, element: Element) -> tuple[int, ...]:
        return tuple(element[at] for at in self.dimensions)

    def emit(self, emitter: Emitter, element: Sequence[SSAValue]) -> SSAValue:
        number = emitter.index(0)
        for at in self.dimensions:
            number = emitter.folded_sum(emitter.folded_product(number, emitter.index(self.shape[at])), element[at])
        return number


def find_slots(worlds: Iterable[ChannelWorld], shape: Element, side: str) -> Slots:
    """The fewest slots with which no rank has two channels in one; `side` is `producer` or `consumer`."""
    # few indices may tell the channels of a rank apart: none in a ring, where it has one on each side
    owners = [(world, at, getattr(link, side)) for world in worlds for at, link in world.links.items()]
    subsets = [chosen for count in range(len(shape) + 1) for chosen in combinations(range(len(shape)), count)]
    choices = sorted((Slots(chosen, shape) for chosen in subsets), key=lambda slots: slots.count)
    return next(slots for slots in choices if _is_unique(slots, owners))


def _is_unique(slots: Slots, owners: Sequence[tuple[ChannelWorld, Element, int]]) -> bool:
    seen = {(world.sizes, owner, slots.number(at)) for world, at, owner in owners}
    return len(seen) == len(owners)


@dataclass(frozen=True)
class Mailbox:
    """The memory of one bundle of channels, from `start_bytes` on."""

    start_bytes: int
    inputs: Slots
    outputs: Slots
    depth: int
    """Messages that may be on their way at least."""
    message_bytes: int
    has_spare: bool
    """Whether there is a place for the message that the receiver has last got."""

    @property
    def places(self) -> int:
        return self.depth + self.has_spare

    @property
    def place_bytes(self) -> int:
        """What one message takes, in whole lines."""
        # no two messages share a line, which travels as one
        return -(-max(self.message_bytes, 1) // LINE_BYTES) * LINE_BYTES

    @property
    def _counters(self) -> int:
        return 2 * self.inputs.count + 2 * self.outputs.count

    @property
    def size_bytes(self) -> int:
        return self._counters * LINE_BYTES + self.inputs.count * self.places * self.place_bytes

    def filled(self, emitter: Emitter, slot: SSAValue) -> SSAValue:
        return self._line(emitter, 0, slot)

    def received(self, emitter: Emitter, slot: SSAValue) -> SSAValue:
        return self._line(emitter, self.inputs.count, slot)

    def emptied(self, emitter: Emitter, slot: SSAValue) -> SSAValue:
        return self._line(emitter, 2 * self.inputs.count, slot)

    def sent(self, emitter: Emitter, slot: SSAValue) -> SSAValue:
        return self._line(emitter, 2 * self.inputs.count + self.outputs.count, slot)

    def _line(self, emitter: Emitter, first: int, slot: SSAValue) -> SSAValue:
        """How many bytes a counter is from the start of all mailboxes."""
        start = emitter.index(self.start_bytes + first * LINE_BYTES)
        return emitter.folded_sum(start, emitter.folded_product(slot, emitter.index(LINE_BYTES)))

    def place(self, emitter: Emitter, slot: SSAValue, turn: SSAValue) -> SSAValue:
        """How many bytes a message is from the start of all mailboxes."""
        number = emitter.folded_sum(emitter.folded_product(slot, emitter.index(self.places)), turn)
        start = emitter.index(self.start_bytes + self._counters * LINE_BYTES)
        return emitter.folded_sum(start, emitter.folded_product(number, emitter.index(self.place_bytes)))


def address_of(emitter: Emitter, buffer: SSAValue) -> SSAValue:
    return emitter.value(memref.ExtractAlignedPointerAsIndexOp.create(operands=(buffer,), result_types=[INDEX]))


@dataclass(frozen=True)
class HeapAccess:
    """The memory of channels on one rank, from `start` on; offsets count bytes."""

    start: SSAValue

    def pointer(self, emitter: Emitter, offset: SSAValue) -> SSAValue:
        number = emitter.value(arith.IndexCastOp(emitter.folded_sum(self.start, offset), i64))
        return emitter.value(llvm.IntToPtrOp.create(operands=(number,), result_types=[POINTER]))

    def load(
        self, emitter: Emitter, offset: SSAValue, type: Attribute, ordering: Ordering = Ordering.not_atomic
    ) -> SSAValue:
        return emitter.value(
            llvm.LoadOp.create(
                operands=(self.pointer(emitter, offset),), result_types=[type], properties=_properties(type, ordering)
            )
        )

    def store(
        self, emitter: Emitter, value: SSAValue, offset: SSAValue, ordering: Ordering = Ordering.not_atomic
    ) -> None:
        pointer = self.pointer(emitter, offset)
        emitter.insert(llvm.StoreOp.create(operands=(value, pointer), properties=_properties(value.type, ordering)))


def _properties(type: Attribute, ordering: Ordering) -> dict[str, Attribute]:
    """Atomic accesses are for the whole system: no scope is written."""
    if ordering == Ordering.not_atomic:
        return {"ordering": NOT_ATOMIC}
    return {"ordering": IntegerAttr(int(ordering), i64), "alignment": IntegerAttr(size_bytes(type), i64)}


@dataclass(frozen=True)
class ChannelEndpoint:
    """What a put or get of one channel works with."""

    mailbox: Mailbox
    group: ThreadGroup
    own: HeapAccess
    peer: HeapAccess
    input_slot: SSAValue
    """The slot of the receiver, here or there."""
    output_slot: SSAValue
    message: Message

    def sent(self, emitter: Emitter) -> SSAValue:
        """How many messages were put before this one."""
        return self.own.load(emitter, self.mailbox.sent(emitter, self.output_slot), i64)

    def received(self, emitter: Emitter) -> SSAValue:
        """How many messages were got before this one."""
        return self.own.load(emitter, self.mailbox.received(emitter, self.input_slot), i64)

    def wait_for_room(self, emitter: Emitter, number: SSAValue, ordering: Ordering) -> None:
        """Wait until message `number` may be written over the one that had its place before."""
        places, counter = emitter.i64(self.mailbox.places), self.mailbox.emptied(emitter, self.output_slot)

        def is_full(inner: Emitter) -> SSAValue:
            emptied = self.own.load(inner, counter, i64, ordering)
            # counters only grow, so the difference is what is on its way
            return inner.compare("uge", inner.value(arith.SubiOp(number, emptied)), places)

        emitter.spin(is_full)

    def place(self, emitter: Emitter, number: SSAValue) -> SSAValue:
        """Where in the receiver's memory message `number` lies."""
        places = self.mailbox.places
        turn = emitter.index(0)
        # with one place there is nothing to divide
        if places > 1:
            wide = emitter.value(arith.RemUIOp(number, emitter.i64(places)))
            turn = emitter.value(arith.IndexCastOp(wide, INDEX))
        return self.mailbox.place(emitter, self.input_slot, turn)

    def announce(self, emitter: Emitter, count: SSAValue, ordering: Ordering) -> None:
        """Tell the receiver that so many messages are there."""
        self.peer.store(emitter, count, self.mailbox.filled(emitter, self.input_slot), ordering)

    def give_back(self, emitter: Emitter, count: SSAValue, ordering: Ordering) -> None:
        """Tell the sender that so many messages are done with."""
        self.peer.store(emitter, count, self.mailbox.emptied(emitter, self.output_slot), ordering)

    def count_sent(self, emitter: Emitter, count: SSAValue) -> None:
        self.own.store(emitter, count, self.mailbox.sent(emitter, self.output_slot))

    def count_received(self, emitter: Emitter, count: SSAValue) -> None:
        self.own.store(emitter, count, self.mailbox.received(emitter, self.input_slot))
