"""What ranks print: put together from pieces, shown line by line."""

from __future__ import annotations

from collections.abc import Callable

Show = Callable[[int, str], None]
"""Told the rank and a line of what it prints, without its end, as soon as that has come."""


class RankOutput:
    """The output of all ranks."""

    def __init__(self, ranks: int, show: Show | None = None):
        self.ranks, self._show = ranks, show
        self._begun = [b""] * ranks
        self._lines: list[tuple[int, str]] = []

    def add(self, rank: int, data: bytes) -> None:
        *lines, self._begun[rank] = (self._begun[rank] + data).split(b"\n")
        for line in lines:
            self._add_line(rank, line)

    def finish(self) -> None:
        """Take last lines that do not end."""
        for rank, line in enumerate(self._begun):
            if line:
                self._add_line(rank, line)
        self._begun = [b""] * len(self._begun)

    def _add_line(self, rank: int, line: bytes) -> None:
        text = line.decode(errors="replace")
        self._lines.append((rank, text))
        if self._show is not None:
            self._show(rank, text)

    @property
    def all(self) -> str:
        return "".join(f"{line}\n" for _, line in self._lines)

    def of_rank(self, rank: int) -> str:
        return "".join(f"{line}\n" for who, line in self._lines if who == rank)
