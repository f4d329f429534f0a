"""Do settings deliver what was asked for: every flow to its destinations, to nothing else, undisturbed by others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tilewright.device import DeviceModel, WireBundle
from tilewright.dialects.aie.flows import PacketFlowOp
from tilewright.passes.design.create_pathfinder_flows.nets import Endpoint, Request
from tilewright.passes.design.create_pathfinder_flows.switch_settings import Hop, Settings
from tilewright.passes.design.create_pathfinder_flows.walk import Walk, is_last, walk


class Problem(NamedTuple):
    """What is wrong with the way of a request; `misses` if its data does not get there."""

    request: Request
    text: str
    misses: bool = False


def check_routes(
    settings: Settings, model: DeviceModel, requests: Iterable[Request], *, headers: bool = True
) -> list[Problem]:
    """All that is wrong with how these requests are carried out; `headers` are looked at where they arrive."""
    by_sender: dict[tuple[Endpoint, int | None], list[Request]] = defaultdict(list)
    for request in requests:
        by_sender[request.source, request.packet_id].append(request)
    walks = {
        sender: walk(settings, model, *sender, {request.dest for request in wanted})
        for sender, wanted in by_sender.items()
    }
    problems: list[Problem] = []
    for sender, wanted in by_sender.items():
        problems += _check_sender(walks[sender], wanted, headers)
    return problems + list(_check_disjoint(walks, by_sender))


def _check_sender(walked: Walk, wanted: list[Request], headers: bool) -> Iterator[Problem]:
    dests = {request.dest for request in wanted}
    for request in wanted:
        if request.dest not in walked.arrivals:
            yield Problem(request, "; ".join(["does not arrive", *walked.faults]), misses=True)
        elif headers and request.packet_id is not None and not _is_right(request, walked.arrivals[request.dest]):
            yield Problem(request, f"arrives {'without' if wants_header(request) else 'with'} its packet header")
    for other in sorted(walked.arrivals.keys() - dests):
        yield Problem(wanted[0], f"also arrives at {other}")
    yield from (Problem(wanted[0], fault) for fault in walked.faults)


def wants_header(request: Request) -> bool:
    keep = request.op.keep_pkt_header if isinstance(request.op, PacketFlowOp) else None
    return not is_last(request.dest) if keep is None else bool(keep.value.data)


def _is_right(request: Request, has_header: bool) -> bool:
    """Whether packets may arrive with, or without, a header.

    What leaves the array at a shim's South port is not written into memory, so where nobody asks for anything the
    header may stay: completion tokens, which are nothing but a header, share the port with flows that keep theirs.
    """
    keep = request.op.keep_pkt_header if isinstance(request.op, PacketFlowOp) else None
    may_stay = keep is None and request.dest.port.bundle is WireBundle.South
    return has_header == wants_header(request) or (has_header and may_stay)


def _check_disjoint(
    walks: dict[tuple[Endpoint, int | None], Walk], by_sender: dict[tuple[Endpoint, int | None], list[Request]]
) -> Iterator[Problem]:
    """A circuit has its connections to itself, and so has the output of each."""
    users: dict[object, tuple[Endpoint, int | None]] = {}
    circuits_first = sorted(walks, key=lambda sender: sender[1] is not None)
    for sender in circuits_first:
        for hop in sorted(walks[sender].hops):
            for part in _parts(hop):
                other = users.setdefault(part, sender) if sender[1] is None else users.get(part, sender)
                if other != sender:
                    yield Problem(by_sender[sender][0], f"meets {by_sender[other][0]} at {hop.tile} {hop.dest}")


def _parts(hop: Hop) -> tuple[object, object]:
    return (hop.tile, hop.source, "in"), (hop.tile, hop.dest, "out")


def unused_hops(settings: Settings, model: DeviceModel, requests: Iterable[Request]) -> set[Hop]:
    """Connections that carry none of the requests."""
    requests = list(requests)
    ends = {request.dest for request in requests}
    used: set[Hop] = set()
    for source, packet_id in {(request.source, request.packet_id) for request in requests}:
        used |= walk(settings, model, source, packet_id, ends).hops
    every = {Hop(*entry, output) for entry, outputs in settings.circuits.items() for output in outputs}
    for entry, rules in settings.rules.items():
        every |= {Hop(*entry, output) for rule in rules for output in rule.outputs}
    return every - used
