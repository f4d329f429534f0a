"""Bytes of a host's memory by who has written them last: its program, or the device."""

from __future__ import annotations

from itertools import groupby

COHERENCE_GRANULE = 64
"""Bytes that a real host and its device exchange at least, a cache line; parts of a tensor have to respect it."""
HOST, DEVICE = "cpu", "npu"


class CoherenceMap:
    """Ranges of bytes with the one that has written them last."""

    def __init__(self, nbytes: int, state: str, granule: int | None = None):
        self.nbytes = nbytes
        self.granule = COHERENCE_GRANULE if granule is None else granule
        self._spans = [(0, nbytes, state)]

    @property
    def uniform(self) -> str | None:
        """The writer of all bytes, None if there are two."""
        return self._spans[0][2] if len(self._spans) == 1 else None

    def set(self, start: int, end: int, state: str) -> None:
        """Say who has written a range; it begins and ends with cache lines, or with the memory."""
        if start >= end:
            return
        for edge in (start, end):
            if edge % self.granule and edge != self.nbytes:
                raise ValueError(
                    f"recording {state!r} for bytes [{start}, {end}) would leave a state boundary at byte {edge}, "
                    f"which is not on a {self.granule}-byte coherence granule"
                )
        before = [(low, min(high, start), old) for low, high, old in self._spans if low < start]
        after = [(max(low, end), high, old) for low, high, old in self._spans if high > end]
        runs = groupby([*before, (start, end, state), *after], key=lambda span: span[2])
        merged = ((writer, [*spans]) for writer, spans in runs)
        self._spans = [(spans[0][0], spans[-1][1], writer) for writer, spans in merged]

    def ranges(self, start: int, end: int, state: str) -> list[tuple[int, int]]:
        """The parts of a range that one of them has written."""
        return [(low, high) for low, high, writer in self._inside(start, end) if writer == state]

    def get(self, start: int, end: int) -> str | None:
        """The writer of a range, None if there are two."""
        writers = {writer for _, _, writer in self._inside(start, end)}
        return writers.pop() if len(writers) == 1 else None

    def any_host_written(self, start: int, end: int) -> bool:
        return any(writer == HOST for _, _, writer in self._inside(start, end))

    def _inside(self, start: int, end: int) -> list[tuple[int, int, str]]:
        if self.uniform is not None:  # also for a range without bytes
            return [(start, end, self.uniform)]
        return [
            (max(low, start), min(high, end), writer) for low, high, writer in self._spans if low < end and high > start
        ]
