"""Run an AIR program on an emulated or a real GPU: its main, or the function that --entry names.

Each rank is a process with a device of its own. What ranks print comes out on stdout as they print it; with more than
one rank each line says whose it is. The arguments of --entry's function are given in order, or by name: a SPEC is a
number for a scalar, and for a buffer a .npy file, zeros, arange, or random:SEED; NAME=SPEC and NUMBER=SPEC choose the
argument.

Ends with status 1 if a rank fails, hangs or does what a GPU would do wrong silently; the message says who and where.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import UsageError

if TYPE_CHECKING:
    from tilewright.air import AirProgram
    from tilewright.dialects.func import FuncOp
    from tilewright.gpu.host.arguments import Argument
    from tilewright.gpu.host.outcome import RunResult
    from tilewright.gpu.host.rank import Job

LAUNCHERS = "local", "mpi"


def add_arguments(parser: ArgumentParser) -> None:
    repeated: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("file", metavar="FILE", help="a program in MLIR, or the folder that `air compile` wrote")
    parser.add_argument("--ranks", metavar="N", type=int, help="how many processes (default: what air.rank says, or 1)")
    parser.add_argument("--backend", default="emulator", help="emulator (default), cuda or hip")
    parser.add_argument("--entry", metavar="FUNC", help="the function to call (default: main)")
    parser.add_argument("--arg", metavar="SPEC", **repeated, help="an argument of it")
    parser.add_argument("--out", metavar="DIR", help="write each buffer to DIR/NAME.npy afterwards")
    parser.add_argument(
        "--chip", metavar="CHIP", help="the GPU whose waves and limits count (default: gfx942 or sm_90)"
    )
    parser.add_argument(
        "--wave-size", metavar="N", type=int, help="lanes of a processing element (default: the chip's)"
    )
    parser.add_argument("--heap-size", metavar="BYTES", type=int, help="symmetric heap of each rank (default: 256 MiB)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of what the emulator leaves to chance")
    parser.add_argument("--set", metavar="NAME=VALUE", **repeated, help="an option of the backend")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="end the run after so long, with status 1")
    parser.add_argument("--launcher", choices=LAUNCHERS, default="local", help="who starts ranks (default: local)")
    parser.add_argument("--mpirun", metavar="COMMAND", default="mpirun", help="with --launcher mpi: the command for it")
    parser.add_argument("--by-rank", action="store_true", help="print what ranks print in the end, rank by rank")
    parser.add_argument("--no-prefix", action="store_true", help="do not say which rank printed a line")
    parser.add_argument("--verbose", action="store_true", help="say on stderr what happens and what was counted")
    parser.add_argument("--json", action="store_true", help="print the outcome for machines, with what ranks printed")


def run(args: Namespace) -> int:
    from tilewright.cli.files import read_text
    from tilewright.cli.programs import source_name
    from tilewright.errors import ArgumentError
    from tilewright.gpu.run_options import checked_timeout

    try:
        args.timeout = checked_timeout(args.timeout)
    except ArgumentError as error:
        raise usage(str(error)) from error
    if (Path(args.file) / "bundle.json").is_file():
        from tilewright.gpu.bundle.run import run_bundle

        return run_bundle(Path(args.file), args)
    if args.launcher == "mpi":
        from tilewright.cli.air_mpi import run_under_mpi

        return run_under_mpi(args)
    program = _program(read_text(args.file), source_name(args.file))
    return _run_locally(program, args)


def _program(text: str, name: str) -> AirProgram:
    from tilewright.air import AirProgram

    return AirProgram(text, name)


def _run_locally(program: AirProgram, args: Namespace) -> int:
    from tilewright.cli.air_report import Printer, report
    from tilewright.gpu.host.launcher import run_ranks

    ranks = world_size(program, args.ranks)
    job = make_job(program, args)
    printer = Printer(ranks, prefix=ranks > 1 and not args.no_prefix, quiet=args.json)
    if args.verbose:
        printer.announce(job)
    result = run_ranks(job, ranks, args.timeout, None if args.by_rank else printer.line)
    if args.by_rank:
        printer.all(result)
    if result.status == 0 and args.out is not None:
        save_buffers(Path(args.out), job.program.entry, result)
    return report(result, {program.name: program.text}, args.json, args.verbose)


def world_size(program: AirProgram, wanted: int | None) -> int:
    from tilewright.errors import ArgumentError

    try:
        return program.world_size(wanted)
    except ArgumentError as error:
        raise usage(str(error)) from error


def make_job(program: AirProgram, args: Namespace) -> Job:
    """What all ranks run, with the arguments that the command line gives."""
    from tilewright.cli.run_values import pairs
    from tilewright.gpu.host.arguments import ArgumentError

    settings = pairs("--set", args.set)
    try:
        job = program.job(
            backend=args.backend,
            entry=args.entry,
            chip=args.chip,
            wave_size=args.wave_size,
            heap_bytes=args.heap_size,
            seed=args.seed,
            settings=settings,
        )
        return job.with_arguments(_arguments(job.program.entry, args.arg))
    except ArgumentError as error:
        raise usage(str(error)) from error


def _arguments(entry: FuncOp, specs: list[str]) -> list[Argument]:
    from tilewright.gpu.host.arguments import argument_names

    names, types = argument_names(entry), list(entry.function_type.inputs.data)
    given = dict[int, str]()
    for spec in specs:
        where, equals, what = spec.partition("=")
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
    from tilewright.cli.run_values import number_text, typed_buffer
    from tilewright.dialects.memref.types import is_ranked

    if is_ranked(type):
        return typed_buffer(name, spec or "zeros", type, lambda: 0)
    if spec is None:
        raise usage(f"the function takes {name}, of type {type}; give it: --arg {name}=NUMBER")
    return number_text("--arg", name, spec)


def save_buffers(directory: Path, entry: FuncOp, result: RunResult) -> None:
    """Buffers of rank 0 go into the directory itself, those of others into folders of their own."""
    from tilewright.cli.files import write_folder
    from tilewright.dialects.memref.types import is_ranked
    from tilewright.gpu.host.arguments import argument_names
    from tilewright.outputs import array_files

    names = argument_names(entry)
    buffers = [name for name, type in zip(names, entry.function_type.inputs, strict=True) if is_ranked(type)]
    files = dict[str, bytes]()
    for rank in result.ranks:
        folder = "" if rank.rank == 0 else f"rank{rank.rank}/"
        arrays = array_files(dict(zip(buffers, rank.arrays, strict=True)))
        files |= {folder + name: data for name, data in arrays.items()}
    write_folder(directory, files)


def usage(text: str) -> UsageError:
    return UsageError(f"tilewright air run: {text}")
