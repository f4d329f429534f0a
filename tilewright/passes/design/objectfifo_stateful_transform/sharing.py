"""Whether the two ends of a FIFO can use the same memory, and whose."""

from __future__ import annotations

from enum import Enum

from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoAllocateOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoLinkOp
from tilewright.dialects.aie.tiles import TileOp
from tilewright.ir.diagnostics import emit_op_error
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import Design, placed


class Shared(Enum):
    """Whose memory two tiles both reach; where both do, the producer's is used."""

    NONE = "none"
    PRODUCER = "producer"
    CONSUMER = "consumer"


def reaches(design: Design, user: TileOp, owner: TileOp) -> bool:
    """Whether a tile uses the memory of another of its kind directly."""
    model = design.model
    is_same_kind = all(kind(*user.place) == kind(*owner.place) for kind in (model.is_shim_tile, model.is_mem_tile))
    return is_same_kind and model.is_legal_memory_affinity(*user.place, *owner.place)


def shared_memory(design: Design, producer: TileOp, consumer: TileOp) -> Shared:
    if reaches(design, consumer, producer):
        return Shared.PRODUCER
    return Shared.CONSUMER if reaches(design, producer, consumer) else Shared.NONE


def delegate_of(design: Design, fifo: ObjectFifoOp) -> ObjectFifoAllocateOp | None:
    """Where the program wants the buffers of a FIFO to be."""
    allocations = design.allocations.get(fifo.sym_name.data, [])
    if len(allocations) > 1:
        error = emit_op_error(fifo, "has more than one allocate operation")
        for allocation in allocations:
            error.note(allocation, "one of them is here")
    return allocations[-1] if allocations else None


def serves(design: Design, delegate: ObjectFifoAllocateOp, fifo: ObjectFifoOp) -> bool:
    """Whether both ends of a FIFO reach the tile that is to keep its buffers."""
    owner = placed(delegate.tile)
    return all(reaches(design, placed(tile), owner) for tile in (fifo.producer, fifo.consumers[0]))


def needs_dma(
    design: Design, fifo: ObjectFifoOp, link: ObjectFifoLinkOp | None, *, ends_in_stream: bool | None = None
) -> bool:
    """Whether data has to be moved between the ends of a FIFO, or the consumer just uses the producer's buffers.

    `link` is the link that the FIFO is part of; `ends_in_stream` overrides what the FIFO says of its stream ports.
    """
    streams = fifo.aie_stream is not None if ends_in_stream is None else ends_in_stream
    if fifo.via_dma.value.data or fifo.repeat_count is not None or streams or fifo.consumer_fifo_type is not None:
        return True
    if len(fifo.consumers) != 1 or len(fifo.dimensions_to_stream) or len(fifo.consumer_dimensions[0]):
        return True
    if shared_memory(design, placed(fifo.producer), placed(fifo.consumers[0])) is Shared.NONE:
        return True
    return link is not None and not _is_delegated(design, fifo, link)


def _is_delegated(design: Design, fifo: ObjectFifoOp, link: ObjectFifoLinkOp) -> bool:
    """Whether the program says where the buffers of a plain link are, so that no copy is needed to link."""
    if link.is_join or link.is_distribute:
        return False
    delegates = design.allocations.get(fifo.sym_name.data, [])
    return bool(delegates) and serves(design, delegates[-1], fifo)
