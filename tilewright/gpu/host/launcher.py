"""Runs a job on processes of this machine, one for each rank."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

from tilewright.errors import Error
from tilewright.gpu.host.arguments import SharedArray
from tilewright.gpu.host.context import HostContext
from tilewright.gpu.host.outcome import FAILED, AirRunResult, DiagnosticRecord, Ending, RankReport
from tilewright.gpu.host.processes import LocalWorld, RankProcess
from tilewright.gpu.host.program import HostProgram
from tilewright.gpu.host.rank import Given, RankJob, backend_named, run_rank, share_arguments
from tilewright.gpu.host.supervisor import RankOutput, RankSupervisor, Show
from tilewright.ir.diagnostics import Diagnostic, Severity

BAD_ACCESSES = [-signal.Signals[name] for name in ("SIGSEGV", "SIGBUS") if name in signal.Signals.__members__]
"""Exit codes of processes that accessed memory which they do not have."""


def run_ranks(job: RankJob, ranks: int, timeout_seconds: float | None = None, show: Show | None = None) -> AirRunResult:
    """Run a job on so many ranks and wait for all of them; whatever happens, nothing of it is left behind."""
    if not hasattr(os, "fork"):
        raise Error("AIR programs run on copies of this process, which this system cannot make; run them on Linux")
    # machine code is made once, for all ranks
    job.program.prepare()
    backend_named(job.backend)  # imported once, before processes part
    begin, arguments = time.perf_counter(), [share_arguments(job) for _ in range(ranks)]
    gathering = RankSupervisor(RankOutput(ranks, show), partial(_lost, job.program), lambda report: report.status != 0)
    try:
        for rank, given in enumerate(arguments):
            gathering.start(rank, partial(_work, job, given), HostContext(job.program.context_bytes))
        gathering.wait(timeout_seconds)
    finally:
        gathering.close()
    reports = [gathering.reports[rank] for rank in range(ranks)]
    for report, given in zip(reports, arguments, strict=True):
        report.output = gathering.output.of_rank(report.rank)
        report.arrays = [value.array for value in given if isinstance(value, SharedArray)]
    return AirRunResult(reports, gathering.output.all, time.perf_counter() - begin)


def _work(job: RankJob, arguments: Given, world: LocalWorld, context: HostContext) -> RankReport:
    return run_rank(job, world, context, arguments)


def _lost(program: HostProgram, process: RankProcess, text: str, is_consequence: bool) -> RankReport:
    """What there is to say about a rank that cannot say it any more; its context tells where it was."""
    error = Diagnostic(Severity.ERROR, f"rank {process.rank} {text}", program.entry.location)
    if program.sites:
        inside = "it is in this call" if process.context.is_inside else "this was the last call of the runtime"
        error.note(program.location(process.context.site), inside)
    # a fault in native code ends the process before Python can say anything
    if process.exit_code in BAD_ACCESSES:
        error.note(
            None, "host code accessed memory that is not there, or on a real GPU not the host's: check its pointers"
        )
    ending = Ending.HANG if process.was_killed else Ending.FAULT
    return RankReport(process.rank, FAILED, [DiagnosticRecord.of(error)], ending, is_consequence=is_consequence)
