"""Turn each runtime sequence into a C++ function that makes its TXN words, as `emitc` operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, UnrankedMemRefType, i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import memref
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex import guards, tasks
from tilewright.dialects.emitc.calls import CallOp, CallOpaqueOp, VerbatimOp
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.functions import FuncOp, IncludeOp
from tilewright.dialects.emitc.operators import CastOp, CExpression, CmpOp, LogicalAndOp, Predicate
from tilewright.dialects.emitc.types import PointerType, is_integral, odd_integer, width_of
from tilewright.dialects.emitc.variables import AssignOp, ConstantOp, LoadOp, VariableOp
from tilewright.ir.diagnostics import DiagnosedError, emit_diagnostic, emit_op_error, fail_op
from tilewright.ir.symbols import unchanging_symbols
from tilewright.ir.traversal import all_operations
from tilewright.passes.cpp.convert_aiex_to_emitc.arith import lower_arithmetic
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import (
    NOT_SUPPORTED,
    STYLES,
    Style,
    StyleName,
    converted_constant,
    cpp_types,
    known,
)
from tilewright.passes.cpp.convert_aiex_to_emitc.control import ControlFlow
from tilewright.passes.cpp.convert_aiex_to_emitc.functions import (
    DividedFunction,
    Frame,
    WholeFunction,
    stream_header,
)
from tilewright.passes.cpp.convert_aiex_to_emitc.instructions import (
    Instructions,
    opaque_type,
    pool_declaration,
    pool_name,
)
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import ModulePass, ops_of

HEADER = "aie/Runtime/TxnEncoding.h"
STANDARD_HEADERS = ("cstdint", "vector", "optional")


@dataclass(frozen=True)
class ConvertAIEXToEmitCPass(ModulePass):
    name = "convert-aiex-to-emitc"

    style: StyleName = field(default=StyleName.UPSTREAM, metadata={"help": "what the code looks like"})
    fold_ddr_addr_offset: bool = field(
        default=True, metadata={"help": "translate addresses of host buffers after the fifth, as the binary does"}
    )
    function_name: str = field(
        default="", metadata={"help": "what the functions are called; {device} and {sequence} stand for their names"}
    )
    upstream_text: bool = field(
        default=False,
        metadata={"help": "leave out the checks and the include guard that mlir-aie does not write"},
    )

    keep_buffers: bool = field(
        default=False, metadata={"help": "functions take host buffers too, as `void *`, in the sequence's order"}
    )

    def apply_to(self, module: ModuleOp) -> None:
        sequences = ops_of(all_operations(module), RuntimeSequenceOp)
        if not sequences:
            return
        style = STYLES[self.style]
        if self.function_name:
            style = replace(style, function=self.function_name)
        style = replace(style, in_two_runs=not self.upstream_text, keeps_buffers=self.keep_buffers)
        owners = [_device_of(sequence) for sequence in sequences]
        pairs = [(device.sym_name.data, each.sym_name.data) for device, each in zip(owners, sequences, strict=True)]
        styles = [replace(style, function=name) for name in style.function_names(pairs)]
        with unchanging_symbols():
            # A sequence with an error has no functions; all are converted, so that all errors are reported.
            made = [
                SequenceConversion(
                    *parts, fold_ddr_offsets=self.fold_ddr_addr_offset, expects_checks=not self.upstream_text
                ).run()
                for parts in zip(sequences, owners, styles, strict=True)
            ]
        if all(made):
            guard = None if self.upstream_text or style.readable else f"AIE_{styles[0].function.upper()}_H"
            _replace_contents(module, [function for functions in made for function in functions], style, guard)


def _device_of(sequence: RuntimeSequenceOp) -> DeviceOp:
    device = parent_of_type(sequence, DeviceOp)
    if device is None:
        fail_op(sequence, "must be nested inside an aie.device")
    return device


def _replace_contents(module: ModuleOp, functions: Sequence[FuncOp], style: Style, guard: str | None) -> None:
    """What is not C++ goes; the header comes first, all of it inside an include guard."""
    block = module.body.block
    for old in reversed(list(block.ops)):
        if not isinstance(old, FuncOp | IncludeOp):
            Rewriter.erase_op(old, safe_erase=False)
    block.add_ops(functions)
    names = sorted(STANDARD_HEADERS) if style.readable else [*STANDARD_HEADERS, "utility"]  # for std::move
    includes = [IncludeOp(HEADER), *(IncludeOp(name, standard=True) for name in names)]
    before, after = ([VerbatimOp(line) for line in lines] for lines in style.pragmas)
    start = [VerbatimOp(f"#ifndef {guard}"), VerbatimOp(f"#define {guard}")] if guard else []
    end = [VerbatimOp(f"#endif // {guard}")] if guard else []
    for new in (*start, *includes, *before, *after, *end):
        new.location = module.location
    Rewriter.insert_op([*start, *includes, *before], InsertPoint.at_start(block))
    block.add_ops([*after, *end])


BUFFER_TYPES = (MemRefType, UnrankedMemRefType)
VOID_POINTER = PointerType(opaque_type("void"))
TERMINATORS = ("aie.end", "scf.yield", "scf.condition")


class SequenceConversion:
    """Lowers the operations of a sequence into the frame of functions around them."""

    def __init__(
        self,
        sequence: RuntimeSequenceOp,
        device: DeviceOp,
        style: Style,
        *,
        fold_ddr_offsets: bool,
        expects_checks: bool,
    ):
        self.sequence, self.device, self.style = sequence, device, style
        arguments = [a for a in sequence.body.block.args if style.keeps_buffers or not isinstance(a.type, BUFFER_TYPES)]
        types = [
            VOID_POINTER if isinstance(argument.type, BUFFER_TYPES) else cpp_types(sequence, [argument.type])[0]
            for argument in arguments
        ]
        self.frame: Frame = (DividedFunction if style.readable else WholeFunction)(sequence, device, style, types)
        self.builder = self.frame.builder
        for argument, parameter in zip(arguments, self.frame.parameters, strict=True):
            parameter.name_hint = sequence.argument_names[argument.index]
            self.builder.define(argument, parameter)
        self.instructions = Instructions(
            self.builder,
            device.model,
            self.frame.stream,
            fold_ddr_offsets=fold_ddr_offsets,
            expects_checks=expects_checks,
            header=stream_header(device),
        )
        self.control = ControlFlow(self.builder, self._lower_block)
        self.failed = False

    def run(self) -> Sequence[FuncOp]:
        """The functions; none if there is something that C++ code cannot do, which is reported."""
        # Outside of every loop: a pool that is made anew would give out descriptors that are in flight.
        self._declare_pools()
        self.frame.begin()
        self.instructions.counter = self.frame.counter
        self._fit_arguments()
        for computation in self.sequence.outer_computations:
            self._lower(computation)
        self._lower_block(self.sequence.body.block)
        if self.failed:
            return ()
        self.frame.finish(self.instructions.count)
        if self.style.readable:
            simplify(self.frame.function)
            drop_contradictions(self.frame.function)
        while _erase_unused_in(self.frame.function.body.block):
            pass  # erasing a use may leave what it used without one
        # After unused code is gone, which may have been the only use of an argument.
        self._use_arguments()
        return self.frame.functions()

    def _fit_arguments(self) -> None:
        """Arguments that have fewer bits than their C++ types: refuse numbers that have more, with sign or without."""
        for argument in self.sequence.body.block.args:
            if (type := odd_integer(argument.type)) is not None:
                parameter, (low, high) = self.builder[argument], guards.any_limits(type)
                outside = [f"{{}} < {low}"]
                if high + 1 < 1 << width_of(parameter.type) - 1:  # else no number of the C++ type is too large
                    outside.append(f"{{}} > {high}")
                comment = f"{self.sequence.argument_names[argument.index]} has {type.bitwidth} bits"
                self.builder.refuse_if(comment, " || ".join(outside), *(parameter for _ in outside))
                self.builder.define(argument, self.builder.with_sign(parameter, type.bitwidth))

    def _declare_pools(self) -> None:
        declared: set[str] = set()
        for op in self.sequence.walk():
            if isinstance(op, tasks.PoolUser) and (name := pool_name(op, self.device.model)) not in declared:
                declared.add(name)
                for line in pool_declaration(op, self.device.model):
                    self.builder.statement(line)

    def _lower_block(self, block: Block) -> None:
        location = self.builder.location
        for op in block.ops:
            if op.name not in TERMINATORS:
                self._lower(op)
        self.builder.location = location

    def _lower(self, op: Operation) -> None:
        """Lower one operation. What cannot be is reported and skipped, so that all of it is."""
        self.builder.location = op.location
        # It depends on something that has been reported: one error is enough.
        if self.failed and any(not self.builder.knows(value) for value in op.operands):
            return
        try:
            if self.instructions.lower(op) or lower_arithmetic(self.builder, op) or self.control.lower(op):
                return
            if not isinstance(op, memref.GetGlobalOp):  # its words are read where a block write uses them
                self._refuse(op)
        except DiagnosedError as error:
            self.failed = True
            for diagnostic in error.diagnostics:
                emit_diagnostic(diagnostic)

    def _refuse(self, op: Operation) -> None:
        self.failed = True
        note = f"{op.name} is not supported in dynamic TXN C++ generation"
        if op.name.startswith("aiex."):
            note += "; passes such as --aie-dma-tasks-to-npu and --aie-dma-to-npu turn it into instructions that are"
        emit_op_error(op, NOT_SUPPORTED).note(op, note)

    def _use_arguments(self) -> None:
        """Say that an argument is not used, or the compiler would."""
        block = self.frame.function.body.block
        for argument in block.args:
            if argument.first_use is None:
                Emitter.at_start(block, self.sequence.location).insert(VerbatimOp("(void){};", [argument]))


def _erase_unused_in(block: Block) -> bool:
    """Erase what computes a value that is not used, and variables that are only assigned to; whether there was any."""
    changed = False
    for op in reversed(list(block.ops)):
        if not isinstance(op, ExpressionOp):  # which is one text: its parts go with it
            for nested in (nested for region in op.regions for nested in region.blocks):
                changed |= _erase_unused_in(nested)
        if isinstance(op, VariableOp) and (doomed := _only_kept(op)) is not None:
            for user in doomed:
                Rewriter.erase_op(user, safe_erase=False)
        elif not _computes(op) or any(result.first_use for result in op.results):
            continue
        Rewriter.erase_op(op)
        changed = True
    return changed


def _only_kept(variable: VariableOp) -> list[Operation] | None:
    """All uses of a variable, if it is read for nothing but to be assigned to itself."""
    users = [use.operation for use in variable.result.uses]
    loads = [user for user in users if isinstance(user, LoadOp)]
    readers = [use.operation for load in loads for use in load.result.uses]
    others = [*readers, *(user for user in users if user not in loads)]
    return users if all(isinstance(op, AssignOp) and op.var is variable.result for op in others) else None


def _computes(op: Operation) -> bool:
    """Whether an operation does nothing but give a value."""
    return isinstance(op, ExpressionOp) or (op.has_trait(CExpression) and not isinstance(op, CallOp | CallOpaqueOp))


def simplify(function: FuncOp) -> None:
    """Shorten chains of casts and cast constants, as a person would write them in the first place."""
    for op in ops_of(all_operations(function), CastOp):
        if (simpler := _simpler_cast(op)) is not None:
            value = Emitter.before(op).value(simpler) if isinstance(simpler, Operation) else simpler
            value.name_hint = value.name_hint or op.dest.name_hint
            op.dest.replace_all_uses_with(value)
            Rewriter.erase_op(op)


def drop_contradictions(function: FuncOp) -> None:
    """Write `false` where one number would have to be two: compilers warn of conditions that cannot hold."""
    for op in ops_of(all_operations(function), LogicalAndOp):
        if _contradicts_itself(op):
            op.result.replace_all_uses_with(Emitter.before(op).value(ConstantOp(IntegerAttr(0, i1), i1)))
            Rewriter.erase_op(op)


def _contradicts_itself(op: LogicalAndOp) -> bool:
    wanted: dict[SSAValue, int] = {}
    for condition in _conjuncts(op):
        if known(condition) == 0:
            return True
        match condition.owner:
            case CmpOp(comparison=Predicate.eq, lhs=value, rhs=constant) if (number := known(constant)) is not None:
                if wanted.setdefault(value, number) != number:
                    return True
            case _:
                pass
    return False


def _conjuncts(op: LogicalAndOp) -> Iterator[SSAValue]:
    for operand in op.operands:
        if isinstance(operand.owner, LogicalAndOp):
            yield from _conjuncts(operand.owner)
        else:
            yield operand


def _simpler_cast(op: CastOp) -> Operation | SSAValue | None:
    source, target = op.source, op.dest.type
    if not is_integral(target) or width_of(target) == 1:
        return None
    if source.type == target:
        return source
    if known(source) is not None:
        return converted_constant(source, target)
    inner = source.owner
    if not isinstance(inner, CastOp) or not is_integral(inner.source.type):
        return None
    start, through = inner.source, source.type
    # Through a narrower type the outer cast would see other bits; a bool loses all but one.
    if width_of(through) == 1 or width_of(target) > width_of(through):
        return None
    if start.type != target:
        return CastOp(start, target)
    start.name_hint = start.name_hint or source.name_hint
    return start
