"""Designs on the simulated NPU: loads a compiled device, runs its sequences with NumPy arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import finalize

import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from tilewright.configuration import configuration_stream
from tilewright.design import Design
from tilewright.device import DeviceModel
from tilewright.device.timing import Timing
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.scratchpad import ScratchpadParameterOp
from tilewright.errors import InUseError
from tilewright.kernels.binding import DeviceKernels, check_kernels
from tilewright.passes.control.number_pdis import pdi_numbers
from tilewright.run_result import RunResult
from tilewright.sequence_arguments import lent_arrays, numbered_arrays, sequence_call
from tilewright.sim.control_code import as_control_code, bind_stream
from tilewright.sim.controller import Image
from tilewright.sim.core import BoundCore, CoreProgram
from tilewright.sim.core_binding import TileCorePort
from tilewright.sim.faults import FaultPolicy, levels_of
from tilewright.sim.host_needs import host_uses, stream_uses
from tilewright.sim.machine import Machine
from tilewright.sim.models import Model, make_machine
from tilewright.sim.runs import LocatedStream, Progress, Runner, Watch
from tilewright.sim.scratchpad import host_entries
from tilewright.sim.tile import Tile
from tilewright.tracebacks import at_user_line
from tilewright.txn import decode
from tilewright.txn.containers import ControlCode

Kernels = Mapping[str, Callable[..., Any]]
Array = npt.NDArray[Any]
Levels = Mapping[str, str]
"""What is made of hazards: `fault`, `note` or `off`, by their names, such as `unwritten-memory`."""


class SimulatedDevice:
    """A machine that one thread uses at a time.

    A run that hangs, or that takes more cycles than it may, leaves the array as it is: what is in flight goes on in the
    next run. After a fault, an interrupt or an error in a kernel the array can be looked at, but nothing can go on from
    there: the next run begins on a machine that is loaded afresh, as drivers reset an array.
    """

    def __init__(self, make_machine: Callable[[], Machine]):
        self._make_machine = make_machine
        self._use = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        """Have a machine that is loaded afresh. Its memory goes with this object: it has parts that know each other."""
        self.runner = self.load(self._make_machine())
        self._close = finalize(self, self.runner.machine.close)
        self._close.atexit = False

    def load(self, machine: Machine) -> Runner:
        """Bring a machine from reset to where runs begin."""
        return Runner(machine)

    @property
    def machine(self) -> Machine:
        """The simulated hardware, as the last run left it."""
        self._close.detach()  # it may be looked at when this object is gone
        return self.runner.machine

    def __repr__(self) -> str:
        spent = ", to be loaded afresh" if self.runner.is_spent else ""
        machine = self.runner.machine
        return f"<{type(self).__name__}: {machine.model} in cycle {machine.engine.now:,}{spent}>"

    @contextmanager
    def in_use(self) -> Generator[Runner]:
        """The runner for a run; only one at a time can have it."""
        if not self._use.acquire(blocking=False):
            text = "the device is in use by another thread, or by the run that calls this"
            raise InUseError(f"{text}; load one for each thread: `design.load()`")
        try:
            if self.runner.is_spent:
                self._close()
                self._begin()
            yield self.runner
        finally:
            self._use.release()


class LoadedDevice(SimulatedDevice):
    """A device that was configured once; `run` can be called on it again and again."""

    def __init__(
        self,
        design: Design,
        device: DeviceOp,
        kernels: Kernels,
        levels: Levels,
        model: Model | str = Model.FAST,
        timing: Timing | None = None,
    ):
        """`Design.load` makes one: a `device` of a `design`, with `kernels`, `levels`, a `model` and its `timing`."""
        check_kernels(kernels, design.module)
        self.design = design
        self.kernels = kernels
        self._device = device
        self._last: tuple[tuple[RuntimeSequenceOp, tuple[tuple[int, int], ...]], LocatedStream] | None = None
        super().__init__(lambda: make_machine(device.model, policy_of(levels), timing, Model.named(model)))

    def load(self, machine: Machine) -> Runner:
        numbers = pdi_numbers(self.design.module)
        prepare = partial(_prepare, machine, self.design, self.kernels)
        images = {numbers[op.sym_name.data]: partial(prepare, op) for op in self.design.device_ops}
        runner = Runner(machine, images)
        image = prepare(self._device)
        runner.configure(LocatedStream(image.stream, image.locations))
        return runner

    @at_user_line
    def run(
        self,
        *arguments: Array | float | None,
        sequence: str | None = None,
        txn: Array | bytes | ControlCode | None = None,
        scratchpad: Mapping[str, int | float] | None = None,
        max_cycles: int | None = None,
        progress: Callable[[Progress], None] | None = None,
        **named: Array | float | None,
    ) -> RunResult:
        """Carry out a sequence with its arguments in order or by name: arrays are host buffers, integers scalars.

        An array is checked against its memref: the element type has to match, or is `uint8` for raw bytes. It may be
        larger than the memref, and smaller where no transfer leaves it. One that the sequence does not use may be None.

        Args:
            arguments: the sequence's arguments in its order
            named: the same by name, where no option has that name
            sequence: its name; without one the first is meant
            txn: words to run instead of the sequence's own, or the contents of a file with some
            scratchpad: values of scratchpad parameters by name; those that are not named are 0
            max_cycles: how long it may take; `Stopped` if it takes longer
            progress: called now and then with how far it has come

        Raises:
            Hang: where nothing can move any more; the text says what waits for what
            Fault: for what the hardware would do wrong silently
            Interrupted: on Ctrl-C; a `KeyboardInterrupt` that says how far it has come
        """
        op = self.design.operation(sequence)
        call = sequence_call(op, op.argument_names, arguments, named, given_words=txn is not None)
        entries = host_entries(parameters_in(self.design), {} if scratchpad is None else scratchpad)
        watch = Watch(max_cycles, progress)
        with self.in_use() as runner:
            if txn is None:
                program = self._program(op, sequence, call.scalars)
                with call.lent(partial(stream_uses, program.stream, runner.machine.model)) as buffers:
                    runner.bind(buffers)
                    return RunResult(runner.run(program, entries, watch))
            code = as_control_code(txn)
            with call.lent(partial(host_uses, code, runner.machine.model)) as buffers:
                return RunResult(runner.run(bind_stream(runner, code, buffers), entries, watch))

    def _program(self, op: RuntimeSequenceOp, sequence: str | None, scalars: Mapping[int, int]) -> LocatedStream:
        """What a sequence does for these scalars, by number; the last one is kept for runs that follow."""
        key = op, tuple(scalars.items())
        if self._last is None or self._last[0] != key:
            names, parameters = op.argument_names, op.body.block.args
            stream = decode(self.design.words(sequence, {names[n]: value for n, value in scalars.items()}))
            values: dict[SSAValue, int] = {parameters[n]: value for n, value in scalars.items()}
            self._last = key, LocatedStream(stream, operation_locations(op, values, len(stream.operations)))
        return self._last[1]


def _prepare(machine: Machine, design: Design, kernels: Kernels, device: DeviceOp) -> Image:
    """Give the cores of a device their programs; what configures the rest."""
    of_device = DeviceKernels(kernels, device)
    for op in device.body.ops:
        if isinstance(op, CoreOp) and op.place is not None:
            _bind_core(design.core_program(op), machine.tiles[op.place], of_device)
        elif isinstance(op, LockOp) and op.sym_name and op.place is not None and op.number is not None:
            machine.tiles[op.place].locks[op.number].name = op.sym_name.data
    configuration = configuration_stream(device)
    return Image(decode(configuration.words), configuration.locations)


def _bind_core(program: CoreProgram, tile: Tile, kernels: Kernels) -> None:
    """Give a core its program; the functions that it calls are found when it does."""
    port = TileCorePort(tile, kernels)
    tile.program = BoundCore(program, port)
    tile.core_releases = {port.lock(lock) for lock in released_locks(program.op)}


class BareDevice(SimulatedDevice):
    """A device freshly out of reset, with no design on it: everything comes from the streams that it runs."""

    def __init__(
        self,
        device: DeviceModel,
        levels: Levels | None = None,
        model: Model | str = Model.FAST,
        timing: Timing | None = None,
    ):
        """A `device` of `tilewright.device`; `levels`, `model` and `timing` are as in `Design.load`."""
        super().__init__(lambda: make_machine(device, policy_of(levels or {}), timing, Model.named(model)))

    @at_user_line
    def run(
        self,
        txn: Array | bytes | ControlCode,
        arguments: Mapping[int, Array | None],
        *,
        max_cycles: int | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> RunResult:
        """Carry out a stream on the array as earlier streams left it.

        Args:
            txn: the words, or the contents of a file with some
            arguments: host buffers by the number of the argument
            max_cycles: how long it may take; `Stopped` if it takes longer
            progress: called now and then with how far it has come
        """
        code, watch = as_control_code(txn), Watch(max_cycles, progress)
        arrays = numbered_arrays(arguments)
        with self.in_use() as runner, lent_arrays(arrays, partial(host_uses, code, runner.machine.model)) as buffers:
            return RunResult(runner.run(bind_stream(runner, code, buffers), watch=watch))


def policy_of(levels: Levels) -> FaultPolicy:
    """What decides which hazards are faults: levels by the names of hazards."""
    return FaultPolicy(levels_of(f"{kind}={level}" for kind, level in levels.items()))


def parameters_in(design: Design) -> list[ScratchpadParameterOp]:
    return [op for op in design.module.body.ops if isinstance(op, ScratchpadParameterOp)]


def released_locks(core: CoreOp) -> Iterator[LockOp]:
    """The locks that a core's program releases somewhere."""
    for op in core.walk():
        if isinstance(op, UseLockOp) and not op.is_acquire and op.lock_op is not None:
            yield op.lock_op


def operation_locations(op: RuntimeSequenceOp, values: Mapping[SSAValue, int], count: int) -> list[LocationAttr]:
    """The source of each operation of a sequence, for these values of its scalars."""
    from tilewright.codegen.emission import Emitter
    from tilewright.codegen.interpreter import Interpreter

    device = op.parent_op()
    assert device is not None
    found = [emitted.op.location for emitted in Interpreter(op, Emitter(device), values).run()]
    return found if len(found) == count else []
