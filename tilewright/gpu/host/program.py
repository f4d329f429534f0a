"""A module of host functions and kernels as a program that can be started: its entry is native code of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import LocationAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.dialects.gpu.memory import AllocOp, DeallocOp, MemcpyOp, MemsetOp, SetDefaultDeviceOp
from tilewright.dialects.memref.types import is_ranked, memref_type
from tilewright.gpu.host.functions import HANDLERS as CALLS
from tilewright.gpu.host.functions import HostBody, HostUnit, build_function, call_runtime, host_body, in_row
from tilewright.gpu.host.signatures import LAUNCH, SYMBOLS, CSignature
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.symbols import symbol_in, unchanging_symbols
from tilewright.native import aggregates, host_buffers, pointers
from tilewright.native.access import OUTSIDE, ExactNumbers
from tilewright.native.aggregates import flattened, flattened_types
from tilewright.native.casts import resize
from tilewright.native.functions import types_of_parts
from tilewright.native.host import NativeModule
from tilewright.native.host_buffers import check_size, sized_memref
from tilewright.native.lowering import SLOT_BYTES, Handler, Lowering, Trap
from tilewright.native.operations import OPERATIONS
from tilewright.native.values import I8, I32, I64, POINTER, MemRef, Untranslatable, Value, index
from tilewright.native.views import mixed

MAIN = "main"
START = "start"
"""The name of `int64_t start(context, arguments, results)`, which calls the entry."""
NO_STREAM = ir.Constant(POINTER, None)
SIZES = ("grid", "block")


@dataclass
class HostProgram:
    """What runs on the host: `start` with a context, eight bytes for each part of an argument, and room for results."""

    module: ModuleOp
    entry: FuncOp
    text: str
    """LLVM IR."""
    calls: dict[str, CSignature]
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
        # hosts take no time that is modelled
        unit = HostUnit(ir.Module("host"), OPERATION_HANDLERS, _no_cycles, _undeclared, _never)
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


def parameter_bytes(launch: LaunchFuncOp) -> list[int]:
    """How many bytes each of the flattened parameters of a kernel has."""
    types = [part for operand in launch.kernel_operands for part in flattened_types(operand.type)]
    return [_bytes(type) for type in types]


def _bytes(type: ir.Type) -> int:
    match type:
        case ir.IntType():
            return -(-type.width // 8)
        case ir.HalfType():
            return 2
        case ir.FloatType():
            return 4
        case _:
            return 8


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


def _launch(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, LaunchFuncOp)
    body = host_body(lowering)
    if op.cluster_size_x is not None:
        fail_op(op, "has clusters of blocks, which no backend here knows")
    parts = [part for operand in op.kernel_operands for part in flattened(body.get(operand))]
    sizes = [
        op.grid_size_x,
        op.grid_size_y,
        op.grid_size_z,
        op.block_size_x,
        op.block_size_y,
        op.block_size_z,
    ]
    shared = op.dynamic_shared_memory_size
    numbers = [resize(body.builder, body[size], I64, unsigned=False) for size in sizes]
    numbers.append(index(0) if shared is None else body.builder.zext(body[shared], I64))
    body.host.launches.append(op)
    site = ir.Constant(I32, len(body.host.launches) - 1)
    call_runtime(body, op, "launch", LAUNCH, [site, *numbers, in_row(body, parts)])
    _finish(body, op)


def _finish(body: HostBody, op: Operation) -> None:
    """Tokens stand for what is done already."""
    token = getattr(op, "async_token", None)
    if token is not None:
        body[token] = ir.Constant(POINTER, None)


def _allocate(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, AllocOp)
    body, type = host_body(lowering), memref_type(op.memref)
    sizes = mixed(lowering, op, op.dynamic_sizes, type.get_shape())
    check_size(lowering, op, sizes, type)
    wanted = sized_memref(lowering, op, type, sizes)
    shared = ir.Constant(I32, int(op.host_shared is not None))
    base = _call(body, op, "mgpuMemAlloc", [wanted.limit, NO_STREAM, shared])
    lowering[op.memref] = MemRef(base, wanted.limit, index(0), wanted.sizes, wanted.strides)
    _finish(body, op)


def _deallocate(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, DeallocOp)
    body = host_body(lowering)
    _call(body, op, "mgpuMemFree", [lowering.memref(op.memref).base, NO_STREAM])
    _finish(body, op)


def _copy(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, MemcpyOp)
    body = host_body(lowering)
    target, source = (_contiguous(body, op, lowering.memref(side), memref_type(side)) for side in (op.dst, op.src))
    same = body.builder.icmp_signed("==", target[1], source[1])
    body.trap_unless(op, same, "copies {} bytes to a buffer of {}", source[1], target[1])
    _call(body, op, "mgpuMemcpy", [target[0], source[0], source[1], NO_STREAM])
    _finish(body, op)


def _contiguous(body: HostBody, op: Operation, memref: MemRef, type: MemRefType) -> tuple[ir.Value, ir.Value]:
    """Where the elements begin, and how many bytes they are; they must be there, with no gaps between them."""
    builder, step, exact = body.builder, cast(ir.Value, index(1)), ExactNumbers(body)
    for size, stride in zip(reversed(memref.sizes), reversed(memref.strides), strict=True):
        fine = builder.or_(builder.icmp_signed("==", stride, step), builder.icmp_signed("<=", size, index(1)))
        body.trap_unless(op, fine, "copies a buffer with gaps between its rows, which no driver does")
        step = exact.times(step, size)
    width = index(aggregates.element_bytes(type))
    begin, length = exact.times(memref.offset, width), exact.product([*memref.sizes, width])
    end = exact.plus(begin, length)
    exact.check(op, "is about more bytes than 64 bits can count")
    inside = builder.icmp_signed(">=", begin, index(0))
    for low, high in ((begin, end), (end, memref.limit)):
        inside = builder.and_(inside, builder.icmp_signed("<=", low, high))
    body.trap_unless(op, inside, OUTSIDE, begin, end, memref.limit)
    return builder.gep(memref.base, [begin], source_etype=I8), length


def _fill(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, MemsetOp)
    body, builder, type = host_body(lowering), lowering.builder, memref_type(op.dst)
    width = 8 * aggregates.element_bytes(type)
    names = {16: "mgpuMemset16", 32: "mgpuMemset32"}
    if width not in names:
        fail_op(op, f"fills elements of {width} bits; drivers fill those of 16 and 32")
    start, length = _contiguous(body, op, lowering.memref(op.dst), type)
    bits = (
        builder.bitcast(lowering[op.value], ir.IntType(width)) if _is_float(lowering[op.value]) else lowering[op.value]
    )
    value = resize(builder, bits, I32, unsigned=True)
    count = builder.udiv(length, index(width // 8))
    _call(body, op, names[width], [start, value, count, NO_STREAM])
    _finish(body, op)


def _is_float(value: ir.Value) -> bool:
    return isinstance(value.type, ir.FloatType | ir.HalfType)


def _wait(lowering: Lowering, op: Operation) -> None:
    """Nothing is left to wait for."""
    _finish(host_body(lowering), op)


def _register(lowering: Lowering, op: Operation) -> None:
    """Lets kernels access a buffer of the host."""
    body = host_body(lowering)
    memref = lowering.memref(op.operands[0])
    arguments: list[ir.Value] = [memref.base]
    name = "mgpuMemHostUnregister"
    if op.name == "gpu.host_register":
        name, arguments = "mgpuMemHostRegister", [memref.base, memref.limit]
    _call(body, op, name, arguments)


def _set_device(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, SetDefaultDeviceOp)
    _call(host_body(lowering), op, "mgpuSetDefaultDevice", [lowering[op.device]])


def _call(body: HostBody, op: Operation, name: str, arguments: Sequence[ir.Value]) -> ir.Value:
    return call_runtime(body, op, name, SYMBOLS[name], arguments)


def _forget_rank(lowering: Lowering, op: Operation) -> None:
    """A cast to a memref without a rank keeps what is known; only the registration of buffers has use for it."""
    source: Value = lowering.get(op.operands[0])
    result = op.results[0]
    if is_ranked(result.type):
        OPERATIONS["memref.cast"](lowering, op)
    else:
        lowering[result] = source


OPERATION_HANDLERS: dict[str, Handler] = {
    **OPERATIONS,
    **aggregates.HANDLERS,
    **pointers.HANDLERS,
    **host_buffers.HANDLERS,
    **CALLS,
    "memref.cast": _forget_rank,
    "gpu.launch_func": _launch,
    "gpu.alloc": _allocate,
    "gpu.dealloc": _deallocate,
    "gpu.memcpy": _copy,
    "gpu.memset": _fill,
    "gpu.wait": _wait,
    "gpu.host_register": _register,
    "gpu.host_unregister": _register,
    "gpu.set_default_device": _set_device,
}
