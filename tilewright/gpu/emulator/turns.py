"""Turns of ranks: which may run, and what it means that none can get on."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Protocol


class Stuck(Exception):
    """No rank can get on; `others` says what they do, by rank."""

    def __init__(self, others: dict[int, str] | None = None):
        super().__init__("no rank can get on")
        self.others = others or {}


class Turns(Protocol):
    """What a rank needs to share time with the others."""

    others: bool
    """Whether there are other ranks at all."""

    def pause(self, progress: bool, idle: bool) -> bool:
        """Let others have a turn; whether any of them did something. Raises `Stuck` if none can.

        `progress` says that this rank did something since the last time, `idle` that it cannot do more by itself.
        """
        ...

    def waiting(self) -> Generator[None]: ...

    def leave(self) -> None:
        """This rank has ended."""
        ...


class Alone:
    """The only rank."""

    others = False

    def pause(self, progress: bool, idle: bool) -> bool:
        if idle:
            raise Stuck
        return False

    def waiting(self) -> Generator[None]:
        yield

    def leave(self) -> None: ...


SHORTEST_NAP_S, LONGEST_NAP_S = 0.0001, 0.005
"""How long a rank sleeps that no other can wake, the longer the more often it found nothing."""


class Free:
    """Ranks that run as they like, as on several machines; one that waits this long is taken to wait for ever."""

    others = True

    def __init__(self, patience_s: float = 300.0):
        self.patience_s = patience_s
        self._since: float | None = None
        self._nap_s = SHORTEST_NAP_S

    def pause(self, progress: bool, idle: bool) -> bool:
        now = time.monotonic()
        if progress or not idle:
            self._since, self._nap_s = None, SHORTEST_NAP_S
            return False
        if self._since is None:
            self._since = now
        if now - self._since > self.patience_s:
            raise Stuck
        time.sleep(self._nap_s)
        self._nap_s = min(2 * self._nap_s, LONGEST_NAP_S)
        return True

    def waiting(self) -> Generator[None]:
        yield
        self._since = None

    def leave(self) -> None: ...
