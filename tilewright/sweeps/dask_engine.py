"""A Dask cluster as the engine of a sweep: workers may die, and others may come, while it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib import import_module
from typing import Any
from uuid import uuid4

from tilewright.errors import ArgumentError, Error
from tilewright.sweeps.engines import LOST, MOST_ATTEMPTS, Job, WorkQueue
from tilewright.sweeps.rows import Status
from tilewright.sweeps.trials import SweepDefinition, TrialOutcome, check_package, compute

JOBS_AHEAD = 2
"""For each thread of a worker, so that it need not wait for its next point."""
SECONDS_TO_CONNECT = 30


class LostCluster(Error):
    """The scheduler of a sweep is gone."""


class DaskEngine:
    """The workers of a scheduler."""

    def __init__(self, definition: SweepDefinition, address: str):
        """Connect to the scheduler at an `address`, such as tcp://HOST:8786, or the file that it wrote."""
        try:
            self._distributed: Any = import_module("distributed")
            cloudpickle: Any = import_module("cloudpickle")
        except ImportError as error:
            raise ArgumentError(
                f"sweeps on a cluster need Dask ({error}): python3 -m pip install 'tilewright[dask]'"
            ) from error
        self.address = address
        self._payload: bytes = cloudpickle.dumps(definition)
        self._name = uuid4().hex[:8]
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        try:
            self._client: Any = self._distributed.Client(
                **where, timeout=SECONDS_TO_CONNECT, set_as_default=False, name="tilewright-sweep"
            )
        except (OSError, ValueError) as error:
            raise ArgumentError(f"there is no scheduler at {address}: {error}") from error

    def __str__(self) -> str:
        return f"on the cluster at {self.address}, dashboard {self._client.dashboard_link}"

    def results(self, queue: WorkQueue) -> Iterator[tuple[Job, TrialOutcome]]:
        running, number = dict[Any, Job](), 0
        done = self._distributed.as_completed(loop=self._client.loop)
        while True:
            while len(running) < self._room() and (job := queue.take()) is not None:
                number += 1
                key = f"tilewright-{self._name}-{job.point.number}-{number}"
                given = (self._payload, dict(job.point.values), job.wants_report, job.is_shared)
                future = self._client.submit(work, *given, key=key, pure=False)
                running[future] = job
                done.add(future)
            if not running:
                return
            future = next(done)
            job = running.pop(future)
            found = self._outcome(future, job)
            if found is None:
                queue.put_back(job)
            else:
                queue.done(job)
                yield job, found

    def _room(self) -> int:
        """How many points may be under way; workers that come later have theirs as soon as a point is done."""
        return max(1, JOBS_AHEAD * sum(self._client.nthreads().values()))

    def _outcome(self, future: Any, job: Job) -> TrialOutcome | None:
        """What became of a point; None where it has to be tried again."""
        try:
            return future.result()
        except self._distributed.KilledWorker:
            job.attempts += 1
            return TrialOutcome(Status.LOST, reason=LOST) if job.attempts >= MOST_ATTEMPTS else None
        except (self._distributed.CancelledError, OSError) as error:
            raise LostCluster(f"the scheduler at {self.address} is gone: {error or type(error).__name__}") from error

    def close(self) -> None:
        self._client.close()


_definitions: dict[bytes, SweepDefinition] = {}


def work(payload: bytes, values: Mapping[str, Any], wants_report: bool, is_shared: bool) -> TrialOutcome:
    """What a worker of the cluster does for a point."""
    digest = sha256(payload).digest()
    if digest not in _definitions:
        definition: SweepDefinition = import_module("cloudpickle").loads(payload)
        check_package(definition)
        _definitions[digest] = definition
    return compute(_definitions[digest], values, wants_report, is_shared)
