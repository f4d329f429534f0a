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
    size: float = 1
    """Of what is run, to compare points of one build: the product of its scalars."""
    attempts: int = 0


class WorkQueue:
    """Jobs by their builds. A build is compiled for its first point, others wait until that is done.

    Large ones go first: what is begun last is short, so that no worker is left with it alone.
    """

    def __init__(self, jobs: Iterable[Job]):
        queues = dict[str, list[Job]]()
        for job in jobs:
            queues.setdefault(job.build, []).append(job)
        self._waiting = {
            build: deque(sorted(queued, key=lambda job: job.size, reverse=True)) for build, queued in queues.items()
        }
        for queued in queues.values():
            for job in queued:
                job.is_shared = len(queued) > 1
        self._fresh = deque(sorted(queues, key=self._left, reverse=True))
        """Builds that none is at."""
        self._ready = dict[str, None]()
        """Builds that are compiled, and have jobs left; in an order, so that the same is done each time."""

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self, build: str | None = None) -> Job | None:
        """The next job, of a build if it has some; None where there is none at present."""
        if build is not None and build in self._ready:
            found = build
        elif self._fresh:
            found = self._fresh.popleft()
        elif self._ready:
            found = max(self._ready, key=self._left)
        else:
            return None
        job = self._waiting[found].popleft()
        if not self._waiting[found]:
            self._ready.pop(found, None)
        return job

    def _left(self, build: str) -> tuple[int, float]:
        """How much of a build there is to do."""
        jobs = self._waiting[build]
        return len(jobs), jobs[0].size

    def done(self, job: Job) -> None:
        """A job has been computed: others may use its build."""
        if self._waiting[job.build]:
            self._ready[job.build] = None

    def put_back(self, job: Job) -> None:
        """A job whose process ended."""
        self._waiting[job.build].appendleft(job)
        self._ready[job.build] = None


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
            self._start_idle(queue)
            busy = {worker.future: worker for worker in self.workers if worker.future is not None}
            if not busy:
                return
            done, _ = wait(busy, return_when=FIRST_COMPLETED)
            for future in done:
                job, found = self._ended(busy[future], future)
                if found is None:
                    queue.put_back(job)
                    continue
                queue.done(job)
                self._start_idle(queue)  # before the row is kept: workers need not wait for the disk
                yield job, found

    def _start_idle(self, queue: WorkQueue) -> None:
        for worker in self.workers:
            if worker.job is None and (job := queue.take(worker.build)) is not None:
                self._start(worker, job)

    def _ended(self, worker: _Worker, future: Future[TrialOutcome]) -> tuple[Job, TrialOutcome | None]:
        """The job that a worker was at, and what became of it; None where it has to be tried again."""
        job, worker.job, worker.future = worker.job, None, None
        assert job is not None
        try:
            return job, future.result()
        except BrokenExecutor:
            worker.pool.shutdown()
            worker.pool, worker.build = self._pool(), None
            job.attempts += 1
            return job, TrialOutcome(Status.LOST, reason=LOST) if job.attempts >= MOST_ATTEMPTS else None

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
