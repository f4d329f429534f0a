"""Messages of one line that lies in the program's own buffer, as upstream lowers them.

This is for channels that name no protocol and have one put and one get, of the same `memref<32xi32>` on the symmetric
heap: nothing is copied, the last word of the buffer belongs to the channel, and 31 words are moved. All words of the
line travel together. The last one says how far a message is:

    on the receiver   FULL      a message is there
                      RECEIVED  and has been received; it may be read until the next one is asked for
                      EMPTY     the next one has been asked for
    on the sender     WAITING   a message was sent, and the next one has not been asked for
                      other     a message may be sent

So a message is sent once the one before it is done with, and the flag of an old message is not taken for a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects import arith, memref
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.air.addressing import TranslateOp
from tilewright.dialects.air.channels import ChannelEnd, ChannelPutOp
from tilewright.dialects.air.levels import HerdOp
from tilewright.dialects.air.types import is_symmetric
from tilewright.dialects.gpu.attributes import ShuffleMode
from tilewright.dialects.gpu.ids import LaneIdOp
from tilewright.dialects.gpu.lanes import ShuffleOp
from tilewright.dialects.memref.access import ATOMIC_KINDS, AtomicKind
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_gpu_channel_to_cacheline.links import Bundle, refuse_rank
from tilewright.passes.air.air_gpu_channel_to_cacheline.mailboxes import FLAG, LINE_WORDS
from tilewright.passes.air.air_gpu_channel_to_cacheline.thread_groups import group_of
from tilewright.passes.air.air_gpu_channel_to_cacheline.transfers import Transfers, blocking
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import possible_ranks, rank_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.air_tokens import buffer_behind

EMPTY, RECEIVED, FULL = 0, 1, 2
FREE, WAITING = 0, -(1 << 31)


def is_line_in_place(bundle: Bundle) -> bool:
    """Whether a channel has upstream's form."""
    if len(bundle.puts) != 1 or len(bundle.gets) != 1 or prod(bundle.wide) != 1:
        return False
    accesses = [end.access(end.SIDE) for end in bundle.ends]
    if not all(access.is_whole and _is_line(access.memref.type) for access in accesses):
        return False
    put, get = (buffer_behind(access.memref) for access in accesses)
    return put is get and all(parent_of_type(end, HerdOp) is not None for end in bundle.ends)


def _is_line(type: Attribute) -> bool:
    if not is_ranked(type):
        return False
    return type.get_shape() == (LINE_WORDS,) and type.element_type == i32 and is_symmetric(type)


def lower_in_place(bundle: Bundle, transfers: Transfers) -> None:
    put, get = bundle.puts[0], bundle.gets[0]
    producer, consumer = _rank_of(put), _rank_of(get)
    # one line cannot be full and free at once
    if producer == consumer:
        fail_op(
            bundle.channel,
            f"is put and got by the same rank, {producer}",
            (bundle.channel, 'a rank cannot wait for its own line: ask for protocol = "ordered"'),
        )
    _expand(put, producer, consumer, transfers)
    _expand(get, consumer, producer, transfers)


def _rank_of(end: ChannelEnd) -> int:
    rank = rank_of(end)
    if rank is None:
        refuse_rank(end, f"{_ranks_text(end)}; it must be exactly one")
    return rank


def _ranks_text(end: ChannelEnd) -> str:
    ranks = possible_ranks(end)
    if ranks is None:
        return "the world has any number of ranks, and the conditions around it compare the id with none of them"
    if not ranks:
        return "the conditions around it hold on no rank of this world"
    return f"the conditions around it hold on ranks {', '.join(map(str, ranks[:8]))}{', ...' if ranks[8:] else ''}"


def _expand(end: ChannelEnd, own: int, peer: int, transfers: Transfers) -> None:
    """Move the line where the put or get stands; one wave of the herd does it."""
    herd, buffer = parent_of_type(end, HerdOp), end.access(end.SIDE).memref
    bases = transfers.bases_at(end)
    group = group_of(herd, False, transfers.wave_size)

    def transfer(emitter: Emitter) -> None:
        line = ChannelLine.of(emitter, buffer, own, peer, bases, transfers.wave_size)
        if isinstance(end, ChannelPutOp):
            line.send()
        else:
            line.receive()

    def together(emitter: Emitter) -> None:
        group.meet(emitter)
        # one wave moves the line, so that it is stored at once; the others wait
        group.lead_wave(emitter, transfer)
        group.meet(emitter)

    blocking(end, together)


@dataclass
class ChannelLine:
    """The line of this rank and that of its peer, as one lane of a wave sees them."""

    emitter: Emitter
    own: SSAValue
    peer: SSAValue
    lane: SSAValue
    wave_size: int

    @classmethod
    def of(
        cls, emitter: Emitter, buffer: SSAValue, own_rank: int, peer_rank: int, bases: SSAValue, wave_size: int
    ) -> ChannelLine:
        here, there = emitter.index(own_rank), emitter.index(peer_rank)
        peer = emitter.value(TranslateOp(buffer, here, there, bases))
        lane = emitter.value(LaneIdOp.create(result_types=[INDEX]))
        return cls(emitter, buffer, peer, lane, wave_size)

    def send(self) -> None:
        """Put the message into the peer's line once that is free."""
        self._spin_while("eq", WAITING)
        # before the message is there: the receiver may ask for the next one at once
        self._set_flag(self.emitter, self.own, WAITING)
        inside = self.emitter.compare("ult", self.lane, self.emitter.index(LINE_WORDS))
        self.emitter.when(inside, self._store_line)

    def _store_line(self, emitter: Emitter) -> None:
        """All lanes store at once, so that the line arrives as one."""
        payload = emitter.load(self.own, [self.lane])
        is_flag = emitter.compare("eq", self.lane, emitter.index(FLAG))
        word = emitter.value(arith.SelectOp(is_flag, emitter.constant(FULL), payload))
        emitter.store(word, self.peer, [self.lane])

    def receive(self) -> None:
        """Have the peer send the next message, unless it has, and wait for it."""
        self._ask_for_more()
        self._spin_while("ne", FULL)
        self._set_flag(self.emitter, self.own, RECEIVED)

    def _ask_for_more(self) -> None:
        """A message that was received before is done with: empty the line, then tell the sender."""
        received = self.emitter.compare("eq", self._own_flag(self.emitter), self.emitter.constant(RECEIVED))

        def ask(emitter: Emitter) -> None:
            self._set_flag(emitter, self.own, EMPTY)
            self._set_flag(emitter, self.peer, FREE)

        self.emitter.when(received, ask)

    def _spin_while(self, predicate: str, state: int) -> None:
        """Look at the own flag until it has changed."""
        compared = self.emitter.constant(state)
        self.emitter.spin(lambda inner: inner.compare(predicate, self._own_flag(inner), compared))

    def _own_flag(self, emitter: Emitter) -> SSAValue:
        """The last word of the own line, which one lane reads and all lanes get."""
        inside = emitter.compare("ult", self.lane, emitter.index(LINE_WORDS))
        # read by an update that changes nothing: a loop that only reads could be taken for one without effect
        word = emitter.choose(
            inside,
            i32,
            lambda inner: self._update(inner, AtomicKind.ADDI, self.own, 0),
            lambda inner: inner.constant(0),
        )
        flag_lane, width = emitter.constant(FLAG), emitter.constant(self.wave_size)
        return emitter.value(ShuffleOp(ShuffleMode.IDX, word, flag_lane, width))

    def _update(self, emitter: Emitter, kind: AtomicKind, line: SSAValue, number: int) -> SSAValue:
        """Change the word of a line that belongs to the lane; gives what it was."""
        properties = {"kind": IntegerAttr(ATOMIC_KINDS.index(kind), i64)}
        operands = (emitter.constant(number), line, self.lane)
        return emitter.value(memref.AtomicRMWOp.create(operands=operands, result_types=[i32], properties=properties))

    def _set_flag(self, emitter: Emitter, line: SSAValue, state: int) -> None:
        is_flag = emitter.compare("eq", self.lane, emitter.index(FLAG))
        emitter.when(is_flag, lambda inner: self._update(inner, AtomicKind.ASSIGN, line, state))
