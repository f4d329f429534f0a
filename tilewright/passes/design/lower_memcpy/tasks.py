"""A side of a copy as a DMA task: one descriptor that waits for a lock, moves data and tells another lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import IndexType, IntegerType, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.device import DmaDirection, LockAction
from tilewright.dialects import arith
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aiex.guards import NpuAssertRangeOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp
from tilewright.passes.design.lower_memcpy.copies import Copy, LockName, LockUse, Side
from tilewright.rewrite.emitter import Emitter, Number, constant_op, known

Locks = Mapping[LockName, LockOp]


def configure_side(build: Emitter, side: Side, locks: Locks, packet: PacketInfoAttr | None) -> DmaConfigureTaskOp:
    """Write down what the DMA of a tile does for a copy. Destinations tell when they are done."""
    sizes = [_wide(build, size) for size in side.end.sizes]
    strides = [_wide(build, stride) for stride in side.end.strides]
    offset, length, repeats = _count(build, side.end.offset), _count(build, side.end.length), None
    if side.repeats_outermost:
        length, repeats = _product(build, sizes[1:]), _less_one(build, sizes[0])
    bd = DmaBdOp(side.end.buffer, offset, length, list(zip(sizes, strides, strict=True)))
    task = DmaConfigureTaskOp(
        side.tile.result,
        side.direction,
        side.number,
        Region(Block([*_locked(bd, side, locks), EndOp()])),
        issue_token=side.direction is DmaDirection.S2MM,
        repeat_count=repeats if isinstance(repeats, int) else 0,
        repeat_count_val=repeats if isinstance(repeats, SSAValue) else None,
        packet=packet if side.direction is DmaDirection.MM2S else None,
    )
    for op in task.walk():
        op.location = side.op.location
    return build.insert(task)


def check_lengths(build: Emitter, copy: Copy) -> None:
    """Have lengths that are not known compared when they are."""
    source = copy.source
    for side in copy.destinations:
        is_same = source.end.length is side.end.length and source.element_bytes == side.element_bytes
        if None in (source.length_bytes, side.length_bytes) and not is_same:
            sent, received = (_bytes(build, end) for end in (source, side))
            excess = build.value(arith.SubiOp(sent, received))
            build.insert(NpuAssertRangeOp(excess, 0, 0, "length of the source less that of the destination, in bytes,"))


def _bytes(build: Emitter, side: Side) -> SSAValue:
    length = _value(build, _wide(build, side.end.length), i64)
    return build.value(arith.MuliOp(length, _value(build, side.element_bytes, i64)))


def _locked(bd: DmaBdOp, side: Side, locks: Locks) -> Iterator[Operation]:
    yield from _use(side.acquired, LockAction.AcquireGreaterEqual, locks)
    yield bd
    yield from _use(side.released, LockAction.Release, locks)


def _use(uses: Sequence[LockUse], action: LockAction, locks: Locks) -> Iterator[Operation]:
    for name, amount in uses:
        constant = constant_op(amount)
        yield constant
        yield UseLockOp(locks[name].result, action, constant.results[0])


def _count(build: Emitter, number: Number) -> Number:
    """An offset or a length, as descriptors take them."""
    if (value := known(number)) is not None:
        return value
    assert isinstance(number, SSAValue)
    return _wide(build, number) if isinstance(number.type, IndexType) else number


def _wide(build: Emitter, number: Number) -> Number:
    """A size or a stride, in 64 bits."""
    if (value := known(number)) is not None:
        return value
    assert isinstance(number, SSAValue)
    if isinstance(number.type, IndexType):
        return build.value(arith.IndexCastOp(number, i64))
    return number if number.type == i64 else build.value(arith.ExtSIOp(number, i64))


def _product(build: Emitter, numbers: Sequence[Number]) -> Number:
    result: Number = 1
    for number in numbers:
        if isinstance(result, int) and isinstance(number, int):
            result *= number
        elif number != 1:
            factors = _value(build, result, i64), _value(build, number, i64)
            result = number if result == 1 else build.value(arith.MuliOp(*factors))
    return result


def _less_one(build: Emitter, number: Number) -> Number:
    if isinstance(number, int):
        return number - 1
    short = build.value(arith.TruncIOp(number, i32))
    return build.value(arith.SubiOp(short, _value(build, 1, i32)))


def _value(build: Emitter, number: Number, type: IntegerType) -> SSAValue:
    return build.constant(number, type) if isinstance(number, int) else number
