"""Engines of sweeps: processes of this machine, which stay warm from point to point.

Each has a process pool of its own with one process in it. So a point goes where its build is, and where a process ends
it is known which point it was at.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, Protocol

from tilewright.sweeps.rows import Status
from tilewright.sweeps.spaces import SweepPoint
from tilewright.sweeps.trials import SweepDefinition, TrialOutcome, compute

MOST_ATTEMPTS = 3
"""How often a point is tried whose process ends."""
LOST = (
    f"the process that computed it ended, {MOST_ATTEMPTS} times: as one does that is killed, or has too little memory"
)
SECONDS_BETWEEN_LOOKS = 0.5
"""How soon a worker sees that nothing waits for it any more."""


@dataclass(eq=False)
class Job:
    """A point that is to be computed."""

    point: SweepPoint
    build: str
    """The same for points that share a build."""
    wants_report: bool = False
    is_shared: bool = False
    """Whether other points are of its build."""
    attempts: int = 0


class WorkQueue:
    """Jobs by their builds. A build is compiled for its first point, others wait until that is done."""

    def __init__(self, jobs: Iterable[Job]):
        self._waiting = dict[str, deque[Job]]()
        self._begun, self._ready = set[str](), set[str]()
        for job in jobs:
            self._waiting.setdefault(job.build, deque()).append(job)
        for queued in self._waiting.values():
            for job in queued:
                job.is_shared = len(queued) > 1

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self, build: str | None = None) -> Job | None:
        """The next job, of a build if it has some; None where there is none at present."""
        fresh = next((name for name, jobs in self._waiting.items() if jobs and name not in self._begun), None)
        # the one with most to do, so that all end together
        ready = max((name for name in self._ready if self._waiting[name]), key=self._left, default=None)
        mine = build if build in self._ready and self._waiting[build] else None
        found = mine or fresh or ready
        if found is None:
            return None
        self._begun.add(found)
        return self._waiting[found].popleft()

    def _left(self, build: str) -> tuple[int, str]:
        return len(self._waiting[build]), build

    def done(self, job: Job) -> None:
        """A job has been computed: others may use its build."""
        self._ready.add(job.build)

    def put_back(self, job: Job) -> None:
        """A job whose process ended."""
        self._waiting[job.build].appendleft(job)
        self._ready.add(job.build)


class SweepEngine(Protocol):
    """What computes points, for as long as a sweep takes."""

    def results(self, queue: WorkQueue) -> Iterator[tuple[Job, TrialOutcome]]:
        """The outcome of each job, in the order in which they are done."""
        ...

    def close(self) -> None:
        """End all that is under way."""
        ...

    def __str__(self) -> str: ...


class InlineEngine:
    """This process itself: for debuggers."""

    def __init__(self, definition: SweepDefinition):
        self._definition = definition

    def results(self, queue: WorkQueue) -> Iterator[tuple[Job, TrialOutcome]]:
        build = None
        while (job := queue.take(build)) is not None:
            build = job.build
            found = compute(self._definition, job.point.values, job.wants_report, job.is_shared)
            queue.done(job)
            yield job, found

    def close(self) -> None:
        pass

    def __str__(self) -> str:
        return "in this process"


@dataclass(eq=False)
class _Worker:
    """A process, and the build that it had last."""

    pool: ProcessPoolExecutor
    build: str | None = None
    future: Future[TrialOutcome] | None = None
    job: Job | None = None


@dataclass
class LocalEngine:
    """Processes of this machine."""

    definition: SweepDefinition
    count: int
    workers: list[_Worker] = field(default_factory=list[_Worker])

    def __post_init__(self) -> None:
        # a forked process has all that is imported here, and functions that cannot be sent, such as a notebook's
        self._context = get_context("fork" if sys.platform == "linux" else "spawn")
        self._stop = self._context.Event()
        self.workers = [_Worker(self._pool()) for _ in range(self.count)]

    def _pool(self) -> ProcessPoolExecutor:
        # initargs are inherited by a fork
        given = (self.definition, os.getpid(), self._stop)
        return ProcessPoolExecutor(1, self._context, initializer=_begin, initargs=given)

    def __str__(self) -> str:
        return f"on {self.count} process{'es' * (self.count != 1)} of this machine"

    def results(self, queue: WorkQueue) -> Iterator[tuple[Job, TrialOutcome]]:
        while True:
            for worker in self.workers:
                if worker.job is None and (job := queue.take(worker.build)) is not None:
                    self._start(worker, job)
            busy = {worker.future: worker for worker in self.workers if worker.future is not None}
            if not busy:
                return
            done, _ = wait(busy, return_when=FIRST_COMPLETED)
            for future in done:
                worker = busy[future]
                job, worker.job, worker.future = worker.job, None, None
                assert job is not None
                try:
                    found = future.result()
                except BrokenExecutor:
                    worker.pool.shutdown()
                    worker.pool, worker.build = self._pool(), None
                    job.attempts += 1
                    if job.attempts < MOST_ATTEMPTS:
                        queue.put_back(job)
                        continue
                    found = TrialOutcome(Status.LOST, reason=LOST)
                queue.done(job)
                yield job, found

    def _start(self, worker: _Worker, job: Job) -> None:
        worker.job, worker.build = job, job.build
        with warnings.catch_warnings():
            # Python 3.12 warns of every fork beside threads; those of other pools hold nothing that a worker uses
            warnings.simplefilter("ignore", DeprecationWarning)
            worker.future = worker.pool.submit(_work, job.point.values, job.wants_report, job.is_shared)

    def close(self) -> None:
        idle = all(worker.future is None for worker in self.workers)
        if not idle:
            self._stop.set()  # a pool waits for its process, so that has to end by itself
        for worker in self.workers:
            worker.pool.shutdown(cancel_futures=True)


_definition: SweepDefinition | None = None


def _begin(definition: SweepDefinition, parent: int, stop: Any) -> None:
    """Prepare a worker: an interrupt is for the process that began the sweep, and the worker ends when that does."""
    global _definition
    _definition = definition
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def watch() -> None:
        while os.getppid() == parent and not stop.is_set():
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(values: Mapping[str, Any], wants_report: bool, is_shared: bool) -> TrialOutcome:
    assert _definition is not None
    return compute(_definition, values, wants_report, is_shared)
