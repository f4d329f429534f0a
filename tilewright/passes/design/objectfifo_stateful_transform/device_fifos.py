"""Object FIFOs of a device, read once: what refers to each of them, and whose memory its two ends can share."""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.device import ObjectFifoPort
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.lookup import symbol_name
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoAllocateOp, ObjectFifoRegisterExternalBuffersOp
from tilewright.dialects.aie.objectfifo_uses import (
    ObjectFifoAcquireOp,
    ObjectFifoLinkOp,
    ObjectFifoReleaseOp,
    ObjectFifoSubviewAccessOp,
)
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.ir.diagnostics import emit_op_error
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import ops_of

Access: TypeAlias = ObjectFifoAcquireOp | ObjectFifoReleaseOp | ObjectFifoSubviewAccessOp
"""What the program of a core does with a FIFO."""
NOT_PLACED = "is not a placed aie.tile; run --aie-place-tiles before this pass"


class DeviceFifos:
    """The FIFOs of a device by name, and everything that refers to them."""

    def __init__(self, device: DeviceOp):
        self.device, self.model = device, device.model
        self.symbols: set[str] = set()  # all names of the device, which new ones must not repeat
        self.fifos: dict[str, ObjectFifoOp] = {}
        self.links: list[ObjectFifoLinkOp] = []
        self.link_of: dict[str, ObjectFifoLinkOp] = {}
        self.allocations: dict[str, list[ObjectFifoAllocateOp]] = defaultdict(list)
        self.external_buffers: dict[tuple[str, SSAValue], list[SSAValue]] = defaultdict(list)
        self.registrations: list[ObjectFifoRegisterExternalBuffersOp] = []
        self.cores: dict[SSAValue, CoreOp] = {}
        self.accesses: dict[CoreOp, list[Access]] = {}
        self.most_acquired: dict[tuple[SSAValue, str, ObjectFifoPort], int] = defaultdict(int)
        for op in device.body.ops:
            self._read(op)

    def _read(self, op: Operation) -> None:
        if (name := symbol_name(op)) is not None:
            self.symbols.add(name)
        match op:
            case ObjectFifoOp():
                self.fifos[op.sym_name.data] = op
            case ObjectFifoLinkOp():
                self.links.append(op)
            case ObjectFifoAllocateOp():
                self.allocations[op.fifo_name.root_reference.data].append(op)
            case ObjectFifoRegisterExternalBuffersOp():
                self.registrations.append(op)
                self.external_buffers[op.fifo_name.root_reference.data, op.tile] += op.buffers
            case CoreOp():
                self._read_core(op)
            case _:
                pass

    def _read_core(self, core: CoreOp) -> None:
        self.cores[core.tile] = core
        found = (op for op in all_operations(core.body) if isinstance(op, Access))
        # those without a port are to endpoints of pools
        self.accesses[core] = [op for op in found if isinstance(op, ObjectFifoSubviewAccessOp) or op.port is not None]
        for op in ops_of(self.accesses[core], ObjectFifoAcquireOp):
            key = core.tile, op.fifo_name.root_reference.data, op.end
            self.most_acquired[key] = max(self.most_acquired[key], op.count)

    def is_sound(self) -> bool:
        """Whether links name FIFOs, each at most once, and all tiles have a place; says what is wrong."""
        return self._are_linked_once() and self._are_placed()

    def _are_linked_once(self) -> bool:
        fine = True
        for link in self.links:
            for name in (name.root_reference.data for name in (*link.input_names, *link.output_names)):
                if name not in self.fifos:
                    emit_op_error(link, f"refers to @{name}, which is no objectfifo of this device")
                    fine = False
                elif name in self.link_of:
                    error = emit_op_error(self.fifos[name], "objectfifo cannot be in more than one ObjectFifoLinkOp")
                    error.note(self.link_of[name], "it is in this one").note(link, "and again in this one")
                    fine = False
                self.link_of[name] = link  # after an error too: a third link is told of the second
        return fine

    def _are_placed(self) -> bool:
        named: list[tuple[Operation, str, SSAValue]] = []
        for fifo in self.fifos.values():
            named += [(fifo, "producer tile", fifo.producer), *((fifo, "consumer tile", t) for t in fifo.consumers)]
        named += [(op, "tile", op.tile) for ops in self.allocations.values() for op in ops]
        unplaced = [(op, what) for op, what, tile in named if not isinstance(tile.owner, TileOp)]
        for op, what in unplaced:
            emit_op_error(op, f"{what} {NOT_PLACED}")
        return not unplaced


def placed(tile: SSAValue) -> TileOp:
    """The tile that a value stands for, in a design whose tiles all have a place."""
    assert isinstance(tile.owner, TileOp), "checked by DeviceFifos.is_sound"
    return tile.owner


class SharedMemory(Enum):
    """Whose memory two tiles both reach; where both do, the producer's is used."""

    NONE = "none"
    PRODUCER = "producer"
    CONSUMER = "consumer"


def reaches(design: DeviceFifos, user: TileOp, owner: TileOp) -> bool:
    """Whether a tile uses the memory of another of its kind directly."""
    model = design.model
    is_same_kind = all(kind(*user.place) == kind(*owner.place) for kind in (model.is_shim_tile, model.is_mem_tile))
    return is_same_kind and model.is_legal_memory_affinity(*user.place, *owner.place)


def shared_memory(design: DeviceFifos, producer: TileOp, consumer: TileOp) -> SharedMemory:
    if reaches(design, consumer, producer):
        return SharedMemory.PRODUCER
    return SharedMemory.CONSUMER if reaches(design, producer, consumer) else SharedMemory.NONE


def delegate_of(design: DeviceFifos, fifo: ObjectFifoOp) -> ObjectFifoAllocateOp | None:
    """Where the program wants the buffers of a FIFO to be."""
    allocations = design.allocations.get(fifo.sym_name.data, [])
    if len(allocations) > 1:
        error = emit_op_error(fifo, "has more than one allocate operation")
        for allocation in allocations:
            error.note(allocation, "one of them is here")
    return allocations[-1] if allocations else None


def serves(design: DeviceFifos, delegate: ObjectFifoAllocateOp, fifo: ObjectFifoOp) -> bool:
    """Whether both ends of a FIFO reach the tile that is to keep its buffers."""
    owner = placed(delegate.tile)
    return all(reaches(design, placed(tile), owner) for tile in (fifo.producer, fifo.consumers[0]))


def needs_dma(
    design: DeviceFifos, fifo: ObjectFifoOp, link: ObjectFifoLinkOp | None, *, ends_in_stream: bool | None = None
) -> bool:
    """Whether data has to be moved between the ends of a FIFO, or the consumer just uses the producer's buffers.

    `link` is the link that the FIFO is part of; `ends_in_stream` overrides what the FIFO says of its stream ports.
    """
    streams = fifo.aie_stream is not None if ends_in_stream is None else ends_in_stream
    if fifo.via_dma.value.data or fifo.repeat_count is not None or streams or fifo.consumer_fifo_type is not None:
        return True
    # Several consumers, or data in another order, need a DMA even between neighbours.
    if len(fifo.consumers) != 1 or len(fifo.dimensions_to_stream) or len(fifo.consumer_dimensions[0]):
        return True
    if shared_memory(design, placed(fifo.producer), placed(fifo.consumers[0])) is SharedMemory.NONE:
        return True
    return link is not None and not _is_delegated(design, fifo, link)


def _is_delegated(design: DeviceFifos, fifo: ObjectFifoOp, link: ObjectFifoLinkOp) -> bool:
    """Whether the program says where the buffers of a plain link are, so that no copy is needed to link."""
    if link.is_join or link.is_distribute:
        return False
    delegates = design.allocations.get(fifo.sym_name.data, [])
    return bool(delegates) and serves(design, delegates[-1], fifo)
