"""One rank of a run: opens its device, calls the entry, and reports the end of it.

Native code cannot be left by an exception. A function of the runtime that fails keeps what it raised and marks the
context; the code looks at the mark after each call, and returns.
"""

from __future__ import annotations

import ctypes
import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from llvmlite import ir
from xdsl.dialects.builtin import LocationAttr

from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.dialects.memref.types import is_ranked
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
    SharedArray,
    array_parts,
    checked_arguments,
    exit_status,
    scalar_bits,
    scalar_value,
)
from tilewright.gpu.host.context import HostContext
from tilewright.gpu.host.outcome import FAILED, INTERNAL_ERROR, DiagnosticRecord, Ending, RankReport
from tilewright.gpu.host.printing import PRINTS, SAMPLES
from tilewright.gpu.host.program import HostProgram
from tilewright.gpu.host.runtime import DeviceMemory, StreamFunctions, SymmetricHeap
from tilewright.ir.diagnostics import CompileError, DiagnosedError, Diagnostic, Severity, location_of, op_text
from tilewright.ir.run_errors import Fault, Hang
from tilewright.ir.symbols import symbol_in
from tilewright.native.aggregates import flattened_types
from tilewright.native.functions import types_of_parts
from tilewright.native.lowering import SLOT_BYTES

Function = Callable[..., int | float | None]


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

    def with_arguments(self, arguments: Sequence[object]) -> RankJob:
        """The same with these arguments; `ArgumentError` if they do not fit the entry."""
        return replace(self, arguments=checked_arguments(self.program, arguments))


Given = Sequence[SharedArray | int | float]


def share_arguments(job: RankJob) -> list[SharedArray | int | float]:
    """The arguments of one rank: copies of all arrays."""
    return [value if isinstance(value, int | float) else SharedArray.of(value) for value in job.arguments]


def backend_named(name: str) -> OpenDevice:
    """What opens devices of a backend."""
    home = BACKENDS.get(name)
    if home is None:
        raise DeviceError(f"unknown backend '{name}'; there is {', '.join(BACKENDS)}")
    return import_module(home).open_device


def run_rank(job: RankJob, world: World, context: HostContext, arguments: Given) -> RankReport:
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
        report.status, report.messages = FAILED, [DiagnosticRecord.of(diagnostic) for diagnostic in error.diagnostics]
        report.is_consequence, report.ending = isinstance(error.__cause__, RankLost), _ending(error)
    except (DeviceError, RankLost) as error:
        location = location_of(job.program.entry)
        report.status, report.messages = FAILED, [DiagnosticRecord.of(Diagnostic(Severity.ERROR, str(error), location))]
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


def _call_entry(
    job: RankJob, world: World, device: GpuDevice, context: HostContext, arguments: Given, report: RankReport
) -> None:
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


def _internal(error: Exception) -> DiagnosticRecord:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    text = f"internal error: {where}{type(error).__name__}: {error}"
    if os.environ.get("TILEWRIGHT_TRACEBACK"):
        text += "\n" + "".join(traceback.format_exception(error))
    return DiagnosticRecord(str(Severity.ERROR), text, None)


class Exited(Exception):
    """The program called `exit`."""

    def __init__(self, status: int):
        self.status = status
        super().__init__(f"exit({status})")


class Runtime:
    """What a program on one rank finds behind the names that it calls."""

    def __init__(self, program: HostProgram, world: World, device: GpuDevice, context: HostContext):
        self.program, self.world, self.device, self.context = program, world, device, context
        self.memory = DeviceMemory(device)
        self.heap = SymmetricHeap(world, device, self.memory)
        self.failure: BaseException | None = None
        self._modules: dict[str, KernelModule] = {}
        self._launches = [self._prepared(launch) for launch in program.launches]
        functions = self._functions()
        self._pointers = [
            signature.python()(self._guarded(functions[name])) for name, signature in program.calls.items()
        ]
        context.functions = [ctypes.cast(pointer, ctypes.c_void_p).value or 0 for pointer in self._pointers]

    def _functions(self) -> dict[str, Function]:
        return {
            **self.memory.functions(),
            **self.heap.functions(),
            **StreamFunctions().functions(),
            **SAMPLES,
            **PRINTS,
            "launch": self._launch,
            "exit": self._exit,
        }

    def run(self, arguments: Sequence[int], results: int) -> list[int]:
        """Call the entry; gives the bits of its results. Raises what ended it early."""
        given = (ctypes.c_uint64 * max(len(arguments), 1))(*arguments)
        room = (ctypes.c_uint64 * max(results, 1))()
        status = self.program.start(self.context.address, ctypes.addressof(given), ctypes.addressof(room))
        if self.failure is not None:
            raise self.failure
        if status < 0:
            trap = self.program.traps[self.context.trap]
            raise Fault(op_text(trap.operation, trap.text.format(*self.context.details)), trap.location)
        return list(room)

    def _guarded(self, function: Function) -> Function:
        """A function for native code to call: what it raises ends the run."""

        def call(*arguments: Any) -> int | float:
            with self.context.inside_call():
                try:
                    return function(*arguments) or 0
                except BaseException as error:
                    self.failure = self._located(error)
                    self.context.stop()
                    return 0

        return call

    def _located(self, error: BaseException) -> BaseException:
        """What ended the run, with the place in the program that asked for it."""
        match error:
            case DeviceError() | RankLost() | MemoryError() | OverflowError():
                op = self.program.sites[self.context.site]
                text = str(error) if isinstance(error, DeviceError | RankLost) else "needs more memory than there is"
                located = Fault(op_text(op, text), op.location)
                located.__cause__ = error
                return located
            case _:
                return error

    def _exit(self, status: int) -> None:
        raise Exited(status)

    def _prepared(self, launch: LaunchFuncOp) -> tuple[LoadedKernel, list[int], LocationAttr]:
        """The kernel of a launch, and how many bytes each of its flattened parameters has."""
        module = self._module(launch)
        types = [part for operand in launch.kernel_operands for part in flattened_types(operand.type)]
        return module.kernel(launch.kernel_name), [_bytes(type) for type in types], launch.location

    def _module(self, launch: LaunchFuncOp) -> KernelModule:
        name = launch.kernel.root_reference.data
        if name not in self._modules:
            found = symbol_in(self.program.module, name)
            assert isinstance(found, GPUModuleOp), "the verifier looked for it"
            self._modules[name] = self.device.load(found)
        return self._modules[name]

    def _launch(self, number: int, *sizes_and_arguments: int) -> None:
        *sizes, shared, arguments = sizes_and_arguments
        kernel, widths, where = self._launches[number]
        values = [ctypes.string_at(arguments + SLOT_BYTES * place, width) for place, width in enumerate(widths)]
        grid, block = Size3(*sizes[:3]), Size3(*sizes[3:])
        if min(*grid, *block) <= 0:
            raise DeviceError(f"launches a grid of {_shown(grid)} blocks of {_shown(block)} threads")
        self.device.launch(kernel, grid, block, shared, values, where)
        self.device.synchronize()


def _shown(size: Size3) -> str:
    return " x ".join(map(str, size))


def _bytes(type: ir.Type) -> int:
    match type:
        case ir.IntType():
            return -(-type.width // 8)
        case ir.HalfType():
            return 2
        case ir.FloatType():
            return 4
        case _:
            return 8
