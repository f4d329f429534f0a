"""Instructions of the controller: register writes, waits, queue pushes; numbers or values of the sequence."""

from __future__ import annotations

from typing import Any

from tilewright.dialects.aiex import control, queue
from tilewright.dialects.aiex import instructions as ops
from tilewright.dialects.aiex.memcpy import NpuDmaWaitOp
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp
from tilewright.iron.builders.casts import as_i32
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.placed.generated import builder


def npu_write32(
    address: Any, value: Any, buffer: Any = None, column: int | None = None, row: int | None = None, **kwargs: Any
) -> OpView:
    """Write a register, or a word of a buffer."""
    place = {"buffer": buffer, "column": column, "row": row}
    return OpView(build(ops.NpuWrite32Op, address=as_i32(address), value=as_i32(value), **place, **kwargs))


def npu_maskwrite32(
    address: Any,
    value: Any,
    mask: Any,
    buffer: Any = None,
    column: int | None = None,
    row: int | None = None,
    **kwargs: Any,
) -> OpView:
    """Write the bits of a register that the mask has."""
    values = {"address": as_i32(address), "value": as_i32(value), "mask": as_i32(mask)}
    return OpView(build(ops.NpuMaskWrite32Op, **values, buffer=buffer, column=column, row=row, **kwargs))


def npu_sync(
    column: Any, row: Any, direction: Any, channel: Any, column_num: Any = 1, row_num: Any = 1, **kwargs: Any
) -> OpView:
    """Wait for completion tokens of a channel."""
    numbers = {"column": column, "row": row, "direction": direction, "channel": channel}
    numbers |= {"column_num": column_num, "row_num": row_num}
    return OpView(build(ops.NpuSyncOp, **{name: as_i32(value) for name, value in numbers.items()}, **kwargs))


def npu_address_patch(addr: int, arg_idx: int, arg_plus: Any, **kwargs: Any) -> OpView:
    """Put the address of an argument, plus an offset in bytes, in a descriptor."""
    return OpView(build(queue.NpuAddressPatchOp, addr=addr, arg_idx=arg_idx, arg_plus=as_i32(arg_plus), **kwargs))


def npu_rtp_write(buffer: Any, index: int, value: Any, **kwargs: Any) -> OpView:
    """Write a runtime parameter."""
    return OpView(build(ops.NpuWriteRTPOp, buffer=buffer, index=index, value=as_i32(value), **kwargs))


def npu_push_queue(
    column: int,
    row: int,
    direction: Any,
    channel: int,
    issue_token: bool,
    repeat_count: Any,
    bd_id: Any,
    **kwargs: Any,
) -> OpView:
    """Give a channel's task queue a descriptor to start with."""
    place = {"column": column, "row": row, "direction": direction, "channel": channel, "issue_token": issue_token}
    task = {"repeat_count": as_i32(repeat_count), "bd_id": as_i32(bd_id)}
    return OpView(build(queue.NpuPushQueueOp, **place, **task, **kwargs))


npu_blockwrite = builder(ops.NpuBlockWriteOp, "address data", optional="buffer column row")
npu_dma_wait = builder(NpuDmaWaitOp, "symbol")
control_packet = builder(control.NpuControlPacketOp, "address opcode stream_id", optional="length data")
set_lock = builder(control.SetLockOp, "lock value")
dma_channel_reset = builder(control.DmaChannelResetOp, "tile direction channel")
dma_channel_reset_for = builder(control.DmaChannelResetForOp, "objfifo")
core_reset = builder(control.CoreResetOp, "tile")

_DESCRIPTOR_FIELDS = list(NpuWriteBdOp.get_irdl_definition().properties)
_OPTIONAL_FIELDS = ("burst_length", "d3_stride")
npu_writebd = builder(
    NpuWriteBdOp,
    " ".join(name for name in _DESCRIPTOR_FIELDS if name not in _OPTIONAL_FIELDS),
    optional=" ".join(_OPTIONAL_FIELDS),
)


def set_lock_value(lock: Any, value: int) -> OpView:
    """Set a lock from the runtime sequence."""
    return set_lock(lock, value)


def dma_wait(*args: Any) -> None:
    """Wait for the transfers of these object FIFOs or allocations, in order."""
    if not args:
        refuse("dma_wait must receive at least one dma_meta information to wait for")
    for fifo in args:
        npu_dma_wait(fifo)
