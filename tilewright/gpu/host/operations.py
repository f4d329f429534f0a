"""What hosts do with GPUs, in operations of the gpu dialect; all of it is done when the operation is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.memory import AllocOp, DeallocOp, MemcpyOp, MemsetOp, SetDefaultDeviceOp
from tilewright.dialects.memref.types import is_ranked, memref_type
from tilewright.gpu.host.calls import HANDLERS as CALLS
from tilewright.gpu.host.symbols import LAUNCH, SYMBOLS
from tilewright.gpu.host.unit import HostBody, call_runtime, host_body, in_row
from tilewright.ir.diagnostics import fail_op
from tilewright.native import aggregates, host_buffers, pointers
from tilewright.native.access import OUTSIDE, ExactNumbers
from tilewright.native.aggregates import flattened
from tilewright.native.host_buffers import check_size, sized_memref
from tilewright.native.integers import resize
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.operations import OPERATIONS
from tilewright.native.values import I8, I32, I64, POINTER, MemRef, Value, index
from tilewright.native.views import mixed

NO_STREAM = ir.Constant(POINTER, None)
SIZES = ("grid", "block")


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
    sizes = mixed(lowering, op.dynamic_sizes, type.get_shape())
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


HANDLERS: dict[str, Handler] = {
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
