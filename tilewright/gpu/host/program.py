"""A module of host functions and kernels as a program that can be started: its entry is native code of this process."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from threading import Lock
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import LocationAttr, MemRefType, ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.dialects.gpu.memory import AllocOp, DeallocOp, MemcpyOp, MemsetOp, SetDefaultDeviceOp
from tilewright.dialects.memref.types import is_ranked, memref_type
from tilewright.gpu.host.functions import HANDLERS as CALLS
from tilewright.gpu.host.functions import (
    HostBody,
    HostUnit,
    call_runtime,
    host_body,
    host_function,
    in_row,
    slots_at,
    total_slots,
)
from tilewright.gpu.host.signatures import CSignature
from tilewright.gpu.host.tensor_maps import HANDLERS as TENSOR_MAPS
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.symbols import symbol_in, unchanging_symbols
from tilewright.native import aggregates, host_buffers, pointers
from tilewright.native.access import OUTSIDE, ExactNumbers
from tilewright.native.aggregates import flattened, flattened_types
from tilewright.native.casts import resize
from tilewright.native.functions import types_of_parts
from tilewright.native.host import NativeModule
from tilewright.native.host_buffers import check_size, sized_memref
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.operations import OPERATIONS
from tilewright.native.traps import Trap, Untranslatable
from tilewright.native.values import I8, I32, I64, POINTER, MemRef, index, size_of
from tilewright.native.views import mixed

MAIN = "main"
START = "start"
"""The name of `int64_t start(context, arguments, results)`, which calls the entry."""
NO_STREAM = ir.Constant(POINTER, None)
_making = Lock()
"""Machine code is made by one thread at a time: what another one has made is used."""


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
    native_module: ir.Module
    """What machine code is made of."""
    _started: tuple[NativeModule, int] | None = None
    """Machine code, and where it starts; one value, which other threads find whole."""

    @property
    def result_slots(self) -> int:
        """How much room the results take."""
        return total_slots(types_of_parts(self.entry.function_type.outputs))

    def kernels(self) -> list[GPUFuncOp]:
        """The kernels that it launches."""
        found = [
            symbol_in(module, launch.kernel_name)
            for launch in self.launches
            if (module := symbol_in(self.module, launch.kernel.root_reference.data)) is not None
        ]
        return [kernel for kernel in dict.fromkeys(found) if isinstance(kernel, GPUFuncOp)]

    def prepare(self) -> None:
        """Make machine code; done once, before processes part: what made it may be at work for another thread then."""
        with _making:
            if self._started is None:
                code = NativeModule(self.native_module)
                self._started = code, code.address(START)

    def start(self, context: int, arguments: int, results: int) -> int:
        """Run; gives a negative number after a trap or a stop, the context says more."""
        assert self._started is not None, "processes part after it was prepared"
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(self._started[1])
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
        unit = HostUnit(ir.Module("host"), OPERATION_HANDLERS, lambda op: 0, lambda op: None, lambda op: False)
        try:
            _define_start(unit, function, host_function(unit, function))
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
    parts = [part for operand in launch.kernel_operands for part in flattened_types(operand.type)]
    return [size_of(part) for part in parts]


def _define_start(unit: HostUnit, entry: FuncOp, native: ir.Function) -> None:
    """A function that takes the entry's arguments from memory and puts its results there."""
    start = ir.Function(unit.module, ir.FunctionType(I64, [POINTER] * 3), START)
    builder = ir.IRBuilder(start.append_basic_block("entry"))
    context, arguments, results = start.args
    type = entry.function_type
    rooms, parts = slots_at(builder, results, types_of_parts(type.outputs)), types_of_parts(type.inputs)
    places = slots_at(builder, arguments, parts)
    values = [builder.load(place, typ=part) for place, part in zip(places, parts, strict=True)]
    builder.ret(builder.call(native, [context, *rooms, *values]))


def _launch(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, LaunchFuncOp)
    body = host_body(lowering)
    if op.cluster_size_x is not None:
        fail_op(op, "has clusters of blocks, which no backend here knows")
    parts = [part for operand in op.kernel_operands for part in flattened(body.get(operand))]
    sizes = (
        *(op.grid_size_x, op.grid_size_y, op.grid_size_z),
        *(op.block_size_x, op.block_size_y, op.block_size_z),
    )
    shared = op.dynamic_shared_memory_size
    numbers = [resize(body.builder, body[size], I64, unsigned=False) for size in sizes]
    numbers.append(index(0) if shared is None else body.builder.zext(body[shared], I64))
    # kernels and places in the source are looked up by the number of the launch
    body.host.launches.append(op)
    site = ir.Constant(I32, len(body.host.launches) - 1)
    call_runtime(body, op, "launch", [site, *numbers, in_row(body, parts)])
    _finish(body, op)


def _finish(body: HostBody, op: Operation) -> None:
    """Tokens stand for what is done already."""
    token = getattr(op, "async_token", None)
    if token is not None:
        body[token] = NO_STREAM


def _allocate(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, AllocOp)
    body, type = host_body(lowering), memref_type(op.memref)
    sizes = mixed(lowering, op, op.dynamic_sizes, type.get_shape())
    # before the product of sizes is computed, which might wrap
    check_size(lowering, op, sizes, type)
    wanted = sized_memref(lowering, op, type, sizes)
    shared = ir.Constant(I32, int(op.host_shared is not None))
    base = call_runtime(body, op, "mgpuMemAlloc", [wanted.limit, NO_STREAM, shared])
    lowering[op.memref] = MemRef(base, wanted.limit, index(0), wanted.sizes, wanted.strides)
    _finish(body, op)


def _deallocate(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, DeallocOp)
    body = host_body(lowering)
    call_runtime(body, op, "mgpuMemFree", [lowering.memref(op.memref).base, NO_STREAM])
    _finish(body, op)


def _copy(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, MemcpyOp)
    body = host_body(lowering)
    target, source = (_contiguous(body, op, lowering.memref(side), memref_type(side)) for side in (op.dst, op.src))
    # types may agree where sizes that only a run knows do not
    same = body.builder.icmp_signed("==", target[1], source[1])
    body.trap_unless(op, same, "copies {} bytes to a buffer of {}", source[1], target[1])
    call_runtime(body, op, "mgpuMemcpy", [target[0], source[0], source[1], NO_STREAM])
    _finish(body, op)


def _contiguous(body: HostBody, op: Operation, memref: MemRef, type: MemRefType) -> tuple[ir.Value, ir.Value]:
    """Where the elements begin, and how many bytes they are; they must be there, with no gaps between them."""
    builder, step, exact = body.builder, cast(ir.Value, index(1)), ExactNumbers(body)
    # of one row or none, its stride says nothing
    for size, stride in zip(reversed(memref.sizes), reversed(memref.strides), strict=True):
        fine = builder.or_(builder.icmp_signed("==", stride, step), builder.icmp_signed("<=", size, index(1)))
        body.trap_unless(op, fine, "copies a buffer with gaps between its rows, which no driver does")
        step = exact.times(step, size)
    width = index(aggregates.element_bytes(type))
    begin, length = exact.times(memref.offset, width), exact.product([*memref.sizes, width])
    end = exact.plus(begin, length)
    # a sum that wrapped would pass the comparisons
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
    bits = lowering[op.value]
    if isinstance(bits.type, ir.FloatType | ir.HalfType):
        bits = builder.bitcast(bits, ir.IntType(width))
    value, count = resize(builder, bits, I32, unsigned=True), builder.udiv(length, index(width // 8))
    call_runtime(body, op, names[width], [start, value, count, NO_STREAM])
    _finish(body, op)


def _register(lowering: Lowering, op: Operation) -> None:
    """Lets kernels access a buffer of the host."""
    memref = lowering.memref(op.operands[0])
    if op.name == "gpu.host_register":
        call_runtime(host_body(lowering), op, "mgpuMemHostRegister", [memref.base, memref.limit])
    else:
        call_runtime(host_body(lowering), op, "mgpuMemHostUnregister", [memref.base])


def _set_device(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, SetDefaultDeviceOp)
    call_runtime(host_body(lowering), op, "mgpuSetDefaultDevice", [lowering[op.device]])


def _forget_rank(lowering: Lowering, op: Operation) -> None:
    """A cast to a memref without a rank keeps what is known; only the registration of buffers has use for it."""
    if is_ranked(op.results[0].type):
        OPERATIONS["memref.cast"](lowering, op)
    else:
        lowering[op.results[0]] = lowering.get(op.operands[0])


OPERATION_HANDLERS: dict[str, Handler] = {
    **OPERATIONS,
    **aggregates.HANDLERS,
    **pointers.HANDLERS,
    **host_buffers.HANDLERS,
    **CALLS,
    **TENSOR_MAPS,
    "memref.cast": _forget_rank,
    "gpu.launch_func": _launch,
    "gpu.alloc": _allocate,
    "gpu.dealloc": _deallocate,
    "gpu.memcpy": _copy,
    "gpu.memset": _fill,
    # nothing is left to wait for
    "gpu.wait": lambda lowering, op: _finish(host_body(lowering), op),
    "gpu.host_register": _register,
    "gpu.host_unregister": _register,
    "gpu.set_default_device": _set_device,
}
