"""Works through targets in processes that may die: what a case does to its process is found, and harms no other."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import math
import mmap
import os
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fuzz.cases import CPU_SECONDS, MEMORY_BYTES, WALL_SECONDS, execute
from fuzz.journal import Batch, Finding, Journal
from fuzz.targets import Target

BATCH_SECONDS = 5.0
KILLED_AFTER = WALL_SECONDS + 10
"""Seconds after which a process is ended that could not stop its case itself."""
POLL_SECONDS = 0.1
REPORTED = 100
"""Cases after which a worker says what became of them."""
DONE = 17
"""Status of a worker that came to its end: no library exits with it."""


@dataclass
class Worker:
    """A process that works on a batch, and what it says about its progress."""

    target: Target
    first: int
    pid: int
    pipe: int
    progress: mmap.mmap
    """The seed that is worked on, and since when."""
    folder: str
    begun: float
    inherited: int
    """Bytes that it has of the process that it was forked from."""
    received: bytes = b""

    @property
    def seed(self) -> int:
        return struct.unpack_from("<q", self.progress)[0]

    @property
    def case_begun(self) -> float:
        return struct.unpack_from("<d", self.progress, 8)[0]


class Runner:
    """Gives each target its share of the time, and writes down what comes of it."""

    def __init__(
        self, targets: Sequence[Target], journal: Journal, jobs: int = 1, batch_seconds: float = BATCH_SECONDS
    ):
        self.targets, self.journal, self.jobs = targets, journal, jobs
        self.batch_seconds = batch_seconds
        self.workers = list[Worker]()
        self.goals = dict[str, int]()
        """Cases at which targets are done, in all runs together; those that are not in it go on."""

    def run(self, seconds: float, most: int | None = None, total: int | None = None) -> None:
        """Go on for so long, until each target has so many cases, or for so many cases of all targets together."""
        end = time.monotonic() + seconds
        if most is not None:
            self.goals = {target.name: most for target in self.targets}
        if total is not None:
            self.goals = self._shares_of(total)
        try:
            while True:
                while len(self.workers) < self.jobs and time.monotonic() < end and (target := self._next()):
                    self._start(target, end)
                if not self.workers:
                    return
                self._watch()
        finally:
            for worker in list(self.workers):
                self._kill(worker)
                self._finish(worker, stopped=True)

    def _shares_of(self, total: int) -> dict[str, int]:
        """Goals that are so many cases away, all together."""
        goals, shares, given = dict[str, int](), 0, 0
        for target in self.targets:
            shares += target.share
            # Of what is due so far, so that nothing is lost by rounding.
            due = total * shares // sum(it.share for it in self.targets)
            goals[target.name] = self.journal.of(target.name).cases + due - given
            given = due
        return goals

    def _left(self, target: Target) -> int:
        return self.goals.get(target.name, sys.maxsize) - self.journal.of(target.name).cases

    def _next(self) -> Target | None:
        """The target that is furthest behind its share."""
        busy = {worker.target.name for worker in self.workers}
        open_targets = [it for it in self.targets if it.name not in busy and self._left(it) > 0]
        return min(open_targets, key=lambda it: self.journal.of(it.name).cases / it.share, default=None)

    def _start(self, target: Target, end: float) -> None:
        done = self.journal.of(target.name)
        progress, (reading, writing) = mmap.mmap(-1, 16), os.pipe()
        struct.pack_into("<qd", progress, 0, done.next_seed, 0.0)
        folder = tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        seconds = max(min(self.batch_seconds, end - time.monotonic()), 0.0)
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _work(target, done.next_seed, self._left(target), seconds, progress, writing, folder)
        os.close(writing)
        begun, inherited = time.monotonic(), _resident_bytes(os.getpid())
        self.workers.append(Worker(target, done.next_seed, pid, reading, progress, folder, begun, inherited))

    def _watch(self) -> None:
        """Wait for news of some worker; end those that are over a limit."""
        ready, _, _ = select.select([worker.pipe for worker in self.workers], [], [], POLL_SECONDS)
        for worker in list(self.workers):
            if worker.pipe in ready:
                data = os.read(worker.pipe, 1 << 16)
                worker.received += data
                if not data:
                    self._finish(worker)
            elif (reason := _over_limit(worker)) is not None:
                self._kill(worker)
                self._finish(worker, reason)

    def _kill(self, worker: Worker) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)

    def _finish(self, worker: Worker, reason: tuple[str, str] | None = None, stopped: bool = False) -> None:
        """Write down what a worker did; if it died and was not stopped, the case that it was at is a finding."""
        self.workers.remove(worker)
        os.close(worker.pipe)
        _, status = os.waitpid(worker.pid, 0)
        self._kill(worker)  # what it started, if it did not wait for that
        shutil.rmtree(worker.folder, ignore_errors=True)
        batch = _joined(worker, time.monotonic() - worker.begun)
        if reason is None and not stopped:
            reason = _death(status)
        if reason is not None:
            found = (*batch.findings, Finding(worker.seed, *reason))
            batch = replace(batch, cases=worker.seed - worker.first + 1, findings=found)
        self.journal.add(batch)
        for finding in batch.findings:
            self._save(worker.target, finding)
        worker.progress.close()

    def _save(self, target: Target, finding: Finding) -> None:
        save_case(self.journal.folder / "inputs" / f"{target.name}-{finding.seed}", target, finding)
        print(f"{target.name} seed {finding.seed}: {finding.defect}: {finding.detail[:300]}", flush=True)


def save_case(folder: Path, target: Target, finding: Finding) -> None:
    """Keep the input of a case, and the command that it is for."""
    case = target.case(finding.seed)
    folder.mkdir(parents=True, exist_ok=True)
    case.write(folder)
    about = [f"python -m fuzz --targets {target.name} --seed {finding.seed}", f"{finding.defect}: {finding.detail}"]
    about += [f"tilewright {' '.join(case.argv)}"] if case.argv else []
    (folder / "about.txt").write_text("\n".join(about) + "\n", encoding="utf-8", errors="backslashreplace")


def _joined(worker: Worker, seconds: float) -> Batch:
    """What a worker reported, without a line that it did not finish."""
    reports = [json.loads(line) for line in worker.received.split(b"\n")[:-1]]
    endings = sum((Counter(report["endings"]) for report in reports), Counter[str]())
    findings = tuple(Finding(**it) for report in reports for it in report["findings"])
    return Batch(worker.target.name, worker.first, endings.total(), seconds, dict(endings), findings)


def _death(status: int) -> tuple[str, str] | None:
    """What ended a process that did not come to its end."""
    if os.WIFSIGNALED(status):
        return "signal", signal.Signals(os.WTERMSIG(status)).name
    code = os.waitstatus_to_exitcode(status)
    return None if code == DONE else ("exit", f"the process ended with status {code}")


def _work(target: Target, first: int, limit: int, seconds: float, progress: mmap.mmap, pipe: int, folder: str) -> None:
    """Run cases until the time is over, and report now and then; never returns."""
    status = 0
    try:
        os.setsid()
        os.chdir(folder)
        faulthandler.disable()
        silence = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(silence, number)
        end, seed, inherited = time.monotonic() + seconds, first, _most_bytes()
        while seed - first < limit and (seed == first or time.monotonic() < end):
            report = run_batch(target, seed, min(limit - (seed - first), REPORTED), progress, end)
            os.write(pipe, json.dumps(report).encode() + b"\n")
            seed += sum(report["endings"].values())
            if _most_bytes() - inherited > MEMORY_BYTES // 2:
                break
        status = DONE
    finally:
        os._exit(status)


def run_batch(
    target: Target, first: int, cases: int, progress: mmap.mmap | None = None, end: float = math.inf
) -> dict[str, Any]:
    """So many cases of a target in this process and the current folder, fewer if the time is over."""
    endings, findings = Counter[str](), list[Finding]()
    for seed in range(first, first + cases):
        now = time.monotonic()
        if now > end and seed > first:
            break
        if progress is not None:
            struct.pack_into("<qd", progress, 0, seed, now)
        outcome = execute(target.case(seed))
        endings[outcome.ending] += 1
        if outcome.defect is not None:
            findings.append(Finding(seed, outcome.defect, outcome.detail))
    return {"endings": endings, "findings": [asdict(it) for it in findings]}


def _over_limit(worker: Worker) -> tuple[str, str] | None:
    if worker.case_begun and time.monotonic() - worker.case_begun > KILLED_AFTER:
        return "slow", f"stuck for {KILLED_AFTER} s (the limit is {CPU_SECONDS} s of work)"
    if _resident_bytes(worker.pid) - worker.inherited > MEMORY_BYTES:
        return "memory", f"over {MEMORY_BYTES >> 20} MB"
    return None


def _most_bytes() -> int:
    """That this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError):
        return 0
