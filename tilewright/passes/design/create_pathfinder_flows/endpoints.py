"""Refuses flows whose ends are in each other's way, wherever they run: a port carries one circuit, or packets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from tilewright.device import DeviceModel
from tilewright.passes.design.create_pathfinder_flows.nets import Endpoint, Request
from tilewright.passes.design.create_pathfinder_flows.shim import input_port, output_port

Fits: TypeAlias = "Callable[[Request, Request], bool]"


class Clash(NamedTuple):
    """Two requests that cannot both be met, and why."""

    first: Request
    second: Request
    text: str


def find_clashes(model: DeviceModel, requests: Iterable[Request]) -> Iterator[Clash]:
    """All pairs of a request and the first one before it that it clashes with, at a source or at a destination."""
    entering: dict[Endpoint, list[Request]] = defaultdict(list)
    leaving: dict[Endpoint, list[Request]] = defaultdict(list)
    for request in requests:
        tile, port = request.source
        yield from _clash_at(Endpoint(tile, input_port(model, tile, port)), entering, request, _enter_together)
        tile, port = request.dest
        yield from _clash_at(Endpoint(tile, output_port(model, tile, port)), leaving, request, _leave_together)


def _clash_at(where: Endpoint, present: dict[Endpoint, list[Request]], request: Request, fits: Fits) -> Iterator[Clash]:
    other = next((other for other in present[where] if not fits(other, request)), None)
    present[where].append(request)
    if other is not None:
        yield Clash(other, request, f"both need {where}")


def _enter_together(one: Request, other: Request) -> bool:
    return one.source == other.source and (one.packet_id is None) == (other.packet_id is None)


def _leave_together(one: Request, other: Request) -> bool:
    if one.packet_id is None or other.packet_id is None:
        return one.source == other.source and one.packet_id == other.packet_id
    return one.dest == other.dest
