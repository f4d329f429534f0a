"""The DMAs of tiles: their descriptors first, then the channels that run them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.ir import Block

from tilewright.device import DeviceModel
from tilewright.dialects.aie.dma import DmaBody, DmaOp, DmaStartOp, reachable_blocks
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.control.configuration.channels import started_channel
from tilewright.passes.control.configuration.descriptors import Slots, configured_descriptors, descriptor_in
from tilewright.passes.control.configuration.writes import TileWriter, Write, writer_for


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
