"""A message of one cache line: 31 words and a flag, which travel together.

The line is the same symmetric buffer on both ranks. Its last word belongs to the channel and says how far a message is:

    on the receiver   FULL      a message is there
                      RECEIVED  and has been received; it may be read until the next one is asked for
                      EMPTY     the next one has been asked for
    on the sender     WAITING   a message was sent, and the next one has not been asked for
                      other     a message may be sent

So a message is sent once the one before it is done with, and the flag of an old message is not taken for a new one.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.ir import SSAValue

from tilewright.dialects import arith, memref
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.addressing import TranslateOp
from tilewright.dialects.gpu.attributes import ShuffleMode
from tilewright.dialects.gpu.ids import LaneIdOp
from tilewright.dialects.gpu.lanes import ShuffleOp
from tilewright.dialects.memref.access import ATOMIC_KINDS, AtomicKind
from tilewright.rewrite.emitter import Emitter

LINE_WORDS = 32
FLAG = LINE_WORDS - 1
EMPTY, RECEIVED, FULL = 0, 1, 2
FREE, WAITING = 0, -(1 << 31)


@dataclass
class Line:
    """The line of this rank and that of its peer, as one lane of a wave sees them."""

    emitter: Emitter
    own: SSAValue
    peer: SSAValue
    lane: SSAValue
    wave_size: int

    @classmethod
    def of(
        cls, emitter: Emitter, buffer: SSAValue, own_rank: int, peer_rank: int, bases: SSAValue, wave_size: int
    ) -> Line:
        here, there = emitter.index(own_rank), emitter.index(peer_rank)
        peer = emitter.value(TranslateOp(buffer, here, there, bases))
        lane = emitter.value(LaneIdOp.create(result_types=[INDEX]))
        return cls(emitter, buffer, peer, lane, wave_size)

    def send(self) -> None:
        """Put the message into the peer's line once that is free."""
        self._spin_while("eq", WAITING)
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
        word = emitter.choose(inside, i32, self._poll, lambda inner: inner.constant(0))
        flag_lane, width = emitter.constant(FLAG), emitter.constant(self.wave_size)
        return emitter.value(ShuffleOp(ShuffleMode.IDX, word, flag_lane, width))

    def _poll(self, emitter: Emitter) -> SSAValue:
        """Read by an update that changes nothing: a loop that only reads could be taken for one without effect."""
        kind = {"kind": IntegerAttr(ATOMIC_KINDS.index(AtomicKind.ADDI), i64)}
        return emitter.value(
            memref.AtomicRMWOp.create(
                operands=(emitter.constant(0), self.own, self.lane), result_types=[i32], properties=kind
            )
        )

    def _set_flag(self, emitter: Emitter, line: SSAValue, state: int) -> None:
        is_flag = emitter.compare("eq", self.lane, emitter.index(FLAG))

        def exchange(inner: Emitter) -> None:
            kind = {"kind": IntegerAttr(ATOMIC_KINDS.index(AtomicKind.ASSIGN), i64)}
            inner.value(
                memref.AtomicRMWOp.create(
                    operands=(inner.constant(state), line, self.lane), result_types=[i32], properties=kind
                )
            )

        emitter.when(is_flag, exchange)
