"""Ends of ObjectFifos: what workers acquire and release, and what runtime sequences fill and drain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from xdsl.dialects.builtin import LocationAttr

from tilewright.device import ObjectFifoPort
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.dataflow.endpoint import ObjectFifoEndpoint
from tilewright.iron.dataflow.linkable import Linkable
from tilewright.iron.device.tile import Tile
from tilewright.iron.resolvable import Resolvable
from tilewright.support.tracebacks import user_facing

if TYPE_CHECKING:
    from tilewright.iron.dataflow.objectfifo import ObjectFifo, StreamDims
    from tilewright.iron.runtime.dmataskhandle import Task
    from tilewright.iron.runtime.taskgroup import TaskGroup


@user_facing
class ObjectFifoHandle(Linkable, Resolvable):
    """The producing end of an ObjectFifo, or one of its consuming ends."""

    def __init__(
        self,
        of: ObjectFifo,
        is_prod: bool,
        depth: int | None = None,
        dims_from_stream: StreamDims | None = None,
        channel: int | None = None,
        tile: Tile | None = None,
    ):
        depth = of.depth if depth is None else depth
        if depth is None:
            refuse(f"ObjectFifo '{of.name}' has no depth, nor has this end", (of.where, "give one of them a depth"))
        if depth < 1:
            refuse(f"Depth must be > 0 but is {depth}", (None, "an end has room for at least one object"))
        self.where: LocationAttr = user_location()
        self.fifo = of
        self.is_producer = is_prod
        self._depth, self._channel, self.shim_tile = depth, channel, tile
        self._dims_from_stream = dims_from_stream
        self._endpoint: ObjectFifoEndpoint | None = None

    @property
    def port(self) -> ObjectFifoPort:
        return ObjectFifoPort.Produce if self.is_producer else ObjectFifoPort.Consume

    @property
    def handle_type(self) -> str:
        return "prod" if self.is_producer else "cons"

    @property
    def name(self) -> str:
        """The name of the ObjectFifo."""
        return self.fifo.name

    @property
    def op(self) -> Any:
        """The ObjectFifo in the program that is being resolved."""
        return self.fifo.op

    @property
    def obj_type(self) -> Any:
        return self.fifo.obj_type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.fifo.shape

    @property
    def dtype(self) -> Any:
        return self.fifo.dtype

    @property
    def depth(self) -> int:
        """How many objects this end has room for."""
        return self._depth

    @property
    def channel(self) -> int | None:
        """The DMA channel that this end was told to use."""
        return self._channel

    @property
    def dims_from_stream(self) -> StreamDims | None:
        """How a consumer puts objects together."""
        return self._dims_from_stream

    @property
    def endpoint(self) -> ObjectFifoEndpoint | None:
        """What is at this end."""
        return self._endpoint

    @endpoint.setter
    def endpoint(self, endpoint: ObjectFifoEndpoint) -> None:
        # two consumers of one handle would share its objects
        if self._endpoint is not None and self._endpoint != endpoint:
            refuse(
                f"{self} is given to {endpoint}, but {self._endpoint} has it already",
                (None, f"each has a handle of its own: {self.name}.cons() gives a new one each time"),
            )
        self._endpoint = endpoint

    def placed(self) -> Tile:
        """The tile that this end is on."""
        if self._endpoint is None or self._endpoint.tile is None:
            remedy = "give it to a worker, or to the Runtime in its fn_args"
            refuse(f"nobody uses {self}", (None, remedy), at=self.where)
        return self._endpoint.tile

    def repeats_another(self) -> bool:
        """Whether an earlier consumer is the runtime sequence as well, in the same way."""
        from tilewright.iron.runtime.endpoint import RuntimeEndpoint

        if not isinstance(self._endpoint, RuntimeEndpoint):
            return False
        first = next(end for end in self.fifo.consumers if isinstance(end.endpoint, RuntimeEndpoint))
        # all of them are one consumer of the program, so they have to be alike
        if first is not self and (first.depth, first.dims_from_stream) != (self.depth, self.dims_from_stream):
            remedy = "give all of them the same depth and dimensions, or use one handle"
            refuse(f"two different ends of '{self.name}' are drained by the runtime sequence", (first.where, remedy))
        return first is not self

    def check_again(self, depth: int | None, channel: int | None, tile: Tile | None) -> None:
        """Refuse what contradicts how this end was asked for the first time."""
        for what, wanted, has in (("depth", depth, self._depth), ("channel", channel, self._channel)):
            if wanted is not None and wanted != has:
                self._refuse_change(what, wanted, has)
        # tiles are compared by place: two objects may ask for the same one
        known = None if self.shim_tile is None else (self.shim_tile.col, self.shim_tile.row)
        if tile is not None and (tile.col, tile.row) != known:
            self._refuse_change("shim tile", tile, self.shim_tile)

    def _refuse_change(self, what: str, wanted: Any, has: Any) -> None:
        refuse(
            f"the producer of '{self.name}' is already pinned to {what} {has}, it cannot have {what} {wanted} as well",
            (self.where, "there is one producer, which was asked for here"),
        )

    def acquire(self, num_elem: int) -> Any:
        """Wait until this end has so many objects: the object itself for one, else a list of them.

        Called in a worker's function. Objects that are held already count.
        """
        self._check_count("acquire", num_elem)
        return self.op.acquire(self.port, num_elem)

    def release(self, num_elem: int) -> None:
        """Hand the oldest objects that are held over to the other end."""
        self._check_count("release", num_elem)
        self.op.release(self.port, num_elem)

    def __getitem__(self, index: Any) -> NoReturn:
        self._refuse_items()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._refuse_items()

    def _refuse_items(self) -> NoReturn:
        refuse(
            f"{self} is an end of a queue, not one of its objects",
            (None, "acquire one: `numbers = end.acquire(1)`, then index that"),
        )

    def _check_count(self, verb: str, count: int) -> None:
        if not 1 <= count <= self.depth:
            refuse(
                f"cannot {verb} {count} objects of '{self.name}': this end has {self.depth}",
                (self.where, f"give it depth={max(count, 1)}, or {verb} between 1 and {self.depth}"),
            )

    def fill(
        self,
        source: Any,
        tap: Any = None,
        wait: bool = False,
        packet: tuple[int, int] | None = None,
        offset_parameter: Any = None,
        group: TaskGroup | None = None,
        sizes: Sequence[Any] | None = None,
        strides: Sequence[Any] | None = None,
        offset: Any = None,
        transfer_len: Any = None,
        managed: bool = True,
        *,
        dynamic_sizes: Sequence[Any] | None = None,
        burst_length: int = 0,
    ) -> Task:
        """Send a host buffer, or a part of it, to this producer; called in a runtime sequence.

        Sizes, strides, offset and length may be values known only at run time.

        Args:
            source: the buffer
            tap: which part of it, in which order: a tensor access pattern
            wait: whether the end of the group, or of the sequence, waits for it
            packet: (type, number) of the packets that it travels in
            offset_parameter: a scratchpad parameter that is added to the offset
            group: the `TaskGroup` that it belongs to
            sizes: instead of `tap`: how often each of up to four nested loops turns, the outermost first
            strides: and how many elements each of them goes on
            offset: where to begin, in elements
            transfer_len: how many elements in all, one after the other
            managed: whether it is awaited and freed for you; else the task that is returned has to be
            dynamic_sizes: sizes that take the places of those of `tap` or `sizes`, except where they are None
            burst_length: bytes of a burst; the longest without it
        """
        if not self.is_producer:
            refuse("fill() is only valid on a producer ObjectFifoHandle", (None, f"use {self.name}.prod()"))
        access = (tap, sizes, strides, offset, transfer_len, dynamic_sizes)
        return self._transfer(access, source, wait, packet, offset_parameter, group, managed, burst_length)

    def drain(
        self,
        dest: Any,
        tap: Any = None,
        wait: bool = False,
        packet: tuple[int, int] | None = None,
        offset_parameter: Any = None,
        group: TaskGroup | None = None,
        sizes: Sequence[Any] | None = None,
        strides: Sequence[Any] | None = None,
        offset: Any = None,
        transfer_len: Any = None,
        managed: bool = True,
        *,
        dynamic_sizes: Sequence[Any] | None = None,
        burst_length: int = 0,
    ) -> Task:
        """Write what this consumer gets to a host buffer, or to a part of it; called in a runtime sequence.

        Args:
            dest: the buffer
            tap: which part of it, in which order: a tensor access pattern
            wait: whether the end of the group, or of the sequence, waits for it; else results may come too late
            packet: (type, number) of the packets that it travels in
            offset_parameter: a scratchpad parameter that is added to the offset
            group: the `TaskGroup` that it belongs to
            sizes: instead of `tap`: how often each of up to four nested loops turns, the outermost first
            strides: and how many elements each of them goes on
            offset: where to begin, in elements
            transfer_len: how many elements in all, one after the other
            managed: whether it is awaited and freed for you; else the task that is returned has to be
            dynamic_sizes: sizes that take the places of those of `tap` or `sizes`, except where they are None
            burst_length: bytes of a burst; the longest without it
        """
        if self.is_producer:
            refuse("drain() is only valid on a consumer ObjectFifoHandle", (None, f"use {self.name}.cons()"))
        access = (tap, sizes, strides, offset, transfer_len, dynamic_sizes)
        return self._transfer(access, dest, wait, packet, offset_parameter, group, managed, burst_length)

    def _transfer(self, access: tuple[Any, ...], data: Any, *options: Any) -> Task:
        # the package `runtime` imports this module
        from tilewright.iron.runtime.transfers import Access, Transfer

        return Transfer(self, data, Access(*access), *options).emit()

    def all_of_endpoints(self) -> list[ObjectFifoEndpoint]:
        """What is at each end of the ObjectFifo, the producer first."""
        return [end.endpoint for end in self.fifo.ends() if end.endpoint is not None]

    def tiles(self) -> list[Tile]:
        return []

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        self.fifo.resolve(loc, ip)

    def __str__(self) -> str:
        return f"{self.name}.{self.handle_type}()"

    __repr__ = __str__
