"""`gpu.shuffle`: what another lane of the wave has, in pieces of 32 bits."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.dialects.gpu.attributes import ShuffleMode
from tilewright.dialects.gpu.lanes import ShuffleOp
from tilewright.native.gpu_kernel import KernelLowering
from tilewright.native.gpu_machine import i32
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import I32, Untranslatable, number_of

SOURCES: dict[ShuffleMode, Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]] = {
    ShuffleMode.IDX: lambda b, lane, first, offset: b.add(first, offset),
    ShuffleMode.XOR: lambda b, lane, first, offset: b.xor(lane, offset),
    ShuffleMode.UP: lambda b, lane, first, offset: b.sub(lane, offset),
    ShuffleMode.DOWN: lambda b, lane, first, offset: b.add(lane, offset),
}
"""Which lane is read from, by the first lane of the group that a lane is in."""


def _shuffle(lowering: Lowering, op: Operation) -> None:
    """The value of another lane of the same group; its own if there is no such lane in the group."""
    assert isinstance(op, ShuffleOp)
    assert isinstance(lowering, KernelLowering), "lanes are those of kernels"
    kernel, builder = lowering, lowering.builder
    machine, lane = kernel.machine, kernel.machine.lane(kernel)
    written, offset = lowering[op.width], lowering[op.offset]
    width = _clamped(builder, written, machine.wave_size)
    first = builder.and_(lane, builder.sub(i32(0), width))
    source = SOURCES[op.mode.data](builder, lane, first, offset)
    valid = builder.icmp_unsigned("<", builder.sub(source, first), width)
    chosen = builder.select(valid, source, lane)
    lowering[op.shuffle_result] = _moved(kernel, lowering[op.value], chosen)
    lowering[op.valid] = valid


def _clamped(builder: ir.IRBuilder, width: ir.Value, wave_size: int) -> ir.Value:
    """A group has no more lanes than the wave."""
    known = number_of(width)
    if known is not None:
        return i32(min(known, wave_size))
    fits = builder.icmp_unsigned("<=", width, i32(wave_size))
    return builder.select(fits, width, i32(wave_size))


def _moved(kernel: KernelLowering, value: ir.Value, source: ir.Value) -> ir.Value:
    """A value of any size in pieces of 32 bits."""
    builder, bits = kernel.builder, _bits(value.type)
    whole = builder.bitcast(value, ir.IntType(bits)) if not isinstance(value.type, ir.IntType) else value
    if bits <= I32.width:
        word = builder.zext(whole, I32) if bits < I32.width else whole
        got = kernel.machine.read_lane(kernel, word, source)
        got = builder.trunc(got, ir.IntType(bits)) if bits < I32.width else got
    elif bits % I32.width:
        raise Untranslatable(f"lanes exchange multiples of 32 bits, not {bits}")
    else:
        got = _moved_words(kernel, whole, bits, source)
    return got if got.type == value.type else builder.bitcast(got, value.type)


def _moved_words(kernel: KernelLowering, whole: ir.Value, bits: int, source: ir.Value) -> ir.Value:
    builder, wide = kernel.builder, ir.IntType(bits)
    total: ir.Value = ir.Constant(wide, 0)
    for shift in range(0, bits, I32.width):
        word = builder.trunc(builder.lshr(whole, ir.Constant(wide, shift)), I32)
        got = builder.zext(kernel.machine.read_lane(kernel, word, source), wide)
        total = builder.or_(total, builder.shl(got, ir.Constant(wide, shift)))
    return total


def _bits(type: ir.Type) -> int:
    if isinstance(type, ir.VectorType):
        return type.count * _bits(type.element)
    if isinstance(type, ir.IntType):
        return type.width
    return {"half": 16, "float": 32, "double": 64}[str(type)]


HANDLERS: dict[str, Handler] = {"gpu.shuffle": _shuffle}
