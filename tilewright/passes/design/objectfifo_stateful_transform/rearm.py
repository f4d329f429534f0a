"""Keeps what it takes to start a FIFO again, for runtime sequences that do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, SymbolRefAttr, i32

from tilewright.dialects.aie.dma import Channel
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoRearmBindingOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import DmaChannelResetForOp
from tilewright.ir.create import insert_operation
from tilewright.ir.diagnostics import emit_op_error
from tilewright.ir.symbols import FreeNames
from tilewright.passes.design.objectfifo_stateful_transform.ends import End, Ends


def add_rearm_bindings(ends: Ends, channels: dict[End, Channel]) -> None:
    """Give each FIFO that is started again a binding, and let those who start it refer to that.

    The shim ends of a FIFO belong to the host, which pushes their descriptors itself.
    """
    users = _users_by_name(ends.design.device)
    if not users:
        return
    split = [connection.producer.fifo for connection in ends.connections]
    for fifo in dict.fromkeys((*split, *ends.by_fifo)):
        wanting = users.get(fifo.sym_name.data)
        if wanting:
            _bind(ends, fifo, [end for end in ends.by_fifo[fifo] if not end.is_shim], channels, wanting)


def _users_by_name(device: DeviceOp) -> dict[str, list[DmaChannelResetForOp]]:
    users: dict[str, list[DmaChannelResetForOp]] = defaultdict(list)
    for op in device.body.walk():
        if isinstance(op, DmaChannelResetForOp):
            users[op.objfifo.root_reference.data].append(op)
    return users


def _bind(
    ends: Ends,
    fifo: ObjectFifoOp,
    resident: Sequence[End],
    channels: dict[End, Channel],
    users: Sequence[DmaChannelResetForOp],
) -> None:
    moving = [end for end in resident if end in channels and end.stream_port is None]
    locks = list(_locks(resident))
    if not moving and not locks:
        for user in users:
            text = f"objectFIFO '{fifo.sym_name.data}' has no resident core/mem DMA channels or locks to re-arm"
            emit_op_error(user, text).note(fifo, "what the shim tile runs is for the host to start again")
        return
    name = FreeNames(ends.design.symbols).like(f"{fifo.sym_name.data}_rearm")
    binding = ObjectFifoRearmBindingOp(
        operands=[[end.tile.result for end in moving], [lock.result for lock in locks]],
        properties={
            "sym_name": StringAttr(name),
            "channel_dirs": DenseArrayBase.from_list(i32, [int(channels[end].direction) for end in moving]),
            "channel_indices": DenseArrayBase.from_list(i32, [channels[end].number for end in moving]),
            "lock_inits": DenseArrayBase.from_list(
                i32, [lock.init.value.data for lock in locks if lock.init is not None]
            ),
        },
    )
    binding.location = fifo.location
    terminator = ends.design.device.body.last_op
    assert terminator is not None, "a device ends with a terminator"
    insert_operation(binding, before=terminator)
    for user in users:
        user.objfifo = SymbolRefAttr(name)


def _locks(resident: Sequence[End]) -> Iterator[LockOp]:
    for end in resident:
        if end.own_storage is not None and not end.own_storage.tile.is_shim:
            yield from end.own_storage.locks
