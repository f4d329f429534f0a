"""Host memory: the arrays that a sequence's arguments are, at addresses that descriptors get patched with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.device.descriptors import PAD, PIECE_WORDS, Addresses, BufferDescriptor
from tilewright.device.layout import WORD_BYTES
from tilewright.device.timing import Timing
from tilewright.ir.run_errors import Fault
from tilewright.sim.faults import FaultKind, FaultPolicy, place_of

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

FIRST_ADDRESS = 0x1_0000_0000
LONGEST_WORDS = 1 << 26
"""What goes round in little memory can be very long; more than this is refused whatever the policy says."""
SPACING = 1 << 36
"""Buffers begin at multiples of this past the first: what a descriptor reaches from one of them is not in another."""
FRACTION = 1 << 13
"""Parts of a cycle that bandwidths are counted in."""


@dataclass(frozen=True)
class MappedBuffer:
    """An argument's bytes, and the address that the array sees them at."""

    name: str
    address: int
    data: Bytes
    """Read-only where the array must not be written."""

    @property
    def end(self) -> int:
        return self.address + len(self.data)

    @property
    def is_writeable(self) -> bool:
        return self.data.flags.writeable


class HostMemory:
    """All buffers of a run."""

    def __init__(self, policy: FaultPolicy):
        self.policy = policy
        self.arguments: dict[int, MappedBuffer] = {}

    @property
    def buffers(self) -> list[MappedBuffer]:
        return list(self.arguments.values())

    def add(self, number: int, name: str, data: Bytes) -> MappedBuffer:
        """Map the bytes that are a sequence's argument of that number; results are written into them."""
        # Far apart, so that running over the end of one argument cannot look like an access to the next.
        start = self.buffers[-1].end if self.buffers else FIRST_ADDRESS - SPACING
        address = FIRST_ADDRESS + -(-(start + 1 - FIRST_ADDRESS) // SPACING) * SPACING
        buffer = self.arguments[number] = MappedBuffer(name, address, data)
        return buffer

    def argument(self, index: int) -> MappedBuffer | None:
        """The buffer that sequences mean by an index: the argument of that number, if it is an array.

        Hosts pass buffers alone, so what a trace is written to is counted among those: mlir-aie, AIEInsertTraceFlows.
        """
        if index in self.arguments:
            return self.arguments[index]
        return self.buffers[index] if index < len(self.buffers) else None

    @property
    def words(self) -> int:
        """Words in all buffers together."""
        return sum(len(buffer.data) for buffer in self.buffers) // WORD_BYTES

    def check_reach(self, descriptor: BufferDescriptor, asker: object) -> None:
        """What a transfer touches at most must be inside of a buffer; the addresses need not be made to see that."""
        # At most: padding and short rows make it less, never more.
        start, end = descriptor.reach(descriptor.iteration)
        self._find(np.array([start, end - WORD_BYTES]), asker, "reaches")
        if descriptor.length > LONGEST_WORDS:
            text = f"{asker} moves {descriptor.length} words, which is more than can be held here"
            raise Fault(text, place_of(asker), kind=FaultKind.OUTSIDE_MEMORY)

    def goes_in_pieces(self, descriptor: BufferDescriptor) -> bool:
        """Whether what is written comes into memory as it arrives: a long line that is inside of a buffer."""
        first, (start, end) = descriptor.dimensions[0], descriptor.reach(descriptor.iteration)
        if descriptor.length <= PIECE_WORDS or descriptor.compressed or first.wrap or first.step != 1:
            return False
        buffer = self.at(start)
        return buffer is not None and buffer.is_writeable and end <= buffer.end // WORD_BYTES * WORD_BYTES

    def gather(self, addresses: Addresses, asker: object) -> Words:
        """The words at byte addresses; 0 for padding and where there is nothing."""
        words = np.zeros(len(addresses), dtype=np.uint32)
        found = self._find(addresses, asker, "reads")
        if found is not None:
            buffer, inside = found
            source = _words(buffer.data)
            for part in _pieces(len(words)):
                here = inside[part]
                words[part][here] = source[(addresses[part][here] - buffer.address) // WORD_BYTES]
        return words

    def scatter(self, addresses: Addresses, words: Words, asker: object) -> None:
        found = self._find(addresses, asker, "writes")
        if found is not None:
            buffer, inside = found
            if not buffer.is_writeable:
                text = f"{asker} writes to argument {buffer.name}, which is read-only"
                remedy = place_of(asker), "pass an array that can be written"
                raise Fault(text, place_of(asker), [remedy], FaultKind.OUTSIDE_MEMORY)
            target = _words(buffer.data)
            for part in _pieces(len(words)):
                here = inside[part]
                target[(addresses[part][here] - buffer.address) // WORD_BYTES] = words[part][here]

    def _find(
        self, addresses: Addresses, asker: object, verb: str
    ) -> tuple[MappedBuffer, npt.NDArray[np.bool_]] | None:
        """The buffer that the addresses are in or behind, and which of them are inside; the rest is a fault."""
        if not len(addresses) or (highest := int(addresses.max())) == PAD:
            return None
        low, high = int(addresses.min()), highest + WORD_BYTES
        if low == PAD:
            low = int(addresses[addresses != PAD].min())
        # Half of the gap behind a buffer counts as its: a transfer that runs over its end is told by its name.
        buffer = next((b for b in self.buffers if b.address < high and low < b.end + SPACING // 2), None)
        if buffer is None:
            text = f"{asker} {verb} host address {low:#x}: {self._nearest(low)}"
            note = place_of(asker), "put the address of an argument into the descriptor before the task is pushed"
            self.policy.fault(FaultKind.OUTSIDE_MEMORY, text, asker, note)
            return None
        # Bytes after the last whole word cannot be moved.
        if low < buffer.address or high > buffer.end // WORD_BYTES * WORD_BYTES:
            self.policy.fault(
                FaultKind.OUTSIDE_MEMORY,
                f"{asker} {verb} bytes {low - buffer.address} to {high - buffer.address} of argument {buffer.name}, "
                f"which has {len(buffer.data)}",
                asker,
                (place_of(asker), "pass a longer array, or let the transfer end where the array does"),
            )
        inside = (addresses >= buffer.address) & (addresses <= buffer.end - WORD_BYTES)
        return buffer, inside

    def name(self, address: int) -> str | None:
        """Where an address is, in words; None if it is in no buffer."""
        found = self.at(address)
        return f"byte {address - found.address} of argument {found.name}" if found else None

    def at(self, address: int) -> MappedBuffer | None:
        """The buffer that an address is in."""
        return next((b for b in self.buffers if b.address <= address < b.end), None)

    def _nearest(self, address: int) -> str:
        if not self.buffers:
            return "there are no host buffers"
        nearest = min(self.buffers, key=lambda b: min(abs(address - b.address), abs(address - b.end)))
        return f"no argument is there; the nearest, {nearest.name}, is at {nearest.address:#x} to {nearest.end:#x}"


def _pieces(count: int) -> Iterator[slice]:
    """Long transfers go some words at a time, so that their offsets take little memory."""
    return (slice(first, first + PIECE_WORDS) for first in range(0, count, PIECE_WORDS))


def _words(data: Bytes) -> Words:
    return data[: len(data) // WORD_BYTES * WORD_BYTES].view(np.uint32)


@dataclass
class HostLimit:
    """Words that go some way in a second at most: bursts are served in the order that they are asked for."""

    word_cost: int
    """In fractions of a cycle."""
    free_at: int = 0

    def reserve(self, now: int, words: int, word_cost: int | None = None) -> int:
        """The time, in fractions of a cycle, from which on words can move."""
        start = max(now * FRACTION, self.free_at)
        self.free_at = start + words * (self.word_cost if word_cost is None else word_cost)
        return start


class HostPort:
    """The way to host memory, which all shim channels share: what is read has a limit, and what goes both ways."""

    def __init__(self, timing: Timing):
        self.read = HostLimit(word_cost(timing, timing.host_read_mb_per_s))
        self.both = HostLimit(word_cost(timing, timing.host_mb_per_s))
        self.plain_cost = word_cost(timing, timing.host_plain_mb_per_s)


def word_cost(timing: Timing, mb_per_s: int) -> int:
    """Fractions of a cycle for a word."""
    # Integers all the way: both models then round alike.
    return WORD_BYTES * timing.clock_mhz * FRACTION // mb_per_s


@dataclass
class Bursts:
    """The bursts of one shim channel, which has a pace of its own."""

    port: HostPort
    column: HostLimit
    reads: bool
    word_cost: int
    """Of the channel, in fractions of a cycle."""
    unused_percent: int
    free_at: int = 0

    def reserve(self, now: int, used: int, whole: int, is_upsized: bool) -> int:
        """Cycles to wait before a burst begins, of whose words some are used."""
        cost = None if is_upsized else self.port.plain_cost
        words = used + (whole - used) * self.unused_percent // 100
        begin = max(self.free_at, self.port.both.reserve(now, words, cost), self.column.reserve(now, words))
        if self.reads:
            begin = max(begin, self.port.read.reserve(now, words))
        self.free_at = begin + used * self.word_cost
        # Rounded up: a word moves in the cycle after its fraction.
        return -(-begin // FRACTION) - now


def burst_starts(addresses: Addresses, burst_bytes: int) -> list[int]:
    """Which of the words begin a burst, and the number of words: runs are cut where bursts end."""
    begins = addresses % burst_bytes == 0
    begins[0] = True
    begins[1:] |= np.diff(addresses) != WORD_BYTES
    return [*np.flatnonzero(begins).tolist(), len(addresses)]


def bursts_of(port: HostPort, column: HostLimit, timing: Timing, reads: bool) -> Bursts:
    millicycles = timing.host_read_millicycles if reads else timing.host_write_millicycles
    return Bursts(port, column, reads, millicycles * FRACTION // 1000, timing.burst_unused_percent)
