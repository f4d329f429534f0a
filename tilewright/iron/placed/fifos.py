"""Object FIFOs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, MemRefType, SymbolRefAttr, i32, i64
from xdsl.ir import Attribute

from tilewright.device import ObjectFifoPort
from tilewright.dialects.aie import objectfifo as ops
from tilewright.dialects.aie import objectfifo_storage as storage
from tilewright.dialects.aie import objectfifo_uses as uses
from tilewright.dialects.aie.objectfifo_types import ObjectFifoSubviewType, ObjectFifoType
from tilewright.iron.builders.attributes import symbol_name
from tilewright.iron.builders.handles import OpView, value_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build, builder
from tilewright.iron.builders.types import as_int, as_list, convert_type, elements, is_list


def _buffer_type(given: Any) -> MemRefType[Any]:
    type = convert_type(given)
    if not isinstance(type, MemRefType):
        refuse(f"the elements of an object FIFO are buffers, not {type}")
    return cast("MemRefType[Any]", type)


def _depth(given: Any) -> Attribute:
    depths = list[Any](given) if is_list(given) else [given]
    for depth in depths:
        # True is an int of Python's, but no depth
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
            refuse(
                f"the depth of an object FIFO is a number of buffers, at least 1, not {depth!r}",
                (None, "2 lets the producer fill one buffer while the consumer uses the other"),
            )
    numbers = [IntegerAttr(depth, i32) for depth in depths]
    # an array has the depth of each end, a number that of all
    return ArrayAttr(numbers) if is_list(given) else numbers[0]


class object_fifo(OpView):
    """A ring of buffers between tiles: `depth` of them, or a list for the producer and then each consumer."""

    OP = ops.ObjectFifoOp

    def __init__(
        self,
        name: str,
        producerTile: Any,
        consumerTiles: Any,
        depth: Any,
        datatype: Any,
        dimensionsToStream: Any = None,
        dimensionsFromStreamPerConsumer: Any = None,
        initValues: Sequence[Any] | None = None,
        via_DMA: bool | None = None,
        plio: bool | None = None,
        padDimensions: Any = None,
        padValue: int | None = None,
        disable_synchronization: bool | None = None,
        iter_count: int | None = None,
        consumer_datatype: Any = None,
    ):
        kind = _buffer_type(datatype)
        consumers = list[Any](consumerTiles) if is_list(consumerTiles) else [consumerTiles]
        taken = None if consumer_datatype is None else ObjectFifoType(_buffer_type(consumer_datatype))
        values = None if initValues is None else as_list(initValues, "initValues")
        op = build(
            ops.ObjectFifoOp,
            sym_name=name,
            producer=producerTile,
            consumers=consumers,
            elemNumber=_depth(depth),
            elemType=ObjectFifoType(kind),
            consumerElemType=taken,
            dimensionsToStream=dimensionsToStream or [],
            dimensionsFromStreamPerConsumer=dimensionsFromStreamPerConsumer or [[] for _ in consumers],
            via_DMA=via_DMA,
            plio=plio,
            padDimensions=padDimensions,
            padValue=padValue,
            disable_synchronization=disable_synchronization,
            initValues=None if values is None else ArrayAttr([elements(value, kind) for value in values]),
            iter_count=iter_count,
        )
        super().__init__(op)

    @property
    def _fifo(self) -> ops.ObjectFifoOp:
        return cast(ops.ObjectFifoOp, self.op)

    @property
    def datatype(self) -> MemRefType[Any]:
        return self._fifo.element_type

    @property
    def consumer_datatype(self) -> MemRefType[Any] | None:
        return None if self._fifo.consumer_fifo_type is None else self._fifo.consumer_element_type

    def acquire(self, port: Any, num_elem: int) -> Any:
        """Wait for elements; the element if it is one, else a list."""
        kind = (self.consumer_datatype if port == ObjectFifoPort.Consume else None) or self.datatype
        subview = build(
            uses.ObjectFifoAcquireOp,
            results=[ObjectFifoSubviewType(kind)],
            port=port,
            objFifo_name=self,
            size=num_elem,
        ).subview
        elements = [
            value_of(build(uses.ObjectFifoSubviewAccessOp, results=[kind], subview=subview, index=index).output)
            for index in range(num_elem)
        ]
        return elements[0] if num_elem == 1 else elements

    def release(self, port: Any, num_elem: int) -> OpView:
        """Give elements back, or on."""
        return objectfifo_release(port, self, num_elem)

    def register_external_buffers(self, tile: Any, external_buffers: Sequence[Any]) -> OpView:
        return objectfifo_register_external_buffers(self, tile, external_buffers)

    def allocate(self, tile: Any) -> OpView:
        """Keep the buffers in the memory of another tile."""
        return objectfifo_allocate(self, tile)

    def set_repeat_count(self, num: int) -> None:
        self.attributes["repeat_count"] = num

    def set_aie_stream(self, stream_end: int, stream_port: int) -> None:
        self.attributes["aie_stream"] = stream_end
        self.attributes["aie_stream_port"] = stream_port

    def set_prod_dma_channel(self, channel: int) -> None:
        self.attributes["prod_dma_channel"] = channel

    def set_cons_dma_channels(self, channels: Sequence[int]) -> None:
        self.attributes["cons_dma_channels"] = DenseArrayBase.from_list(i32, list(channels))


ObjectFifoCreateOp = object_fifo  # upstream has both names


class object_fifo_link(OpView):
    """Passes elements from one FIFO to the next on the tile they share; several in or out join or distribute."""

    OP = uses.ObjectFifoLinkOp

    def __init__(self, fifoIns: Any, fifoOuts: Any, srcOffsets: Sequence[int] = (), dstOffsets: Sequence[int] = ()):
        ends: dict[str, Any] = {"fifoIns": _references(fifoIns), "fifoOuts": _references(fifoOuts)}
        offsets: dict[str, Any] = {"src_offsets": _offsets(srcOffsets), "dst_offsets": _offsets(dstOffsets)}
        super().__init__(build(uses.ObjectFifoLinkOp, **ends, **offsets))


def _references(fifos: Any) -> ArrayAttr[Attribute]:
    names = [symbol_name(fifo) for fifo in (fifos if is_list(fifos) else [fifos])]
    if None in names:
        refuse("a link is between object FIFOs, given as they are or by name")
    return ArrayAttr([SymbolRefAttr(name) for name in names if name is not None])


def _offsets(numbers: Sequence[int]) -> ArrayAttr[Attribute]:
    what = "offsets of a link"
    return ArrayAttr([IntegerAttr(as_int(number, what), i64) for number in as_list(numbers, what)])


objectfifo_release = builder(uses.ObjectFifoReleaseOp, "port objFifo_name size")
objectfifo_allocate = builder(storage.ObjectFifoAllocateOp, "objFifo_name delegateTile=tile")
objectfifo_register_external_buffers = builder(
    storage.ObjectFifoRegisterExternalBuffersOp, "objFifo_name tile externalBuffers=buffers"
)
