"""What instructions and transfers do to DMA queues and descriptors."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.device import DmaDirection, TileId
from tilewright.device.dma_registers import DmaChannel
from tilewright.device.hazards import BdName
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.lookup import constant_value, tile_of
from tilewright.dialects.aiex import control, firmware, instructions, memcpy, queue, write_bd
from tilewright.dialects.aiex.resolution import absolute_address, block_words
from tilewright.dialects.memref import GetGlobalOp
from tilewright.passes.sequence.lint_queue_depth.events import Act, Events, Hazards


def _write(on: Events, op: instructions.NpuWrite32Op) -> Hazards:
    address, names = constant_value(op.address), frozenset[BdName](on.drawn(op.value))
    if address is None:
        yield from on.write_drawn(op, op.address)
    elif op.buffer is None:
        yield from on.reader.write(op, absolute_address(op, address), on.values.bits(op.value), names)


def _mask_write(on: Events, op: instructions.NpuMaskWrite32Op) -> Hazards:
    address, mask = constant_value(op.address), on.values.bits(op.mask)
    if address is None:
        yield from on.write_drawn(op, op.address)
    elif op.buffer is None:
        bits = on.values.bits(op.value)
        written = bits._replace(known=bits.known & mask.value & mask.known)
        yield from on.reader.write(op, absolute_address(op, address), written)


def _block_write(on: Events, op: instructions.NpuBlockWriteOp) -> Hazards:
    if op.buffer is None and isinstance(op.data.owner, GetGlobalOp):
        name = op.data.owner.name_
        if name not in on.contents:
            on.contents[name] = block_words(op)
        yield from on.reader.write_block(op, absolute_address(op, op.address.value.data), on.contents[name])


def _write_words(on: Events, op: instructions.NpuWriteWordsOp) -> Hazards:
    address = constant_value(op.address)
    if address is None:
        yield from on.write_drawn(op, op.address)
        return
    for number, value in enumerate(op.values):
        names = frozenset[BdName](on.drawn(value))
        yield from on.reader.write(op, address + WORD_BYTES * number, on.values.bits(value), names)


def _patch(on: Events, op: queue.NpuAddressPatchOp) -> Hazards:
    if op.addr_val is not None and constant_value(op.addr_val) is None:
        yield from on.write_drawn(op, op.addr_val)
    else:
        address = None if op.addr_val is None else constant_value(op.addr_val)
        yield from on.reader.patch(op, op.addr.value.data if address is None else address)


def _update(on: Events, op: firmware.NpuUpdateFromScratchpadOp) -> Hazards:
    if op.buffer is None:
        yield from on.reader.patch(op, absolute_address(op, op.address.value.data))


def _sync(on: Events, op: instructions.NpuSyncOp) -> Hazards:
    column, row, direction, channel, columns, rows = map(constant_value, op.operands)
    if column is None or row is None or direction is None or channel is None or columns is None or rows is None:
        on.reader.state.pace(op)
    else:
        on.reader.wait(op, column=column, row=row, direction=direction, channel=channel, columns=columns, rows=rows)
    yield from ()


def _push(on: Events, op: queue.NpuPushQueueOp) -> Hazards:
    channel = DmaChannel(op.place, op.dma_direction, op.channel.value.data)
    yield from on.reader.push(op, channel, on.bds(op.bd_id), bool(op.issue_token))


def _write_bd(on: Events, op: write_bd.NpuWriteBdOp) -> Hazards:
    tile, bd = TileId(op.field("column"), op.field("row")), op.field("bd_id")
    yield from on.reader.state.write(tile, frozenset({bd}), op)
    on.reader.state.link(tile, bd, op.field("next_bd") if op.field("use_next_bd") else None)


def _memcpy(on: Events, op: memcpy.NpuDmaMemcpyNdOp) -> Hazards:
    if (channel := on.channel(op.metadata)) is None:
        return
    bd = op.id.value.data
    yield from on.reader.state.write(channel.tile, frozenset({bd}), op)
    on.reader.state.link(channel.tile, bd, None)
    issues_token = op.issues_token or channel.direction is DmaDirection.S2MM
    yield from on.reader.push(op, channel, frozenset({bd}), issues_token)


def _dma_wait(on: Events, op: memcpy.NpuDmaWaitOp) -> Hazards:
    if (channel := on.channel(op.symbol)) is not None:
        on.reader.state.wait(channel, op)
    yield from ()


def _reset(on: Events, op: control.DmaChannelResetOp) -> Hazards:
    tile = tile_of(op.tile)
    if tile is not None and tile.place is not None:
        on.reader.state.reset(DmaChannel(tile.place, op.dma_direction, op.channel.value.data))
    yield from ()


def _load(on: Events, op: Operation) -> Hazards:
    on.reader.forget()
    yield from ()


INSTRUCTIONS: Mapping[type[Operation], Act] = {
    control.DmaChannelResetOp: _reset,
    firmware.NpuLoadPdiOp: _load,
    firmware.NpuUpdateFromScratchpadOp: _update,
    instructions.NpuBlockWriteOp: _block_write,
    instructions.NpuMaskWrite32Op: _mask_write,
    instructions.NpuSyncOp: _sync,
    instructions.NpuWriteWordsOp: _write_words,
    instructions.NpuWrite32Op: _write,
    memcpy.NpuDmaMemcpyNdOp: _memcpy,
    memcpy.NpuDmaWaitOp: _dma_wait,
    queue.NpuAddressPatchOp: _patch,
    queue.NpuPushQueueOp: _push,
    write_bd.NpuWriteBdOp: _write_bd,
}
