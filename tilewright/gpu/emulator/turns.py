"""Turns of ranks: who may run, and what it means that nobody can get on."""

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

    def pause(self, progress: bool) -> bool:
        """Let others have a turn; whether any of them did something. Raises `Stuck` if nobody can."""
        ...

    def waiting(self) -> Generator[None]: ...

    def leave(self) -> None:
        """This rank has ended."""
        ...


class Alone:
    """The only rank."""

    others = False

    def pause(self, progress: bool) -> bool:
        if not progress:
            raise Stuck
        return False

    def waiting(self) -> Generator[None]:
        yield

    def leave(self) -> None: ...


class Free:
    """Ranks that run as they like, as on several machines; one that waits this long is taken to wait for ever."""

    others = True

    def __init__(self, patience_s: float = 300.0):
        self.patience_s = patience_s
        self._since: float | None = None

    def pause(self, progress: bool) -> bool:
        now = time.monotonic()
        if progress:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        if now - self._since > self.patience_s:
            raise Stuck
        time.sleep(0.0002)
        return True

    def waiting(self) -> Generator[None]:
        yield
        self._since = None

    def leave(self) -> None: ...
