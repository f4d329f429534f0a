"""Puts the descriptors of FIFOs into the DMA programs of tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.device import TileType
from tilewright.dialects._ods import enum_to_attr
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma import (
    Channel,
    DmaBdPacketOp,
    DmaBody,
    DmaOp,
    DmaStartOp,
    MemOp,
    MemTileDmaOp,
    NextBdOp,
    ShimDmaOp,
)
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.create import append_operation, insert_operation
from tilewright.ir.diagnostics import fail, fail_op, op_text
from tilewright.passes.design.objectfifo_stateful_transform.chains import Chain, Descriptor, LockUse
from tilewright.passes.design.objectfifo_stateful_transform.ends import End
from tilewright.rewrite.emitter import constant_op

BODIES: dict[TileType, type[DmaBody]] = {
    TileType.CoreTile: MemOp,
    TileType.MemTile: MemTileDmaOp,
    TileType.ShimNOCTile: ShimDmaOp,
    TileType.ShimPLTile: ShimDmaOp,
}


@dataclass(eq=False)
class Program:
    """The DMA program of a tile, where it ends, and how many descriptors it has."""

    body: DmaBody
    end: Block
    last_start: DmaStartOp | None
    descriptors: int


class DmaPrograms:
    """The DMA programs of a device, to which channels are added."""

    def __init__(self, device: DeviceOp):
        self.device = device
        self._bodies: dict[SSAValue, DmaBody] = {}
        self._programs: dict[SSAValue, Program] = {}
        for op in device.body.ops:
            if isinstance(op, DmaBody):
                self._bodies.setdefault(op.tile, op)

    def add(self, end: End, channel: Channel, chain: Chain, packet: PacketInfoAttr | None) -> None:
        """Start a channel on the descriptors of an end, after the channels that its tile has already."""
        program = self._program(end)
        self._check_descriptors(program, end, chain)
        start, *blocks = [Block() for _ in range(1 + len(chain.descriptors) + chain.stops)]
        for block in (start, *blocks):
            program.body.body.insert_block_before(block, program.end)
        self._start(program, start, blocks[0], end, channel, chain)
        following = [*blocks[1:], *([] if chain.stops else blocks[:1])]
        for descriptor, block, next_block in zip(chain.descriptors, blocks, following, strict=False):
            for op in _operations(descriptor, end, packet, next_block):
                _append(block, op, end.fifo.location)
        if chain.stops:
            _append(blocks[-1], EndOp.create(), end.fifo.location)

    def _program(self, end: End) -> Program:
        """The program of an end's tile, which is made if there is none."""
        tile = end.tile.result
        if tile not in self._programs:
            body = self._bodies.get(tile)
            self._programs[tile] = _read(body if body is not None else self._new_body(end), end)
        return self._programs[tile]

    def _new_body(self, end: End) -> DmaBody:
        finish = EndOp.create(location=end.fifo.location)
        body = BODIES[end.tile.tile_type](end.tile.result, Region(Block([finish])))
        body.location = end.fifo.location
        terminator = self.device.body.last_op
        assert terminator is not None, "a device ends with a terminator"
        insert_operation(body, before=terminator)
        return body

    def _start(self, program: Program, block: Block, first: Block, end: End, channel: Channel, chain: Chain) -> None:
        start = DmaStartOp(channel, first, program.end, chain.repeat_count)
        if end.padding is not None and end.is_mem:
            start.pad_value = end.fifo.pad_value
        _append(block, start, end.fifo.location)
        if program.last_start is not None:
            program.last_start.successors = [program.last_start.dest, block]
        program.last_start = start

    def _check_descriptors(self, program: Program, end: End, chain: Chain) -> None:
        """Refuse more descriptors than a tile has, as its DMA program would later."""
        program.descriptors += len(chain.descriptors)
        available = end.tile.resources.bds
        if program.descriptors > available:
            place = tuple(end.tile.place)
            fail(
                end.fifo,
                op_text(program.body, f"has more than {available} blocks"),
                (
                    end.fifo,
                    f"@{end.name} needs {len(chain.descriptors)} buffer descriptors of tile {place}, which has "
                    f"{available}; with it {program.descriptors} are in use",
                ),
                (end.fifo, "lower the depth or repeat count of FIFOs at this tile, or move one of them elsewhere"),
            )


def _read(body: DmaBody, user: End) -> Program:
    """How to add to a program; one without blocks, or without an end, cannot be added to."""
    here = (user.fifo, f"@{user.name} needs another channel of this DMA")
    for op in body.ops:
        if isinstance(op, DmaOp):
            fail_op(
                op, "DMAOp can only appear in single block region", here, (op, "write it with aie.dma_start instead")
            )
    blocks = reversed(list(body.body.blocks))
    end = next((block for block in blocks if isinstance(block.last_op, EndOp)), None)
    if end is None:
        fail_op(body, "has no block with aie.end where a channel could be added", here)
    last = next((start for start in body.starts if start.chain is end), None)
    return Program(body, end, last, sum(isinstance(op, DmaBdOp) for op in body.ops))


def _operations(
    descriptor: Descriptor, end: End, packet: PacketInfoAttr | None, following: Block
) -> Iterator[Operation]:
    """What stands in the block of a descriptor."""
    if descriptor.acquire is not None:
        yield from _use(descriptor.acquire)
    if packet is not None:
        yield DmaBdPacketOp(packet.pkt_type.data, packet.pkt_id.data)
    dimensions = [(dimension.size.data, dimension.stride.data) for dimension in end.dimensions]
    pads = end.padding if dimensions and end.is_mem else None
    yield DmaBdOp(descriptor.buffer, descriptor.offset, descriptor.length, dimensions, pads)
    if descriptor.release is not None:
        yield from _use(descriptor.release)
    yield NextBdOp(following)


def _use(use: LockUse) -> Iterator[Operation]:
    value = constant_op(use.value)
    yield value
    yield UseLockOp.create(operands=[use.lock, value.result], properties={"action": enum_to_attr(use.action)})


def _append(block: Block, op: Operation, location: LocationAttr) -> None:
    op.location = location
    append_operation(block, op)
