"""Parts of a design that is being built, found by the tiles that they are on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, cast

from tilewright.iron.builders.handles import OpView, Value
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, is_building
from tilewright.iron.extras.util import find_ops
from tilewright.iron.placed.buffers import LockOp, buffer
from tilewright.iron.placed.flows import FlowOp
from tilewright.iron.placed.tiles import Device, TileOp

ViewT = TypeVar("ViewT", bound=OpView)


def find_matching_flows(
    tiles: Iterable[TileOp],
    filter_source: bool = False,
    filter_dest: bool = False,
    source_annot: str | None = None,
    dest_annot: str | None = None,
    device: Any = None,
) -> list[FlowOp]:
    """The flows from or to one of the tiles: all that begin there, or end there, with one of the filters."""
    if filter_source and filter_dest:
        refuse("Can only filter by source XOR dest")
    wanted = list(tiles)

    def matches(flow: FlowOp) -> bool:
        begins, ends = flow.source.owner in wanted, flow.dest.owner in wanted
        chosen = begins if filter_source else ends if filter_dest else begins or ends
        return chosen and _annotated(flow, "source_annot", source_annot) and _annotated(flow, "dest_annot", dest_annot)

    return sorted(filter(matches, _all(FlowOp, device)), key=_route)


def find_matching_locks(
    tiles: Iterable[TileOp], sym_name: str | None = None, annot: str | None = None, device: Any = None
) -> list[Value]:
    """The locks of the tiles, by place and name."""
    return [lock.result for lock in _on_tiles(LockOp, tiles, sym_name, annot, device)]


def find_matching_buffers(
    tiles: Iterable[TileOp], sym_name: str | None = None, annot: str | None = None, device: Any = None
) -> list[buffer]:
    """The buffers of the tiles, by place and name."""
    return _on_tiles(buffer, tiles, sym_name, annot, device)


def _on_tiles(
    kind: type[ViewT], tiles: Iterable[TileOp], sym_name: str | None, annot: str | None, device: Any
) -> list[ViewT]:
    wanted = list(tiles)
    found = [part for part in _all(kind, device) if cast(Any, part).tile.owner in wanted]
    named = [part for part in found if sym_name is None or _name(part) == sym_name]
    matching = [part for part in named if _annotated(part, "annot", annot)]
    return sorted(matching, key=lambda part: (_place(cast(Any, part).tile), _name(part)))


def _all(kind: type[ViewT], device: Any) -> list[ViewT]:
    return find_ops(_device() if device is None else device, lambda op: isinstance(op, kind))


def _device() -> OpView:
    """The device that is being built."""
    block = InsertionPoint.current.block if is_building() else None
    op = None if block is None else block.parent_op()
    while op is not None and not isinstance(op, Device.OP):
        op = op.parent_op()
    return Device.wrapping(op) if op is not None else refuse("no device is being built here", (None, "pass device="))


def _annotated(op: OpView, name: str, text: str | None) -> bool:
    return text is None or (name in op.attributes and text in str(op.attributes[name]))


def _name(op: OpView) -> str:
    return str(cast(Any, op).sym_name.value) if "sym_name" in op.attributes else ""


def _place(tile: Any) -> tuple[int, int]:
    return int(tile.owner.col), int(tile.owner.row)


def _route(flow: Any) -> tuple[Any, ...]:
    source = (*_place(flow.source), int(flow.source_bundle), int(flow.source_channel))
    return (*source, *_place(flow.dest), int(flow.dest_bundle), int(flow.dest_channel))
