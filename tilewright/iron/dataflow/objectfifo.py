"""ObjectFifos: queues of objects of one type, from one producer to one or more consumers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType

from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import array_dtype, convert_type, is_array_type, numpy_type
from tilewright.iron.dataflow.endpoint import ObjectFifoEndpoint
from tilewright.iron.dataflow.handle import ObjectFifoHandle
from tilewright.iron.dataflow.links import ObjectFifoLink
from tilewright.iron.device.tile import Tile
from tilewright.iron.resolvable import Emitted
from tilewright.support.tracebacks import user_facing

__all__ = ["ObjectFifo", "ObjectFifoEndpoint", "ObjectFifoHandle", "ObjectFifoLink", "PadDims", "StreamDims"]

StreamDims: TypeAlias = "list[Sequence[int]]"
"""How an object is taken apart or put together: (size, stride) pairs, outermost first."""
PadDims: TypeAlias = "list[Sequence[int]]"
"""How much is added around an object: (before, after) pairs, outermost first."""
MAX_ITERATIONS = 256
_numbers = count()  # unique in a process, as upstream's are


@user_facing
class ObjectFifo(Emitted[Any]):
    """A queue of objects. `prod()` is the end that fills them, each `cons()` one that uses them up.

    Both ends go to workers (in `fn_args`), to the runtime sequence (in its `fn_args`), or to `split`, `join` and
    `forward`, which pass objects on through a mem tile.
    """

    def __init__(
        self,
        obj_type: Any,
        *,
        depth: int | None = 2,
        name: str | None = None,
        dims_to_stream: StreamDims | None = None,
        dims_from_stream_per_cons: StreamDims | None = None,
        plio: bool = False,
        pad_dimensions: PadDims | None = None,
        pad_value: int = 0,
        disable_synchronization: bool = False,
        repeat_count: int | None = None,
        delegate_tile: Tile | None = None,
        via_DMA: bool = False,
        init_values: list[Any] | None = None,
        consumer_obj_type: Any = None,
        aie_stream: tuple[int, int] | None = None,
    ):
        """A queue of objects of one type.

        Args:
            obj_type: an array type such as `np.ndarray[(64,), np.dtype[np.int32]]`
            depth: how many objects there is room for at each end
            name: what messages and reports call it
            dims_to_stream: the order in which elements leave, as (size, stride) pairs
            dims_from_stream_per_cons: the order in which consumers put them
            plio: whether a shim end uses the programmable logic
            pad_dimensions: how many elements a mem tile puts around an object
            pad_value: what these are
            disable_synchronization: no locks; whoever uses it knows that it is safe
            repeat_count: how many times each object is sent
            delegate_tile: a tile that holds the objects instead of one of the ends
            via_DMA: whether ends that share memory use their DMAs all the same
            init_values: objects that are there from the start
            consumer_obj_type: lets consumers take objects in smaller pieces
            aie_stream: (which end, which port) of a core's own stream
        """
        super().__init__()
        if depth is not None and depth < 1:
            refuse(f"Default ObjectFifo depth must be > 0, but got {depth}", (None, DEPTH_REMEDY))
        self.name = f"of{next(_numbers)}" if name is None else name
        self._obj_type = obj_type
        self._type = _memref_type(obj_type)
        self._depth = depth
        self._dims_to_stream, self._dims_from_stream_per_cons = dims_to_stream, dims_from_stream_per_cons
        self._plio, self._via_dma, self._disable_synchronization = plio, via_DMA, disable_synchronization
        self._pad_dimensions, self._pad_value = pad_dimensions, pad_value
        self._repeat_count, self._iter_count = repeat_count, None
        self._init_values = init_values
        self._consumer_obj_type, self._aie_stream = consumer_obj_type, aie_stream
        self.delegate_tile = delegate_tile
        self.producer: ObjectFifoHandle | None = None
        self.consumers = list[ObjectFifoHandle]()

    @property
    def depth(self) -> int | None:
        """How many objects an end has where its handle does not say."""
        return self._depth

    @property
    def dims_from_stream_per_cons(self) -> StreamDims | None:
        return self._dims_from_stream_per_cons

    @property
    def dims_to_stream(self) -> StreamDims | None:
        return self._dims_to_stream

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an object."""
        return self._type.get_shape()

    @property
    def dtype(self) -> Any:
        """The NumPy type of an object's elements."""
        return array_dtype(self._obj_type) if is_array_type(self._obj_type) else numpy_type(self._type.element_type)

    @property
    def obj_type(self) -> Any:
        """The type of an object, as the program has it."""
        return self._obj_type

    @property
    def memref_type(self) -> MemRefType[Any]:
        """The type of an object in the IR."""
        return self._type

    def set_iter_count(self, iter_count: int) -> None:
        """Let a mem tile's DMA go through its objects only `iter_count` times."""
        if not 1 <= iter_count <= MAX_ITERATIONS:
            refuse(f"Iter count must be in [1, {MAX_ITERATIONS}] range.", (None, f"got {iter_count}"))
        self._iter_count = iter_count

    def prod(self, depth: int | None = None, channel: int | None = None, tile: Tile | None = None) -> ObjectFifoHandle:
        """The producing end: there is one, and every call gives it.

        Args:
            depth: how many objects it has; without it as many as the ObjectFifo says
            channel: the DMA channel that it uses
            tile: the shim tile, where the runtime sequence fills it
        """
        if self.producer is None:
            self.producer = ObjectFifoHandle(self, True, depth, channel=channel, tile=tile)
        else:
            self.producer.check_again(depth, channel, tile)
        return self.producer

    def cons(
        self,
        depth: int | None = None,
        dims_from_stream: StreamDims | None = None,
        channel: int | None = None,
        tile: Tile | None = None,
    ) -> ObjectFifoHandle:
        """A new consuming end: all consumers see all objects.

        Args:
            depth: how many objects it has; without it as many as the ObjectFifo says
            dims_from_stream: the order in which it puts elements, as (size, stride) pairs
            channel: the DMA channel that it uses
            tile: the shim tile, where the runtime sequence drains it
        """
        dims = self._dims_from_stream_per_cons if dims_from_stream is None else dims_from_stream
        self.consumers.append(ObjectFifoHandle(self, False, depth, dims, channel, tile))
        return self.consumers[-1]

    def tiles(self, cons_only: bool = False) -> list[Tile]:
        """The tiles of all ends, or `cons_only` of consumers, and the one that the objects are on if it is neither."""
        ends = [end.placed() for end in self.ends() if not (cons_only and end.is_producer)]
        return ends if self.delegate_tile is None or cons_only else [*ends, self.delegate_tile]

    def ends(self) -> Iterator[ObjectFifoHandle]:
        """The producer, then the consumers; what the runtime sequence takes is one consumer, however often it asks."""
        if self.producer is None:
            refuse(
                f"ObjectFifo '{self.name}' has no producer",
                (None, f"give {self.name}.prod() to a worker, or to the Runtime in its fn_args"),
                at=self.where,
            )
        yield self.producer
        if not (consumers := [end for end in self.consumers if not end.repeats_another()]):
            refuse(
                f"ObjectFifo '{self.name}' has no consumer",
                (None, f"give {self.name}.cons() to a worker, or to the Runtime in its fn_args"),
                at=self.where,
            )
        yield from consumers

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        if self.is_resolved:
            return
        super().resolve(loc, ip)
        # a link stands right behind the first of its fifos, and brings the others with it
        for end in self.ends():
            if isinstance(end.endpoint, ObjectFifoLink):
                end.endpoint.resolve()

    def _emit(self) -> Any:
        from tilewright.iron.dialects.aie import object_fifo

        producer, *consumers = self.ends()
        # upstream writes one number where all ends have the same
        depths = [end.depth for end in (producer, *consumers)]
        op = object_fifo(
            self.name,
            producer.placed().op,
            [end.placed().op for end in consumers],
            depths[0] if len(set(depths)) == 1 else depths,
            self._type,
            dimensionsToStream=self._dims_to_stream,
            dimensionsFromStreamPerConsumer=[end.dims_from_stream or [] for end in consumers],
            initValues=self._init_values,
            via_DMA=self._via_dma or None,
            plio=self._plio,
            padDimensions=self._pad_dimensions,
            padValue=self._pad_word(),
            disable_synchronization=self._disable_synchronization or None,
            iter_count=self._iter_count,
            consumer_datatype=None if self._consumer_obj_type is None else _memref_type(self._consumer_obj_type),
        )
        self._refine(op, producer, consumers)
        return op

    def _refine(self, op: Any, producer: ObjectFifoHandle, consumers: Sequence[ObjectFifoHandle]) -> None:
        """Set what the operation's constructor does not take."""
        if self._repeat_count is not None:
            op.set_repeat_count(self._repeat_count)
        if self._aie_stream is not None:
            op.set_aie_stream(*self._aie_stream)
        if producer.channel is not None:
            op.set_prod_dma_channel(producer.channel)
        if any(end.channel is not None for end in consumers):
            # -1: any
            op.set_cons_dma_channels([-1 if end.channel is None else end.channel for end in consumers])
        if self.delegate_tile is not None:
            op.allocate(self.delegate_tile.op)

    def _pad_word(self) -> int | None:
        from tilewright.iron.helpers.util import pack_pad_value

        return pack_pad_value(self._pad_value, np.dtype(self.dtype).itemsize) if self._pad_value else None

    def facts(self) -> dict[str, str]:
        """A queue in words: what it carries, how much of it, from where, and to where."""
        producer, *consumers = [
            str(end.endpoint) if end is not None and end.endpoint else "" for end in (self.producer, *self.consumers)
        ]
        return {"object": str(self._type), "deep": str(self.depth), "from": producer, "to": ", ".join(consumers)}

    def _repr_html_(self) -> str:
        from tilewright.report.markup import facts_html

        return facts_html(f"ObjectFifo {self.name}", self.facts())

    def __str__(self) -> str:
        return f"ObjectFifo({self._type}, depth={self.depth}, name='{self.name}')"

    __repr__ = __str__


DEPTH_REMEDY = "give room for at least one object; with 2 both ends work at the same time"


def _memref_type(obj_type: Any) -> MemRefType[Any]:
    type = convert_type(obj_type)
    if not isinstance(type, MemRefType):
        refuse(
            f"an ObjectFifo holds arrays, not {obj_type!r}",
            (None, "give an array type: np.ndarray[(64,), np.dtype[np.int32]]"),
        )
    if DYNAMIC_INDEX in type.get_shape():
        refuse(f"objects of an ObjectFifo have a size that is known, not {type}", (None, "give each dimension one"))
    return cast("MemRefType[Any]", type)
