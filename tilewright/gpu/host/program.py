"""A module of host functions and kernels as a program that can be started: its entry is native code of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.gpu.host.calls import build_function
from tilewright.gpu.host.operations import HANDLERS
from tilewright.gpu.host.signatures import Signature
from tilewright.gpu.host.unit import HostBody, HostUnit
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.symbols import symbol_in, unchanging_symbols
from tilewright.native.functions import types_of_parts
from tilewright.native.host import NativeModule
from tilewright.native.lowering import SLOT_BYTES, Trap
from tilewright.native.values import I8, I64, POINTER, Untranslatable, index

MAIN = "main"
START = "start"
"""The name of `int64_t start(context, arguments, results)`, which calls the entry."""


@dataclass
class HostProgram:
    """What runs on the host: `start` with a context, eight bytes for each part of an argument, and room for results."""

    module: ModuleOp
    entry: FuncOp
    text: str
    """LLVM IR."""
    calls: dict[str, Signature]
    sites: list[Operation]
    launches: list[LaunchFuncOp]
    traps: list[Trap]
    context_bytes: int
    _native: ir.Module
    _code: NativeModule | None = None
    _start: int = 0

    @property
    def native_module(self) -> ir.Module:
        """What machine code is made of."""
        return self._native

    def kernels(self) -> list[GPUFuncOp]:
        """The kernels that it launches."""
        modules = [symbol_in(self.module, launch.kernel.root_reference.data) for launch in self.launches]
        found = [
            symbol_in(module, launch.kernel_name)
            for module, launch in zip(modules, self.launches, strict=True)
            if module is not None
        ]
        return [kernel for kernel in dict.fromkeys(found) if isinstance(kernel, GPUFuncOp)]

    def prepare(self) -> None:
        """Make machine code; done once, before processes part: what made it may be at work for another thread then."""
        if self._code is None:
            self._code = NativeModule(self._native)
            self._start = self._code.address(START)

    def start(self, context: int, arguments: int, results: int) -> int:
        """Run; gives a negative number after a trap or a stop, the context says more."""
        assert self._code is not None, "processes part after it was prepared"
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(self._start)
        return function(context, arguments, results)

    def location(self, site: int) -> LocationAttr:
        return self.sites[site].location


def find_entry(module: ModuleOp, name: str | None) -> FuncOp:
    """The function that a run begins with: `name`, or main, or the only one that is not private."""
    functions = [op for op in module.body.ops if isinstance(op, FuncOp) and not op.is_declaration]
    public = [op for op in functions if op.sym_visibility is None or op.sym_visibility.data == "public"]
    wanted = name or MAIN
    found = symbol_in(module, wanted)
    if isinstance(found, FuncOp) and not found.is_declaration:
        return found
    if name is None and len(public) == 1:
        return public[0]
    known = ", ".join(op.sym_name.data for op in public) or "none"
    fail(module, f"there is no function @{wanted} to begin with; there is {known}", (None, "choose one: --entry FUNC"))


def host_program(module: ModuleOp, entry: str | None = None) -> HostProgram:
    """Translate the entry of a lowered program, and all that it calls."""
    with unchanging_symbols():
        function = find_entry(module, entry)
        unit = HostUnit(ir.Module("host"), HANDLERS, _no_cycles, _undeclared, _never)
        try:
            body = _begin(unit, function)
            build_function(body, function)
            _define_start(unit, function, body.function)
        except Untranslatable as error:
            fail_op(function, f"has no native translation: {error}")
    return HostProgram(
        module,
        function,
        str(unit.module),
        unit.calls,
        unit.sites,
        unit.launches,
        unit.traps,
        unit.context_bytes,
        unit.module,
    )


def _no_cycles(op: Operation) -> int:
    return 0


def _undeclared(op: Operation) -> None:
    """No function of the host says how long it takes."""


def _never(op: Operation) -> bool:
    return False


def _begin(unit: HostUnit, function: FuncOp) -> HostBody:
    type = function.function_type
    return HostBody(unit, function, f"host.{function.sym_name.data}", type.outputs, types_of_parts(type.inputs))


def _define_start(unit: HostUnit, entry: FuncOp, native: ir.Function) -> None:
    """A function that takes the entry's arguments from memory and puts its results there."""
    start = ir.Function(unit.module, ir.FunctionType(I64, [POINTER] * 3), START)
    builder = ir.IRBuilder(start.append_basic_block("entry"))
    context, arguments, results = start.args
    type = entry.function_type
    rooms = [_slot(builder, results, number) for number in range(len(types_of_parts(type.outputs)))]
    values = [
        builder.load(_slot(builder, arguments, number), typ=part)
        for number, part in enumerate(types_of_parts(type.inputs))
    ]
    builder.ret(builder.call(native, [context, *rooms, *values]))


def _slot(builder: ir.IRBuilder, base: ir.Value, number: int) -> ir.Value:
    return builder.gep(base, [index(SLOT_BYTES * number)], source_etype=I8)


def result_types(program: HostProgram) -> Sequence[Attribute]:
    return program.entry.function_type.outputs.data
