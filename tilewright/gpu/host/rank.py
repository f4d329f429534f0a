"""Ranks of a run: each opens its device, calls the entry, and reports the end of it, in a process of its own."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path

from xdsl.dialects.builtin import LocationAttr

from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.errors import Error
from tilewright.gpu.device import (
    BACKENDS,
    DeviceError,
    DeviceOptions,
    GpuDevice,
    KernelModule,
    LoadedKernel,
    OpenDevice,
    RankLost,
    Size3,
    World,
)
from tilewright.gpu.host.arguments import (
    Argument,
    array_parts,
    checked_arguments,
    returns_status,
    scalar_bits,
    scalar_value,
)
from tilewright.gpu.host.context import HostContext
from tilewright.gpu.host.outcome import FAILED, INTERNAL_ERROR, AirRunResult, DiagnosticRecord, Ending, RankReport
from tilewright.gpu.host.processes import RankProcess
from tilewright.gpu.host.program import HostProgram, parameter_bytes
from tilewright.gpu.host.runtime import Exited, NativeRuntime, arguments_at, shared_copy
from tilewright.gpu.host.supervisor import RankOutput, RankSupervisor, Show
from tilewright.gpu.profile import LaunchProfile, Profile, full_name
from tilewright.ir.diagnostics import CompileError, DiagnosedError, Diagnostic, Severity, location_of, op_text
from tilewright.ir.run_errors import Fault, Hang
from tilewright.ir.symbols import symbol_in


@dataclass
class RankJob:
    """What all ranks run."""

    program: HostProgram
    arguments: Sequence[Argument]
    backend: str
    options: DeviceOptions

    def prepare(self) -> None:
        """Find what is wrong with settings and kernels before any rank starts, and keep what was made of them."""
        prepare = getattr(import_module(BACKENDS[self.backend]), "prepare", None)
        if prepare is not None:
            prepare(self.program.kernels(), self.options)

    def profile(self, launches: Sequence[LaunchProfile]) -> Profile:
        """What launches of all ranks come to, with the registers that kernels get when they are compiled."""
        from tilewright.gpu.resources import thread_registers  # LLVM is not needed to run

        options, registers = self.options, dict[str, int]()
        kernels, names = list(self.program.kernels()), {launch.kernel for launch in launches}
        for module in dict.fromkeys(kernel.parent_op() for kernel in kernels):
            assert isinstance(module, GPUModuleOp), "kernels are in modules"
            symbols = [kernel.symbol for kernel in kernels if kernel.parent_op() is module]
            own = {symbol: full_name(module.sym_name.data, symbol) for symbol in symbols}
            if names & set(own.values()):
                found = thread_registers(module, options.target, options.wave_size)
                registers |= {name: found[symbol] for symbol, name in own.items() if symbol in found}
        return Profile.of(launches, options.target, options.wave_size, registers, options.sources)

    def with_arguments(self, arguments: Sequence[object]) -> RankJob:
        """The same with these arguments; `ArgumentError` if they do not fit the entry."""
        return replace(self, arguments=checked_arguments(self.program, arguments))


def share_arguments(job: RankJob) -> list[Argument]:
    """The arguments of one rank: copies of all arrays."""
    return [value if isinstance(value, int | float) else shared_copy(value) for value in job.arguments]


def backend_named(name: str) -> OpenDevice:
    """What opens devices of a backend."""
    home = BACKENDS.get(name)
    if home is None:
        raise DeviceError(f"unknown backend '{name}'; there is {', '.join(BACKENDS)}")
    return import_module(home).open_device


def run_rank(job: RankJob, world: World, context: HostContext, arguments: Sequence[Argument]) -> RankReport:
    """Run the entry here; gives a report whatever happens."""
    report = RankReport(world.rank)
    try:
        device = backend_named(job.backend)(world, job.options)
        try:
            _call_entry(job, world, device, context, arguments, report)
        finally:
            # counters help to explain failures too
            report.counters = dict(device.counters())
            report.launches = device.profile()
            device.close()
    except Exited as error:
        # as the system cuts it
        report.status = error.status % 256
    except DiagnosedError as error:
        report.status, report.messages = FAILED, [DiagnosticRecord.of(diagnostic) for diagnostic in error.diagnostics]
        report.is_consequence, report.ending = isinstance(error.__cause__, RankLost), _ending(error)
    except (DeviceError, RankLost) as error:
        location = location_of(job.program.entry)
        report.status, report.messages = FAILED, [DiagnosticRecord.of(Diagnostic(Severity.ERROR, str(error), location))]
        report.is_consequence = isinstance(error, RankLost)
        report.ending = Ending.HANG if report.is_consequence else Ending.FAULT
    # a bug of ours: the other ranks must still hear of the end of this one
    except Exception as error:
        report.status, report.messages, report.ending = INTERNAL_ERROR, [_internal(error)], Ending.INTERNAL
    return report


def _ending(error: DiagnosedError) -> Ending:
    """A rank that waits for one that has ended hangs, unless that one is to blame."""
    if isinstance(error, Hang) or isinstance(error.__cause__, RankLost):
        return Ending.HANG
    return Ending.COMPILE if isinstance(error, CompileError) else Ending.FAULT


def _call_entry(
    job: RankJob,
    world: World,
    device: GpuDevice,
    context: HostContext,
    arguments: Sequence[Argument],
    report: RankReport,
) -> None:
    program = job.program
    runtime = ProgramRuntime(program, world, device, context)
    types = program.entry.function_type
    placed = [0 if isinstance(value, int | float) else runtime.place(value) for value in arguments]
    parts = list[int]()
    for type, value, address in zip(types.inputs, arguments, placed, strict=True):
        if isinstance(value, int | float):
            parts.append(scalar_bits(type, value))
        else:
            assert is_ranked(type), "arguments were checked"
            parts += array_parts(type, value, address)
    bits = runtime.run(program.start, parts, program.result_slots)
    for value, address in zip(arguments, placed, strict=True):
        if not isinstance(value, int | float):
            runtime.take_back(value, address)
    report.values = [scalar_value(type, number) for type, number in zip(types.outputs, bits, strict=False)]
    # cut as the system does
    report.status = int(report.values[0] or 0) % 256 if returns_status(program.entry) else 0


def _internal(error: Exception) -> DiagnosticRecord:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    text = f"internal error: {where}{type(error).__name__}: {error}"
    if os.environ.get("TILEWRIGHT_TRACEBACK"):
        text += "\n" + "".join(traceback.format_exception(error))
    return DiagnosticRecord(str(Severity.ERROR), text, None)


class ProgramRuntime(NativeRuntime):
    """The runtime of a program that was compiled in this process: errors name operations of its module."""

    def __init__(self, program: HostProgram, world: World, device: GpuDevice, context: HostContext):
        super().__init__(world, device, context)
        self.program = program
        self._modules: dict[str, KernelModule[LoadedKernel]] = {}
        self._launches = [self._prepared(launch) for launch in program.launches]
        self.publish((name, signature.codes) for name, signature in program.calls.items())

    def trapped(self) -> Exception:
        trap = self.program.traps[self.context.trap]
        return Fault(op_text(trap.operation, trap.text.format(*self.context.details)), trap.location)

    def located(self, error: BaseException) -> BaseException:
        match error:
            case DeviceError() | RankLost() | MemoryError() | OverflowError():
                op = self.program.sites[self.context.site]
                text = str(error) if isinstance(error, DeviceError | RankLost) else "needs more memory than there is"
                located = Fault(op_text(op, text), op.location)
                located.__cause__ = error
                return located
            case _:
                return error

    def _prepared(self, launch: LaunchFuncOp) -> tuple[LoadedKernel, list[int], LocationAttr]:
        """The kernel of a launch, the bytes of its flattened parameters, and its place in the source."""
        name = launch.kernel.root_reference.data
        if name not in self._modules:
            found = symbol_in(self.program.module, name)
            assert isinstance(found, GPUModuleOp), "the verifier looked for it"
            self._modules[name] = self.device.load(found)
        return self._modules[name].kernel(launch.kernel_name), parameter_bytes(launch), launch.location

    def launch(self, number: int, *sizes_and_arguments: int) -> None:
        *sizes, shared, arguments = sizes_and_arguments
        kernel, widths, where = self._launches[number]
        grid, block = Size3(*sizes[:3]), Size3(*sizes[3:])
        if min(*grid, *block) <= 0:
            raise DeviceError(f"launches a grid of {_shown(grid)} blocks of {_shown(block)} threads")
        self.device.launch(kernel, grid, block, shared, arguments_at(arguments, widths), where)
        self.device.synchronize()


def _shown(size: Size3) -> str:
    return " x ".join(map(str, size))


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
            gathering.start(rank, partial(run_rank, job, arguments=given), HostContext(job.program.context_bytes))
        gathering.wait(timeout_seconds)
    finally:
        gathering.close()
    reports = [gathering.reports[rank] for rank in range(ranks)]
    for report, given in zip(reports, arguments, strict=True):
        report.output = gathering.output.of_rank(report.rank)
        report.arrays = [value for value in given if not isinstance(value, int | float)]
    result = AirRunResult(reports, gathering.output.all, time.perf_counter() - begin)
    if job.options.profile:
        result.profile = job.profile([launch for report in reports for launch in report.launches])
    return result


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
