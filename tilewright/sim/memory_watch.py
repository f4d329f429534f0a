"""Memory that several transfers are at: words that two of them touch with no order between them, and unwritten words.

A channel of the model takes its words out of memory when it begins to send, and puts them there when the last one has
come; the device does so word by word. Both come to the same as long as no other transfer is at these words
meanwhile, so the result depends on chance, and is reported, when a transfer

- ends to write words that another one, which is not done, has written too,
- ends to write words that another one has yet to send, or
- begins to send words that another one, which is not done, has written.

That one transfer comes to words long after the other, and both are in flight, is fine: data that goes round is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tilewright.device import DmaDirection
from tilewright.device.descriptors import PAD, Addresses
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.sim.faults import FaultKind, FaultLevel, FaultPolicy, place_of

Words = npt.NDArray[np.uint32]
REMEDY = "order them: await the first one, put a lock between them, or let them use different memory"

MEMORY_ALIGNMENT = 64
"""Of a tile's memory in this process: kernels in C++ look at the low bits of addresses."""


class Mover(Protocol):
    """A channel, as far as it matters here."""

    @property
    def direction(self) -> DmaDirection: ...

    @property
    def moved(self) -> int:
        """Words that the transfer has moved so far."""
        ...

    @property
    def transfer(self) -> object: ...


@dataclass(frozen=True)
class TransferAccess:
    """A transfer in flight, and the words that it moves in their order: addresses that mean the same everywhere.

    They are made when they are asked for: a transfer of a gigabyte has two gigabytes of them.
    """

    mover: Mover
    transfer: object
    make_addresses: Callable[[], Addresses]
    low: int
    high: int

    @staticmethod
    def of(mover: Mover, make_addresses: Callable[[], Addresses]) -> TransferAccess | None:
        """None for a transfer of padding alone."""
        addresses = make_addresses()
        if not len(addresses) or (high := int(addresses.max())) == PAD:
            return None
        low = int(addresses.min())
        if low == PAD:
            low = int(addresses[addresses != PAD].min())
        return TransferAccess(mover, mover.transfer, make_addresses, low, high)

    @property
    def addresses(self) -> Addresses:
        return self.make_addresses()

    @property
    def writes(self) -> bool:
        return self.mover.direction is DmaDirection.S2MM

    @property
    def contested(self) -> Addresses:
        """What it has written so far, or has yet to read."""
        addresses = self.addresses
        return addresses[: self.mover.moved] if self.writes else addresses[self.mover.moved :]


class MemoryWatch:
    """Knows the transfers in flight. `name` says in words where an address is."""

    def __init__(self, policy: FaultPolicy, name: Callable[[int], str]):
        self.policy = policy
        self.name = name
        self._open: dict[Mover, TransferAccess] = {}

    @property
    def is_on(self) -> bool:
        return self.policy.level(FaultKind.UNORDERED_WRITES) is not FaultLevel.OFF

    def begin(self, mover: Mover, make_addresses: Callable[[], Addresses]) -> None:
        """A transfer begins; one that sends reads its words now."""
        access = TransferAccess.of(mover, make_addresses)
        if access is None:
            return
        # Readers matter when they begin, writers when they end: that is when the model touches memory.
        if not access.writes:
            self._check(access, [other for other in self._meeting(access) if other.writes])
        self._open[mover] = access

    def note(self, mover: Mover, make_addresses: Callable[[], Addresses]) -> None:
        """A transfer is in flight, and was looked at when it began."""
        access = TransferAccess.of(mover, make_addresses)
        if access is not None:
            self._open[mover] = access

    def meet(self, mover: Mover, make_addresses: Callable[[], Addresses]) -> None:
        """Look at a transfer that begins to send, or that has received its words, among those in flight."""
        if mover.direction is DmaDirection.S2MM:
            self.note(mover, make_addresses)
            self.end(mover)
        else:
            self.begin(mover, make_addresses)

    def end(self, mover: Mover) -> None:
        """A transfer is done; one that receives has written its words now."""
        access = self._open.pop(mover, None)
        if access is not None and access.writes:
            self._check(access, list(self._meeting(access)))

    def forget(self, mover: Mover | None = None) -> None:
        """A transfer was given up; or all were."""
        if mover is None:
            self._open.clear()
        else:
            self._open.pop(mover, None)

    def _meeting(self, access: TransferAccess) -> Iterator[TransferAccess]:
        for other in self._open.values():
            if other.low <= access.high and access.low <= other.high:
                yield other

    def _check(self, access: TransferAccess, others: list[TransferAccess]) -> None:
        for other in others:
            contested = other.contested
            # By word: ranges of strided transfers overlap without one word in common.
            shared = contested[np.isin(contested, access.addresses) & (contested != PAD)]
            if len(shared):
                self._report(access, other, int(shared.min()))
                return

    def _report(self, access: TransferAccess, other: TransferAccess, address: int) -> None:
        verb, other_verb = ("writes" if each.writes else "reads" for each in (access, other))
        self.policy.fault(
            FaultKind.UNORDERED_WRITES,
            f"{access.transfer} {verb} {self.name(address)} while {other.transfer}, which {other_verb} it, is not done",
            access.transfer,
            (place_of(other.transfer), f"{other.transfer} comes from here"),
            (place_of(access.transfer), REMEDY),
        )


def fresh_memory(size_bytes: int, policy: FaultPolicy) -> npt.NDArray[np.uint8]:
    """A tile's memory after reset: zeros, or, where unwritten words are looked for, what no program writes."""
    whole = np.zeros(size_bytes + MEMORY_ALIGNMENT, dtype=np.uint8)
    start = -whole.ctypes.data % MEMORY_ALIGNMENT
    memory = whole[start : start + size_bytes]
    if policy.level(FaultKind.UNWRITTEN_MEMORY) is not FaultLevel.OFF:
        memory.view(np.uint32)[:] = _unwritten(np.arange(0, size_bytes, WORD_BYTES, dtype=np.int64))
    return memory


def check_written(words: Words, offsets: Addresses, where: object, policy: FaultPolicy, asker: object) -> None:
    """Complain about words, read at offsets in a tile's memory, that are as they were after reset."""
    if policy.level(FaultKind.UNWRITTEN_MEMORY) is FaultLevel.OFF:
        return
    # A program that writes just this value by chance is one in 2^32 for each word.
    fresh = offsets[words == _unwritten(offsets)]
    if len(fresh):
        policy.fault(
            FaultKind.UNWRITTEN_MEMORY,
            f"{asker} reads {len(fresh)} words of {where} that nobody has written, the first at {int(fresh.min()):#x}",
            asker,
            (place_of(asker), "give the buffer an initial value, or let this wait for a lock until it is written"),
        )


def _unwritten(offsets: Addresses) -> Words:
    """Differs from word to word, and looks like nothing that a program computes."""
    return (offsets * 0x9E37_79B1 + 0x5A17_C0DE & WORD_MASK).astype(np.uint32)
