"""Links: objects that arrive on a tile and leave it again, whole, in parts, or put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import LocationAttr

from tilewright.device import TileType
from tilewright.iron.builders.location import at, refuse, user_location
from tilewright.iron.dataflow.endpoint import ObjectFifoEndpoint
from tilewright.iron.device.tile import AnyMemTile, Tile
from tilewright.iron.resolvable import Resolvable, current_resolution

if TYPE_CHECKING:
    from tilewright.iron.dataflow.handle import ObjectFifoHandle
    from tilewright.iron.dataflow.objectfifo import ObjectFifo


class ObjectFifoLink(ObjectFifoEndpoint, Resolvable):
    """A tile that passes objects on: from one consumer to several producers, or from several to one."""

    def __init__(
        self,
        srcs: list[ObjectFifoHandle] | ObjectFifoHandle,
        dsts: list[ObjectFifoHandle] | ObjectFifoHandle,
        tile: Tile | None = AnyMemTile,
        src_offsets: list[int] | None = None,
        dst_offsets: list[int] | None = None,
    ):
        self.where: LocationAttr = user_location()
        self.sources = srcs if isinstance(srcs, list) else [srcs]
        self.targets = dsts if isinstance(dsts, list) else [dsts]
        self._offsets = src_offsets or [], dst_offsets or []
        self._check()
        tile = tile or AnyMemTile  # programs hand on None for what they do not care about
        super().__init__(tile.with_type(TileType.MemTile if tile.tile_type is None else tile.tile_type))
        for end in (*self.sources, *self.targets):
            end.endpoint = self

    def _check(self) -> None:
        if not self.sources or not self.targets:
            refuse("a link has at least one source and one destination")
        if len(self.sources) > 1 and len(self.targets) > 1:
            refuse("a link has several sources or several destinations, not both")
        for what, ends, offsets in zip(
            ("source", "destination"), (self.sources, self.targets), self._offsets, strict=True
        ):
            if offsets and len(offsets) != len(ends):
                refuse(f"a link with {len(ends)} {what}s needs as many offsets for them, got {len(offsets)}")

    def tiles(self) -> list[Tile]:
        return []

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        from tilewright.iron.dialects.aie import object_fifo_link

        built = current_resolution().built
        if self in built:
            return
        built[self] = None  # its fifos resolve their links in turn
        for end in (*self.sources, *self.targets):
            end.resolve()
        with at(self.where):
            built[self] = object_fifo_link(
                [end.op for end in self.sources], [end.op for end in self.targets], *self._offsets
            )

    def __str__(self) -> str:
        return f"a link on {self.tile}"


Each = Mapping[str, "Sequence[Any] | None"]
"""Arguments of new ObjectFifos: for each of them, or none where it has the default."""


def split(source: ObjectFifoHandle, offsets: list[int], tile: Tile | None, each: Each, plio: bool) -> list[ObjectFifo]:
    """New ObjectFifos that get the parts of objects which start at `offsets`."""
    fifos = _new_fifos(source, "split", offsets, each, plio)
    ObjectFifoLink(source, [fifo.prod() for fifo in fifos], tile, [], offsets)
    return fifos


def join(target: ObjectFifoHandle, offsets: list[int], tile: Tile | None, each: Each, plio: bool) -> list[ObjectFifo]:
    """New ObjectFifos whose objects go to `offsets` of objects."""
    # of the consuming ends, which a join has itself: the other arguments are those of the new fifos
    dims = each["dims_from_stream"] or [None] * len(offsets)
    rest = {name: values for name, values in each.items() if name != "dims_from_stream"}
    fifos = _new_fifos(target, "join", offsets, rest, plio)
    if len(dims) != len(offsets):
        _refuse_count("dims_from_stream", dims, offsets)
    ends = [fifo.cons(dims_from_stream=dims_of) for fifo, dims_of in zip(fifos, dims, strict=True)]
    ObjectFifoLink(ends, target, tile, offsets, [])
    return fifos


def _new_fifos(end: ObjectFifoHandle, verb: str, offsets: list[int], each: Each, plio: bool) -> list[ObjectFifo]:
    from tilewright.iron.dataflow.objectfifo import ObjectFifo

    for name, values in each.items():
        if values is not None and len(values) != len(offsets):
            _refuse_count(name, values, offsets)
    fifos = list[ObjectFifo]()
    for number in range(len(offsets)):
        given = {name: values[number] for name, values in each.items() if values is not None}
        defaults: dict[str, Any] = {"depth": end.depth, "obj_type": end.obj_type, "name": f"{end.name}_{verb}{number}"}
        fifos.append(ObjectFifo(**{**defaults, **given}, plio=plio))
    _check_parts(end, verb, offsets, fifos)
    return fifos


def _refuse_count(name: str, values: Sequence[Any], offsets: list[int]) -> None:
    refuse(f"{len(values)} values of {name} for {len(offsets)} offsets", (None, "give one for each offset"))


def _check_parts(whole: ObjectFifoHandle, verb: str, offsets: list[int], parts: list[ObjectFifo]) -> None:
    """Parts have the elements of the whole and lie in it."""
    of = whole.fifo
    for offset, part in zip(offsets, parts, strict=True):
        if part.memref_type.element_type != of.memref_type.element_type:
            refuse(
                f"cannot {verb} '{of.name}', objects of {of.memref_type}, with '{part.name}', "
                f"objects of {part.memref_type}",
                (of.where, "both need elements of the same type"),
            )
        # what is forwarded whole may be seen in other pieces on the other side
        if len(parts) > 1 and offset + prod(part.shape) > prod(of.shape):
            refuse(
                f"'{part.name}' takes {prod(part.shape)} elements from offset {offset}, "
                f"but an object of '{of.name}' has {prod(of.shape)}",
                (of.where, "give smaller obj_types, or other offsets"),
            )
