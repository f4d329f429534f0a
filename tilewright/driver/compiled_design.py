"""A design, compiled: its runtime sequences as functions from sizes to TXN words."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.sequence import ARGUMENT_NAMES, FLOAT_ARGUMENTS, RuntimeSequenceOp, scalar_arguments
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.driver.sources import Compilable, Source, TextSource, source_of
from tilewright.errors import UnknownNameError
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import CompileError, DiagnosedError, fail, fail_op, shortened
from tilewright.ir.limits import MOST_DEVICES, MOST_SEQUENCES
from tilewright.ir.pass_manager import Pipeline, Watcher, run_pipeline
from tilewright.ir.symbols import FreeNames
from tilewright.ir.traversal import ops_of
from tilewright.ir.verifier import verify
from tilewright.native import has_llvm
from tilewright.passes.pipelines import (
    FULL_GUARDS,
    GUARD_INSTRUCTIONS,
    LOAD_EXPANSIONS,
    QUEUE_GUARDS,
    SEQUENCE_LOWERING,
    LoadExpansion,
    passes_of,
    pipeline_of,
    with_options,
)
from tilewright.support.collector import unhurried_collector
from tilewright.support.tracebacks import at_user_line

if TYPE_CHECKING:
    from tilewright.codegen.sequence_scalars import ScalarSequence, Words
    from tilewright.codegen.shared_library import SharedLibrary
    from tilewright.driver.loaded_device import Array, Kernels, Levels, LoadedDevice
    from tilewright.driver.run_result import RunResult
    from tilewright.passes.host_programs import HostOptions
    from tilewright.sim.core import CoreProgram
    from tilewright.sim.runs import Progress

Parameters: TypeAlias = "Mapping[str, int] | Literal['none']"
GUARDED_LOWERING = (GUARD_INSTRUCTIONS, *with_options(SEQUENCE_LOWERING, FULL_GUARDS))
"""Passes on each device: what the hardware cannot do is refused now where it is known, else by the generators."""
DEFAULT_DEVICE = "main"


@at_user_line
def compile_source(
    source: Compilable,
    lowering: Sequence[str] | None = None,
    host: HostOptions | None = None,
    *,
    guard_queues: bool = False,
    expand_load_pdis: Literal["write32", "ctrlpkt"] | None = None,
) -> Design:
    """Compile a file, MLIR text or a program object, once for all sizes.

    Args:
        source: a path to MLIR or to Python that defines a program, MLIR text, or a program such as `iron.Program`
        lowering: names of the passes on each device, for those who want other ones than `tilewright compile` runs
        host: what is asked of the host code of AIR programs
        guard_queues: have sequences wait for room in a channel's queue before pushes that it could drop
        expand_load_pdis: reconfigure by register writes, or by control packets that a shim DMA sends, after a reset

    Raises:
        CompileError: if it cannot be compiled; with diagnostics that name lines of the source
    """
    order = (*(GUARDED_LOWERING if lowering is None else lowering), *(QUEUE_GUARDS if guard_queues else ()))
    if expand_load_pdis not in LOAD_EXPANSIONS:
        known = ", ".join(map(repr, LOAD_EXPANSIONS))
        raise UnknownNameError(f"expand_load_pdis is one of {known}, got {expand_load_pdis!r}")
    pipeline = _pipeline(order, LOAD_EXPANSIONS[expand_load_pdis])
    return design_of(source_of(source), pipeline, is_whole={*GUARDED_LOWERING} <= {*order}, host=host)


def compile_watched(source: Source, watch: Watcher | None) -> Design:
    """Compile as `compile_source` does; `watch` is told of each pass, and what it raises ends the compilation."""
    pipeline = _pipeline(GUARDED_LOWERING, LOAD_EXPANSIONS[None])
    return design_of(source, pipeline, is_whole=True, watch=watch)


def _pipeline(order: Sequence[str], expansion: LoadExpansion) -> Pipeline:
    pipeline = pipeline_of([*expansion.design, *expansion.gathering])
    pipeline.steps.append(Pipeline(DeviceOp.name, [*passes_of([*expansion.packets, *order])]))
    return pipeline


def compile_text(text: str, name: str, lowering: Sequence[str] | None = None) -> Design:
    """Compile MLIR text that locations call `name`."""
    return compile_source(TextSource(text, name), lowering)


def design_from_text(text: str, name: str) -> Design:
    """A design whose sequences are lowered already."""
    return design_of(TextSource(text, name), Pipeline())


def design_of(
    source: Source,
    pipeline: Pipeline,
    is_whole: bool = False,
    host: HostOptions | None = None,
    watch: Watcher | None = None,
) -> Design:
    """The design that a pipeline makes; after the whole of it, its sequences can be made into words."""
    with unhurried_collector():
        return _design_of(source, pipeline, is_whole, host, watch)


def _design_of(
    source: Source, pipeline: Pipeline, is_whole: bool, host: HostOptions | None, watch: Watcher | None
) -> Design:
    ctx = make_context()
    try:
        module = source.read(ctx)
        _raise_errors(module)
        _check_count(module)
        # functions of AIR programs become sequences of the device that they use; dialects are loaded when a program
        # uses them, so this tells without a walk
        if any(dialect.name == "air" for dialect in ctx.loaded_dialects):
            from tilewright.passes.host_programs import NO_OPTIONS, lower_host_programs

            lower_host_programs(ctx, module, host or NO_OPTIONS)
        _keep_argument_names(module)
        # our own passes are trusted in between; what they have made is checked as a whole
        run_pipeline(ctx, module, pipeline, verify_each=False, watch=watch)
        _raise_errors(module)
        # those who stop the lowering earlier look at the IR, and ask for no words
        if is_whole:
            from tilewright.codegen.interpreter import check_generator

            for sequence in _sequences(module):
                check_generator(sequence, sequence.argument_names)
        return Design(module)
    except DiagnosedError as error:
        error.sources.update(source.texts)  # so that diagnostics can quote the line
        raise


def _check_count(module: ModuleOp) -> None:
    devices, sequences = devices_in(module), _sequences(module)
    for what, found, most in (("devices", devices, MOST_DEVICES), ("runtime sequences", sequences, MOST_SEQUENCES)):
        if len(found) > most:
            fail(found[most], f"the program has {len(found)} {what}, and may have {most}")


def _raise_errors(module: ModuleOp) -> None:
    if errors := verify(module):
        raise CompileError(errors)


def _keep_argument_names(module: ModuleOp) -> None:
    """Note the source's names of a sequence's arguments in it, where passes and printed text keep them."""
    for sequence in _sequences(module):
        if ARGUMENT_NAMES not in sequence.attributes:
            sequence.attributes[ARGUMENT_NAMES] = ArrayAttr(map(StringAttr, sequence.argument_names))


def _sequences(module: ModuleOp) -> list[RuntimeSequenceOp]:
    return [sequence for device in devices_in(module) for sequence in sequences_in(device)]


def devices_in(module: ModuleOp) -> list[DeviceOp]:
    return ops_of(module.body.block.ops, DeviceOp)


def sequences_in(device: DeviceOp) -> list[RuntimeSequenceOp]:
    return ops_of(device.body.ops, RuntimeSequenceOp)


MOST_SHOWN = 4
"""Of how many devices and sequences the text of a design tells."""


def _signature(sequence: RuntimeSequenceOp) -> str:
    arguments = zip(sequence.argument_names, sequence.body.block.args, strict=True)
    return ", ".join(f"{name}: {argument.type}" for name, argument in arguments)


class Design:
    """A compiled design: `tilewright.compile` and `tilewright.load` make one.

    Its sequences are compiled to native code when they are first asked for words.
    """

    def __init__(self, module: ModuleOp):
        """A design whose sequences are lowered, in a `module`."""
        self.module = module
        self._operations = _by_public_name(_sequences(module))
        self._compiled: dict[str, ScalarSequence] = {}
        self._programs: dict[tuple[CoreOp, bool], CoreProgram] = {}
        self._lock = threading.Lock()  # several threads may ask one design for words

    def __reduce__(self) -> tuple[Callable[[str, str], Design], tuple[str, str]]:
        """Pickle as the text of the lowered design, which has locations, without native code."""
        from tilewright.ir.printer import module_text

        return design_from_text, (module_text(self.module, debuginfo=True), "<pickled design>")

    def __repr__(self) -> str:
        devices = ", ".join(f"@{op.sym_name.data} on {op.model}" for op in self.device_ops[:MOST_SHOWN])
        shown = [f"{name}({', '.join(op.argument_names)})" for name, op in list(self._operations.items())[:MOST_SHOWN]]
        more = f" and {len(self._operations) - MOST_SHOWN} more" if len(self._operations) > MOST_SHOWN else ""
        return f"<Design: {shortened(devices) or 'no device'}; {shortened(', '.join(shown)) or 'no sequence'}{more}>"

    def _repr_html_(self) -> str:
        from tilewright.report.floor_plan import floor_plans
        from tilewright.report.inline import design_html

        signatures = {name: shortened(_signature(op), 200) for name, op in self._operations.items()}
        return design_html(list(floor_plans(self.module)), signatures)

    @property
    def sequences(self) -> Sequence[str]:
        """Names of the runtime sequences, in order; those of other devices than `main` have the device's in front."""
        return list(self._operations)

    @at_user_line
    def txn(self, sequence: str | None = None, /, **scalars: float) -> Words:
        """The TXN words of a sequence, header included, for these values of its scalar arguments.

        Args:
            sequence: its name; without one the first is meant
            scalars: the values of all its scalar arguments, by name

        Raises:
            RangeError: for values that the hardware cannot take; says which argument, its limits and the source line
        """
        op = self.operation(sequence)
        # floats are handed over as the integers that have their bits
        if FLOAT_ARGUMENTS in op.attributes:
            numbers = {name: number for number, name in enumerate(op.argument_names)}
            scalars = {n: cast(int, op.as_taken(numbers.get(n, -1), value)) for n, value in scalars.items()}
        return self.words(sequence, cast("Mapping[str, int]", scalars))

    def words(self, sequence: str | None, scalars: Mapping[str, int]) -> Words:
        """`txn`, of scalars as the sequence takes them: all of them integers."""
        return (self._compiled.get(sequence or "") or self._compile(sequence))(scalars)

    @property
    def devices(self) -> Sequence[str]:
        """Names of the devices, in order."""
        return [device.sym_name.data for device in self.device_ops]

    def configuration(self, device: str | None = None) -> Words:
        """The TXN words that configure a `device`, the first without a name: locks, descriptors, switches, cores."""
        from tilewright.driver.device_configuration import configuration_stream

        return configuration_stream(self.device(device)).words

    @property
    def device_ops(self) -> Sequence[DeviceOp]:
        """The lowered devices, in order."""
        return devices_in(self.module)

    def device(self, name: str | None = None) -> DeviceOp:
        """The lowered device that has this `name`, the first one without."""
        found = {device.sym_name.data: device for device in self.device_ops}
        if name is None and found:
            return next(iter(found.values()))
        if not isinstance(name, str) or name not in found:
            raise UnknownNameError(f"no device {name!r}; there is {', '.join(found) or 'none'}")
        return found[name]

    @at_user_line
    def load(
        self,
        device: str | None = None,
        kernels: Kernels | None = None,
        levels: Levels | None = None,
        model: str = "fast",
        timing: Parameters | None = None,
        kernel_mode: str | None = None,
        jobs: int = 1,
    ) -> LoadedDevice:
        """A simulated device with this design on it; its `run` can be called again without loading anew.

        Args:
            device: the name of one of `devices`; without one the first is meant
            kernels: Python functions, or `FILE.cc[:FUNCTION]`, by the names of external functions that cores call
            levels: what is made of hazards: `fault`, `note` or `off`, by their names, such as `unwritten-memory`
            model: `fast`; `words` to move every word on its own; `plain` for what they have to give, slowly; `python`,
                without any native code
            timing: parameters of `tilewright.device.timing` by name; `none` is for those who only want results
            kernel_mode: `source` for C++ sources even where the library has a kernel, `library` for the other way
                round, `checked` for sources whose accesses are checked; without one, what TILEWRIGHT_KERNELS says
            jobs: threads of this computer that a run may use, with the same results: native kernels run in them
        """
        from tilewright.device.timing import timing_with
        from tilewright.driver.loaded_device import LoadedDevice
        from tilewright.kernels.sources import KernelMode
        from tilewright.sim.models import Model

        found = self.device(device)
        clock = timing_with(found.model.arch, timing)
        mode = KernelMode.named(kernel_mode)
        return LoadedDevice(self, found, kernels or {}, levels or {}, Model.named(model), clock, mode, jobs)

    @at_user_line
    def run(
        self,
        *arguments: Array | float | None,
        sequence: str | None = None,
        kernels: Kernels | None = None,
        txn: Array | bytes | None = None,
        scratchpad: Mapping[str, int | float] | None = None,
        levels: Levels | None = None,
        max_cycles: int | None = None,
        progress: Callable[[Progress], None] | None = None,
        model: str = "fast",
        timing: Parameters | None = None,
        kernel_mode: str | None = None,
        jobs: int = 1,
        **named: Array | float | None,
    ) -> RunResult:
        """Run a sequence on a freshly loaded simulated device. Arrays are host buffers, results are written in place.

        Args:
            arguments: the sequence's arguments in its order; arrays are buffers, integers scalars
            named: the same by name, where no option has that name
            sequence: its name; without one the first is meant
            kernels: Python functions, or `FILE.cc[:FUNCTION]`, by the names of external functions that cores call
            txn: words to run instead of the sequence's own, or the contents of a file with some
            scratchpad: values of scratchpad parameters by name; those that are not named are 0
            levels: what is made of hazards: `fault`, `note` or `off`, by their names, such as `unwritten-memory`
            max_cycles: how long it may take; `Stopped` if it takes longer
            progress: called now and then with how far it has come
            model: `fast`; `words` to move every word on its own; `plain` for what they have to give, slowly; `python`,
                without any native code
            timing: parameters of `tilewright.device.timing` by name; `none` is for those who only want results
            kernel_mode: which of several kernels of a name is taken: see `load`
            jobs: threads of this computer that the run may use, with the same results

        Raises:
            Hang: where nothing can move any more; the text says what waits for what
            Fault: for what the hardware would do wrong silently
        """
        loaded = self.load(self.device_of(sequence), kernels, levels, model, timing, kernel_mode, jobs)
        others: dict[str, Any] = {"max_cycles": max_cycles, "progress": progress, **named}
        return loaded.run(*arguments, sequence=sequence, txn=txn, scratchpad=scratchpad, **others)

    def device_of(self, sequence: str | None = None) -> str | None:
        """The name of the device that a `sequence` is for."""
        device = self.operation(sequence).parent_op()
        return device.sym_name.data if isinstance(device, DeviceOp) else None

    def core_program(self, core: CoreOp, *, is_native: bool = True) -> CoreProgram:
        """What a `core` of this design runs, `is_native` or in Python; devices with the design share it."""
        from tilewright.report.hardware_trace import records_execution
        from tilewright.sim.core import CoreProgram

        with self._lock:
            if (core, is_native) not in self._programs:
                program = CoreProgram(core, logs_flow=records_execution(core), is_native=is_native)
                self._programs[core, is_native] = program
            return self._programs[core, is_native]

    def scalars(self, sequence: str | None = None) -> list[str]:
        """Names of the scalar arguments of a `sequence`, the first one without a name."""
        found = self.operation(sequence)
        names = found.argument_names
        return [names[argument.index] for argument in scalar_arguments(found)]

    def cpp(self, sequence: str | None = None, *, keep_buffers: bool = False) -> str:
        """A C++ header with a function that gives the words of a `sequence`, the first one without a name.

        With `keep_buffers` it takes the host's buffers too, which it has no use for, as `void *`.
        """
        from tilewright.codegen.cpp_printer import print_cpp
        from tilewright.passes.cpp.convert_aiex_to_emitc import ConvertAIEXToEmitCPass
        from tilewright.passes.cpp.convert_aiex_to_emitc.builder import StyleName

        wanted = self.operation(sequence)
        name = public_name(wanted)
        # a header has one function, and the conversion consumes what it is given
        module = _copy_with(self.module, wanted)
        convert = ConvertAIEXToEmitCPass(
            StyleName.READABLE, function_name=self.cpp_function(name), keep_buffers=keep_buffers
        )
        run_pipeline(make_context(), module, Pipeline(steps=[convert]))
        return print_cpp(module, readable=True, guard=self._cpp_names[name].guard)

    def cpp_function(self, sequence: str) -> str:
        """The name of the function that `cpp` gives for a sequence; no other sequence's function has it."""
        return self._cpp_names[sequence].function

    @cached_property
    def _cpp_names(self) -> dict[str, _CppNames]:
        from tilewright.passes.cpp.convert_aiex_to_emitc.builder import STYLES, StyleName

        owners = [(self.device_of(name) or DEFAULT_DEVICE, op.sym_name.data) for name, op in self._operations.items()]
        functions = STYLES[StyleName.READABLE].function_names(owners)
        guards = FreeNames(set())
        wanted = [re.sub(r"\W", "_", f"GENERATE_TXN_{name}_H", flags=re.ASCII).upper() for name in self._operations]
        named = zip(self._operations, functions, map(guards.like, wanted), strict=True)
        return {name: _CppNames(function, guard) for name, function, guard in named}

    def library(self, name: str) -> SharedLibrary:
        """A shared library with a C function for each sequence; `name` is what its functions' names begin with."""
        from tilewright.codegen.shared_library import NamedSequence, shared_library

        return shared_library(name, [NamedSequence(n, op, op.argument_names) for n, op in self._operations.items()])

    def _compile(self, name: str | None) -> ScalarSequence:
        found, names = self.operation(name), self.scalars(name)
        with self._lock:
            # another thread may have been here meanwhile
            if (name or "") not in self._compiled:
                self._compiled[name or ""] = (_native if has_llvm() else _interpreted)(found, names)
            return self._compiled[name or ""]

    def operation(self, name: str | None = None) -> RuntimeSequenceOp:
        """The lowered sequence that has this `name`, the first one without."""
        if name is None and self._operations:
            return next(iter(self._operations.values()))
        if not isinstance(name, str) or name not in self._operations:
            known = ", ".join(self._operations) or "none"
            raise UnknownNameError(f"no runtime sequence {name!r}; there is {known}")
        return self._operations[name]


def _native(sequence: RuntimeSequenceOp, names: Sequence[str]) -> ScalarSequence:
    """A sequence as machine code."""
    from llvmlite import ir

    from tilewright.codegen.native_generator import build_generator
    from tilewright.codegen.native_sequence import NativeSequence
    from tilewright.codegen.txn_words import TxnEmitter
    from tilewright.native.host import NativeModule

    module, device = ir.Module(), sequence.parent_op()
    assert device is not None
    generator = build_generator(module, sequence, TxnEmitter(device), "generate")
    # of a long one, optimising takes longer than what it saves
    native = NativeModule(module, all_passes=generator.is_short)
    return NativeSequence(generator, native.address("generate"), names, native)


def _interpreted(sequence: RuntimeSequenceOp, names: Sequence[str]) -> ScalarSequence:
    """A sequence that is executed in Python."""
    from tilewright.codegen.interpreted_sequence import InterpretedSequence
    from tilewright.codegen.txn_words import TxnEmitter

    device = sequence.parent_op()
    assert device is not None
    return InterpretedSequence(sequence, TxnEmitter(device), names)


def _copy_with(module: ModuleOp, wanted: RuntimeSequenceOp) -> ModuleOp:
    """A copy that has one sequence of all, and whatever else is there: words depend on the device around."""
    values, copies = dict[SSAValue, SSAValue](), list[tuple[Operation, Operation]]()

    def copy(op: Operation) -> Operation:
        is_around = isinstance(op, ModuleOp | DeviceOp)
        new = op.clone_without_regions(values) if is_around else op.clone(values, clone_operands=False)
        copies.append((op, new))
        if is_around:
            kept = (
                child
                for child in op.regions[0].block.ops
                if child is wanted or not isinstance(child, RuntimeSequenceOp)
            )
            new.regions[0].add_block(Block([copy(child) for child in kept]))
        return new

    copied = copy(module)
    assert isinstance(copied, ModuleOp)
    # in a device values may stand after their uses
    for original, new in copies:
        if not isinstance(original, ModuleOp | DeviceOp):
            for old, made in zip(original.walk(), new.walk(), strict=True):
                made.operands = [values.get(operand, operand) for operand in old.operands]
    return copied


class _CppNames(NamedTuple):
    function: str
    guard: str


def _by_public_name(sequences: Sequence[RuntimeSequenceOp]) -> dict[str, RuntimeSequenceOp]:
    found = dict[str, RuntimeSequenceOp]()
    # names are handed to files and functions, where a clash would be found much later
    for sequence in sequences:
        other = found.setdefault(public_name(sequence), sequence)
        if other is not sequence:
            note = "this is the other one; those of devices other than @main have the device's name in front"
            fail_op(sequence, f"is called '{public_name(sequence)}' outside, as another sequence is", (other, note))
    return found


def public_name(sequence: RuntimeSequenceOp) -> str:
    device = sequence.parent_op()
    prefix = device.sym_name.data if isinstance(device, DeviceOp) else DEFAULT_DEVICE
    return sequence.sym_name.data if prefix == DEFAULT_DEVICE else f"{prefix}_{sequence.sym_name.data}"
