"""One rank of a run under MPI: what it prints MPI's launcher collects, and one that fails ends all."""

from __future__ import annotations

import sys
from typing import Any

from tilewright.gpu.host.arguments import SharedArray
from tilewright.gpu.host.context import Context
from tilewright.gpu.host.mpi import MpiWorld
from tilewright.gpu.host.outcome import RankReport
from tilewright.gpu.host.printing import flush_all, print_lines_at_once
from tilewright.gpu.host.rank import Job, run_rank, share_arguments


def run_mpi_rank(job: Job, mpi: Any, by_messages: bool = False) -> RankReport:
    """Run a job here, as the rank that MPI says."""
    print_lines_at_once()
    job.program.prepare()
    arguments = share_arguments(job)
    report = run_rank(job, MpiWorld(mpi, by_messages), Context(job.program.context_bytes), arguments)
    report.arrays = [value.array for value in arguments if isinstance(value, SharedArray)]
    flush_all()
    return report


def abort(mpi: Any, status: int) -> None:
    """End all ranks, wherever they are."""
    sys.stdout.flush()
    sys.stderr.flush()
    mpi.COMM_WORLD.Abort(status)
