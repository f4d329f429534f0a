"""Designs on the simulated NPU: loads a compiled device, runs its sequences with NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from tilewright.configuration import configuration_stream
from tilewright.design import Design, argument_names, devices_in
from tilewright.device import DeviceModel
from tilewright.device.timing import Timing
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.scratchpad import ScratchpadParameterOp
from tilewright.errors import ArgumentError
from tilewright.kernels.binding import DeviceKernels
from tilewright.passes.number_pdis import pdi_numbers
from tilewright.sim.controller import Image
from tilewright.sim.core import BoundCore, CoreProgram
from tilewright.sim.core_binding import TilePort
from tilewright.sim.faults import Judge, levels_of
from tilewright.sim.models import Model, make_machine
from tilewright.sim.runs import Program, Progress, Runner, RunResult, Watch
from tilewright.sim.scratchpad import host_entries
from tilewright.sim.streams import as_control_code, bind_stream
from tilewright.sim.tile import Tile
from tilewright.txn import decode
from tilewright.txn.containers import ControlCode

Kernels = Mapping[str, Callable[..., Any]]
Array = npt.NDArray[Any]
Levels = Mapping[str, str]
"""What is made of hazards: `fault`, `note` or `off`, by their names, such as `unwritten-memory`."""


class LoadedDevice:
    """A device that was configured once; `run` can be called on it again and again."""

    def __init__(
        self,
        design: Design,
        device: DeviceOp,
        kernels: Kernels,
        levels: Levels,
        model: Model = Model.FAST,
        timing: Timing | None = None,
    ):
        self.design = design
        self.kernels = kernels
        self.machine = make_machine(device.model, judge_of(levels), timing, model)
        numbers = pdi_numbers(design.module)
        images = {numbers[op.sym_name.data]: partial(self._prepare, op) for op in devices_in(design.module)}
        self.runner = Runner(self.machine, images)
        self._last: tuple[tuple[RuntimeSequenceOp, tuple[tuple[int, int], ...]], Program] | None = None
        self._bind(device)
        configuration = configuration_stream(device)
        self.runner.configure(Program(decode(configuration.words), configuration.locations))

    def _prepare(self, device: DeviceOp) -> Image:
        """Give the cores their programs; what configures the rest."""
        self._bind(device)
        configuration = configuration_stream(device)
        return Image(decode(configuration.words), configuration.locations)

    def _bind(self, device: DeviceOp) -> None:
        kernels = DeviceKernels(self.kernels, device)
        for op in device.body.ops:
            if isinstance(op, CoreOp) and op.place is not None:
                _bind_core(op, self.machine.tiles[op.place], kernels)
            elif isinstance(op, LockOp) and op.sym_name and op.place is not None and op.number is not None:
                self.machine.tiles[op.place].locks[op.number].name = op.sym_name.data

    def run(
        self,
        *arguments: Array | int,
        sequence: str | None = None,
        txn: Array | bytes | ControlCode | None = None,
        scratchpad: Mapping[str, int | float] | None = None,
        max_cycles: int | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> RunResult:
        """Carry out a sequence with its arguments in order: arrays are host buffers, integers scalars.

        `scratchpad` has the values of scratchpad parameters; those that are not named are 0. A run that takes more
        than `max_cycles` ends with `Stopped`, one that is interrupted with `Interrupted`, a `KeyboardInterrupt`; both
        say what everybody was doing. `progress` is called now and then.
        """
        op = self.design.operation(sequence)
        names = argument_names(op)
        arrays = check_arguments(op, names, arguments)
        entries = host_entries(parameters_in(self.design), scratchpad or {})
        buffers = {n: (names[n], array) for n, array in arrays.items()}
        if txn is None:
            program = self._program(op, sequence, {n: int(arguments[n]) for n in range(len(names)) if n not in arrays})
            self.runner.bind(buffers)
        else:
            program = bind_stream(self.runner, as_control_code(txn), buffers)
        return self.runner.run(program, entries, Watch(max_cycles, progress))

    def _program(self, op: RuntimeSequenceOp, sequence: str | None, scalars: Mapping[int, int]) -> Program:
        """What a sequence does for these scalars, by number; the last one is kept for runs that follow."""
        key = op, tuple(scalars.items())
        if self._last is None or self._last[0] != key:
            names, parameters = argument_names(op), op.body.block.args
            stream = decode(self.design.txn(sequence, **{names[n]: value for n, value in scalars.items()}))
            values: dict[SSAValue, int] = {parameters[n]: value for n, value in scalars.items()}
            self._last = key, Program(stream, operation_locations(op, values, len(stream.operations)))
        return self._last[1]


def _bind_core(core: CoreOp, tile: Tile, kernels: Kernels) -> None:
    """Give a core its program; the functions that it calls are found when it does."""
    port = TilePort(tile, kernels)
    tile.program = BoundCore(CoreProgram(core), port)
    tile.core_releases = {port.lock(lock) for lock in released_locks(core)}


class BareDevice:
    """A device freshly out of reset, with no design on it: everything comes from the streams that it runs."""

    def __init__(
        self,
        device: DeviceModel,
        levels: Levels | None = None,
        model: Model = Model.FAST,
        timing: Timing | None = None,
    ):
        self.machine = make_machine(device, judge_of(levels or {}), timing, model)
        self.runner = Runner(self.machine)

    def run(
        self,
        txn: Array | bytes | ControlCode,
        arguments: Mapping[int, Array],
        *,
        max_cycles: int | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> RunResult:
        """Carry out a stream with host buffers by number of the argument; the rest is as in `LoadedDevice.run`."""
        buffers = {number: (str(number), array) for number, array in arguments.items()}
        program = bind_stream(self.runner, as_control_code(txn), buffers)
        return self.runner.run(program, watch=Watch(max_cycles, progress))


def judge_of(levels: Levels) -> Judge:
    """What decides which hazards are faults: levels by the names of hazards."""
    return Judge(levels_of(f"{kind}={level}" for kind, level in levels.items()))


def parameters_in(design: Design) -> list[ScratchpadParameterOp]:
    return [op for op in design.module.body.ops if isinstance(op, ScratchpadParameterOp)]


def released_locks(core: CoreOp) -> Iterator[LockOp]:
    """The locks that a core's program releases somewhere."""
    for op in core.walk():
        if isinstance(op, UseLockOp) and not op.is_acquire and op.lock_op is not None:
            yield op.lock_op


def check_arguments(op: RuntimeSequenceOp, names: Sequence[str], arguments: Sequence[Array | int]) -> dict[int, Array]:
    """The host buffers among a sequence's arguments, by number; a complaint if they do not fit."""
    if len(arguments) != len(names):
        raise ArgumentError(
            f"@{op.sym_name.data} takes {len(names)} arguments ({', '.join(names)}), got {len(arguments)}"
        )
    arrays = dict[int, Array]()
    for number, (parameter, name, argument) in enumerate(zip(op.body.block.args, names, arguments, strict=True)):
        if isa(parameter.type, MemRefType):
            arrays[number] = _host_array(name, parameter.type, argument)
        elif isinstance(argument, np.ndarray):
            raise ArgumentError(f"{name} is a scalar, got an array")
    return arrays


def _host_array(name: str, type: MemRefType[Attribute], argument: Array | int) -> Array:
    if not isinstance(argument, np.ndarray):
        raise ArgumentError(f"{name} is a buffer of type {type}, got {argument!r}")
    wanted = (element_count(type) or 0) * element_bytes(type)
    if argument.nbytes < wanted:
        raise ArgumentError(f"{name} has {argument.nbytes} bytes, its type {type} needs {wanted}")
    return argument


def operation_locations(op: RuntimeSequenceOp, values: Mapping[SSAValue, int], count: int) -> list[LocationAttr]:
    """The source of each operation of a sequence, for these values of its scalars."""
    from tilewright.codegen.emission import Emitter
    from tilewright.codegen.interpreter import Interpreter

    device = op.parent_op()
    assert device is not None
    found = [emitted.op.location for emitted in Interpreter(op, Emitter(device), values).run()]
    return found if len(found) == count else []
