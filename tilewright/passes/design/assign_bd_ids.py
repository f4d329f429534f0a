"""Gives the descriptors of tiles' DMAs their numbers, and says in each which one follows it.

Numbers that the program gives are kept; the others are the lowest free ones that the descriptor's channel reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32
from xdsl.ir import Block, SSAValue

from tilewright.device import DeviceModel, TileId
from tilewright.dialects.aie.dma import Channel, DmaBody, DmaOp, DmaStartOp, MemOp, MemTileDmaOp, ShimDmaOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoRearmBindingOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class ChannelBd(NamedTuple):
    """A descriptor of a DMA, the number of the channel that runs it, and the descriptor that follows it, if any."""

    bd: DmaBdOp
    channel: int
    following: DmaBdOp | None


class AssignBdIdsPass(DevicePass):
    name = "aie-assign-bd-ids"

    def apply_to(self, device: DeviceOp) -> None:
        # Kind by kind of tile, not in program order: that decides which of several errors is reported.
        for dma in (dma for kind in (MemOp, MemTileDmaOp, ShimDmaOp) for dma in ops_of(device.body.ops, kind)):
            if dma.place is None:
                fail_op(dma, "cannot assign buffer descriptors of a tile that is not placed; run placement first")
            descriptors = list(_descriptors(dma))
            _number(descriptors, device.model, dma.place)
            for bd, _, following in descriptors:
                end = bd.parent.last_op if bd.parent is not None else None
                # Where a block just ends, without a successor, only the descriptor itself can say what follows.
                if isinstance(bd.parent_op(), DmaOp) or (end is not None and end.successors):
                    bd.next_bd_id = following.bd_id if following is not None else None
        _fill_bindings(device)


def _descriptors(dma: DmaBody) -> Iterator[ChannelBd]:
    """All descriptors of a DMA, from regions if it has some, else from blocks."""
    regions = ops_of(dma.ops, DmaOp)
    for op in regions:
        bds = [bd for region in op.bds if (bd := _descriptor_in(region.block)) is not None]
        # The last descriptor of a loop leads back to the first.
        after = [*bds[1:], *(bds[:1] if op.loop.value.data else ())]
        yield from (ChannelBd(bd, op.channel.number, next) for bd, next in zip_longest(bds, after))
    if regions:
        return
    channels = _channels_of_blocks(dma)
    for block in dma.body.blocks:
        bd = _descriptor_in(block)
        if bd is not None:  # one that no channel runs may have any number
            yield ChannelBd(bd, channels.get(block, 0), _descriptor_after(block))


def _descriptor_in(block: Block) -> DmaBdOp | None:
    return next((op for op in block.ops if isinstance(op, DmaBdOp)), None)


def _descriptor_after(block: Block) -> DmaBdOp | None:
    """The next descriptor on the way from a block, past blocks that have none."""
    passed = {block}
    while block.last_op is not None and len(block.last_op.successors) == 1:
        block = block.last_op.successors[0]
        bd = _descriptor_in(block)
        if bd is not None or block in passed:  # a circle of blocks without descriptors
            return bd
        passed.add(block)
    return None


def _channels_of_blocks(dma: DmaBody) -> dict[Block, int]:
    """Which channel runs each block; one that two of them run belongs to the chain that it starts, or to the first."""
    channels: dict[Block, int] = {}
    for start in dma.starts:
        block: Block | None = start.dest
        while block is not None:
            channels[block] = start.channel.number
            successors: Sequence[Block] = block.last_op.successors if block.last_op is not None else ()
            block = successors[0] if successors and successors[0] not in channels else None
    return channels


def _number(descriptors: Sequence[ChannelBd], model: DeviceModel, place: TileId) -> None:
    taken: dict[int, DmaBdOp] = {}
    for bd, channel, _ in descriptors:
        if bd.bd_id is None:
            continue
        number = bd.bd_id.value.data
        if number in taken:
            fail_op(bd, f"has the ID {number} of another buffer descriptor", (taken[number], "which is this one"))
        if not model.is_bd_channel_accessible(*place, number, channel):
            reach = model.accessible_bds(*place, channel)
            fail_op(bd, f"has the ID {number}, but its channel {channel} reaches only {reach[0]} to {reach[-1]}")
        taken[number] = bd
    free: dict[int, Iterator[int]] = {}
    for bd, channel, _ in descriptors:
        if bd.bd_id is not None:
            continue
        # An iterator for each channel: numbers that it has passed are taken, and never free again.
        left = free.setdefault(channel, iter(model.accessible_bds(*place, channel)))
        number = next((number for number in left if number not in taken), None)
        if number is None:
            count = len(model.accessible_bds(*place, channel))
            fail_op(bd, f"Allocator exhausted available BD IDs (maximum {count} available for channel {channel}).")
        taken[number] = bd
        bd.bd_id = IntegerAttr(number, i32)


def _fill_bindings(device: DeviceOp) -> None:
    """Tell each binding the first descriptors of its channels, unless it says so or some are not known."""
    starts: dict[tuple[SSAValue, Channel], DmaStartOp] = {}
    for dma in ops_of(device.body.ops, MemOp, MemTileDmaOp):
        for start in dma.starts:
            starts.setdefault((dma.tile, start.channel), start)
    for binding in ops_of(device.body.ops, ObjectFifoRearmBindingOp):
        if binding.head_bd_ids is None:
            channels = map(Channel, binding.directions, binding.channel_indices.get_values())
            _fill_binding(binding, [starts.get(key) for key in zip(binding.channel_tiles, channels, strict=True)])


def _fill_binding(binding: ObjectFifoRearmBindingOp, starts: Sequence[DmaStartOp | None]) -> None:
    ids: list[int] = []
    repeats: list[int] = []
    for start in starts:
        first = _descriptor_in(start.dest) if start is not None else None
        if start is None or first is None or first.bd_id is None:
            return
        ids.append(first.bd_id.value.data)
        repeats.append(start.repeat_count.value.data)
    binding.head_bd_ids = DenseArrayBase.from_list(i32, ids)
    binding.repeat_counts = DenseArrayBase.from_list(i32, repeats)
