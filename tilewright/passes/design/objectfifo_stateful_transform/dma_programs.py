"""Descriptors of FIFOs in the DMA programs of tiles: for each end a chain of one per buffer, round and round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.device import DeviceModel, DmaDirection, LockAction, TileType
from tilewright.dialects.aie.attributes import BDDimLayoutArrayAttr, BDPadLayoutArrayAttr, PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.data_layout import element_count
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
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.create import append_operation
from tilewright.ir.diagnostics import fail, fail_op, op_text
from tilewright.passes.design.objectfifo_stateful_transform.ends import FifoEnd, LinkSlice, Storage
from tilewright.passes.design.objectfifo_stateful_transform.storage import pair_of
from tilewright.rewrite.emitter import constant_op
from tilewright.rewrite.pass_bases import append_to, located, ops_of

BODIES: dict[TileType, type[DmaBody]] = {
    TileType.CoreTile: MemOp,
    TileType.MemTile: MemTileDmaOp,
    TileType.ShimNOCTile: ShimDmaOp,
    TileType.ShimPLTile: ShimDmaOp,
}


@dataclass(eq=False)
class DmaProgram:
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
        self._programs: dict[SSAValue, DmaProgram] = {}
        for op in device.body.ops:
            if isinstance(op, DmaBody):
                self._bodies.setdefault(op.tile, op)

    def add(self, user: ChainUser, channel: Channel, chain: Chain, packet: PacketInfoAttr | None) -> None:
        """Start a channel on descriptors, after the channels that its tile has already."""
        program = self._program(user)
        self._check_descriptors(program, user, chain)
        start, *blocks = [Block() for _ in range(1 + len(chain.descriptors) + chain.stops)]
        for block in (start, *blocks):
            program.body.body.insert_block_before(block, program.end)
        self._start(program, start, blocks[0], user, channel, chain)
        following = [*blocks[1:], *([] if chain.stops else blocks[:1])]
        # A block more than descriptors if the chain stops: that of aie.end.
        for descriptor, block, next_block in zip(chain.descriptors, blocks, following, strict=False):
            for op in _operations(descriptor, packet, next_block):
                _append(block, op, user.op.location)
        if chain.stops:
            _append(blocks[-1], EndOp.create(), user.op.location)

    def _program(self, user: ChainUser) -> DmaProgram:
        """The program of a tile, which is made if there is none."""
        tile = user.tile.results[0]
        if tile not in self._programs:
            if tile not in self._bodies:
                self._bodies[tile] = BODIES[user.tile.tile_type](tile, Region(Block([EndOp()])))
                append_to(self.device.body, self._bodies[tile], user.op.location)
            self._programs[tile] = _read_program(self._bodies[tile], user)
        return self._programs[tile]

    def _start(
        self, program: DmaProgram, block: Block, first: Block, user: ChainUser, channel: Channel, chain: Chain
    ) -> None:
        start = DmaStartOp(channel, first, program.end, chain.repeat_count)
        if chain.pad_value is not None:
            start.pad_value = chain.pad_value
        _append(block, start, user.op.location)
        if program.last_start is not None:
            # Channels are started one after the other: the last one so far now leads to this one.
            program.last_start.successors = [program.last_start.dest, block]
        program.last_start = start

    def _check_descriptors(self, program: DmaProgram, user: ChainUser, chain: Chain) -> None:
        """Refuse more descriptors than a tile has, as its DMA program would later."""
        program.descriptors += len(chain.descriptors)
        available = user.tile.resources.bds
        if program.descriptors > available:
            place = tuple(user.tile.place or ())
            fail(
                user.op,
                op_text(program.body, f"has more than {available} blocks"),
                (
                    user.op,
                    f"@{user.name} needs {len(chain.descriptors)} buffer descriptors of tile {place}, which has "
                    f"{available}; with it {program.descriptors} are in use",
                ),
                (user.op, "lower the depth or repeat count of FIFOs at this tile, or move one of them elsewhere"),
            )


def _read_program(body: DmaBody, user: ChainUser) -> DmaProgram:
    """How to add to a program; one without blocks, or without an end, cannot be added to."""
    here = (user.op, f"@{user.name} needs another channel of this DMA")
    for op in ops_of(body.ops, DmaOp):
        fail_op(op, "DMAOp can only appear in single block region", here, (op, "write it with aie.dma_start instead"))
    # A block with aie.end also ends chains that stop; the one that ends the program comes last.
    blocks = reversed(list(body.body.blocks))
    end = next((block for block in blocks if isinstance(block.last_op, EndOp)), None)
    if end is None:
        fail_op(body, "has no block with aie.end where a channel could be added", here)
    last = next((start for start in body.starts if start.chain is end), None)
    return DmaProgram(body, end, last, sum(isinstance(op, DmaBdOp) for op in body.ops))


def _operations(descriptor: FifoBd, packet: PacketInfoAttr | None, following: Block) -> Iterator[Operation]:
    """What stands in the block of a descriptor."""
    if descriptor.acquire is not None:
        yield from _use(descriptor.acquire)
    if packet is not None:
        yield DmaBdPacketOp(packet.pkt_type.data, packet.pkt_id.data)
    dimensions = [(dimension.size.data, dimension.stride.data) for dimension in descriptor.dimensions]
    pads = descriptor.padding if dimensions else None
    yield DmaBdOp(descriptor.buffer, descriptor.offset, descriptor.length, dimensions, pads)
    if descriptor.release is not None:
        yield from _use(descriptor.release)
    yield NextBdOp(following)


def _use(use: BdLockUse) -> Iterator[Operation]:
    value = constant_op(use.value)
    yield value
    yield UseLockOp(use.lock, use.action, value.result)


def _append(block: Block, op: Operation, location: LocationAttr) -> None:
    # not `append_to`, which goes before a terminator: these blocks are filled from the start
    append_operation(block, located(op, location))


class BdLockUse(NamedTuple):
    """A lock, and the value that a descriptor or a core acquires or releases it with."""

    lock: SSAValue
    action: LockAction
    value: int


class FifoBd(NamedTuple):
    """One move of a part of a buffer: offset and length in elements, and the locks around it."""

    buffer: SSAValue
    offset: int
    length: int
    acquire: BdLockUse | None
    release: BdLockUse | None
    dimensions: BDDimLayoutArrayAttr
    padding: BDPadLayoutArrayAttr | None


class ChainUser(NamedTuple):
    """What a chain is for: the operation that asks for it, its name, and the tile whose DMA runs it."""

    op: Operation
    name: str
    tile: TileLike


@dataclass(frozen=True)
class Chain:
    """Descriptors that a channel runs one after the other."""

    descriptors: list[FifoBd]
    repeat_count: int = 0
    """How often the channel runs them again."""
    stops: bool = False
    """Whether it stops behind the last one, instead of going on with the first."""
    pad_value: IntegerAttr[IntegerType] | None = None
    """The word that padding consists of."""


class ChainPlanner:
    """Plans the chains of a device, by the kind of its locks."""

    def __init__(self, model: DeviceModel):
        self.uses_semaphores = model.architecture.semaphore_locks

    def plan(self, end: FifoEnd) -> Chain | None:
        """What the DMA of an end does; none where the runtime sequence drives it."""
        if end.is_shim:
            return self._shim_chain(end)
        if not end.depth or end.storage is None:
            return None
        # only mem tiles count iterations
        repeats, iterations = end.repeat_count or 1, end.iter_count if end.is_mem else None
        slices, buffers = _slices(end), [buffer.buffer for buffer in end.storage.buffers]
        # A channel can repeat one descriptor by itself; else there is a descriptor for each repetition.
        in_hardware = repeats > 1 and len(buffers) == len(slices) == 1 and iterations is None
        copies = 1 if in_hardware else repeats
        descriptors = [
            self._descriptor(end, end.storage, buffer, number, part)
            for number, buffer in enumerate(buffers)
            for _ in range(copies)
            for part in slices
        ]
        pad_value = end.fifo.pad_value if end.padding is not None and end.is_mem else None
        if iterations is not None:
            return Chain(descriptors, repeat_count=iterations - 1, stops=True, pad_value=pad_value)
        return Chain(descriptors, repeat_count=repeats - 1 if in_hardware else 0, pad_value=pad_value)

    def _shim_chain(self, end: FifoEnd) -> Chain | None:
        storage = end.own_storage
        if not end.external_buffers or storage is None:
            return None
        parts = [(buffer, LinkSlice(0, element_count(buffer.type) or 0, 0)) for buffer in end.external_buffers]
        return Chain([self._descriptor(end, storage, buffer, n, part) for n, (buffer, part) in enumerate(parts)])

    def _descriptor(self, end: FifoEnd, storage: Storage, buffer: SSAValue, number: int, part: LinkSlice) -> FifoBd:
        padding = end.padding if end.is_mem else None  # only the DMA of a mem tile pads
        acquire, release = self._lock_uses(end, storage, number, part.branch)
        return FifoBd(buffer, part.offset, part.length, acquire, release, end.dimensions, padding)

    def _lock_uses(
        self, end: FifoEnd, storage: Storage, number: int, branch: int
    ) -> tuple[BdLockUse, BdLockUse] | tuple[None, None]:
        if not storage.locks:
            return None, None
        sends = end.direction is DmaDirection.MM2S
        if not self.uses_semaphores:
            lock = storage.locks[number].result
            return BdLockUse(lock, LockAction.Acquire, int(sends)), BdLockUse(lock, LockAction.Release, int(not sends))
        empty, full = pair_of(storage.locks, branch)
        first, last = (full, empty) if sends else (empty, full)
        # An element that the outputs of a link send several times counts as often where it comes in.
        value = (end.link.repeat_count or 1) if end.link is not None and end in end.link.inputs else 1
        return (
            BdLockUse(first.result, LockAction.AcquireGreaterEqual, value),
            BdLockUse(last.result, LockAction.Release, value),
        )


def _slices(end: FifoEnd) -> Sequence[LinkSlice]:
    """What each descriptor moves of a buffer; the owner of a join or distribute moves the parts one by one."""
    link, length = end.link, end.element_count
    if link is None:
        return [LinkSlice(0, length, 0)]
    if link.branches and link.owner is end:
        return link.slices
    if end in link.branches:
        return [link.slices[link.branches.index(end)]]
    # Whole buffers, even if the end's own elements are smaller; an output that pads sends more than the buffers hold.
    return [LinkSlice(0, max(length, link.owner.element_count), 0)]
