"""Channels of the DMAs of tiles: what they pad with, and the descriptors that they start to run."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tilewright.device import MAX_TASK_REPEAT, DmaDirection
from tilewright.device.layout import WORD_MASK
from tilewright.dialects.aie.dma import Channel
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.passes.control.configuration.descriptors import descriptor_number
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver

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
    gives_token = tile.model.is_shim_tile(*tile.place) and channel.direction is DmaDirection.S2MM
    queue = tile.model.registers(*tile.place).queue
    return queue.encode(start_bd_id=number, repeat_count=runs, enable_token_issue=int(gives_token))[0]
