"""Turn each runtime sequence into a C++ function that makes its TXN words, as `emitc` operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, UnrankedMemRefType
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex import tasks
from tilewright.dialects.emitc.calls import COMMENT, CallOpaqueOp, VerbatimOp
from tilewright.dialects.emitc.functions import FuncOp, IncludeOp, ReturnOp
from tilewright.dialects.emitc.variables import LiteralOp
from tilewright.ir.diagnostics import DiagnosedError, emit_diagnostic, emit_op_error, fail_op, place
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.passes.emitc_arith import lower_arithmetic
from tilewright.passes.emitc_builder import NOT_SUPPORTED, WORD, Builder, cpp_types
from tilewright.passes.emitc_cleanup import erase_unused, simplify
from tilewright.passes.emitc_control import ControlFlow
from tilewright.passes.emitc_instructions import NAMESPACE, VECTOR, Instructions, opaque_type, pool_name
from tilewright.passes.emitc_style import STYLES, Style, StyleName

HEADER = "aie/Runtime/TxnEncoding.h"
STANDARD_HEADERS = ("cstdint", "vector", "optional", "utility")
RESULT = opaque_type("std::optional<std::vector<uint32_t>>")
BUFFER_TYPES = (MemRefType, UnrankedMemRefType)
TERMINATORS = ("aie.end", "scf.yield", "scf.condition")


@dataclass(frozen=True)
class ConvertAIEXToEmitCPass(Pass):
    name = "convert-aiex-to-emitc"

    style: StyleName = field(default=StyleName.UPSTREAM, metadata={"help": "what the code looks like"})
    fold_ddr_addr_offset: bool = field(
        default=True, metadata={"help": "translate addresses of host buffers after the fifth, as the binary does"}
    )
    function_name: str = field(
        default="", metadata={"help": "what the functions are called; {device} and {sequence} stand for their names"}
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        sequences = [nested for nested in op.walk() if isinstance(nested, RuntimeSequenceOp)]
        if not sequences:
            return
        style = STYLES[self.style]
        if self.function_name:
            style = replace(style, function=self.function_name)
        with unchanging_symbols():
            made = [_convert(sequence, style, self.fold_ddr_addr_offset) for sequence in sequences]
        if None in made:
            return
        _replace_contents(op, [function for function in made if function is not None], style)


def _replace_contents(module: ModuleOp, functions: Sequence[FuncOp], style: Style) -> None:
    """What is not C++ goes; the header comes first."""
    block = module.body.block
    for old in reversed(list(block.ops)):
        if not isinstance(old, FuncOp | IncludeOp):
            Rewriter.erase_op(old, safe_erase=False)
    block.add_ops(functions)
    includes = [IncludeOp(HEADER), *(IncludeOp(name, standard=True) for name in STANDARD_HEADERS)]
    before, after = ([VerbatimOp(line) for line in lines] for lines in style.pragmas)
    for new in (*includes, *before, *after):
        new.location = module.location
    Rewriter.insert_op([*includes, *before], InsertPoint.at_start(block))
    block.add_ops(after)


def _convert(sequence: RuntimeSequenceOp, style: Style, fold_ddr_offsets: bool) -> FuncOp | None:
    """The function for a sequence; None if there is something in it that C++ code cannot do, which is reported."""
    device = parent_of_type(sequence, DeviceOp)
    if device is None:
        fail_op(sequence, "must be nested inside an aie.device")
    conversion = _Conversion(sequence, device, style, fold_ddr_offsets)
    return conversion.function if conversion.run() else None


class _Conversion:
    """One sequence on its way to being a function."""

    def __init__(self, sequence: RuntimeSequenceOp, device: DeviceOp, style: Style, fold_ddr_offsets: bool):
        self.sequence, self.device, self.style = sequence, device, style
        self.arguments = [
            a for a in sequence.body.block.args if not isinstance(a.type, MemRefType | UnrankedMemRefType)
        ]
        name = style.function_name(device.sym_name.data, sequence.sym_name.data)
        types = cpp_types(sequence, [argument.type for argument in self.arguments])
        self.function = FuncOp(name, types, [RESULT], ["inline"])
        self.function.location = sequence.location
        self.builder = builder = Builder(self.function.body.block, style)
        builder.location = sequence.location
        for argument, parameter in zip(self.arguments, self.function.body.block.args, strict=True):
            builder.define(argument, parameter)
        builder.statement("std::vector<uint32_t> txn;")
        stream = builder.value(LiteralOp("txn", VECTOR))
        builder.emit(CallOpaqueOp(f"{NAMESPACE}::txn_init", [stream]))
        self.instructions = Instructions(builder, device.model, stream, fold_ddr_offsets=fold_ddr_offsets)
        self.control = ControlFlow(builder, self._lower_block)
        self.failed = False

    def run(self) -> bool:
        self._declare_pools()
        self._declare_counter()
        self._lower_block(self.sequence.body.block)
        if self.failed:
            return False
        self._finish()
        if self.style.fold:
            simplify(self.function)
        erase_unused(self.function)
        self._use_arguments()
        if self.style.annotate:
            self.function.attributes[COMMENT] = StringAttr(_describe(self.sequence, self.device))
        return True

    def _declare_pools(self) -> None:
        declared: set[str] = set()
        for op in self.sequence.walk():
            if isinstance(op, tasks.DmaBdPoolPopOp | tasks.DmaBdPoolPushOp) and (name := pool_name(op)) not in declared:
                declared.add(name)
                count = self.device.model.num_bds(op.column.value.data, op.row.value.data)
                self.builder.statement(f"{NAMESPACE}::BdPool {name} = {NAMESPACE}::bd_pool_init({count});")

    def _declare_counter(self) -> None:
        """Control flow makes the number of operations known only at run time."""
        if self.style.always_count or any(op.name.startswith("scf.") for op in self.sequence.walk()):
            self.builder.statement(f"uint32_t {self.style.counter} = 0;")
            self.instructions.counter = self.builder.value(LiteralOp(self.style.counter, WORD))

    def _lower_block(self, block: Block) -> None:
        location, counted_before = self.builder.location, self.instructions.count
        for op in block.ops:
            if op.name not in TERMINATORS:
                self._lower(op)
        self.builder.location = location
        counter, count = self.instructions.counter, self.instructions.count - counted_before
        if counter is not None and self.style.count_by_block and count:
            self.builder.statement("++{};" if count == 1 else f"{{}} += {count};", counter)
            self.instructions.count = counted_before

    def _lower(self, op: Operation) -> None:
        """Lower one operation. What cannot be is reported and skipped, so that all of it is."""
        self.builder.location = op.location
        if self.failed and any(not self.builder.knows(value) for value in op.operands):
            return
        try:
            if self.instructions.lower(op) or lower_arithmetic(self.builder, op) or self.control.lower(op):
                return
            if not isinstance(op, memref.GetGlobalOp):
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

    def _finish(self) -> None:
        builder, model = self.builder, self.device.model
        builder.location = self.sequence.location
        counter = self.instructions.counter
        count = f"{self.instructions.count}u" if counter is None else self.style.counter
        generation = model.txn_generation or 3
        info = f"{{0, 1, {generation}, {model.rows}, {model.columns}, {model.mem_rows}}}"
        builder.statement(f"{NAMESPACE}::txn_prepend_header(txn, {count}, {info});")
        builder.emit(ReturnOp(builder.value(LiteralOp(self.style.returned, RESULT))))

    def _use_arguments(self) -> None:
        """Say that an argument is not used, or the compiler would."""
        block = self.function.body.block
        assert block.first_op is not None
        for argument in block.args:
            if argument.first_use is None:
                op = VerbatimOp("(void){};", [argument])
                op.location = self.sequence.location
                block.insert_op_before(op, block.first_op)


def _describe(sequence: RuntimeSequenceOp, device: DeviceOp) -> str:
    where = place(sequence.location).removesuffix(": ")
    lines = [f"TXN words of runtime sequence '{sequence.sym_name.data}' of device '{device.sym_name.data}'."]
    if where:
        lines.append(f"From {where}.")
    lines.append("Nothing is returned if an argument does not fit the hardware.")
    return "\n".join(lines)
