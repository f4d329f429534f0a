"""Nets, as a design asks for them: flows with the same source become one, a tree to be routed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import SSAValue

from tilewright.device import TileId
from tilewright.dialects.aie.flows import FlowOp, PacketDestOp, PacketFlowOp, PacketSourceOp, Port
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.pass_bases import ops_of

CIRCUITS = -1  # the group of all circuits, which never share links
AnyFlowOp: TypeAlias = "FlowOp | PacketFlowOp"


class StreamPort(NamedTuple):
    """A port of a tile: where data enters the streams or leaves them."""

    tile: TileId
    port: Port

    def __str__(self) -> str:
        return f"({self.tile.column}, {self.tile.row}) {self.port.bundle}:{self.port.channel}"


class Request(NamedTuple):
    """One source and one destination of a flow; `packet_id` is none for a circuit."""

    source: StreamPort
    dest: StreamPort
    packet_id: int | None
    op: AnyFlowOp

    @property
    def has_priority(self) -> bool:
        wanted = self.op.priority_route if isinstance(self.op, PacketFlowOp) else None
        return wanted is not None and bool(wanted.value.data)

    @property
    def keep_header(self) -> BoolAttr | None:
        """Whether packets are to arrive with their header, if the flow says so."""
        return self.op.keep_pkt_header if isinstance(self.op, PacketFlowOp) else None

    def __str__(self) -> str:
        kind = "circuit" if self.packet_id is None else f"packet {self.packet_id}"
        return f"{kind} {self.source} -> {self.dest}"


@dataclass(eq=False)
class Net:
    """All that leaves one source. Nets of a group share links, each packet being told apart by its id."""

    group: int
    requests: list[Request] = field(default_factory=list[Request])

    @property
    def source(self) -> StreamPort:
        return self.requests[0].source

    @property
    def is_circuit(self) -> bool:
        return self.group == CIRCUITS

    @property
    def has_priority(self) -> bool:
        return any(request.has_priority for request in self.requests)

    @property
    def dests(self) -> list[StreamPort]:
        return sorted({request.dest for request in self.requests})

    @property
    def first_id(self) -> int | None:
        return self.requests[0].packet_id


def requests_of(device: DeviceOp) -> list[Request]:
    """Every pair of source and destination in a design, packets first."""
    packets = [request for op in ops_of(device.body.ops, PacketFlowOp) for request in _of_packet_flow(op)]
    return packets + [
        Request(_endpoint(op, op.source, op.source_port), _endpoint(op, op.dest, op.dest_port), None, op)
        for op in ops_of(device.body.ops, FlowOp)
    ]


def _of_packet_flow(op: PacketFlowOp) -> Iterator[Request]:
    sources = [_endpoint(op, source.tile, source.port) for source in op.ports_of(PacketSourceOp)]
    for dest in op.ports_of(PacketDestOp):
        for source in sources:
            yield Request(source, _endpoint(op, dest.tile, dest.port), op.packet_id.value.data, op)


def _endpoint(op: AnyFlowOp, tile: SSAValue, port: Port) -> StreamPort:
    owner = tile_of(tile)
    if owner is None or owner.place is None or not owner.is_placed:
        fail_op(op, "cannot be routed: one of its tiles is not placed", (owner, "run --aie-place-tiles first"))
    return StreamPort(owner.place, port)


def collect_nets(requests: Iterable[Request]) -> list[Net]:
    """The nets in the order in which they are routed: prioritised ones, packets, circuits; each by source."""
    nets, number_of = list[Net](), dict[tuple[StreamPort, bool], int]()
    last_to: dict[StreamPort, int] = {}  # number of the last net that leads to a destination
    for request in requests:
        number = number_of.setdefault((request.source, request.packet_id is None), len(nets))
        if number == len(nets):
            nets.append(Net(_group_for(request, nets, last_to.get(request.dest))))
        nets[number].requests.append(request)
        last_to[request.dest] = max(number, last_to.get(request.dest, 0))
    return sorted(nets, key=lambda net: (not net.has_priority, net.is_circuit, net.source))


def _group_for(request: Request, nets: Sequence[Net], shared: int | None) -> int:
    """Upstream's grouping: with a destination in common, the highest group from that net on; else a new one."""
    if request.packet_id is None:
        return CIRCUITS
    groups = [net.group for net in nets]
    return max(groups[shared:]) if shared is not None else max(groups, default=CIRCUITS) + 1


def split_by_id(nets: Iterable[Net]) -> list[Net]:
    """The same with a net for each packet id of a source, all in one group: any of them may share links."""
    split: list[Net] = []
    for net in nets:
        by_id: dict[int | None, list[Request]] = {}
        for request in net.requests:
            by_id.setdefault(request.packet_id, []).append(request)
        split += [Net(min(net.group, 0), by_id[packet_id]) for packet_id in by_id]  # circuits keep their group, -1
    return split
