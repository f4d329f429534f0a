"""Gives the transfers of a host program something to talk to: mem tiles that send and receive without end.

For programs that have no design yet: to see what their transfers cost, and that they end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, SymbolRefAttr, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright import device
from tilewright.device import DmaDirection, WireBundle
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma import Channel, DmaStartOp, MemTileDmaOp, NextBdOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import FlowOp, Port, ShimDmaAllocationOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.airrt.loading import SegmentLoadOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.shim.host_transfers import ShimChannel, ShimChannels, host_transfers

BUFFER_WORDS = 1024
SEGMENT = "endpoints"


@dataclass(frozen=True)
class AirShimEndpointsPass(Pass):
    name = "air-shim-endpoints"

    device: str = field(default="npu1", metadata={"help": "the device, by the name that aie.device uses"})

    def apply(self, ctx: Context, op: Operation) -> None:
        if self.device not in device.NAMES:
            fail_op(op, f"there is no device '{self.device}'", (None, f"known devices are {', '.join(device.NAMES)}"))
        module = cast(ModuleOp, op)
        channels = ShimChannels.of(module, device.model(self.device))
        names: dict[ShimChannel, str] = {}
        for function in [found for found in module.body.block.ops if isinstance(found, FuncOp)]:
            transfers = list(host_transfers(function))
            for transfer in transfers:
                tile, direction, number = channel = channels.channel_of(transfer)
                name = names.setdefault(channel, f"shim_{tile.column}_{direction.name.lower()}_{number}")
                transfer.attributes["metadata"] = SymbolRefAttr(name)
            if transfers:
                # airrt-to-npu finds the device of a function by the segment that it loads
                load = SegmentLoadOp.create(result_types=[i64], properties={"sym_name": StringAttr(SEGMENT)})
                Rewriter.insert_op(load, InsertPoint.at_start(function.body.block))
        if names:
            design = DeviceOp(self.device, _tiles(names), SEGMENT)
            Rewriter.insert_op(design, InsertPoint.at_start(module.body.block))


def _tiles(names: dict[ShimChannel, str]) -> list[Operation]:
    """A shim and a mem tile for each column, and between them what the channels of that column need."""
    ops: list[Operation] = []
    for column in sorted({channel.tile.column for channel in names}):
        used = {channel: name for channel, name in names.items() if channel.tile.column == column}
        shim, mem = TileOp(column, 0), TileOp(column, 1)
        buffers = [BufferOp(mem.result, MemRefType(i32, [BUFFER_WORDS]), f"{name}_end") for name in used.values()]
        ops += [shim, mem, *buffers]
        for channel, name in used.items():
            port = Port(WireBundle.DMA, channel.number)
            here, there = (shim, mem) if channel.direction is DmaDirection.MM2S else (mem, shim)
            ops += [
                FlowOp(here.result, port, there.result, port),
                ShimDmaAllocationOp(name, shim.result, channel.direction, channel.number),
            ]
        ops.append(_mem_tile_dma(mem.result, dict(zip(used, buffers, strict=True))))
    return ops


def _mem_tile_dma(tile: SSAValue, buffers: dict[ShimChannel, BufferOp]) -> Operation:
    """A DMA that plays one descriptor again and again on each channel, the other way round than the shim does."""
    region = Region()
    end = Block([EndOp()])
    starts = [Block() for _ in buffers]
    for number, ((channel, buffer), block) in enumerate(zip(buffers.items(), starts, strict=True)):
        sends = channel.direction is DmaDirection.S2MM
        other = Channel(DmaDirection.MM2S if sends else DmaDirection.S2MM, channel.number)
        # a descriptor that leads to itself runs without end
        again = Block()
        again.add_ops([DmaBdOp(buffer.buffer, 0, BUFFER_WORDS), NextBdOp(again)])
        following = starts[number + 1] if number + 1 < len(starts) else end
        block.add_op(DmaStartOp(other, again, following))
        region.add_block(block)
        region.add_block(again)
    region.add_block(end)
    return MemTileDmaOp(tile, region)
