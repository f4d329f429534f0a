"""One end of a channel as a kernel sees it: its memory here, that of the peer, and how many messages there were."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tilewright.dialects._llvm_memory import Ordering
from tilewright.passes.air.air_gpu_channel_to_cacheline.heap_memory import Heap
from tilewright.passes.air.air_gpu_channel_to_cacheline.mailboxes import Mailbox
from tilewright.passes.air.air_gpu_channel_to_cacheline.messages import Message
from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import Group
from tilewright.passes.air.emitter import INDEX, Emitter


@dataclass(frozen=True)
class Endpoint:
    """What a put or get of one channel works with."""

    mailbox: Mailbox
    group: Group
    own: Heap
    peer: Heap
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
            return inner.compare("uge", inner.arith("subi", number, emptied), places)

        emitter.spin(is_full)

    def place(self, emitter: Emitter, number: SSAValue) -> SSAValue:
        """Where in the receiver's memory message `number` lies."""
        places = self.mailbox.places
        turn = emitter.constant(0)
        if places > 1:
            wide = emitter.arith("remui", number, emitter.i64(places))
            turn = emitter.value("arith.index_cast", (wide,), INDEX)
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
