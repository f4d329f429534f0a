"""Designs on the simulated NPU: loads a compiled device, runs its sequences with NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr, MemRefType
from xdsl.ir import Attribute

from tilewright.configuration import configuration_stream
from tilewright.design import Design, argument_names, devices_in
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.passes.number_pdis import pdi_numbers
from tilewright.sim.core import CoreProgram, core_process
from tilewright.sim.core_binding import TilePort
from tilewright.sim.machine import Machine
from tilewright.sim.runs import Program, Runner, RunResult
from tilewright.txn import Stream, decode

Kernels = Mapping[str, Callable[..., Any]]
Array = npt.NDArray[Any]


class ArgumentError(ValueError):
    """An argument that a sequence cannot take."""


class LoadedDevice:
    """A device that was configured once; `run` can be called on it again and again."""

    def __init__(self, design: Design, device: DeviceOp, kernels: Kernels):
        self.design = design
        self.kernels = kernels
        self.machine = Machine(device.model)
        numbers = pdi_numbers(design.module)
        images = {numbers[op.sym_name.data]: partial(self._prepare, op) for op in devices_in(design.module)}
        self.runner = Runner(self.machine, images)
        self._bind_cores(device)
        configuration = configuration_stream(device)
        self.runner.configure(Program(decode(configuration.words), configuration.locations))

    def _prepare(self, device: DeviceOp) -> Stream:
        """Give the cores their programs; the stream that configures the rest."""
        self._bind_cores(device)
        return decode(configuration_stream(device).words)

    def _bind_cores(self, device: DeviceOp) -> None:
        for core in device.body.ops:
            if isinstance(core, CoreOp) and core.place is not None:
                tile = self.machine.tiles[core.place]
                port = TilePort(tile, self.kernels)
                tile.program = partial(core_process, CoreProgram(core), port)
                tile.core_releases = {port.lock(lock) for lock in released_locks(core)}

    def run(self, *arguments: Array | int, sequence: str | None = None, txn: Array | None = None) -> RunResult:
        """Carry out a sequence with its arguments in order: arrays are host buffers, integers scalars."""
        op = self.design.operation(sequence)
        names = argument_names(op)
        arrays = check_arguments(op, names, arguments)
        scalars = {names[n]: int(a) for n, a in enumerate(arguments) if n not in arrays}
        stream = decode(self.design.txn(sequence, **scalars) if txn is None else txn)
        locations = operation_locations(op, len(stream.operations)) if txn is None and not scalars else ()
        return self.runner.run(Program(stream, locations), {n: (names[n], array) for n, array in arrays.items()})


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
        if isinstance(parameter.type, MemRefType):
            arrays[number] = _host_array(name, parameter.type, argument)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
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


def operation_locations(op: RuntimeSequenceOp, count: int) -> list[LocationAttr]:
    """The source of each operation of a sequence without scalars."""
    from tilewright.codegen.emission import Emitter
    from tilewright.codegen.static_words import static_words

    device = op.parent_op()
    assert device is not None
    places = [place.op.location for place in static_words(op, Emitter(device)).places]
    return places if len(places) == count else []
