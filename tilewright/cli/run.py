"""Run a design on the simulated NPU: compile it, load it, and carry out one of its runtime sequences.

    tilewright run DESIGN --arg a=random:1 --set n=64 --out results
    tilewright run --txn FILE --arg 0=random:1 --out results
    tilewright run --xclbin X.xclbin --insts FILE --arg 0=a.npy --out results

The second form needs no design: the stream runs on a bare device, freshly out of reset. FILE is a TXN binary, its words
as hex text, or an ELF file with control code; arguments have numbers then, and buffers are as large as the stream needs
them unless --bytes says otherwise. The third runs a package: one of ours with its cores, one of others as far as its
parts are known; FILE has DPU words (.seq), hex text, a TXN binary or an ELF file, and arguments have the numbers of the
instructions.

What goes in for each buffer is a SPEC: a .npy file, zeros (the default), arange, or random:SEED. Ends with status 1 if
the design hangs or does what the hardware would do wrong silently; the message says who waits for what. Ctrl-C ends a
run with status 130 and says how far it has come.
"""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import InputError, complaining
from tilewright.cli.files import (
    design_arguments,
    host_arguments,
    host_options,
    load_expansion,
    read_bytes,
    read_design,
    read_text,
    write_folder,
    write_text,
)
from tilewright.cli.parsers import GUARD_QUEUES, LOAD_EXPANSIONS, SECTION, arguments, switch, value, values
from tilewright.cli.run_debugging import DEBUGGING, look_at_cores
from tilewright.cli.run_values import (
    integer,
    kernel_error,
    load_kernel,
    number_text,
    numbered,
    numbered_arguments,
    pairs,
    typed_arguments,
    usage,
)

if TYPE_CHECKING:
    from tilewright.device import DeviceModel
    from tilewright.driver.compiled_design import Design
    from tilewright.driver.loaded_device import Array, SimulatedDevice
    from tilewright.driver.run_result import RunResult
    from tilewright.sim.record import RunRecord
    from tilewright.txn.containers import ControlCode

FAILED, INTERRUPTED = 1, 130


add_arguments = arguments(
    {
        **design_arguments(nargs="?"),
        **host_arguments(),
        "--sequence": value("NAME", "which runtime sequence (default: the first)"),
        "--set": values("NAME=INT", "the value of a scalar argument"),
        "--arg": values("NAME=SPEC", "what a buffer holds at first"),
        "--scratchpad": values("NAME=INT", "the value of a scratchpad parameter"),
        "--kernel": values("NAME=FILE[:FUNCTION]", "an external kernel, of a Python file or a C++ source"),
        "--kernels": {
            "choices": ("auto", "source", "library", "checked"),
            "help": "C++ sources or the library's kernels first; checked: sources, with each access checked",
        },
        "--txn": value("FILE", "carry out this stream instead of the sequence's own words"),
        "--xclbin": value("FILE", "run a package instead of a DESIGN, with the instructions of --insts"),
        "--insts": value("FILE", "with --xclbin: the instructions"),
        "--xclbin-kernel-name": value("NAME", "with --xclbin: which kernel (default: the first)"),
        "--section": SECTION,
        "--device": value("D", "without DESIGN: the device (default: what the stream says)"),
        "--bytes": values("N=INT", "without DESIGN: the size of argument N"),
        "--judge": values("KIND=LEVEL", "make a hazard fault, note or off (--judge help lists them)"),
        "--model": {
            "choices": ("fast", "words", "plain", "python"),
            "default": "fast",
            "help": "how to simulate; all give the same, words and plain word by word, python without native code "
            "(default: fast)",
        },
        "--jobs": value("N", "threads that library kernels may run in, with the same results (default: 1)"),
        "--timing": value("FILE", "parameters of the clock in a JSON file; none: as little time as there can be"),
        "--max-cycles": value("N", "stop after so many modelled cycles, with status 1"),
        "--out": value("DIR", "write each buffer to DIR/NAME.npy afterwards"),
        "--trace": value("FILE.json", "write a trace for ui.perfetto.dev or chrome://tracing"),
        "--report": value("FILE.html", "write a page about the run: array, timeline, stalls, functions of cores"),
        **DEBUGGING,
        "--guard-queues": GUARD_QUEUES,
        **LOAD_EXPANSIONS,
        "--json": switch("print the outcome for machines, whatever it is"),
    }
)


@dataclass
class SimulatorRun:
    """A device, what to run on it, and what it works on."""

    device: SimulatedDevice
    start: Callable[..., RunResult]
    buffers: Mapping[str, Array]
    sources: dict[str, str] = field(default_factory=dict[str, str])


def run(args: Namespace) -> int:
    if "help" in args.judge:
        from tilewright.sim.faults import FaultKind

        for kind in FaultKind:
            print(f"{kind.option:24}{kind.default.value:7}{kind.meaning}")
        return 0
    max_cycles = None if args.max_cycles is None else integer("--max-cycles", "N", args.max_cycles)
    if max_cycles is not None and max_cycles <= 0:
        raise usage(f"--max-cycles takes a positive number, got {max_cycles}")
    if args.xclbin is not None:
        job = _on_package(args)
    else:
        _refuse(args, ("insts", "xclbin_kernel_name"), "needs --xclbin")
        job = _on_bare_device(args) if args.design is None else _on_design(args)
    return _carry_out(job, args, max_cycles)


def _refuse(args: Namespace, flags: Sequence[str], reason: str) -> None:
    for flag in flags:
        if getattr(args, flag):
            raise usage(f"--{flag.replace('_', '-')} {reason}")


def _jobs(args: Namespace) -> int:
    from tilewright.errors import ArgumentError
    from tilewright.sim.models import checked_jobs

    with complaining(ArgumentError, usage):
        return 1 if args.jobs is None else checked_jobs(integer("--jobs", "N", args.jobs))


def _carry_out(job: SimulatorRun, args: Namespace, max_cycles: int | None) -> int:
    from tilewright.cli.run_report import RunOutcome, progress_line, report
    from tilewright.errors import MissingResultsWarning
    from tilewright.ir.diagnostics import DiagnosedError
    from tilewright.ir.run_errors import Unfinished
    from tilewright.sim.runs import Interrupted
    from tilewright.support.output_files import array_files

    cores = look_at_cores(job.device, args)
    start, runner, notes = time.perf_counter(), job.device.runner, job.device.machine.policy.notes
    diagnostics, name, kind, status, record = [], "finished", None, 0, None
    try:
        with progress_line() as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingResultsWarning)  # there is a note about it
            result = job.start(max_cycles=max_cycles, progress=progress)
            notes, record = result.notes, result.record
    except DiagnosedError as error:
        diagnostics, (name, kind), status = error.diagnostics, _how(error), FAILED
        record = error.record if isinstance(error, Unfinished) else None
    except Interrupted as error:
        diagnostics, name, status, record = error.diagnostics, "interrupted", INTERRUPTED, error.record
    except Exception as error:  # a kernel raises what it likes
        if (found := kernel_error(error, pairs("--kernel", args.kernel).values())) is None:
            raise
        raise found from error
    outcome = RunOutcome(name, runner.elapsed, time.perf_counter() - start, diagnostics, notes, job.buffers, kind)
    if status == 0 and args.out is not None:
        write_folder(Path(args.out), array_files(job.buffers))
    if record is not None:
        write_files(record, args, job.sources)
    cores.write()
    report(outcome, job.sources, args.txn or args.insts, args.json)
    if record is not None and status == 0 and not args.json:
        print_table(record)
    return status


def _how(error: Exception) -> tuple[str, str | None]:
    """What ended a run, and which hazard it was."""
    from tilewright.ir.run_errors import Fault, Hang
    from tilewright.sim.faults import FaultKind
    from tilewright.sim.runs import Stopped

    match error:
        case Fault():
            return "fault", error.kind.option if isinstance(error.kind, FaultKind) else None
        case Hang():
            return "hang", None
        case Stopped():
            return "stopped", None
        case _:
            return "error", None


def _levels(args: Namespace) -> dict[str, str]:
    from tilewright.sim.faults import LevelError, levels_of

    with complaining(LevelError, lambda text: usage(f"--judge: {text}")):
        levels_of(args.judge)
    return pairs("--judge", args.judge)


def _parameters(args: Namespace) -> Any:
    """What --timing says."""
    from tilewright.device import Arch
    from tilewright.device.timing import TimingError, read_parameters, timing_with

    if args.timing in (None, "none"):
        return args.timing
    with complaining(TimingError, lambda text: InputError(f"{args.timing}: {text}")):
        given = read_parameters(read_text(args.timing))
        timing_with(Arch.AIE2, given)  # checks the parameters; the device is not known yet
        return given


def _on_design(args: Namespace) -> SimulatorRun:
    """A sequence of a design, with its own words or given ones."""
    from tilewright.driver.compiled_design import compile_source
    from tilewright.errors import UnknownNameError
    from tilewright.ir.diagnostics import DiagnosedError
    from tilewright.sim.control_code import as_control_code
    from tilewright.sim.host_needs import needed_bytes

    for flag, given in (("--device", args.device), ("--bytes", args.bytes)):
        if given:
            raise usage(f"{flag} is for a stream without a design; {args.design} is one")
    source = read_design(args)
    expansion, host = load_expansion(args), host_options(args)
    design = compile_source(source, host=host, guard_queues=args.guard_queues, expand_load_pdis=expansion)
    with complaining(UnknownNameError, usage):
        op = design.operation(args.sequence)
    code = _control_code(args.txn, args.section) if args.txn is not None else None
    scalars, specs = pairs("--set", args.set), pairs("--arg", args.arg)

    def needs(numbers: Mapping[str, int | float]) -> dict[int, int]:
        words = as_control_code(design.txn(args.sequence, **numbers)) if code is None else code
        return needed_bytes(words, design.device(design.device_of(args.sequence)).model)

    arrays = typed_arguments(op, scalars, specs, code is not None, needs)
    scratchpad = _scratchpad(design, args)
    kernels = _kernels(design, args)
    try:
        name, levels, clock = design.device_of(args.sequence), _levels(args), _parameters(args)
        device = design.load(name, kernels, levels, args.model, clock, args.kernels, _jobs(args))
    except DiagnosedError as error:
        error.sources.update(source.texts)
        raise
    # results are written in place, so these arrays are also what is saved
    buffers = {
        n: value for n, value in zip(op.argument_names, arrays, strict=True) if not isinstance(value, int | float)
    }
    what: dict[str, Any] = {"sequence": args.sequence, "txn": code, "scratchpad": scratchpad}
    return SimulatorRun(device, partial(device.run, *arrays, **what), buffers, dict(source.texts))


def _kernels(design: Design, args: Namespace) -> dict[str, Callable[..., Any] | str]:
    from tilewright.errors import UnknownNameError
    from tilewright.kernels.binding import check_kernels

    kernels = {kernel: load_kernel(kernel, where) for kernel, where in pairs("--kernel", args.kernel).items()}
    with complaining(UnknownNameError, lambda text: usage(f"--kernel: {text}")):
        check_kernels(kernels, design.module)
    return kernels


def _scratchpad(design: Design, args: Namespace) -> dict[str, int | float]:
    from tilewright.driver.loaded_device import parameters_in
    from tilewright.sim.scratchpad import ScratchpadError, host_entries

    given = {n: number_text("--scratchpad", n, text) for n, text in pairs("--scratchpad", args.scratchpad).items()}
    with complaining(ScratchpadError, lambda text: usage(f"--scratchpad: {text}")):
        host_entries(parameters_in(design), given)
    return given


def _on_bare_device(args: Namespace) -> SimulatorRun:
    """A stream on a device that is freshly out of reset."""
    from tilewright.device.timing import timing_with
    from tilewright.driver.loaded_device import BareDevice
    from tilewright.sim.host_needs import needed_bytes
    from tilewright.sim.models import Model

    if args.txn is None:
        raise usage("give a DESIGN, or a stream to run on a bare device: --txn FILE")
    _refuse(args, ("sequence", "set", "scratchpad", "kernel", "kernels", "jobs"), "needs a DESIGN")
    code = _control_code(args.txn, args.section)
    model = _model(args.device, code)
    arrays = numbered_arguments(needed_bytes(code, model), numbered("--arg", args.arg), numbered("--bytes", args.bytes))
    device = BareDevice(model, _levels(args), Model.named(args.model), timing_with(model.arch, _parameters(args)))
    return SimulatorRun(device, partial(device.run, code, arrays), {str(n): a for n, a in arrays.items()})


def _on_package(args: Namespace) -> SimulatorRun:
    """Instructions on a device that a package has configured."""
    from tilewright.xrt.loaded_package import LoadedPackage
    from tilewright.xrt.packages import XclbinPackage
    from tilewright.xrt.partition import Settings

    if args.insts is None:
        raise usage("--xclbin needs the instructions that are to run: --insts FILE")
    _refuse(args, ("design", "txn", "device"), "and --xclbin exclude each other")
    _refuse(args, ("sequence", "set", "scratchpad", "kernel", "jobs"), "needs a DESIGN")
    package = XclbinPackage.read(read_bytes(args.xclbin), args.xclbin)
    if not package.kernels:
        raise InputError(f"{args.xclbin}: error: there is no kernel in it")
    how = Settings(_levels(args), args.model, _parameters(args), args.kernels)
    loaded = LoadedPackage(package, _control_code(args.insts, args.section), args.xclbin_kernel_name, how)
    # the shapes that were given are kept in what is written: the simulator has the same memory as bytes
    arrays = numbered_arguments(loaded.needs, numbered("--arg", args.arg), numbered("--bytes", args.bytes))
    return SimulatorRun(loaded.device, partial(loaded.run, arrays), {str(n): a for n, a in arrays.items()})


def _control_code(file: str, section: str | None) -> ControlCode:
    from tilewright.txn.containers import read_container
    from tilewright.txn.stream import TxnError

    try:
        code = read_container(read_bytes(file)).code(section)
        code.decode()  # what is damaged is said now, with the file's name
    except TxnError as error:
        raise error.with_file(file) from None
    return code


def _model(name: str | None, code: ControlCode) -> DeviceModel:
    from tilewright.device import DEVICES
    from tilewright.txn.text import model_of

    if name is None:
        model = model_of(code.decode().header)
        if model is None:
            raise usage("the stream's header describes no device that is known; name one: --device D")
        return model
    # the controller that carries streams out is part of NPUs only
    found = next((model for known, model in DEVICES.items() if known.name == name and model.is_npu), None)
    if found is None:
        known = ", ".join(known.name for known, model in DEVICES.items() if model.is_npu)
        raise usage(f"--device: there is no NPU '{name}'; there is {known}")
    return found


def write_files(record: RunRecord, args: Namespace, sources: Mapping[str, str]) -> None:
    """Write the files that were asked for; they are as useful for a run that hangs."""
    if args.trace is not None:
        from tilewright.report.perfetto import perfetto_json

        write_text(args.trace, perfetto_json(record))
    if args.report is not None:
        from tilewright.report.page import page_html

        title = Path(next(filter(None, (args.design, args.txn, args.xclbin)))).name
        write_text(args.report, page_html(record, title, sources))


def print_table(record: RunRecord) -> None:
    """Who did what, in a few lines."""
    from rich.console import Console

    from tilewright.report.summary import summarise, table

    Console(highlight=False).print(table(summarise(record)))
