"""A design, compiled: its runtime sequences as functions from sizes to TXN words."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import BlockArgument

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.errors import UnknownNameError
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import CompileError, DiagnosedError
from tilewright.ir.pass_manager import Pipeline, run_pipeline
from tilewright.ir.verifier import verify
from tilewright.passes.pipelines import (
    DESIGN_LOWERING,
    FULL_GUARDS,
    SEQUENCE_GATHERING,
    SEQUENCE_LOWERING,
    passes_of,
    pipeline_of,
    with_options,
)
from tilewright.sources import Compilable, Source, TextSource, source_of

if TYPE_CHECKING:
    from tilewright.codegen.native_sequence import NativeSequence, Words
    from tilewright.codegen.shared_library import SharedLibrary
    from tilewright.sim.runs import RunResult
    from tilewright.simulation import Array, Kernels, Levels, LoadedDevice

Parameters: TypeAlias = "Mapping[str, int] | Literal['none']"
GUARDED_LOWERING = ("tilewright-guard-instructions", *with_options(SEQUENCE_LOWERING, FULL_GUARDS))
"""Passes on each device: what the hardware cannot do is refused now where it is known, else by the generators."""
DEFAULT_DEVICE = "main"
ARGUMENT_NAMES = "tilewright.argument_names"
"""Discardable attribute of a sequence: what the source called its arguments."""


def compile_source(source: Compilable, lowering: Sequence[str] = GUARDED_LOWERING) -> Design:
    """Compile a file, MLIR text or a program object; `CompileError` with located diagnostics if it cannot be.

    A file is MLIR, or Python that defines a program. `lowering` are the passes on each device.
    """
    return _design(source_of(source), _pipeline(lowering))


def compile_text(text: str, name: str, lowering: Sequence[str] = GUARDED_LOWERING) -> Design:
    """Compile MLIR text that locations call `name`."""
    return compile_source(TextSource(text, name), lowering)


def design_from_text(text: str, name: str) -> Design:
    """A design whose sequences are lowered already."""
    return _design(TextSource(text, name), Pipeline())


def _design(source: Source, pipeline: Pipeline) -> Design:
    ctx = make_context()
    try:
        module = source.read(ctx)
        _raise_errors(module)
        _lower_host_code(ctx, module)
        _keep_argument_names(module)
        run_pipeline(ctx, module, pipeline, verify_each=False)
        _raise_errors(module)
        return Design(module)
    except DiagnosedError as error:
        error.sources.update(source.texts)
        raise


def _lower_host_code(ctx: Context, module: ModuleOp) -> None:
    """Functions of AIR programs become sequences of the device that they use."""
    if any(dialect.name == "air" for dialect in ctx.loaded_dialects):
        from tilewright.passes.air_host.pipeline import lower_host_programs

        lower_host_programs(ctx, module)


def _raise_errors(module: ModuleOp) -> None:
    errors = verify(module)
    if errors:
        raise CompileError(errors)


def _pipeline(lowering: Sequence[str]) -> Pipeline:
    whole = pipeline_of([*DESIGN_LOWERING, *SEQUENCE_GATHERING])
    whole.steps.append(Pipeline(DeviceOp.name, [*passes_of(lowering)]))
    return whole


def _keep_argument_names(module: ModuleOp) -> None:
    """Note the source's names of a sequence's arguments in it, where passes and printed text keep them."""
    for sequence in _sequences(module):
        if ARGUMENT_NAMES not in sequence.attributes:
            names = [StringAttr(_source_name(argument)) for argument in sequence.body.block.args]
            sequence.attributes[ARGUMENT_NAMES] = ArrayAttr(names)


def _source_name(argument: BlockArgument) -> str:
    return argument.name_hint or f"arg{argument.index}"


def _sequences(module: ModuleOp) -> list[RuntimeSequenceOp]:
    return [sequence for device in devices_in(module) for sequence in sequences_in(device)]


def devices_in(module: ModuleOp) -> list[DeviceOp]:
    return [op for op in module.body.block.ops if isinstance(op, DeviceOp)]


def sequences_in(device: DeviceOp) -> list[RuntimeSequenceOp]:
    return [op for op in device.body.ops if isinstance(op, RuntimeSequenceOp)]


def argument_names(sequence: RuntimeSequenceOp) -> list[str]:
    """What the source called the arguments of a sequence."""
    match sequence.attributes.get(ARGUMENT_NAMES):
        case ArrayAttr() as names:
            return [name.data for name in names if isinstance(name, StringAttr)]
        case _:
            return [_source_name(argument) for argument in sequence.body.block.args]


class Design:
    """A compiled design. Its sequences are compiled to native code when they are first asked for words."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._operations = {public_name(op): op for op in _sequences(module)}
        self._compiled: dict[str, NativeSequence] = {}
        self._lock = threading.Lock()

    @property
    def sequences(self) -> Sequence[str]:
        """Names of the runtime sequences, in order; those of other devices than `main` have the device's in front."""
        return list(self._operations)

    def txn(self, sequence: str | None = None, /, **scalars: int) -> Words:
        """The TXN words of a sequence, header included, for these values of its scalar arguments.

        Without a name the first sequence is meant. Raises `RangeError` for values that the hardware cannot take.
        """
        compiled = self._compiled.get(sequence or "") or self._compile(sequence)
        return compiled(scalars)

    @property
    def devices(self) -> Sequence[str]:
        """Names of the devices, in order."""
        return [device.sym_name.data for device in devices_in(self.module)]

    def configuration(self, device: str | None = None) -> Words:
        """The TXN words that configure a device, the first one without a name: locks, descriptors, switches, cores."""
        from tilewright.configuration import configuration_stream

        return configuration_stream(self.device(device)).words

    def device(self, name: str | None = None) -> DeviceOp:
        """The lowered device of a name, the first one without."""
        found = {device.sym_name.data: device for device in devices_in(self.module)}
        if name is None and found:
            return next(iter(found.values()))
        if name not in found:
            raise UnknownNameError(f"no device {name!r}; there is {', '.join(found) or 'none'}")
        return found[name]

    def load(
        self,
        device: str | None = None,
        kernels: Kernels | None = None,
        levels: Levels | None = None,
        model: str = "fast",
        timing: Parameters | None = None,
    ) -> LoadedDevice:
        """A simulated device with this design on it; its `run` can be called again without loading anew.

        `levels` says what is made of hazards: `fault`, `note` or `off`, by their names, such as `unwritten-memory`.
        `model` is `fast`, or `plain` for the slow one that says what the fast one has to give. `timing` has parameters
        of `device.timing` by name; `none` is for those who only want results.
        """
        from tilewright.device.timing import timing_with
        from tilewright.sim.models import Model
        from tilewright.simulation import LoadedDevice

        found = self.device(device)
        clock = timing_with(found.model.arch, timing)
        return LoadedDevice(self, found, kernels or {}, levels or {}, Model(model), clock)

    def run(
        self,
        *arguments: Array | int,
        sequence: str | None = None,
        kernels: Kernels | None = None,
        txn: Array | bytes | None = None,
        scratchpad: Mapping[str, int | float] | None = None,
        levels: Levels | None = None,
        max_cycles: int | None = None,
        model: str = "fast",
        timing: Parameters | None = None,
    ) -> RunResult:
        """Run a sequence on a freshly loaded simulated device. Arrays are host buffers, results are written in place.

        `txn` runs given words, or the contents of a file with some, instead of the sequence's own. Raises `Hang` where
        nobody can move any more, and `Fault` for what the hardware would do wrong silently. The other options are those
        of `load` and of what it gives.
        """
        loaded = self.load(self.device_of(sequence), kernels, levels, model, timing)
        return loaded.run(*arguments, sequence=sequence, txn=txn, scratchpad=scratchpad, max_cycles=max_cycles)

    def device_of(self, sequence: str | None = None) -> str | None:
        """The name of the device that a sequence is for."""
        device = self.operation(sequence).parent_op()
        return device.sym_name.data if isinstance(device, DeviceOp) else None

    def scalars(self, sequence: str | None = None) -> list[str]:
        """Names of the scalar arguments of a sequence."""
        from tilewright.codegen.native_generator import scalar_arguments

        found = self.operation(sequence)
        names = argument_names(found)
        return [names[argument.index] for argument in scalar_arguments(found)]

    def cpp(self, sequence: str | None = None) -> str:
        """A C++ header with a function that gives the words of a sequence for its scalars."""
        from tilewright.codegen.cpp_printer import print_cpp
        from tilewright.passes.convert_aiex_to_emitc import ConvertAIEXToEmitCPass
        from tilewright.passes.emitc_style import StyleName

        module = self.module.clone()
        wanted = self.operation(sequence)
        for original, copy in zip(_sequences(self.module), _sequences(module), strict=True):
            if original is not wanted:
                copy.detach()
                copy.erase()
        run_pipeline(make_context(), module, Pipeline(steps=[ConvertAIEXToEmitCPass(StyleName.READABLE)]))
        return print_cpp(module, readable=True, guard=f"GENERATE_TXN_{public_name(wanted)}_H".upper())

    def library(self, name: str) -> SharedLibrary:
        """A shared library with a C function for each sequence; `name` is what its functions' names begin with."""
        from tilewright.codegen.shared_library import NamedSequence, shared_library

        return shared_library(name, [NamedSequence(n, op, argument_names(op)) for n, op in self._operations.items()])

    def _compile(self, name: str | None) -> NativeSequence:
        from llvmlite import ir

        from tilewright.codegen.emission import Emitter
        from tilewright.codegen.native_generator import build_generator
        from tilewright.codegen.native_sequence import NativeSequence
        from tilewright.native.host import NativeModule

        found = self.operation(name)
        with self._lock:
            module = ir.Module()
            device = found.parent_op()
            assert device is not None
            generator = build_generator(module, found, Emitter(device), "generate")
            native = NativeModule(module, all_passes=generator.is_short)
            compiled = NativeSequence(generator, native.address("generate"), self.scalars(name), native)
            self._compiled[name or ""] = compiled
        return compiled

    def operation(self, name: str | None = None) -> RuntimeSequenceOp:
        """The lowered sequence of a name, the first one without."""
        if name is None and self._operations:
            return next(iter(self._operations.values()))
        if name not in self._operations:
            known = ", ".join(self._operations) or "none"
            raise UnknownNameError(f"no runtime sequence {name!r}; there is {known}")
        return self._operations[name]


def public_name(sequence: RuntimeSequenceOp) -> str:
    device = sequence.parent_op()
    prefix = device.sym_name.data if isinstance(device, DeviceOp) else DEFAULT_DEVICE
    return sequence.sym_name.data if prefix == DEFAULT_DEVICE else f"{prefix}_{sequence.sym_name.data}"
