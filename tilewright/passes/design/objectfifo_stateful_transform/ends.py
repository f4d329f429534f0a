"""Ends of FIFOs, one in each tile once a FIFO that needs a DMA is cut in two, and the links between them.

Ends that are linked meet in a tile and use the same buffers, so that data passes through without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DenseResourceAttr, IntegerAttr, MemRefType
from xdsl.ir import SSAValue

from tilewright.device import DmaDirection, ObjectFifoPort
from tilewright.dialects.aie.attributes import BDDimLayoutArrayAttr, BDPadLayoutArrayAttr
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoLinkOp
from tilewright.dialects.aie.tiles import TileOp
from tilewright.ir.diagnostics import emit_warning
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import DeviceFifos, needs_dma, placed

Contents: TypeAlias = "DenseIntOrFPElementsAttr | DenseResourceAttr"
PRODUCER_STREAMS = (0, 2)  # values of `aie_stream` under which the producer writes to a stream port of its core
CONSUMER_STREAMS = (1, 2)


@dataclass(eq=False)
class Storage:
    """The buffers of an end, and the locks that say which of them are full."""

    tile: TileOp
    """The tile whose DMA and core use them."""
    buffers: list[BufferOp]
    locks: list[LockOp]

    @property
    def is_spread(self) -> bool:
        """Whether some buffers are in a neighbour, which only some channels reach."""
        return any(buffer.tile is not self.tile.result for buffer in self.buffers)


@dataclass(eq=False)
class FifoEnd:
    """One end of a FIFO, with buffers of its own; of a FIFO in shared memory, both ends at once."""

    name: str
    fifo: ObjectFifoOp
    port: ObjectFifoPort
    tile: TileOp
    element_type: MemRefType
    depth: int
    dimensions: BDDimLayoutArrayAttr
    is_split: bool
    pinned_channel: int | None = None
    stream_port: int | None = None
    """The port of the core that takes the place of a DMA."""
    external_buffers: Sequence[SSAValue] = ()
    link: FifoLink | None = None
    own_storage: Storage | None = field(default=None, repr=False)

    @cached_property
    def is_mem(self) -> bool:
        return self.tile.is_mem

    @cached_property
    def is_shim(self) -> bool:
        return self.tile.is_shim

    @property
    def is_producer(self) -> bool:
        return self.port is ObjectFifoPort.Produce

    @property
    def direction(self) -> DmaDirection:
        """How the DMA of this end moves data."""
        return DmaDirection.MM2S if self.is_producer else DmaDirection.S2MM

    @property
    def element_bytes(self) -> int:
        return self.element_count * element_bytes(self.element_type)

    @property
    def element_count(self) -> int:
        return element_count(self.element_type) or 0

    @property
    def repeat_count(self) -> int | None:
        """How often the producer sends each element."""
        return number(self.fifo.repeat_count) if self.is_producer else None

    @property
    def iter_count(self) -> int | None:
        return number(self.fifo.iter_count)

    @property
    def init_values(self) -> Sequence[Contents] | None:
        """What the buffers hold from the start."""
        values = self.fifo.init_values if self.is_producer else None
        return None if values is None else cast(Sequence[Contents], values.data)

    @property
    def padding(self) -> BDPadLayoutArrayAttr | None:
        return self.fifo.pad_dimensions if self.is_producer else None

    @property
    def is_synchronized(self) -> bool:
        return not self.fifo.disable_synchronization.value.data

    @property
    def storage(self) -> Storage | None:
        """The buffers that this end uses: its own, or those of the end that it is linked to."""
        owner = self.link.owner if self.link is not None else None
        return owner.own_storage if owner is not None and owner.own_storage is not None else self.own_storage

    @property
    def ring(self) -> int:
        """How many buffers a core goes round at this end."""
        return len(self.storage.buffers) if self.storage is not None and self.storage.buffers else self.depth


@dataclass(eq=False)
class SplitFifo:
    """A FIFO cut in two: the data goes from the producer's buffers through DMAs and streams to each consumer's."""

    producer: FifoEnd
    consumers: list[FifoEnd]

    @property
    def ends(self) -> list[FifoEnd]:
        return [self.producer, *self.consumers]


def number(attr: IntegerAttr | None) -> int | None:
    return None if attr is None else attr.value.data


class FifoEnds:
    """The ends of all FIFOs of a design."""

    def __init__(self, design: DeviceFifos):
        self.design = design
        self.connections: list[SplitFifo] = []
        self.by_fifo: dict[ObjectFifoOp, list[FifoEnd]] = {}
        """Producer first, or the only one; then the consumers in order."""
        for name, fifo in design.fifos.items():
            if needs_dma(design, fifo, design.link_of.get(name)):
                consumers = [self._consumer(fifo, index) for index in range(len(fifo.consumers))]
                self.connections.append(SplitFifo(self._producer(fifo), consumers))
                self.by_fifo[fifo] = [*self.connections[-1].ends]
            else:
                self.by_fifo[fifo] = [self._whole(fifo)]

    def in_program_order(self) -> list[FifoEnd]:
        """As upstream finds them: consumers were put behind their producer one by one, so that the last is first."""
        return [end for first, *others in self.by_fifo.values() for end in (first, *reversed(others))]

    def used_by(self, fifo: ObjectFifoOp, port: ObjectFifoPort, tile: SSAValue) -> FifoEnd:
        """The end that a core on a tile has before it."""
        first, *others = self.by_fifo[fifo]
        if port is ObjectFifoPort.Consume:
            return next((end for end in others if end.tile.result is tile), first)
        return first

    def _whole(self, fifo: ObjectFifoOp) -> FifoEnd:
        return FifoEnd(
            name=fifo.sym_name.data,
            fifo=fifo,
            port=ObjectFifoPort.Produce,
            tile=placed(fifo.producer),
            element_type=fifo.element_type,
            depth=fifo.depths[0],
            dimensions=fifo.dimensions_to_stream,
            is_split=False,
        )

    def _producer(self, fifo: ObjectFifoOp) -> FifoEnd:
        name, tile = fifo.sym_name.data, placed(fifo.producer)
        streams = number(fifo.aie_stream) in PRODUCER_STREAMS
        return FifoEnd(
            name=name,
            fifo=fifo,
            port=ObjectFifoPort.Produce,
            tile=tile,
            element_type=fifo.element_type,
            depth=self._producer_depth(fifo, streams),
            dimensions=fifo.dimensions_to_stream,
            is_split=True,
            pinned_channel=number(fifo.prod_dma_channel),
            stream_port=number(fifo.aie_stream_port) if streams else None,
            external_buffers=self.design.external_buffers.get((name, tile.result), ()),
        )

    def _consumer(self, fifo: ObjectFifoOp, index: int) -> FifoEnd:
        name, tile = fifo.sym_name.data, placed(fifo.consumers[index])
        streams = number(fifo.aie_stream) in CONSUMER_STREAMS
        # a negative one is left to us
        pins = fifo.cons_dma_channels.get_values() if fifo.cons_dma_channels is not None else ()
        return FifoEnd(
            # as in upstream: buffers, locks and their users are named after it
            name=f"{name}_{index}_cons" if len(fifo.consumers) > 1 else f"{name}_cons",
            fifo=fifo,
            port=ObjectFifoPort.Consume,
            tile=tile,
            element_type=fifo.consumer_element_type,
            depth=self._consumer_depth(fifo, index),
            dimensions=fifo.consumer_dimensions[index],
            is_split=True,
            pinned_channel=pins[index] if index < len(pins) and pins[index] >= 0 else None,
            stream_port=number(fifo.aie_stream_port) if streams else None,
            external_buffers=self.design.external_buffers.get((name, tile.result), ()),
        )

    def _producer_depth(self, fifo: ObjectFifoOp, streams: bool) -> int:
        """As the program says, unless it leaves that to what the producer's core acquires."""
        declared, name = fifo.depths[0], fifo.sym_name.data
        if isinstance(fifo.depth, ArrayAttr) or fifo.init_values is not None:
            return declared
        link = self.design.link_of.get(name)
        if link is not None and all(output.root_reference.data != name for output in link.output_names):
            link = None  # the consumer's end takes the FIFO's place in it
        if not needs_dma(self.design, fifo, link, ends_in_stream=streams):
            return declared
        return self._needed_depth(fifo, ObjectFifoPort.Produce, fifo.producer, declared)

    def _consumer_depth(self, fifo: ObjectFifoOp, index: int) -> int:
        """Likewise; upstream holds a consumer that rearranges data to what it acquires, even if told otherwise."""
        explicit = isinstance(fifo.depth, ArrayAttr)
        depth = fifo.depths[index + 1] if explicit else fifo.depths[0]
        if explicit and not len(fifo.consumer_dimensions[index]):
            return depth
        return self._needed_depth(fifo, ObjectFifoPort.Consume, fifo.consumers[index], depth)

    def _needed_depth(self, fifo: ObjectFifoOp, port: ObjectFifoPort, tile: SSAValue, depth: int) -> int:
        """One buffer more than are ever held at once, so that the DMA can work ahead; `depth` where no core says."""
        name = fifo.sym_name.data
        if depth == 0 or placed(tile).is_mem:
            return depth
        if placed(tile).is_shim:
            return len(self.design.external_buffers.get((name, tile), ())) or depth
        held = self.design.most_acquired.get((tile, name, port), 0)
        if held == 0 or held == depth == 1:  # no core says, or one buffer is all that is wanted
            return depth
        return held + 1


class LinkSlice(NamedTuple):
    """The part of each shared buffer that one branch of a join or distribute fills or empties, in elements."""

    offset: int
    length: int
    branch: int


@dataclass(eq=False)
class FifoLink:
    """A link with the ends that meet in it."""

    op: ObjectFifoLinkOp
    inputs: list[FifoEnd]
    outputs: list[FifoEnd]
    tile: SSAValue
    repeat_count: int | None
    """How often the outputs send each element."""

    @cached_property
    def owner(self) -> FifoEnd:
        """The end whose buffers all others use: the one with the biggest elements, or with contents from the start."""
        if self.op.is_join:
            return self.outputs[0]
        first, last = self.inputs[0], self.outputs[0]
        if self.op.is_distribute:
            return first
        if last.init_values is not None:
            return last
        # Padding is added on the way out, so that the buffers hold what came in.
        is_enough = first.element_count >= last.element_count or last.padding is not None
        return first if is_enough else last

    @property
    def branches(self) -> list[FifoEnd]:
        """The ends that each move a part of the owner's buffers; none in a plain link."""
        if self.op.is_join:
            return self.inputs
        return self.outputs if self.op.is_distribute else []

    @cached_property
    def slices(self) -> list[LinkSlice]:
        """What each branch moves: from its offset to the next one."""
        offsets = self.op.src_offsets if self.op.is_join else self.op.dst_offsets
        starts = [offset.value.data for offset in offsets] if self.branches else []
        pairs = pairwise([*starts, self.owner.element_count])
        return [LinkSlice(start, end - start, branch) for branch, (start, end) in enumerate(pairs)]


def resolve_links(ends: FifoEnds) -> None:
    """Tell the ends of linked FIFOs which link they are part of."""
    for op in ends.design.links:
        link = _resolve_link(op, ends)
        for end in (*link.inputs, *link.outputs):
            end.link = link
        # Upstream goes on with branches that move nothing, or less; what comes of it is of no use.
        for (offset, length, _), end in zip(link.slices, link.branches, strict=True):
            if length <= 0:
                warning = emit_warning(op, f"@{end.name} would move {length} elements from offset {offset}")
                whole = f"the buffers of @{link.owner.name} have {link.owner.element_count} elements"
                warning.note(link.owner.fifo, f"{whole}; offsets must increase and stay below that")


def _resolve_link(op: ObjectFifoLinkOp, ends: FifoEnds) -> FifoLink:
    fifos = ends.design.fifos
    inputs = [fifos[name.root_reference.data] for name in op.input_names]
    outputs = [fifos[name.root_reference.data] for name in op.output_names]
    tile = outputs[0].producer
    counts = (fifo.repeat_count for fifo in outputs)
    return FifoLink(
        op=op,
        inputs=[ends.used_by(fifo, ObjectFifoPort.Consume, tile) for fifo in inputs],
        outputs=[ends.used_by(fifo, ObjectFifoPort.Produce, tile) for fifo in outputs],
        tile=tile,
        repeat_count=next((count.value.data for count in counts if count is not None), None),
    )
