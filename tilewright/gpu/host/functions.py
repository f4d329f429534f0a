"""Functions of the host as native code: their bodies, and calls of their own, the runtime's and the C library's."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import ClassVar

from llvmlite import ir
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import func, llvm
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.llvm import LLVMVoidType
from tilewright.dialects.memref.types import is_ranked
from tilewright.gpu.host.context import FUNCTIONS, SITE
from tilewright.gpu.host.signatures import OWN, SYMBOLS, VOID, CSignature, declared_signature
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.shown import shown
from tilewright.ir.symbols import lookup_symbol
from tilewright.native.aggregates import flattened, flattened_types
from tilewright.native.context_layout import slot_count
from tilewright.native.functions import FunctionLowering, counted_depth, parts_of_all, rebuild_all, run, types_of_parts
from tilewright.native.gathers import intrinsic_reduce
from tilewright.native.lanes import constant_like
from tilewright.native.lowering import CODE, SLOT_BYTES, Handler, Lowering, Unit
from tilewright.native.values import F64, I8, I32, I64, MemRef, Value, element_of, index, number_of, size_of, value_type


@dataclass
class HostUnit(Unit):
    """The host functions of one program."""

    calls: dict[str, CSignature] = field(default_factory=dict[str, CSignature])
    """Functions of the runtime that it calls; their addresses are in the context, in this order."""
    sites: list[Operation] = field(default_factory=list[Operation])
    """Where it calls them."""
    launches: list[LaunchFuncOp] = field(default_factory=list[LaunchFuncOp])

    def call_slot(self, name: str, signature: CSignature) -> int:
        """Where in the context the address of a function is, in bytes."""
        self.calls.setdefault(name, signature)
        return FUNCTIONS + SLOT_BYTES * list(self.calls).index(name)

    @property
    def context_bytes(self) -> int:
        return FUNCTIONS + SLOT_BYTES * len(self.calls)


class FunctionPointer(ir.PointerType):
    """A pointer that llvmlite can call: it wants to know what it points to."""

    def __init__(self, function: ir.FunctionType):
        super().__init__()
        self.pointee = function


class _Attributes(ir.FunctionAttributes):
    """With an access through a null pointer being one that fails, where LLVM would take it for impossible."""

    _known: ClassVar[frozenset[str]] = ir.FunctionAttributes._known | {"null_pointer_is_valid"}


class HostBody(FunctionLowering):
    """One function. Its loops may run as long as they like: the process that waits for it has a clock."""

    def __init__(self, unit: HostUnit, function: func.FuncOp):
        name, type = unit.module.get_unique_name(f"host.{function.sym_name.data}"), function.function_type
        super().__init__(unit, function, name, type.outputs, types_of_parts(type.inputs))
        self.function.attributes = _Attributes((*self.function.attributes, "null_pointer_is_valid"))
        self.host = unit
        self.op_at_work: Operation = function

    def pause(self, often: bool) -> None:
        """Nothing else runs in this process."""

    def check_division(self, name: str, lhs: ir.Value, rhs: ir.Value) -> None:
        """Stop at what is undefined: by zero, or where the quotient does not fit."""
        element = element_of(lhs.type)
        # a constant that cannot fail
        if number_of(rhs) not in (None, 0, -1):
            return
        some = _all(self.builder, self.builder.icmp_signed("!=", rhs, constant_like(rhs, 0)))
        self.trap_unless(self.op_at_work, some, "divides by zero")
        if name.endswith("ui"):
            return
        lowest = -(1 << element.width - 1)
        fine = self.builder.or_(
            self.builder.icmp_signed("!=", lhs, constant_like(lhs, lowest)),
            self.builder.icmp_signed("!=", rhs, constant_like(rhs, -1)),
        )
        text = f"divides {lowest} by -1, which does not fit into {element.width} bits"
        self.trap_unless(self.op_at_work, _all(self.builder, fine), text)

    def lower(self, op: Operation) -> None:
        self.op_at_work = op
        if op.name not in self.unit.handlers:
            fail_op(op, "cannot run on the host", (op, "it belongs into a kernel, or a pass has to lower it before"))
        super().lower(op)


def _all(builder: ir.IRBuilder, holds: ir.Value) -> ir.Value:
    """Whether something holds, for all elements of a vector."""
    return (
        intrinsic_reduce(builder, "llvm.vector.reduce.and", holds) if isinstance(holds.type, ir.VectorType) else holds
    )


def host_body(lowering: Lowering) -> HostBody:
    """What the handlers of operations that only hosts have are given."""
    assert isinstance(lowering, HostBody)
    return lowering


def call_runtime(body: HostBody, op: Operation, name: str, arguments: Sequence[ir.Value]) -> ir.Value:
    """Call a function of the runtime, and leave if that ended the program."""
    signature = OWN.get(name) or SYMBOLS[name]
    builder, unit = body.builder, body.host
    unit.sites.append(op)
    builder.store(index(len(unit.sites) - 1), body.in_context(SITE))
    slot = body.in_context(unit.call_slot(name, signature))
    function = builder.load(slot, typ=FunctionPointer(signature.native()))
    result = builder.call(function, arguments)
    # native code cannot be unwound: it returns, function by function
    on, off = body.new_block("on"), body.new_block("stopped")
    builder.cbranch(builder.icmp_signed("==", builder.load(body.in_context(CODE), typ=I64), index(0)), on, off)
    body.at(off)
    body.leave_again()
    body.at(on)
    return result


def in_row(body: HostBody, parts: Sequence[ir.Value]) -> ir.Value:
    """Values one after the other in memory."""
    room = body.variable(I64, max(total_slots(part.type for part in parts), 1))
    places = slots_at(body.builder, room, [part.type for part in parts])
    for part, place in zip(parts, places, strict=True):
        body.builder.store(part, place)
    return room


def slots_at(builder: ir.IRBuilder, base: ir.Value, types: Sequence[ir.Type]) -> list[ir.Value]:
    """The places of values one after the other."""
    numbers = [total_slots(types[:place]) for place in range(len(types))]
    return [builder.gep(base, [index(SLOT_BYTES * number)], source_etype=I8) for number in numbers]


def total_slots(types: Iterable[ir.Type]) -> int:
    return sum(slot_count(size_of(type)) for type in types)


def _func_call(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, func.CallOp)
    body, callee = host_body(lowering), lookup_symbol(op, op.callee)
    if not isinstance(callee, func.FuncOp):
        fail_op(op, f"calls @{op.callee.string_value()}, which is no function")
    if callee.is_declaration:
        type = callee.function_type
        _external(body, op, callee, op.callee.string_value(), op.arguments, type.inputs.data, type.outputs.data)
    else:
        lowering.values.update(zip(op.results, _own(body, op, callee), strict=True))


def _own(body: HostBody, op: func.CallOp, callee: func.FuncOp) -> list[Value]:
    type, native = callee.function_type, host_function(body.host, callee)
    arguments = parts_of_all(type.inputs, [body.get(argument) for argument in op.arguments])
    # a function that is still being translated calls itself: its depth is counted
    with nullcontext() if callee in body.unit.finished else counted_depth(body, op):
        return run(body, native, list(type.outputs), arguments)


def host_function(unit: HostUnit, function: func.FuncOp) -> ir.Function:
    """A function of the program, which is translated when it is called first."""
    if function not in unit.functions:
        body, type = HostBody(unit, function), function.function_type
        # known before it is translated: it may call itself
        unit.functions[function] = body.function
        arguments = rebuild_all(type.inputs, body.arguments)
        body.finish(type.outputs, body.lower_region(function.body, arguments, type.outputs))
        unit.finished.add(function)
    return unit.functions[function]


def _llvm_call(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.CallOp)
    body = host_body(lowering)
    if op.callee is None:
        fail_op(op, "has no native translation: it calls a pointer")
    name = op.callee.string_value()
    callee = lookup_symbol(op, op.callee)
    if not isinstance(callee, llvm.FuncOp):
        fail_op(op, f"calls @{name}, which is no llvm.func")
    if callee.body.blocks:
        fail_op(callee, "has no native translation", (callee, "write it as a func.func"))
    type = callee.function_type
    outputs = [] if isinstance(type.output, LLVMVoidType) else [type.output]
    given, taken = [value.type for value in op.args], list(type.inputs.data)
    if (
        list(op.result_types) != outputs
        or given[: len(taken)] != taken
        or (len(given) != len(taken) and not type.is_variadic)
    ):
        fail_op(op, f"does not fit @{name}, which is a {shown(type)}", (callee, "it is declared here"))
    _external(body, op, callee, name, op.args, type.inputs.data, outputs, type.is_variadic)


def _external(
    body: HostBody,
    op: Operation,
    declaration: Operation,
    name: str,
    arguments: Sequence[SSAValue],
    inputs: Sequence[Attribute],
    outputs: Sequence[Attribute],
    is_variadic: bool = False,
) -> None:
    """A function from outside: of the runtime if it has one of that name, else of the C library."""
    values = [part for argument in arguments for part in _passed(body, argument)]
    if name in SYMBOLS:
        declared, signature = declared_signature(inputs, outputs), SYMBOLS[name]
        if declared != signature:
            notes = (declaration, f"the runtime's is {signature}")
            fail_op(declaration, f"declares @{name} as {declared}, which is not what the runtime has", notes)
        result = call_runtime(body, op, name, [_widened(body.builder, value) for value in values])
    else:
        result = _library(body, op, name, values, inputs, outputs, is_variadic)
    # C gives small integers back in 32 bits
    for value in op.results:
        type = value_type(value.type)
        body[value] = result if result.type == type else body.builder.trunc(result, type)


def _passed(body: HostBody, argument: SSAValue) -> list[ir.Value]:
    """An argument with C's conventions; of a memref without rank the rank, and where its descriptor is."""
    value = body.get(argument)
    if isinstance(value, MemRef) and not is_ranked(argument.type):
        return [index(len(value.sizes)), in_row(body, flattened(value))]
    return flattened(value)


def _library(
    body: HostBody,
    op: Operation,
    name: str,
    values: list[ir.Value],
    inputs: Sequence[Attribute],
    outputs: Sequence[Attribute],
    is_variadic: bool,
) -> ir.Value:
    if not hasattr(ctypes.CDLL(None), name):
        fail_op(op, f"calls @{name}, which neither the program nor the runtime nor the C library defines")
    if len(outputs) > 1:
        fail_op(op, f"has no native translation: @{name} is a function of C and gives one result at most")
    fixed = [part for type in inputs for part in flattened_types(type)]
    result = value_type(outputs[0]) if outputs else VOID
    # declared once in a module, however often it is called
    known = body.unit.module.globals.get(name)
    function = known or ir.Function(body.unit.module, ir.FunctionType(result, fixed, var_arg=is_variadic), name)
    rest = [_promoted(body.builder, value) for value in values[len(fixed) :]]
    return body.builder.call(function, [*values[: len(fixed)], *rest])


def _promoted(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """What C makes of an argument that no parameter says the type of."""
    return builder.fpext(value, F64) if isinstance(value.type, ir.FloatType) else _widened(builder, value)


def _widened(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.IntType) and value.type.width < I32.width:
        # a truth value is 0 or 1 in C, other integers have a sign
        return builder.zext(value, I32) if value.type.width == 1 else builder.sext(value, I32)
    return value


HANDLERS: dict[str, Handler] = {"func.call": _func_call, "llvm.call": _llvm_call}
