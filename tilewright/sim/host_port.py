"""The way to host memory, which all shim channels share: they take turns, a burst each."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.device.timing import Timing

FRACTION = 1 << 10
"""Parts of a cycle that bandwidths are counted in."""


class HostPort:
    """When host memory is free for the next burst. Bursts are served in the order in which they are asked for."""

    def __init__(self, timing: Timing):
        self.word_cost = 4 * 1000 * FRACTION // timing.host_bytes_per_kilocycle
        self.free_at = 0

    def reserve(self, now: int, words: int) -> int:
        """The time, in fractions of a cycle, from which on words can move."""
        start = max(now * FRACTION, self.free_at)
        self.free_at = start + words * self.word_cost
        return start


@dataclass
class Bursts:
    """The bursts of one shim channel, which has a pace of its own."""

    port: HostPort
    words: int
    """In a burst."""
    word_cost: int
    """Of the channel, in fractions of a cycle."""
    free_at: int = 0

    def reserve(self, now: int, left: int) -> int:
        """Cycles to wait before the next burst of what is left begins."""
        count = min(left, self.words)
        begin = max(self.port.reserve(now, count), self.free_at)
        self.free_at = begin + count * self.word_cost
        return -(-begin // FRACTION) - now


def bursts_of(port: HostPort, timing: Timing, reads: bool) -> Bursts:
    millicycles = timing.host_read_millicycles if reads else timing.host_write_millicycles
    return Bursts(port, timing.host_burst_words, millicycles * FRACTION // 1000)
