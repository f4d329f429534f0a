"""One runtime sequence on its way to being C++ code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import Block, Operation

from tilewright.dialects import memref
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex import tasks
from tilewright.dialects.emitc.calls import VerbatimOp
from tilewright.dialects.emitc.functions import FuncOp
from tilewright.ir.diagnostics import DiagnosedError, emit_diagnostic, emit_op_error
from tilewright.passes.cpp.convert_aiex_to_emitc.arith import lower_arithmetic
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import NOT_SUPPORTED, cpp_types
from tilewright.passes.cpp.convert_aiex_to_emitc.cleanup import drop_contradictions, erase_unused, simplify
from tilewright.passes.cpp.convert_aiex_to_emitc.control import ControlFlow
from tilewright.passes.cpp.convert_aiex_to_emitc.functions import DividedFunction, Frame, WholeFunction
from tilewright.passes.cpp.convert_aiex_to_emitc.instructions import Instructions, pool_declaration, pool_name
from tilewright.passes.cpp.convert_aiex_to_emitc.style import Style

BUFFER_TYPES = (MemRefType, UnrankedMemRefType)
TERMINATORS = ("aie.end", "scf.yield", "scf.condition")


class SequenceConversion:
    """Lowers the operations of a sequence into the frame of functions around them."""

    def __init__(self, sequence: RuntimeSequenceOp, device: DeviceOp, style: Style, *, fold_ddr_offsets: bool):
        self.sequence, self.device, self.style = sequence, device, style
        arguments = [a for a in sequence.body.block.args if not isinstance(a.type, BUFFER_TYPES)]
        types = cpp_types(sequence, [argument.type for argument in arguments])
        self.frame: Frame = (DividedFunction if style.readable else WholeFunction)(sequence, device, style, types)
        self.builder = self.frame.builder
        for argument, parameter in zip(arguments, self.frame.parameters, strict=True):
            parameter.name_hint = sequence.argument_names[argument.index]
            self.builder.define(argument, parameter)
        self.instructions = Instructions(
            self.builder, device.model, self.frame.stream, fold_ddr_offsets=fold_ddr_offsets
        )
        self.control = ControlFlow(self.builder, self._lower_block)
        self.failed = False

    def run(self) -> Sequence[FuncOp]:
        """The functions; none if there is something that C++ code cannot do, which is reported."""
        self._declare_pools()
        self.frame.begin()
        self.instructions.counter = self.frame.counter
        for constant in self.sequence.outer_constants:
            self._lower(constant)
        self._lower_block(self.sequence.body.block)
        if self.failed:
            return ()
        self.frame.finish(self.instructions.count)
        if self.style.readable:
            simplify(self.frame.function)
            drop_contradictions(self.frame.function)
        erase_unused(self.frame.function)
        self._use_arguments()
        return self.frame.functions()

    def _declare_pools(self) -> None:
        declared: set[str] = set()
        for op in self.sequence.walk():
            if isinstance(op, tasks.PoolUser) and (name := pool_name(op, self.device.model)) not in declared:
                declared.add(name)
                self.builder.statement(pool_declaration(op, self.device.model))

    def _lower_block(self, block: Block) -> None:
        location = self.builder.location
        for op in block.ops:
            if op.name not in TERMINATORS:
                self._lower(op)
        self.builder.location = location

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

    def _use_arguments(self) -> None:
        """Say that an argument is not used, or the compiler would."""
        block = self.frame.function.body.block
        assert block.first_op is not None
        for argument in block.args:
            if argument.first_use is None:
                op = VerbatimOp("(void){};", [argument])
                op.location = self.sequence.location
                block.insert_op_before(op, block.first_op)
