"""Programs of cores as LLVM IR: a module of functions and globals, as `--aie-standard-lowering` makes it, to text.

Operations are translated by the same table as for the simulator. Buffers are globals that the linker script puts at
their addresses, functions take bare pointers, and intrinsics of the vendor's have their own names. Nothing is checked
and nothing counted: this is the code that a core runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from llvmlite import ir
from llvmlite.ir.instructions import AllocaInstr, CallInstr
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Attribute, Operation

from tilewright.codegen.core_legalization import VECTOR_ALIGNMENT, legalize
from tilewright.device import Arch
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.func import CallOp, FuncOp, callee_of
from tilewright.dialects.memref import GetGlobalOp, GlobalOp
from tilewright.dialects.memref.types import is_ranked, memref_type
from tilewright.dialects.vector.types import element_type
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.escapes import visible
from tilewright.ir.shown import shown
from tilewright.ir.symbols import lookup_symbol, symbol_in
from tilewright.native.access import stored_type
from tilewright.native.lanes import scalar_constant
from tilewright.native.lowering import Handler, Lowering, Unit
from tilewright.native.operations import OPERATIONS
from tilewright.native.values import (
    I8,
    POINTER,
    MemRef,
    Untranslatable,
    Value,
    constant_sizes,
    index,
    offset_of,
    strides_of,
    value_type,
    whole_buffer,
    with_element,
)

TRIPLES = {Arch.AIE1: "aie", Arch.AIE2: "aie2", Arch.AIE2p: "aie2p"}
"""As AIECoreToStandard.cpp writes them. It writes no data layout: the compiler has one for each of these."""
ADDS_FLOAT_VECTORS = frozenset({Arch.AIE2})
ENDLESS_BYTES = 1 << 62
"""The size of buffers whose accesses are not checked."""


class BFloatType(ir.Type):
    """`bfloat`, which functions outside take; inside, numbers are handled as their 16 bits."""

    def __str__(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloatType)

    def __hash__(self) -> int:
        return hash(BFloatType)


def core_llvm(
    module: ModuleOp,
    arch: Arch,
    entries: Sequence[str],
    alignments: Mapping[str, int] | None = None,
    stack_bytes: int = 0,
) -> str:
    """The text of the functions called `entries`, with all that they use.

    `alignments` is what the addresses of buffers are multiples of. A function whose own variables do not fit into
    `stack_bytes` is refused, unless that is 0.
    """
    program = CoreModule(arch, alignments or {}, stack_bytes)
    for name in entries:
        program.add_entry(module, name)
    return _text(program.unit.module, TRIPLES[arch])


def _text(module: ir.Module, triple: str) -> str:
    functions = [each for each in module.global_values if isinstance(each, ir.Function)]
    called = {
        instruction.callee
        for function in functions
        for block in function.blocks
        for instruction in block.instructions
        if isinstance(instruction, CallInstr)
    }
    # Legalization leaves declarations behind that nothing calls any more.
    kept = [each for each in functions if each.blocks or each in called]
    data = [each for each in module.global_values if not isinstance(each, ir.Function)]
    parts = [str(each).strip() for each in (*data, *sorted(kept, key=lambda each: bool(each.blocks)))]
    return "\n".join([f'target triple = "{triple}"', "", *parts]) + "\n"


class CoreModule:
    """The functions and globals of one core under construction."""

    def __init__(self, arch: Arch, alignments: Mapping[str, int], stack_bytes: int):
        self.unit = Unit(ir.Module(), HANDLERS)
        self.arch, self.alignments, self.stack_bytes = arch, alignments, stack_bytes
        self.globals: dict[GlobalOp, ir.GlobalVariable] = {}

    def add_entry(self, module: ModuleOp, name: str) -> None:
        op = symbol_in(module, name)
        if not isinstance(op, FuncOp) or op.is_declaration:
            fail(module, f"there is no function @{visible(name)} with a body")
        self.function(op)

    def variable(self, op: GlobalOp) -> ir.GlobalVariable:
        """The variable of a global, which is made when it is used first."""
        if op not in self.globals:
            self.globals[op] = self._variable(op)
        return self.globals[op]

    def _variable(self, op: GlobalOp) -> ir.GlobalVariable:
        type, name = op.type, op.sym_name.data
        element = stored_type(_element_type(op, type))
        count = element_count(type)
        if count is None:
            fail_op(op, "has a size that is not known")
        variable = ir.GlobalVariable(self.unit.module, ir.ArrayType(element, count), name)
        variable.type = ir.PointerType()  # LLVM's pointers have no types; llvmlite would give this one some
        is_public = op.sym_visibility is None or op.sym_visibility.data == "public"
        values = op.initial_value
        if isinstance(values, DenseIntOrFPElementsAttr):
            numbers = [scalar_constant(type.element_type, cast(float, each)).constant for each in values.get_values()]
            variable.initializer = ir.Constant(variable.value_type, _extended(numbers, count, element))
        elif not is_public:
            variable.initializer = ir.Constant(variable.value_type, None)
        # Without contents it is somewhere else, such as a buffer.
        variable.linkage = "external" if variable.initializer is None else "" if is_public else "internal"
        variable.global_constant = op.constant is not None
        known = self.alignments.get(name)
        variable.align = min(known or VECTOR_ALIGNMENT, VECTOR_ALIGNMENT)
        return variable

    def function(self, op: FuncOp) -> ir.Function:
        """The function of a declaration or a definition, as others call it."""
        name, type = op.sym_name.data, op.function_type
        made = self.unit.functions.get(op)
        if made is None:
            results = [passed_type(op, each) for each in type.outputs]
            result = ir.VoidType() if not results else results[0] if len(results) == 1 else _structure(results)
            made = ir.Function(
                self.unit.module, ir.FunctionType(result, [passed_type(op, each) for each in type.inputs]), name
            )
            # Before its body is built: calls of itself in there find it.
            self.unit.functions[op] = made
            if not op.is_declaration:
                self._define(op, made)
        return made

    def _define(self, op: FuncOp, function: ir.Function) -> None:
        try:
            CoreFunctionLowering(self, op, function).build()
        except Untranslatable as error:
            fail_op(op, f"has no translation for a core: {error}")


def _structure(types: Sequence[ir.Type]) -> ir.Type:
    return ir.LiteralStructType(types)


def _extended(numbers: Sequence[Any], count: int, element: ir.Type) -> list[ir.Constant]:
    """All elements of a buffer; a list of one stands for all."""
    every = list(numbers) * (count if len(numbers) == 1 else 1)
    return [ir.Constant(element, each) for each in every]


def _element_type(op: Operation, type: MemRefType) -> ir.Type:
    try:
        return value_type(type.element_type)
    except Untranslatable as error:
        fail_op(op, f"has no translation for a core: {error}")


def passed_type(op: Operation, type: Attribute) -> ir.Type:
    """What a value is to a function: memrefs are pointers to their first element, as `bare pointers` of MLIR."""
    if is_ranked(type):
        if None in (*constant_sizes(type), *strides_of(type)):
            fail_op(op, f"has {shown(type)}, whose sizes and strides functions of a core cannot be told")
        return POINTER
    try:
        native = value_type(type)
    except Untranslatable as error:
        fail_op(op, f"has no translation for a core: {error}")
    return with_element(native, BFloatType()) if isinstance(element_type(type), BFloat16Type) else native


class CoreFunctionLowering(Lowering):
    """Builds one function of a core."""

    checks = counts_cycles = False
    translation = "translation for a core"

    def __init__(self, program: CoreModule, op: FuncOp, function: ir.Function):
        super().__init__(program.unit, function, ir.Constant(POINTER, None))
        self.program, self.op = program, op
        self.room_bytes = 0
        function.attributes.add("nounwind")

    def trap_unless(self, op: Operation, fine: ir.Value, text: str, *details: ir.Value) -> None: ...

    def remedy(self, op: Operation) -> str:
        return "the compiler for cores cannot be given it"

    def lower(self, op: Operation) -> None:
        for value in (*op.operands, *op.results):
            if isinstance(element_type(value.type), Float16Type):
                fail_op(op, "has no translation for a core: there is no f16 on cores", (op, "bf16 and f32 are there"))
        super().lower(op)

    def variable(self, type: ir.Type, count: int | None = None) -> ir.Value:
        """Room on the core's stack."""
        whole = type if count is None else ir.ArrayType(type, count)
        room = AllocaInstr(self.entry, whole, None, "")
        room.type = POINTER
        if count is not None:
            room.align = VECTOR_ALIGNMENT
        ir.IRBuilder(self.entry)._insert(room)
        return room

    def build(self) -> None:
        arguments = [
            self._taken(argument, type)
            for argument, type in zip(self.function.args, self.op.function_type.inputs, strict=True)
        ]
        results = list(self.op.function_type.outputs)
        values = self.lower_region(self.op.body, arguments, results)
        self._return([self.passed(value, type) for value, type in zip(values, results, strict=True)])
        self.close()
        legalize(self.function, self.program.arch in ADDS_FLOAT_VECTORS)

    def _return(self, values: Sequence[ir.Value]) -> None:
        if not values:
            self.builder.ret_void()
        elif len(values) == 1:
            self.builder.ret(values[0])
        else:
            whole: ir.Value = ir.Constant(self.function.function_type.return_type, ir.Undefined)
            for number, value in enumerate(values):
                whole = self.builder.insert_value(whole, value, number)
            self.builder.ret(whole)

    def passed(self, value: Value, type: Attribute) -> ir.Value:
        """A value as functions take it."""
        if isinstance(value, MemRef):
            known = offset_of(cast(MemRefType, type))
            # The callee adds what its type says.
            distance = self.builder.sub(value.offset, index(known)) if known else value.offset
            size = element_bytes(cast(MemRefType, type))
            return self.builder.gep(value.base, [self.builder.mul(distance, index(size))], source_etype=I8)
        target = passed_type(self.op, type)
        native = cast(ir.Value, value)
        return native if native.type == target else self.builder.bitcast(native, target)

    def _taken(self, value: ir.Value, type: Attribute) -> Value:
        """The inverse of `passed`."""
        if is_ranked(type):
            return whole_buffer(value, index(ENDLESS_BYTES), type)
        native = value_type(type)
        return value if value.type == native else self.builder.bitcast(value, native)

    def call(self, op: CallOp) -> None:
        callee = callee_of(op)
        function = self.program.function(callee)
        types = callee.function_type
        arguments = [
            self.passed(self.get(argument), type) for argument, type in zip(op.arguments, types.inputs, strict=True)
        ]
        made = self.builder.call(function, arguments)
        parts = (
            [made] if len(op.results) == 1 else [self.builder.extract_value(made, n) for n in range(len(op.results))]
        )
        for result, part, type in zip(op.results, parts, types.outputs, strict=True):
            self[result] = self._taken(part, type)

    def allocate(self, op: Operation) -> None:
        """A buffer on the stack, for as long as the function runs."""
        type = cast(MemRefType, op.results[0].type)
        count = element_count(type)
        if count is None:
            fail_op(op, "has no translation for a core: the size of the buffer is not known before the program runs")
        size = count * element_bytes(type)
        self.room_bytes += size
        most = self.program.stack_bytes
        if most and self.room_bytes > most:
            remedy = (op, "give the core a larger `stack_size`, or make it an aie.buffer")
            fail_op(op, f"brings the stack of the core to {self.room_bytes} bytes, and it has {most}", remedy)
        base = self.variable(I8, size)
        self.unit.apart.add(base)
        self[op.results[0]] = whole_buffer(base, index(size), type)


def _get_global(lowering: CoreFunctionLowering, op: GetGlobalOp) -> None:
    found = lookup_symbol(op, op.name_)
    if not isinstance(found, GlobalOp):
        fail_op(op, f"refers to @{op.name_.string_value()}, which is no memref.global")
    base = lowering.program.variable(found)
    lowering[op.memref] = whole_buffer(base, index(ENDLESS_BYTES), memref_type(op.memref))


def _nothing(lowering: CoreFunctionLowering, op: Operation) -> None:
    """Says something that the addresses of buffers say better."""
    if op.results:
        lowering[op.results[0]] = lowering.get(op.operands[0])


HANDLERS: Mapping[str, Handler] = {
    **OPERATIONS,
    "func.call": lambda lowering, op: lowering.call(op),
    "memref.get_global": _get_global,
    "memref.assume_alignment": _nothing,
    "memref.alloca": lambda lowering, op: lowering.allocate(op),
    "memref.alloc": lambda lowering, op: lowering.allocate(op),
}
