"""Host memory as a product sees it: what it gives an array in a cycle, and what it costs to ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from tilewright.device import model
from tilewright.device.timing import timing_of

SAMPLED_LINES = 64
"""Of a matrix, to see where its runs lie in bursts: they repeat."""
TASK_ACCESSES = 8, 2, 2, 1
"""Words that the sequence writes for a transfer: the descriptor, its address, whom to tell, the queue."""


@dataclass(frozen=True)
class HostLimits:
    """What host memory gives an array, in bytes for each cycle, and what it costs to ask for it, in cycles."""

    read: float
    """To all shim tiles together."""
    both: float
    """From and to all of them."""
    column: float
    channel_read: float
    channel_write: float
    burst_bytes: int
    unused: float
    """The share of a burst's unused bytes that takes time."""
    write: float
    """To set a word of the array."""
    task: float
    """To start a transfer."""
    first_word: float
    """From there to its first word."""
    last_word: float
    """From the last word of a write until the sequence goes on."""

    @staticmethod
    @cache
    def of(device: str) -> HostLimits:
        target = model(device)
        timing = timing_of(target.arch)
        read, both, column = (
            megabytes / timing.clock_mhz
            for megabytes in (timing.host_read_mb_per_s, timing.host_mb_per_s, timing.column_mb_per_s)
        )
        return HostLimits(
            read=read,
            both=both,
            column=column,
            channel_read=4000 / timing.host_read_millicycles,
            channel_write=4000 / timing.host_write_millicycles,
            burst_bytes=target.burst_bytes(0),
            unused=timing.burst_unused_percent / 100,
            write=timing.operation_cycles(),
            task=sum(map(timing.operation_cycles, TASK_ACCESSES)),
            first_word=timing.host_read_cycles(0),
            last_word=timing.cycles(timing.host_write_ns + timing.token_ns),
        )

    @cache  # noqa: B019, there is one for each device
    def charged(self, run: int, line: int, piece: int, burst: int = 0) -> float:
        """Bytes that take time for each that is wanted, in runs of `run` bytes; lines and pieces are so far apart."""
        length = burst or self.burst_bytes
        starts = (np.arange(SAMPLED_LINES)[:, None] * line + np.arange(SAMPLED_LINES) * piece) % length
        bursts = (starts + run - 1) // length + 1
        whole = float(bursts.mean()) * length
        return 1 + (whole / run - 1) * self.unused
