"""Ends of ObjectFifos whose objects go on, or come from elsewhere: split, join and forward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.iron.builders.location import refuse
from tilewright.iron.device.tile import AnyMemTile, Tile
from tilewright.support.tracebacks import user_facing

if TYPE_CHECKING:
    from tilewright.iron.dataflow.handle import ObjectFifoHandle
    from tilewright.iron.dataflow.objectfifo import ObjectFifo, PadDims, StreamDims


@user_facing
class Linkable:
    """What an `ObjectFifoHandle` can be linked to. Lists have an entry for each offset; without one, defaults."""

    def join(
        self,
        offsets: list[int],
        tile: Tile | None = AnyMemTile,
        depths: list[int] | None = None,
        obj_types: list[Any] | None = None,
        names: list[str] | None = None,
        dims_to_stream: list[StreamDims] | None = None,
        dims_from_stream: list[StreamDims] | None = None,
        plio: bool = False,
        repeat_counts: list[int | None] | None = None,
    ) -> list[ObjectFifo]:
        """New ObjectFifos, one per offset, whose objects become parts of this producer's objects."""
        # links are made of handles, which derive from this class
        from tilewright.iron.dataflow.links import join

        handle = self._end("join", is_producer=True)
        each = {
            "depth": depths,
            "obj_type": obj_types,
            "name": names,
            "dims_to_stream": dims_to_stream,
            "dims_from_stream": dims_from_stream,
            "repeat_count": repeat_counts,
        }
        return join(handle, offsets, tile, each, plio)

    def split(
        self,
        offsets: list[int],
        tile: Tile | None = AnyMemTile,
        depths: list[int] | None = None,
        obj_types: list[Any] | None = None,
        names: list[str] | None = None,
        dims_to_stream: list[StreamDims] | None = None,
        dims_from_stream: list[StreamDims] | None = None,
        plio: bool = False,
        repeat_counts: list[int | None] | None = None,
        pad_dimensions: list[PadDims | None] | None = None,
        pad_value: list[int] | None = None,
    ) -> list[ObjectFifo]:
        """New ObjectFifos, one per offset, which get parts of this consumer's objects."""
        from tilewright.iron.dataflow.links import split

        handle = self._end("split", is_producer=False)
        each = {
            "depth": depths,
            "obj_type": obj_types,
            "name": names,
            "dims_to_stream": dims_to_stream,
            "dims_from_stream_per_cons": dims_from_stream,
            "repeat_count": repeat_counts,
            "pad_dimensions": pad_dimensions,
            "pad_value": pad_value,
        }
        return split(handle, offsets, tile, each, plio)

    def forward(
        self,
        tile: Tile | None = AnyMemTile,
        obj_type: Any = None,
        depth: int | None = None,
        name: str | None = None,
        dims_to_stream: StreamDims | None = None,
        dims_from_stream: StreamDims | None = None,
        plio: bool = False,
        repeat_count: int | None = None,
        pad_dimensions: PadDims | None = None,
        pad_value: int = 0,
    ) -> ObjectFifo:
        """A new ObjectFifo that gets this consumer's objects, by way of a tile."""
        (forwarded,) = self.split(
            [0],
            tile,
            depths=[depth] if depth else None,
            obj_types=None if obj_type is None else [obj_type],
            names=[name or f"{self._end('forward', is_producer=False).name}_fwd"],
            dims_to_stream=[dims_to_stream] if dims_to_stream else None,
            dims_from_stream=[dims_from_stream] if dims_from_stream else None,
            plio=plio,
            repeat_counts=None if repeat_count is None else [repeat_count],
            pad_dimensions=None if pad_dimensions is None else [pad_dimensions],
            pad_value=[pad_value] if pad_value else None,
        )
        return forwarded

    def _end(self, verb: str, is_producer: bool) -> ObjectFifoHandle:
        """This end, if it is one that the verb is for."""
        from tilewright.iron.dataflow.handle import ObjectFifoHandle

        assert isinstance(self, ObjectFifoHandle)  # the only class that derives from this one
        if self.is_producer is not is_producer:
            use = f"use {self.name}.{'prod' if is_producer else 'cons'}()"
            refuse(f"Cannot {verb}() a {self.handle_type} ObjectFifoHandle", (None, use))
        return self
