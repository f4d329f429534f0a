"""Processes that run ranks: the start and the end of one, and its place among the others.

Other threads may be at work when a process parts from this one, and are not there in the copy: what they held stays
locked. So a rank makes no machine code, frees nothing that was there before, and keeps no file that is not its own.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import mmap
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from tilewright.gpu.device import DeviceError, Heap, RankLost
from tilewright.gpu.host.context import HostContext
from tilewright.gpu.host.printing import flush_all, print_lines_at_once

PARENT_DEATH_SIGNAL = 1
"""Linux's PR_SET_PDEATHSIG: which signal a process gets when its parent ends."""
STDIN, STDOUT, STDERR = 0, 1, 2


@dataclass
class RankProcess:
    """A rank that was started."""

    rank: int
    pid: int
    connection: Connection
    output: int
    """What it prints comes from here."""
    context: HostContext
    exit_code: int | None = None
    """As the system has it, negative after a signal; None while it runs."""
    was_killed: bool = False
    """Whether `kill` ended it."""

    def poll(self) -> bool:
        """Whether it has ended."""
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is not None

    def kill(self) -> None:
        """End it now, wherever it is."""
        if self.exit_code is None:
            # SIGKILL: native code does not look at other signals
            self.signal()
            _, status = os.waitpid(self.pid, 0)
            self.exit_code = os.waitstatus_to_exitcode(status)

    def signal(self) -> None:
        """Let it end, without waiting for that."""
        if self.exit_code is None:
            self.was_killed = True
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self.connection.close()
        os.close(self.output)


def start_process(body: Callable[[], None], output: int, files: Iterable[int]) -> int:
    """Run `body` in a copy of this process that prints to `output` and keeps these files; gives its number."""
    # what is buffered would be printed by both processes
    sys.stdout.flush()
    sys.stderr.flush()
    flush_all()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        _settle(parent, output)
        _close_others(files)
        body()
        status = 0
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        flush_all()
        os._exit(status)  # nothing of what the parent has to do at its end is the child's business


def _close_others(files: Iterable[int]) -> None:
    """Close what belongs to others: ends of pipes of other runs, whose readers would wait for this process."""
    first = STDERR + 1
    for file in sorted(set(files)):
        os.closerange(first, file)
        first = file + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _settle(parent: int, output: int) -> None:
    """Become a process that ends with its parent and is ended by it alone."""
    # Ctrl-C reaches all processes of a terminal; the parent alone decides what ends
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # a handler of the parent is of no use here
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # objects of the parent are never freed here: their destructors might wait for threads that are not there
    gc.freeze()
    faulthandler.disable()  # the parent says what became of this process
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before that was settled
            os._exit(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), STDIN)
    os.dup2(output, STDOUT)
    os.dup2(output, STDERR)
    sys.stdout, sys.stderr = (open(file, "w", closefd=False, buffering=1) for file in (STDOUT, STDERR))  # noqa: SIM115
    print_lines_at_once()


@dataclass(frozen=True)
class ExchangeRequest:
    """A rank has come to a place where all meet, with bytes for the others."""

    data: bytes


@dataclass(frozen=True)
class ExchangeResult:
    """All have come; the bytes of each."""

    data: list[bytes]


@dataclass(frozen=True)
class ExchangeFailure:
    """Not all will come; why."""

    text: str


class LocalWorld:
    """One rank's place among the processes."""

    def __init__(self, rank: int, size: int, folder: Path, connection: Connection, heap_files: Sequence[int]):
        self.rank, self.size = rank, size
        self.folder: Path | None = folder
        self._connection = connection
        self._heap_files = heap_files
        self._mappings: list[mmap.mmap] = []

    def barrier(self) -> None:
        self.exchange(b"")

    def exchange(self, data: bytes) -> list[bytes]:
        if self.size == 1:
            return [data]
        # the parent answers when all have come, or when one never will
        self._connection.send(ExchangeRequest(data))
        match self._connection.recv():
            case ExchangeResult(data=found):
                return found
            case ExchangeFailure(text=text):
                raise RankLost(text)
            case other:
                raise AssertionError(f"a rank gets no {other!r}")

    def make_heap(self, size_bytes: int) -> Heap:
        """Files without names, one for each rank, which all map."""
        try:
            os.ftruncate(self._heap_files[self.rank], 0)  # clears what an earlier heap left
            os.ftruncate(self._heap_files[self.rank], size_bytes)
            self.barrier()
            # after the barrier: all files have their size
            self._mappings = [mmap.mmap(file, size_bytes) for file in self._heap_files]
        except OSError as error:
            raise DeviceError(f"no symmetric heap of {size_bytes} bytes: {error.strerror}") from error
        return Heap(size_bytes, tuple(_address(mapping) for mapping in self._mappings))

    def drop_heap(self, heap: Heap) -> None:
        """The memory goes back to the system; nothing of this process points there any more."""
        self.barrier()
        os.ftruncate(self._heap_files[self.rank], 0)
        self._mappings = []
        self.barrier()


def _address(mapping: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(mapping))
