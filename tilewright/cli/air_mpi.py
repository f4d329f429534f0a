"""`tilewright air run --launcher mpi`: starts ranks under mpirun, or is one of them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.air_run import make_job, save_buffers, usage, world_size
from tilewright.cli.errors import InputError, show_diagnostics

if TYPE_CHECKING:
    from tilewright.air import AirProgram
    from tilewright.gpu.host.outcome import RankReport

WORLD_SIZES = "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"
"""Variables that launchers of MPI set for the processes that they start."""
PATIENCE_SECONDS = 5
BY_MESSAGES = "TILEWRIGHT_MPI_MESSAGES"
"""Set to 1, no rank maps the heap of another, as if each had a machine of its own."""


def run_under_mpi(args: Namespace) -> int:
    from tilewright.air import AirProgram
    from tilewright.cli.files import read_text
    from tilewright.cli.programs import source_name

    if args.json:
        raise usage("--json is not for --launcher mpi: what ranks print goes through mpirun")
    program = AirProgram(read_text(args.file), source_name(args.file))
    if any(name in os.environ for name in WORLD_SIZES):
        return _be_a_rank(program, args)
    ranks = world_size(program, args.ranks)
    make_job(program, args)  # what is wrong with the program is said once, here
    return _start(ranks, args)


def _start(ranks: int, args: Namespace) -> int:
    """Start mpirun with this command for each rank."""
    _check_mpi()
    command = shlex.split(args.mpirun)
    if not command or shutil.which(command[0]) is None:
        raise InputError(
            f"'{args.mpirun}' cannot be started; install an MPI, such as Open MPI: apt install openmpi-bin"
        )
    if args.file == "-":
        raise usage("ranks under MPI read the program themselves; give it as a file")
    whole = [*command, "-n", str(ranks), sys.executable, "-m", "tilewright", *sys.argv[1:]]
    with subprocess.Popen(whole) as mpirun:
        try:
            return 1 if mpirun.wait(args.timeout) else 0
        except subprocess.TimeoutExpired:
            print(f"tilewright: error: the run has not ended after {args.timeout:g} seconds", file=sys.stderr)
            return 1
        finally:
            _end(mpirun)


def _end(mpirun: subprocess.Popen[bytes]) -> None:
    """End mpirun if it still runs; asked to, it ends the ranks first."""
    if mpirun.poll() is None:
        mpirun.terminate()
        with suppress(subprocess.TimeoutExpired):
            mpirun.wait(PATIENCE_SECONDS)
        mpirun.kill()


def _check_mpi() -> None:
    from tilewright.gpu.host.mpi import NoMpi, check_mpi

    try:
        check_mpi()
    except NoMpi as error:
        raise InputError(str(error)) from error


def _open_mpi() -> Any:
    from tilewright.gpu.host.mpi import NoMpi, open_mpi

    try:
        return open_mpi()
    except NoMpi as error:
        raise InputError(str(error)) from error


def _be_a_rank(program: AirProgram, args: Namespace) -> int:
    from tilewright.gpu.host.mpi import abort, run_mpi_rank
    from tilewright.gpu.host.outcome import AirRunResult

    mpi = _open_mpi()
    world_size(program, mpi.COMM_WORLD.size)
    job = make_job(program, args)
    report = run_mpi_rank(job, mpi, os.environ.get(BY_MESSAGES) == "1")
    if report.status:
        _explain(report, mpi.COMM_WORLD.size, program)
        abort(mpi, 1)
    elif args.out is not None:
        save_buffers(Path(args.out), job.program.entry, AirRunResult([report], "", 0.0))
    return report.status


def _explain(report: RankReport, ranks: int, program: AirProgram) -> None:
    """Say why this rank failed."""
    diagnostics = [message.diagnostic() for message in report.messages]
    for diagnostic in diagnostics:
        diagnostic.note(None, f"this is rank {report.rank} of {ranks}")
    show_diagnostics(diagnostics, {program.name: program.text})
    if not diagnostics:
        print(f"tilewright: error: rank {report.rank} ended with status {report.status}", file=sys.stderr)
