"""What one rank does: opens its device, calls the entry, and reports how that ended."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from tilewright.dialects.memref.types import is_ranked
from tilewright.gpu.device import BACKENDS, Device, DeviceError, DeviceOptions, OpenDevice, RankLost, World
from tilewright.gpu.host.arguments import (
    Argument,
    SharedArray,
    array_parts,
    checked_arguments,
    exit_status,
    scalar_bits,
    scalar_value,
)
from tilewright.gpu.host.context import Context
from tilewright.gpu.host.outcome import FAILED, INTERNAL_ERROR, Ending, Message, RankReport
from tilewright.gpu.host.program import HostProgram
from tilewright.gpu.host.runtime import Exited, Runtime
from tilewright.ir.diagnostics import CompileError, DiagnosedError, Diagnostic, Severity, location_of
from tilewright.ir.run_errors import Hang
from tilewright.native.functions import types_of_parts


@dataclass
class Job:
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

    def with_arguments(self, arguments: Sequence[object]) -> Job:
        """The same with these arguments; `ArgumentError` if they do not fit the entry."""
        return replace(self, arguments=checked_arguments(self.program, arguments))


Given = Sequence[SharedArray | int | float]


def share_arguments(job: Job) -> list[SharedArray | int | float]:
    """The arguments of one rank: copies of all arrays."""
    return [value if isinstance(value, int | float) else SharedArray.of(value) for value in job.arguments]


def backend_named(name: str) -> OpenDevice:
    """What opens devices of a backend."""
    home = BACKENDS.get(name)
    if home is None:
        raise DeviceError(f"unknown backend '{name}'; there is {', '.join(BACKENDS)}")
    return import_module(home).open_device


def run_rank(job: Job, world: World, context: Context, arguments: Given) -> RankReport:
    """Run the entry here; gives a report whatever happens."""
    report = RankReport(world.rank)
    try:
        device = backend_named(job.backend)(world, job.options)
        try:
            _call_entry(job, world, device, context, arguments, report)
        finally:
            report.counters = dict(device.counters())
            device.close()
    except Exited as error:
        report.status = error.status % 256
    except DiagnosedError as error:
        report.status, report.messages = FAILED, [Message.of(diagnostic) for diagnostic in error.diagnostics]
        report.is_consequence, report.ending = isinstance(error.__cause__, RankLost), _ending(error)
    except (DeviceError, RankLost) as error:
        location = location_of(job.program.entry)
        report.status, report.messages = FAILED, [Message.of(Diagnostic(Severity.ERROR, str(error), location))]
        report.is_consequence = isinstance(error, RankLost)
        report.ending = Ending.HANG if report.is_consequence else Ending.FAULT
    except Exception as error:
        report.status, report.messages, report.ending = INTERNAL_ERROR, [_internal(error)], Ending.INTERNAL
    return report


def _ending(error: DiagnosedError) -> Ending:
    """A rank that waits for one that has ended hangs, unless that one is to blame."""
    if isinstance(error, Hang) or isinstance(error.__cause__, RankLost):
        return Ending.HANG
    return Ending.COMPILE if isinstance(error, CompileError) else Ending.FAULT


def _call_entry(job: Job, world: World, device: Device, context: Context, arguments: Given, report: RankReport) -> None:
    program = job.program
    runtime = Runtime(program, world, device, context)
    types = program.entry.function_type
    placed = [_placed(runtime, value) if isinstance(value, SharedArray) else 0 for value in arguments]
    parts = list[int]()
    for type, value, address in zip(types.inputs, arguments, placed, strict=True):
        if isinstance(value, SharedArray):
            assert is_ranked(type), "arguments were checked"
            parts += array_parts(type, value.array, address)
        else:
            parts.append(scalar_bits(type, value))
    bits = runtime.run(parts, len(types_of_parts(types.outputs)))
    for value, address in zip(arguments, placed, strict=True):
        if isinstance(value, SharedArray):
            runtime.memory.copy(value.address, address, value.array.nbytes)
    report.values = [scalar_value(type, number) for type, number in zip(types.outputs, bits, strict=False)]
    report.status = exit_status(program.entry, report.values)


def _placed(runtime: Runtime, value: SharedArray) -> int:
    """Where a copy of an array is that host and device may access."""
    address = runtime.memory.allocate(value.array.nbytes, 0, 1)
    runtime.memory.copy(address, value.address, value.array.nbytes)
    return address


def _internal(error: Exception) -> Message:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    text = f"internal error: {where}{type(error).__name__}: {error}"
    if os.environ.get("TILEWRIGHT_TRACEBACK"):
        text += "\n" + "".join(traceback.format_exception(error))
    return Message(str(Severity.ERROR), text, None)
