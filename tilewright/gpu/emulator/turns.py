"""Turns of ranks: which may run, and what it means that none can get on.

On one machine one rank at a time runs, so that a run depends on its seed alone.
"""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from tilewright.gpu.emulator.memory import map_file


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

    def waiting(self) -> AbstractContextManager[None]:
        """The host waits for all ranks inside of it."""
        ...

    def leave(self) -> None:
        """This rank has ended."""
        ...


class SingleRankTurns:
    """The only rank."""

    others = False

    def pause(self, progress: bool, idle: bool) -> bool:
        if idle:
            raise Stuck
        return False

    @contextmanager
    def waiting(self) -> Generator[None]:
        yield

    def leave(self) -> None: ...


SHORTEST_NAP_S, LONGEST_NAP_S = 0.0001, 0.005
"""How long a rank sleeps that no other can wake, the longer the more often it found nothing."""


class FreeTurns:
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
        # others are in other processes or on other machines: nothing wakes this one
        self._nap_s = min(2 * self._nap_s, LONGEST_NAP_S)
        return True

    @contextmanager
    def waiting(self) -> Generator[None]:
        yield
        self._since = None

    def leave(self) -> None: ...


class State(IntEnum):
    """What a rank does, as the others see it."""

    STARTING = 0
    READY = 1
    WAITING = 2
    ENDED = 3


WORDS = struct.Struct("=qqq")
"""Per rank: its state, its process, and the count of steps since which it has nothing to do (or -1)."""
HEADER = struct.Struct("=qqqq")
"""Turns so far, steps so far, which rank has the turn (or -1), and whether all are stuck."""
DESCRIBED = {
    State.STARTING: "has not begun",
    State.READY: "waits in a kernel",
    State.WAITING: "waits for other ranks in the host program",
    State.ENDED: "has ended",
}
LOOK_EVERY_S = 0.5


class SharedTurns:
    """Turns through a file that all ranks map: the one that has the turn chooses the next, and writes to its pipe.

    A rank that waits in the host program gets on only when all ranks have come there. So once all wait, none has a
    turn until all are back, and who comes back first does not matter.
    """

    others = True

    def __init__(self, folder: Path, rank: int, size: int, seed: int):
        self.rank, self.size, self.seed = rank, size, seed
        self._map = map_file(folder / "turns", HEADER.size + WORDS.size * size)
        self._lock = os.open(folder / "turns.lock", os.O_RDWR | os.O_CREAT, 0o600)
        self._pipes = [folder / f"turn{number}" for number in range(size)]
        with suppress(FileExistsError):
            os.mkfifo(self._pipes[rank], 0o600)
        # for writing too: a pipe without writers would be readable all the time
        self._wake = os.open(self._pipes[rank], os.O_RDWR)
        self._ends: dict[int, int] = {}
        self._to_tell: list[int] = []
        """Whom to wake once the table is free: they look at it at once."""

    def begin(self) -> None:
        """Wait for the first turn; all pipes are there when this is called."""
        with self._locked():
            self._set(self.rank, State.READY)
            turns, steps, _, stuck = self._header()
            if turns == 0 and not self._any(State.STARTING):
                self._grant(turns, steps, stuck)
        self._await()

    def pause(self, progress: bool, idle: bool) -> bool:
        with self._locked():
            turns, steps, _, _ = self._header()
            steps += progress
            self._set(self.rank, State.READY, steps if idle else -1)
            stuck = self._all_stuck(steps)
            self._grant(turns, steps, stuck)
        self._await()
        _, now, _, stuck = self._header()
        if stuck:
            self._pass_on_stuck()
            raise Stuck(self._others())
        return now != steps

    @contextmanager
    def waiting(self) -> Generator[None]:
        """The host waits for all ranks inside of it."""
        with self._locked():
            turns, steps, _, _ = self._header()
            self._set(self.rank, State.WAITING)
            # a step, so that ranks which were idle look again before they count as stuck
            self._grant(turns, steps + 1, False)
        yield
        with self._locked():
            turns, steps, holder, stuck = self._header()
            self._set(self.rank, State.READY)
            if holder < 0 and not self._any(State.WAITING):
                self._grant(turns, steps + 1, stuck)
        self._await()

    def leave(self) -> None:
        with self._locked():
            turns, steps, holder, stuck = self._header()
            self._set(self.rank, State.ENDED)
            if holder == self.rank or (holder < 0 and not self._any(State.WAITING)):
                self._grant(turns, steps + 1, stuck)
        for end in self._ends.values():
            os.close(end)
        self._ends.clear()

    @contextmanager
    def _locked(self) -> Generator[None]:
        import fcntl  # not on Windows, where ranks do not share a machine

        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            # after the lock is free: who is told takes it at once
            while self._to_tell:
                self._tell(self._to_tell.pop())

    def _header(self) -> tuple[int, int, int, bool]:
        turns, steps, holder, stuck = HEADER.unpack_from(self._map, 0)
        return turns, steps, holder, bool(stuck)

    def _set(self, rank: int, state: State, idle: int = -1) -> None:
        WORDS.pack_into(self._map, HEADER.size + rank * WORDS.size, state, os.getpid(), idle)

    def _row(self, rank: int) -> tuple[State, int, int]:
        state, process, idle = WORDS.unpack_from(self._map, HEADER.size + rank * WORDS.size)
        return State(state), process, idle

    def _rows(self) -> list[tuple[State, int, int]]:
        return [self._row(rank) for rank in range(self.size)]

    def _any(self, state: State) -> bool:
        return any(row[0] is state for row in self._rows())

    def _all_stuck(self, steps: int) -> bool:
        """Whether no rank has had anything to do since the last step."""
        idle = [since == steps for state, _, since in self._rows() if state is State.READY]
        return bool(idle) and all(idle) and not self._any(State.STARTING)

    def _others(self) -> dict[int, str]:
        return {rank: DESCRIBED[row[0]] for rank, row in enumerate(self._rows()) if rank != self.rank}

    def _grant(self, turns: int, steps: int, stuck: bool) -> None:
        """Choose the next, and let it know. One that had nothing to do since the last step still has nothing."""
        rows = self._rows()
        ready = [number for number, row in enumerate(rows) if row[0] is State.READY]
        ready = [number for number in ready if rows[number][2] != steps] or ready
        # from the seed and the number of the turn: whichever process computes it, it is the same
        chosen = ready[_mixed(self.seed, turns) % len(ready)] if ready else -1
        HEADER.pack_into(self._map, 0, turns + 1, steps, chosen, stuck)
        if chosen >= 0:
            self._to_tell.append(chosen)

    def _pass_on_stuck(self) -> None:
        """Let all that wait see that none gets on."""
        with self._locked():
            ready = [rank for rank, row in enumerate(self._rows()) if row[0] is State.READY]
            self._to_tell += [rank for rank in ready if rank != self.rank]

    def _tell(self, rank: int) -> None:
        if rank not in self._ends:
            self._ends[rank] = os.open(self._pipes[rank], os.O_RDWR)
        os.write(self._ends[rank], b"!")

    def _await(self) -> None:
        """Sleep until this rank has the turn, or until the one that has it is gone."""
        while True:
            ready, _, _ = select.select([self._wake], [], [], LOOK_EVERY_S)
            if ready:
                os.read(self._wake, 1)
                _, _, holder, stuck = self._header()
                if holder == self.rank or stuck:
                    return
            else:
                self._look_after_holder()

    def _look_after_holder(self) -> None:
        """A rank that died cannot give its turn away; do it in its place."""
        with self._locked():
            turns, steps, holder, stuck = self._header()
            if holder >= 0 and holder != self.rank and not _is_alive(self._row(holder)[1]):
                self._set(holder, State.ENDED)
                self._grant(turns, steps + 1, stuck)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # one that has ended and is not waited for yet still has its number
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (OSError, IndexError):
        return True


def _mixed(seed: int, number: int) -> int:
    """A number that looks like chance, from a seed and a count (the finaliser of splitmix64)."""
    x = (seed * 0x9E3779B97F4A7C15 + number + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return x ^ (x >> 31)
