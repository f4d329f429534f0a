"""The order of transfers in a block: what has ended when another may start, by tokens and by what has blocked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.air.accesses import Transfer
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.types import AsyncTokenType
from tilewright.passes.air.shim.host_transfers import ShimChannel, host_side, host_transfers
from tilewright.rewrite.folding.air_tokens import buffer_behind

TransferSet: TypeAlias = int
"""Transfers of a block, a bit for each: sets of thousands are joined for each of thousands."""


class TokenOrder:
    """The order of the transfers of one block, as they were before any of them is moved."""

    def __init__(self, block: Block, blocking: Collection[Transfer], channel_of: Callable[[Transfer], ShimChannel]):
        """Those that are `blocking` have ended when the operation after them starts, though they have a token."""
        self._channel_of = channel_of
        self._transfers: list[Transfer] = []
        self._ended_before: dict[Operation, TransferSet] = {}
        self._readers: dict[SSAValue, TransferSet] = defaultdict(int)
        self._writers: dict[SSAValue, TransferSet] = defaultdict(int)
        self._of_channel: dict[ShimChannel, TransferSet] = defaultdict(int)
        self._behind: dict[SSAValue, TransferSet] = {}
        ended: TransferSet = 0
        for op in block.ops:
            before = self._ended_before[op] = ended | self._join(_tokens_of(op))
            own = before | (self._add(op) if isinstance(op, Transfer) and host_side(op) is not None else 0)
            for result in op.results:
                if isinstance(result.type, AsyncTokenType):
                    self._behind[result] = own
            if op in blocking or (isinstance(op, AsyncOp) and op.token is None):
                ended |= own

    def _join(self, tokens: Iterable[SSAValue]) -> TransferSet:
        found: TransferSet = 0
        for token in tokens:
            found |= self._behind.get(token, 0)
        return found

    def _add(self, op: Transfer) -> TransferSet:
        mine = 1 << len(self._transfers)
        self._transfers.append(op)
        users = self._writers if host_side(op) == "dst" else self._readers
        users[_host_buffer(op)] |= mine
        self._of_channel[self._channel_of(op)] |= mine
        return mine

    def conflicts(self, transfer: Transfer, place: Operation | None = None) -> Iterator[Transfer]:
        """What uses the memory of a transfer and has to end before it starts; the last one of each other channel.

        The transfer stands in `place`, a loop of this block, unless in the block itself.
        """
        buffer, own = _host_buffer(transfer), self._channel_of(transfer)
        # reading twice does no harm
        rivals = self._writers[buffer] | (self._readers[buffer] if host_side(transfer) == "dst" else 0)
        for channel, last in self._last(rivals & self._ended_before[place or transfer]):
            # its own channel does one after the other anyway
            if channel != own:
                yield last

    def waited_for(self, wait: Operation) -> list[Transfer]:
        """What has ended when a wait is over: the last transfer of each channel, and so those before it."""
        return [last for _, last in self._last(self._ended_before[wait])]

    def needed_by(self, loop: Operation) -> list[Transfer]:
        """What has to end before a loop starts: what is in conflict with its transfers, and what waits in it name."""
        needed = [other for inner in host_transfers(loop) for other in self.conflicts(inner, loop)]
        if any(isinstance(inner, WaitAllOp) and inner.token is None for inner in loop.walk()):
            needed += self.waited_for(loop)
        return needed

    def _last(self, found: TransferSet) -> Iterator[tuple[ShimChannel, Transfer]]:
        for channel, members in self._of_channel.items():
            if found & members:
                yield channel, self._transfers[(found & members).bit_length() - 1]


def _host_buffer(op: Transfer) -> SSAValue:
    side = host_side(op)
    assert side is not None
    return buffer_behind(op.buffer(side))


def _tokens_of(op: Operation) -> Sequence[SSAValue]:
    """The tokens that an operation takes, or what is in it."""
    if isinstance(op, AsyncOp) and not op.regions:
        return op.dependencies
    return [value for inner in op.walk() for value in inner.operands if isinstance(value.type, AsyncTokenType)]
