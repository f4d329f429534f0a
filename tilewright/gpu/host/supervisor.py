"""The processes of all ranks, seen from the one that started them: lets them meet, takes what they print and report,
and ends all when one has failed. Needs nothing but Python."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Generic, TypeVar

from tilewright.gpu.host.context import HostContext
from tilewright.gpu.host.processes import (
    ExchangeFailure,
    ExchangeRequest,
    ExchangeResult,
    LocalWorld,
    RankProcess,
    start_process,
)

ReportT = TypeVar("ReportT")
SHARED_MEMORY = Path("/dev/shm")
PREFIX = "tilewright-run-"
GRACE_SECONDS = 0.5
"""How long ranks may go on after one has failed; what they say then may help."""
POLL_SECONDS = 0.1
CHUNK_BYTES = 1 << 16
BEGIN = "begin"
Show = Callable[[int, str], None]
"""Told the rank and a line of what it prints, without its end, as soon as that has come."""


class RankSupervisor(Generic[ReportT]):
    """One run. A rank reports once, at its end; `lost` makes the report of one that cannot any more, from what became
    of it and whether that is because of another one, and `failed` tells whether a report is a bad one."""

    def __init__(
        self,
        output: RankOutput,
        lost: Callable[[RankProcess, str, bool], ReportT],
        failed: Callable[[ReportT], bool],
    ):
        self.output, self.lost, self.failed = output, lost, failed
        self.ranks = output.ranks
        self.folder = _make_folder(SHARED_MEMORY if SHARED_MEMORY.is_dir() else Path(tempfile.gettempdir()))
        self.processes: list[RankProcess] = []
        self.reports: dict[int, ReportT] = {}
        self._heap_files = [_heap_file(self.folder, rank) for rank in range(self.ranks)]
        self._waiting: dict[int, bytes] = {}
        self._selector = selectors.DefaultSelector()

    def start(self, rank: int, work: Callable[[LocalWorld, HostContext], ReportT], context: HostContext) -> None:
        """Begin a process that does the work and reports what that gives."""
        ours, theirs = Pipe()
        reading, writing = os.pipe()
        world = LocalWorld(rank, self.ranks, self.folder, theirs, self._heap_files)
        files = (theirs.fileno(), *self._heap_files)
        pid = start_process(partial(_report, theirs, partial(work, world, context)), writing, files)
        # our copies of its ends would keep the pipes open after its end
        theirs.close()
        os.close(writing)
        process = RankProcess(rank, pid, ours, reading, context)
        self.processes.append(process)
        self._selector.register(reading, selectors.EVENT_READ, partial(self._hear_output, process))
        self._selector.register(ours, selectors.EVENT_READ, partial(self._hear_message, process))
        # only now do we hear of it: one that begins earlier might end unnoticed
        ours.send(BEGIN)

    def wait(self, timeout_seconds: float | None) -> None:
        """Until all have ended, or were ended because one failed or time is up."""
        begin, failed_since = time.perf_counter(), None
        while len(self.reports) < self.ranks:
            self._listen()
            now = time.perf_counter()
            if failed_since is None and any(self.failed(report) for report in self.reports.values()):
                failed_since = now
            # those that wait for the failed one say so themselves, if they get the time
            if failed_since is not None and now > failed_since + GRACE_SECONDS:
                self._end_rest("was ended, since another rank has failed", is_consequence=True)
            elif timeout_seconds is not None and now > begin + timeout_seconds:
                self._end_rest(f"has not ended after {timeout_seconds:g} seconds", is_consequence=False)
        for process in self.processes:
            # what was printed last may still be in the pipe
            while self._hear_output(process):
                pass
        self.output.finish()

    def close(self) -> None:
        """End what still runs, and leave nothing behind."""
        for process in self.processes:
            # all at once, then wait for each: they end at the same time
            process.signal()
        for process in self.processes:
            process.kill()
            process.close()
        for file in self._heap_files:
            os.close(file)
        self._selector.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _listen(self) -> None:
        """Take what ranks say, and notice those that ended."""
        for key, _ in self._selector.select(POLL_SECONDS):
            key.data()
        for process in self.processes:
            if process.rank not in self.reports and process.poll():
                self._hear_rest(process)

    def _hear_output(self, process: RankProcess) -> bool:
        data = os.read(process.output, CHUNK_BYTES)
        if data:
            self.output.add(process.rank, data)
        else:
            self._unregister(process.output)
        return bool(data)

    def _hear_message(self, process: RankProcess) -> bool:
        try:
            message = process.connection.recv()
        except (EOFError, OSError):
            self._unregister(process.connection)
            return False
        if isinstance(message, ExchangeRequest):
            self._waiting[process.rank] = message.data
        else:
            self.reports[process.rank] = message
        self._let_go()
        return True

    def _unregister(self, what: Connection | int) -> None:
        with suppress(KeyError):
            self._selector.unregister(what)

    def _hear_rest(self, process: RankProcess) -> None:
        """What a process that ended has still said; if that is no report, something unusual has ended it."""
        while process.connection.poll() and self._hear_message(process):
            pass
        if process.rank not in self.reports:
            assert process.exit_code is not None
            # a crash of native code, or the system: a rank that ends by itself reports first
            self.reports[process.rank] = self.lost(process, _how(process.exit_code), False)
            self._let_go()

    def _let_go(self) -> None:
        """Let those go on that wait for each other: all have come, or some never will."""
        if len(self._waiting) == self.ranks:
            self._answer(ExchangeResult([self._waiting[rank] for rank in range(self.ranks)]))
        elif self._waiting and self.reports:
            ended = ", ".join(str(rank) for rank in sorted(self.reports))
            self._answer(ExchangeFailure(f"waits for all ranks, but rank {ended} ended before it came to such a place"))

    def _answer(self, answer: ExchangeResult | ExchangeFailure) -> None:
        for rank in self._waiting:
            with suppress(OSError):
                self.processes[rank].connection.send(answer)
        self._waiting = {}

    def _end_rest(self, text: str, is_consequence: bool) -> None:
        rest = [process for process in self.processes if process.rank not in self.reports]
        for process in rest:
            process.signal()
        for process in rest:
            process.kill()
            self.reports[process.rank] = self.lost(process, text, is_consequence)


def _report(connection: Connection, work: Callable[[], object]) -> None:
    """Work and report; not before the word to begin comes, and never if the start of this process was interrupted."""
    try:
        connection.recv()
    except EOFError:
        return
    connection.send(work())


def _make_folder(place: Path) -> Path:
    """A folder for what ranks share. Those of runs that were killed are removed: their names say whose they were."""
    # a run that was killed could not remove it
    for left in place.glob(f"{PREFIX}*"):
        owner = left.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdecimal() and not _is_running(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _heap_file(folder: Path, rank: int) -> int:
    """A file without a name where there is such a thing, else one in the folder of the run."""
    # goes with the last process that has it, even after SIGKILL
    if hasattr(os, "memfd_create"):
        return os.memfd_create(f"tilewright-heap-{rank}")
    return os.open(folder / f"heap{rank}", os.O_RDWR | os.O_CREAT, 0o600)


def _how(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with status {exit_code} in the midst of a run"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was ended by signal {-exit_code}"


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
        return "".join(f"{line}\n" for other, line in self._lines if other == rank)
