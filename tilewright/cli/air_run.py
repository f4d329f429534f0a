"""Run an AIR program on an emulated or a real GPU: its main, or the function that --entry names.

Each rank is a process with a device of its own. What ranks print comes out on stdout as they print it; with more than
one rank each line says whose it is. The arguments of --entry's function are given in order, or by name: a SPEC is a
number for a scalar, and for a buffer a .npy file, zeros, arange, or random:SEED; NAME=SPEC and NUMBER=SPEC choose the
argument.

Ends with status 1 if a rank fails, hangs or does what a GPU would do wrong silently; the message says who and where.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import CommandLineError, InputError, complaining, show_diagnostics
from tilewright.cli.files import read_text, write_folder, write_text
from tilewright.cli.parsers import HEAP_SIZE, arguments, switch, value, values

if TYPE_CHECKING:
    from tilewright.air import AirProgram
    from tilewright.dialects.func import FuncOp
    from tilewright.gpu.host.arguments import Argument
    from tilewright.gpu.host.outcome import AirRunResult, DiagnosticRecord, RankReport
    from tilewright.gpu.host.rank import RankJob
    from tilewright.gpu.profile import Profile

LAUNCHERS = "local", "mpi"
WORLD_SIZES = "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"
"""Variables that launchers of MPI set for the processes that they start."""
PATIENCE_SECONDS = 5  # that mpirun has for ending its ranks
BY_MESSAGES = "TILEWRIGHT_MPI_MESSAGES"
"""Set to 1, no rank maps the heap of another, as if each had a machine of its own."""


add_arguments = arguments(
    {
        "file": value("FILE", "a program in MLIR or Python, or the folder that `air compile` wrote"),
        "--ranks": value("N", "how many processes (default: what air.rank says, or 1)", type=int),
        "--backend": {"default": "emulator", "help": "emulator (default), cuda or hip"},
        "--entry": value("FUNC", "the function to call (default: main)"),
        "--arg": values("SPEC", "an argument of it"),
        "--out": value("DIR", "write each buffer to DIR/NAME.npy afterwards"),
        "--chip": value("CHIP", "the GPU whose waves and limits count (default: gfx942 or sm_90)"),
        "--wave-size": value("N", "lanes of a processing element (default: the chip's)", type=int),
        "--heap-size": HEAP_SIZE,
        "-O": value(
            "LEVEL",
            "0 (default), or 2: wide and early copies, tiles that fit the banks",
            dest="opt_level",
            type=int,
            choices=(0, 2),
            default=0,
        ),
        "--seed": value("N", "of what the emulator leaves to chance", type=int, default=0),
        "--set": values("NAME=VALUE", "an option of the backend"),
        "--timeout": value("SECONDS", "end the run after so long, with status 1", type=float),
        "--launcher": {"choices": LAUNCHERS, "default": "local", "help": "who starts ranks (default: local)"},
        "--mpirun": value("COMMAND", "with --launcher mpi: the command for it", default="mpirun"),
        "--by-rank": switch("print what ranks print in the end, rank by rank"),
        "--no-prefix": switch("do not say which rank printed a line"),
        "--verbose": switch("say on stderr what happens and what was counted"),
        "--json": switch("print the outcome for machines, with what ranks printed"),
        "--profile": value("FILE.html", "say on stderr what kernels do, and write a page of it", nargs="?", const=""),
    }
)


def run(args: Namespace) -> int:
    from tilewright.cli.programs import source_name
    from tilewright.errors import ArgumentError
    from tilewright.gpu.device import checked_timeout

    with complaining(ArgumentError, usage):
        args.timeout = checked_timeout(args.timeout)
    _check_profile(args)
    if (Path(args.file) / "bundle.json").is_file():
        if args.opt_level:
            raise usage("-O is for programs: say it to `tilewright air compile`, which made this folder")
        from tilewright.gpu.bundle.run import run_bundle

        return run_bundle(Path(args.file), args)
    # a bundle runs without the compiler
    from tilewright.air import AirProgram

    if args.launcher == "mpi" and args.json:
        raise usage("--json is not for --launcher mpi: what ranks print goes through mpirun")
    if args.file.endswith(".py"):
        return _run_python(args)
    program = AirProgram(read_text(args.file), source_name(args.file))
    return _run_under_mpi(program, args) if args.launcher == "mpi" else _run_locally(program, args)


def _check_profile(args: Namespace) -> None:
    if args.profile is None:
        return
    if args.profile and not args.profile.endswith(".html"):
        raise usage(f"--profile writes a page, FILE.html, not '{args.profile}'")
    if args.backend != "emulator" or (Path(args.file) / "bundle.json").is_file():
        raise usage("--profile is for the emulator: leave --backend out, and give the program, not what it became")
    if args.launcher == "mpi":
        raise usage("--profile is not for --launcher mpi: let this process start the ranks")


def show_profile(profile: Profile, args: Namespace) -> None:
    """Print a profile, unless the outcome for machines has it, and write its page."""
    if not args.json:
        print(profile, file=sys.stderr)
    if args.profile:
        write_text(args.profile, profile.html(Path(args.file).name))


def _run_python(args: Namespace) -> int:
    """Run a Python program whose functions `air.jit` traces, with these options for all of them."""
    import runpy

    from tilewright.air.functions import defaults
    from tilewright.cli.run_values import pairs
    from tilewright.gpu.profile import Profile, joined
    from tilewright.support.lazy import setting

    for option, given in (("--arg", args.arg), ("--out", args.out), ("--entry", args.entry)):
        if given:
            raise usage(f"{option} is for programs in MLIR: a Python program calls its functions itself")
    if args.launcher == "mpi":
        raise usage("--launcher mpi is for programs in MLIR")
    options = {
        "backend": args.backend,
        "ranks": args.ranks,
        "chip": args.chip,
        "wave_size": args.wave_size,
        "heap_bytes": args.heap_size,
        "seed": args.seed,
        "settings": pairs("--set", args.set),
        "timeout": args.timeout,
        "opt_level": args.opt_level or None,
    }
    profiles = list[Profile]()
    if args.profile is not None:
        options["profile"] = profiles.append
    read_text(args.file)  # what cannot be read is said as of any file
    with setting(defaults, {name: value for name, value in options.items() if value is not None}):
        runpy.run_path(args.file, run_name="__main__")
    if args.profile is not None:
        found = joined(profiles)
        show_profile(found, args)
        if args.json:
            print(json.dumps({"profile": found.facts()}))
    return 0


def _run_locally(program: AirProgram, args: Namespace) -> int:
    from tilewright.gpu.host.rank import run_ranks

    ranks = world_size(program, args.ranks)
    job = make_job(program, args)
    printer = RankPrinter(ranks, prefix=ranks > 1 and not args.no_prefix, quiet=args.json)
    if args.verbose:
        printer.announce(job)
    result = run_ranks(job, ranks, args.timeout, None if args.by_rank else printer.line)
    if args.by_rank:
        printer.all(result)
    if result.status == 0 and args.out is not None:
        save_buffers(Path(args.out), job.program.entry, result)
    if result.profile is not None:
        show_profile(result.profile, args)
    return report(result, {program.name: program.text}, args.json, args.verbose)


def world_size(program: AirProgram, wanted: int | None) -> int:
    from tilewright.errors import ArgumentError

    with complaining(ArgumentError, usage):
        return program.world_size(wanted)


def make_job(program: AirProgram, args: Namespace) -> RankJob:
    """What all ranks run, with the arguments that the command line gives."""
    from tilewright.cli.run_values import pairs
    from tilewright.gpu.host.arguments import ArgumentError

    settings = pairs("--set", args.set)
    with complaining(ArgumentError, usage):
        job = program.job(
            backend=args.backend,
            entry=args.entry,
            chip=args.chip,
            wave_size=args.wave_size,
            heap_bytes=args.heap_size,
            seed=args.seed,
            settings=settings,
            profile=args.profile is not None,
            opt_level=args.opt_level,
        )
        return job.with_arguments(_arguments(job.program.entry, args.arg))


def _arguments(entry: FuncOp, specs: list[str]) -> list[Argument]:
    from tilewright.gpu.host.arguments import argument_names

    names, types = argument_names(entry), list(entry.function_type.inputs.data)
    given = dict[int, str]()
    for spec in specs:
        where, equals, what = spec.partition("=")
        # one without a name is the first that is not given yet
        number = _number(names, where) if equals else next(n for n in range(len(specs)) if n not in given)
        if number >= len(names):
            raise usage(f"--arg: @{entry.sym_name.data} takes {len(names)} arguments, got '{spec}' as well")
        given[number] = what if equals else spec
    return [_value(names[n], type, given.get(n)) for n, type in enumerate(types)]


def _number(names: list[str], where: str) -> int:
    if where in names:
        return names.index(where)
    if not where.isdecimal() or int(where) >= len(names):
        raise usage(f"--arg: no such argument: {where}; there is {', '.join(names) or 'none'}")
    return int(where)


def _value(name: str, type: Any, spec: str | None) -> Argument:
    from tilewright.cli.run_values import number_text
    from tilewright.dialects.memref.types import is_ranked
    from tilewright.driver.host_values import SpecError, typed_buffer

    if is_ranked(type):
        with complaining(SpecError, usage):
            return typed_buffer(name, spec or "zeros", type, lambda: 0)  # how much a program needs cannot be told
    if spec is None:
        raise usage(f"the function takes {name}, of type {type}; give it: --arg {name}=NUMBER")
    return number_text("--arg", name, spec)


def save_buffers(directory: Path, entry: FuncOp, result: AirRunResult) -> None:
    """Buffers of rank 0 go into the directory itself, those of others into folders of their own."""
    from tilewright.dialects.memref.types import is_ranked
    from tilewright.gpu.host.arguments import argument_names
    from tilewright.support.output_files import array_files

    names = argument_names(entry)
    buffers = [name for name, type in zip(names, entry.function_type.inputs, strict=True) if is_ranked(type)]
    files = dict[str, bytes]()
    for rank in result.ranks:
        folder = "" if rank.rank == 0 else f"rank{rank.rank}/"
        arrays = array_files(dict(zip(buffers, rank.arrays, strict=True)))
        files |= {folder + name: data for name, data in arrays.items()}
    write_folder(directory, files)


def usage(text: str) -> CommandLineError:
    return CommandLineError(f"tilewright air run: {text}")


class RankPrinter:
    """Prints what ranks print."""

    def __init__(self, ranks: int, prefix: bool, quiet: bool):
        self.ranks, self.prefix, self.quiet = ranks, prefix, quiet
        self.width = len(str(ranks - 1))

    def announce(self, job: RankJob) -> None:
        """Say what is going to run."""
        entry, options = job.program.entry.sym_name.data, job.options
        where = f"{job.backend}, {options.target.chip} with waves of {options.wave_size} lanes"
        ranks = f"{self.ranks} rank{'s' * (self.ranks > 1)}"
        print(f"tilewright: @{entry} is lowered; {ranks} on {where}", file=sys.stderr)

    def line(self, rank: int, text: str) -> None:
        if not self.quiet:
            # at once: what a rank printed before it hangs is what one looks for
            print(f"[rank {rank:{self.width}}] {text}" if self.prefix else text, flush=True)

    def all(self, result: AirRunResult) -> None:
        """What each rank printed, one after the other."""
        for rank in result.ranks:
            for text in rank.output.splitlines():
                self.line(rank.rank, text)


def report(result: AirRunResult, sources: Mapping[str, str], as_json: bool, verbose: bool = False) -> int:
    """Say what failed, on stderr; gives the exit status."""
    show_diagnostics(result.diagnostics(), sources)
    for rank in result.failed:
        # one that only failed because another did has nothing to add
        if not rank.is_consequence and not rank.messages:
            print(f"tilewright: error: rank {rank.rank} ended with status {rank.status}", file=sys.stderr)
    if as_json:
        print(json.dumps(outcome(result)))
    elif verbose:
        count = len(result.ranks)
        print(f"tilewright: {count} rank{'s' * (count > 1)} in {result.seconds:.2f} s", file=sys.stderr)
        for name, count in result.counters.items():
            print(f"  {name:24}{count:>16,}", file=sys.stderr)
    return result.status


def outcome(result: AirRunResult) -> dict[str, Any]:
    """A run for machines."""
    return {
        "status": result.status,
        "seconds": round(result.seconds, 6),
        "counters": result.counters,
        "ranks": [_rank(rank) for rank in result.ranks],
        **({} if result.profile is None else {"profile": result.profile.facts()}),
    }


def _rank(rank: RankReport) -> dict[str, Any]:
    return {
        "rank": rank.rank,
        "status": rank.status,
        "consequence": rank.is_consequence,
        "output": rank.output,
        "values": list(rank.values),
        "counters": dict(rank.counters),
        "errors": [_message(message) for message in rank.messages],
    }


def _message(message: DiagnosticRecord) -> dict[str, Any]:
    place = dict(zip(("file", "line", "column"), message.position, strict=True)) if message.position else {}
    notes = {"notes": [_message(note) for note in message.notes]} if message.notes else {}
    return {"message": message.text, **place, **notes}


def _run_under_mpi(program: AirProgram, args: Namespace) -> int:
    # each rank is this very command again
    if any(name in os.environ for name in WORLD_SIZES):
        return _be_a_rank(program, args)
    ranks = world_size(program, args.ranks)
    make_job(program, args)  # what is wrong with the program is said once, here
    return _start(ranks, args)


def _start(ranks: int, args: Namespace) -> int:
    """Start mpirun with this command for each rank."""
    from tilewright.gpu.host.mpi import NoMpi, check_mpi

    with complaining(NoMpi, InputError):
        check_mpi()
    command = shlex.split(args.mpirun)
    if not command or shutil.which(command[0]) is None:
        raise InputError(
            f"'{args.mpirun}' cannot be started; install an MPI, such as Open MPI: apt install openmpi-bin"
        )
    if args.file == "-":
        raise usage("ranks under MPI read the program themselves; give it as a file")
    with subprocess.Popen([*command, "-n", str(ranks), sys.executable, "-m", "tilewright", *sys.argv[1:]]) as mpirun:
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


def _be_a_rank(program: AirProgram, args: Namespace) -> int:
    from tilewright.gpu.host.mpi import NoMpi, abort, open_mpi, run_mpi_rank
    from tilewright.gpu.host.outcome import AirRunResult

    with complaining(NoMpi, InputError):
        mpi = open_mpi()
    world_size(program, mpi.COMM_WORLD.size)
    job = make_job(program, args)
    report = run_mpi_rank(job, mpi, os.environ.get(BY_MESSAGES) == "1")
    if report.status:
        _explain(report, mpi.COMM_WORLD.size, program)
        abort(mpi, 1)  # the other ranks would wait for this one
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
