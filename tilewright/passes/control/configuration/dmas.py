"""The DMAs of tiles: their descriptors first, then the channels that run them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation

from tilewright.device import MAX_TASK_REPEAT, DeviceModel, DmaDirection
from tilewright.device.layout import WORD_MASK
from tilewright.dialects.aie.dma import Channel, DmaBody, DmaOp, DmaStartOp, reachable_blocks
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.control.configuration.descriptors import (
    Slots,
    configured_descriptors,
    descriptor_in,
    descriptor_number,
)
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver, writer_for


def configured_dma(model: DeviceModel, dma: DmaBody, slots: Slots) -> Iterator[Write]:
    """Set up the DMA of a tile; the descriptors of the whole device are known by their places."""
    tile = writer_for(model, dma)
    regions = [op for op in dma.ops if isinstance(op, DmaOp)]
    if regions:
        yield from _configured_regions(tile, regions, slots)
        return
    blocks = reachable_blocks(dma.body.blocks[0])
    yield from configured_descriptors(tile, blocks, slots)
    for start in (block.last_op for block in blocks):
        if isinstance(start, DmaStartOp):
            first = _first_descriptor(start, start.dest)
            at = replace(tile, location=first.location)
            repeat_count = start.repeat_count.value.data
            yield from started_channel(at, start, start.channel, first, repeat_count, start.pad_value)


def _configured_regions(tile: TileWriter, dmas: Sequence[DmaOp], slots: Slots) -> Iterator[Write]:
    """The form in which each descriptor of a channel has a region."""
    yield from configured_descriptors(tile, [region.block for dma in dmas for region in dma.bds], slots)
    for dma in dmas:
        if not dma.bds:
            fail_op(dma, "starts a channel that has no descriptor")
        first = _first_descriptor(dma, dma.bds[0].block)
        at = replace(tile, location=dma.location)
        yield from started_channel(at, dma, dma.channel, first, dma.repeat_count.value.data, dma.pad_value)


def _first_descriptor(channel: DmaStartOp | DmaOp, block: Block) -> DmaBdOp:
    bd = descriptor_in(block)
    if bd is None:
        remedy = (channel, "let the channel start at a block with an aie.dma_bd")
        fail_op(channel, "starts a channel that has no descriptor", remedy)
    return bd


# There is no bit that enables a channel. The driver still writes this, under a mask without bits: a PDI changes
# nothing with it, in a transaction it is a plain write. Source: `.Enable = {0U}` in xaiemlgbl_reginit.c of aie-rt.
ENABLE, ENABLE_MASK = 1, 0


def started_channel(
    tile: TileWriter, op: Operation, channel: Channel, bd: DmaBdOp, repeat_count: int, pad_value: IntegerAttr | None
) -> Iterator[Write]:
    """Push the chain that begins with `bd`, to run once and `repeat_count` times more."""
    count = tile.model.num_dma_channels(*tile.place, channel.direction)
    if channel.number >= count:
        why = f"the tile has {channel.direction} channels 0 to {count - 1}, this is channel {channel.number}"
        fail_as_driver(op, "XAie_DmaChannelSetStartQueue", "XAIE_INVALID_CHANNEL_NUM", (op, why))
    registers = tile.model.registers(*tile.place)
    if pad_value is not None and pad_value.value.data != 0:
        assert registers.mm2s_pad_value is not None, "the verifier allows pad values on mem tiles only"
        yield tile.write(registers.mm2s_pad_value[channel.number], pad_value.value.data & WORD_MASK)
    yield tile.write(
        registers.task_queue(channel.direction)[channel.number], _task(tile, op, channel, bd, repeat_count)
    )
    yield tile.mask_write(registers.control(channel.direction)[channel.number], ENABLE, ENABLE_MASK)


def _task(tile: TileWriter, op: Operation, channel: Channel, bd: DmaBdOp, repeat_count: int) -> int:
    number, runs = descriptor_number(bd), repeat_count + 1
    if not 1 <= runs <= MAX_TASK_REPEAT:
        why = f"a channel runs a task 1 to {MAX_TASK_REPEAT} times, this one {runs} times"
        remedy = f"use a repeat_count of 0 to {MAX_TASK_REPEAT - 1}, or let the last descriptor lead to the first"
        fail_as_driver(op, "XAie_DmaChannelSetStartQueue", "XAIE_INVALID_ARGS", (op, why), (op, remedy))
    if not tile.model.is_bd_channel_accessible(*tile.place, number, channel.number):
        why = f"channel {channel.number} of this tile does not reach descriptor {number}"
        remedy = "let --aie-assign-bd-ids choose the descriptor, or use another channel"
        fail_as_driver(op, "XAie_DmaChannelSetStartQueue", "XAIE_INVALID_BD_NUM", (op, why), (bd, remedy))
    # As mlir-aie: only receiving channels of the shim give tokens here.
    gives_token = tile.model.is_shim_tile(*tile.place) and channel.direction is DmaDirection.S2MM
    queue = tile.model.registers(*tile.place).queue
    return queue.encode(start_bd_id=number, repeat_count=runs, enable_token_issue=int(gives_token))[0]
