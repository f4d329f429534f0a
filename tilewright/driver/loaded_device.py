"""Designs on the simulated NPU: loads a compiled device, runs its sequences with NumPy arrays.

A call gives arrays and integers for a sequence's arguments, in order or by name; they are checked here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, cast
from weakref import finalize

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from tilewright.codegen.sequence_scalars import integer_of
from tilewright.device import DeviceModel, TileId
from tilewright.device.timing import Timing
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.scratchpad import ScratchpadParameterOp
from tilewright.driver.compiled_design import Design
from tilewright.driver.device_configuration import configuration_stream
from tilewright.driver.run_result import RunResult
from tilewright.errors import ArgumentError, CallError, InUseError, near_match
from tilewright.kernels.binding import DeviceKernels, Given, check_kernels
from tilewright.kernels.sources import KernelMode
from tilewright.native.host_arrays import check_array, lent
from tilewright.passes.control.number_pdis import pdi_numbers
from tilewright.report.hardware_trace import trace_setups
from tilewright.sim.control_code import as_control_code, bind_stream
from tilewright.sim.controller import Image, Images
from tilewright.sim.core import BoundCore, CoreProgram
from tilewright.sim.core_binding import TileCorePort
from tilewright.sim.debugged_core import DebuggedCore
from tilewright.sim.faults import FaultPolicy, environment_levels, levels_of
from tilewright.sim.host_needs import HostUse, host_uses, stream_uses
from tilewright.sim.machine import Machine
from tilewright.sim.models import Model, checked_jobs, make_machine
from tilewright.sim.runs import HostArrays, LocatedStream, Progress, Runner, Watch
from tilewright.sim.scratchpad import host_entries
from tilewright.sim.tile import Tile
from tilewright.support.tracebacks import at_user_line
from tilewright.txn import decode
from tilewright.txn.containers import ControlCode

Kernels = Mapping[str, Given]
KernelsOf = Callable[[DeviceOp], DeviceKernels]
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
        self._debugged = dict[TileId, DebuggedCore]()
        self._use = threading.Lock()  # a run in another thread, or inside a kernel of this one, is refused
        self._begin()

    def _begin(self) -> None:
        """Have a machine that is loaded afresh. Its memory goes with this object: it has parts that know each other."""
        machine = self._make_machine()
        machine.debugged_cores = self._debugged
        self.runner = self.load(machine)
        self._close = finalize(self, self.runner.machine.close)
        self._close.atexit = False  # at the end of the process its memory goes anyway

    def load(self, machine: Machine) -> Runner:
        """Bring a machine from reset to where runs begin."""
        return Runner(machine)

    @property
    def machine(self) -> Machine:
        """The simulated hardware, as the last run left it."""
        self._close.detach()  # it may be looked at when this object is gone
        return self.runner.machine

    def core(self, column: int, row: int, elf: str | PathLike[str] | None = None) -> DebuggedCore:
        """A core that runs machine code, to halt it, to look at it and to count what it does; see `DebuggedCore`.

        Cores of packages of others run machine code, those of designs what they were compiled from. A core is seen from
        its start: ask before the first run.

        Args:
            column: of its tile
            row: of its tile
            elf: the file that its program was loaded from, for names of functions and lines; packages bring none
        """
        place, machine = TileId(column, row), self.runner.machine
        tile = machine.tiles.get(place)
        if tile is None or tile.table.program_memory is None:
            raise ArgumentError(f"there is no core at ({column}, {row}) of {machine.model}")
        if not machine.runs_machine_code:
            text = f"the core of tile ({column}, {row}) runs what it was compiled from, no machine code: "
            raise ArgumentError(f"{text}cores of a package that was made by others can be debugged so")
        found = self._debugged.setdefault(place, DebuggedCore(place))
        if elf is not None:
            _name_places(found, Path(elf), tile.machine_code() or b"")
        return found

    def machine_code_cores(self) -> list[TileId]:
        """Places of the cores that have machine code to run."""
        machine = self.runner.machine
        return [place for place, tile in machine.tiles.items() if machine.runs_machine_code and tile.machine_code()]

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


def _name_places(core: DebuggedCore, file: Path, program: bytes) -> None:
    """Give a core the names in the ELF file of its program."""
    from tilewright import containers

    try:
        elf = containers.read(file.read_bytes())
        if not isinstance(elf, containers.ElfFile) or elf.kind != "core-elf":
            raise containers.ContainerError(None, "no ELF file of a core's program")
        names = dict[int, str]()
        for section, symbols in elf.code_sections():
            at, data = section.header.address, section.content.write()
            if program[at : at + len(data)] != data:
                raise containers.ContainerError(None, f"{section.name} is not what the core has at {at:#x}")
            names |= symbols
        core.name_places(names, elf.source_lines())
    except containers.ContainerError as error:
        raise error.with_file(str(file)) from None


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
        kernel_mode: KernelMode | None = None,
        jobs: int = 1,
    ):
        """`Design.load` makes one: a `device` of a `design`, with `kernels` by `kernel_mode`, `levels`, a `model`,
        its `timing` and the `jobs` that it may use."""
        check_kernels(kernels, design.module)
        self.design = design
        self.kernels = kernels
        self._kernel_mode = KernelMode.named(None) if kernel_mode is None else kernel_mode
        self._device = device
        self._last: tuple[tuple[RuntimeSequenceOp, tuple[tuple[int, int], ...]], LocatedStream] | None = None
        # trace units are modelled by the plain model alone
        chosen = Model.PLAIN if trace_setups(device) else Model.named(model)
        super().__init__(lambda: make_machine(device.model, policy_of(levels), timing, chosen, jobs=checked_jobs(jobs)))

    def load(self, machine: Machine) -> Runner:
        numbers = pdi_numbers(self.design.module)
        # No method of this object: what the machine holds must not keep it, or neither would ever go.
        prepare = partial(_prepare, machine, self.design, partial(DeviceKernels, self.kernels, mode=self._kernel_mode))
        devices = {op.sym_name.data: op for op in self.design.device_ops}
        # a sequence may load the image of another device of the design, by its number
        images: Images = {numbers[name]: partial(prepare, op) for name, op in devices.items()}
        for load in (op for op in self.design.module.walk() if isinstance(op, NpuLoadPdiOp)):
            device = devices.get(load.device_ref.root_reference.data) if load.device_ref is not None else None
            if device is not None and load.programs in devices:
                images[load.id.value.data] = partial(prepare, device, programs=devices[load.programs])
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
        larger than the memref, and smaller where no transfer leaves it. One that the sequence does not use may be None,
        and so may the one that traces are written to: they are lost then.

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
        # many runs with the same scalars are the usual case
        if self._last is None or self._last[0] != key:
            names, parameters = op.argument_names, op.body.block.args
            stream = decode(self.design.words(sequence, {names[n]: value for n, value in scalars.items()}))
            values: dict[SSAValue, int] = {parameters[n]: value for n, value in scalars.items()}
            self._last = key, LocatedStream(stream, operation_locations(op, values, len(stream.operations)))
        return self._last[1]


def _prepare(
    machine: Machine, design: Design, kernels: KernelsOf, device: DeviceOp, programs: DeviceOp | None = None
) -> Image:
    """Give cores on a machine the `programs` of a device, else of the `device` that the image configures."""
    bind_cores(machine, design, kernels, device if programs is None else programs)
    configuration = configuration_stream(device)
    return Image(decode(configuration.words), configuration.locations)


def bind_cores(machine: Machine, design: Design, kernels: KernelsOf, device: DeviceOp) -> None:
    """Give the cores of a device their programs, and its locks their names."""
    of_device = kernels(device)
    for op in device.body.ops:
        if isinstance(op, CoreOp) and op.place is not None:
            _bind_core(design.core_program(op, is_native=machine.runs_native_cores), machine.tiles[op.place], of_device)
        # for messages: the words only have numbers
        elif isinstance(op, LockOp) and op.sym_name and op.place is not None and op.number is not None:
            machine.tiles[op.place].locks[op.number].name = op.sym_name.data


def _bind_core(program: CoreProgram, tile: Tile, kernels: DeviceKernels) -> None:
    """Give a core its program; the functions that it calls are found when it does."""
    port = TileCorePort(tile, kernels)
    tile.program = BoundCore(program, port)
    # a hang is explained by who could have released the lock that is waited for
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
    """What decides which hazards are faults: levels by the names of hazards, and for the others the environment."""
    return FaultPolicy({**environment_levels(), **levels_of(f"{kind}={level}" for kind, level in levels.items())})


def parameters_in(design: Design) -> list[ScratchpadParameterOp]:
    return [op for op in design.module.body.ops if isinstance(op, ScratchpadParameterOp)]


def released_locks(core: CoreOp) -> Iterator[LockOp]:
    """The locks that a core's program releases somewhere."""
    uses = (op for op in core.walk() if isinstance(op, UseLockOp) and not op.is_acquire)
    return (op.lock_op for op in uses if op.lock_op is not None)


def operation_locations(op: RuntimeSequenceOp, values: Mapping[SSAValue, int], count: int) -> list[LocationAttr]:
    """The source of each operation of a sequence, for these values of its scalars."""
    from tilewright.codegen.interpreter import Interpreter
    from tilewright.codegen.txn_words import TxnEmitter

    device = op.parent_op()
    assert device is not None
    # a second way to the same operations; were they to differ, no location is better than a wrong one
    found = [emitted.op.location for emitted in Interpreter(op, TxnEmitter(device), values).run()]
    return found if len(found) == count else []


@dataclass(frozen=True)
class SequenceCall:
    """What a call gives for the arguments of a sequence, by their numbers."""

    op: RuntimeSequenceOp
    arrays: Mapping[int, tuple[str, Array]]
    """With their names; one that is left out has no elements."""
    left_out: Collection[int]
    scalars: Mapping[int, int]

    @contextmanager
    def lent(self, uses: Callable[[], Mapping[int, HostUse]]) -> Generator[HostArrays]:
        """Lend the arrays to a run; see `lent_arrays`. One that is left out must not be used."""
        used = argument_numbers(uses(), self.arrays) if self.left_out else ()
        if missing := [self.arrays[number][0] for number in self.left_out if number in used]:
            raise CallError(f"@{self.op.sym_name.data} uses {', '.join(missing)}, which cannot be left out then")
        with lent_arrays(self.arrays, uses) as buffers:
            yield buffers


def sequence_call(
    op: RuntimeSequenceOp,
    names: Sequence[str],
    arguments: Sequence[object],
    named: Mapping[str, object],
    given_words: bool = False,
) -> SequenceCall:
    """Arguments as a sequence takes them; `CallError` or `ArgumentError` for those that it does not.

    An array may be None, or left out at the end, if the sequence does not use it, or only its traces do. Words that are
    given have no use for scalars, which may be left out then.
    """
    values = _values(op, names, arguments, named)
    arrays, left_out, scalars = dict[int, tuple[str, Array]](), list[int](), dict[int, int]()
    packets = op.control_packets
    for number, (name, parameter) in enumerate(zip(names, op.body.block.args, strict=True)):
        value = values.get(number)
        if value is None and packets is not None and number == packets.argument:
            value = np.array(packets.words, np.int32)
        # hosts that look at no trace do not know that the lowering has added a buffer for it
        if value is None and number == op.trace_argument:
            value = np.zeros(element_count(parameter.type) or 0, np.uint8)
        if isa(parameter.type, MemRefType):
            # an empty array stands for it: only the words tell whether it is used
            if value is None:
                left_out.append(number)
            array = np.empty(0, np.uint8) if value is None else check_array(f"argument {name}", value, parameter.type)
            arrays[number] = name, array
        elif value is None and (buffer := op.buffer_counted_by(number)) is not None:
            element = element_bytes(cast("MemRefType[Attribute]", op.body.block.args[buffer].type))
            scalars[number] = arrays[buffer][1].nbytes // element
        elif value is not None or not given_words:
            scalars[number] = integer_of(name, op.as_taken(number, value), _signature(op, names))
    return SequenceCall(op, arrays, left_out, scalars)


def _values(
    op: RuntimeSequenceOp, names: Sequence[str], arguments: Sequence[object], named: Mapping[str, object]
) -> dict[int, object]:
    if len(arguments) > len(names):
        taken = f"{len(names)} arguments ({', '.join(names)})"
        raise CallError(f"@{op.sym_name.data} takes {taken}, got {len(arguments)}")
    values = dict[int, object](enumerate(arguments))
    for name, value in named.items():
        if name not in names:
            hint = near_match(name, names)
            raise CallError(f"@{op.sym_name.data} has no argument {name!r}{hint}; it takes {_signature(op, names)}")
        if (number := names.index(name)) in values:
            raise CallError(f"argument {name} is given twice: as number {number}, and by name")
        values[number] = value
    return values


def _signature(op: RuntimeSequenceOp, names: Sequence[str]) -> str:
    parts = (f"{name}: {argument.type}" for name, argument in zip(names, op.body.block.args, strict=True))
    return ", ".join(parts) or "no arguments"


def numbered_arrays(arguments: Mapping[int, object]) -> dict[int, tuple[str, Array]]:
    """Arrays of a stream that was made elsewhere, by number; those that are None are left out."""
    given: object = arguments  # whatever the annotation says, a list is the usual mistake
    if not isinstance(given, Mapping):
        raise CallError("the arguments of a stream are arrays by their numbers, such as {0: a, 2: b}")
    for number in arguments:
        if not isinstance(number, int | np.integer) or number < 0:
            raise CallError(f"the arguments of a stream have numbers from 0 on, got {number!r}")
    return {
        int(number): (str(number), check_array(f"argument {number}", value))
        for number, value in arguments.items()
        if value is not None
    }


@contextmanager
def lent_arrays(
    arrays: Mapping[int, tuple[str, Array]], uses: Callable[[], Mapping[int, HostUse]]
) -> Generator[HostArrays]:
    """Lend arrays to a run as bytes; `uses` tells what its stream does with them, and is asked only if that matters."""

    def may_write() -> set[int]:
        return argument_numbers((index for index, use in uses().items() if use.may_write), arrays)

    with lent(arrays, may_write) as found:
        yield {number: (array.name, array.data) for number, array in found.items()}


def argument_numbers(indices: Iterable[int], arrays: Mapping[int, object]) -> set[int]:
    """The arguments that a stream means by some indices: see `HostMemory.argument`."""
    by_place = dict(enumerate(arrays))
    return {found for index in indices if (found := index if index in arrays else by_place.get(index)) is not None}
