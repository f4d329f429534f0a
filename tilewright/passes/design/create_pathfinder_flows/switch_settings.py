"""Settings of all stream switches as plain data: read from a design, followed from port to port, checked.

`read_settings` takes them out of a design, `walk` follows data through them, from where it enters to everywhere it
comes out, and `check_routes` compares that with what was asked for. Following needs the device's grid and the settings,
nothing else: settings from elsewhere can be followed too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from xdsl.ir import Operation

from tilewright.device import DeviceModel, TileId, WireBundle
from tilewright.device.stream_switch import SHIM_MUX_ENTRIES, SHIM_MUX_EXITS, STEPS
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.dialects.aie.switchbox import (
    AmselOp,
    ConnectOp,
    MasterSetOp,
    PacketRuleOp,
    PacketRulesOp,
    ShimMuxOp,
    SwitchboxOp,
)
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.create_pathfinder_flows.nets import Request, StreamPort
from tilewright.rewrite.pass_bases import ops_of


class SwitchHop(NamedTuple):
    """A connection in a switch."""

    tile: TileId
    source: Port
    dest: Port


class PacketRule(NamedTuple):
    """Packets whose masked id has this value leave through these ports."""

    mask: int
    value: int
    outputs: tuple[Port, ...]

    def matches(self, packet_id: int) -> bool:
        return packet_id & self.mask == self.value


@dataclass
class SwitchSettings:
    """What every switch does with what enters it. A port is circuit switched or has rules, the first match deciding."""

    circuits: dict[StreamPort, list[Port]] = field(default_factory=lambda: defaultdict(list))
    rules: dict[StreamPort, list[PacketRule]] = field(default_factory=lambda: defaultdict(list))
    keeps_header: dict[StreamPort, bool] = field(default_factory=dict[StreamPort, bool])  # outputs that say so
    entries: dict[StreamPort, StreamPort] = field(default_factory=dict[StreamPort, StreamPort])
    """From a shim's DMA, NoC or PL port, through the multiplexer, to the switch."""
    exits: dict[StreamPort, StreamPort] = field(default_factory=dict[StreamPort, StreamPort])
    """The other way round."""

    def is_set(self, entry: StreamPort) -> bool:
        return entry in self.circuits or entry in self.rules


def read_settings(device: DeviceOp) -> SwitchSettings:
    """The settings that the switches and multiplexers of a design describe."""
    settings = SwitchSettings()
    for op in device.body.ops:
        if isinstance(op, SwitchboxOp):
            _read_switch(op, settings)
            if op.place is not None and device.model.is_shim_pl(*op.place):
                _read_logic_ports(op.place, settings)
        elif isinstance(op, ShimMuxOp):
            _read_multiplexer(op, settings)
    return settings


def _read_switch(switch: SwitchboxOp, settings: SwitchSettings) -> None:
    outputs: dict[Operation, list[Port]] = defaultdict(list)  # by select
    for op in switch.connections.ops:
        match op:
            case ConnectOp():
                settings.circuits[_at(switch, op.source)].append(op.dest)
            case MasterSetOp():
                if op.keep_pkt_header is not None:
                    settings.keeps_header[_at(switch, op.dest)] = bool(op.keep_pkt_header.value.data)
                for amsel in op.amsels:
                    if isinstance(amsel.owner, AmselOp):
                        outputs[amsel.owner].append(op.dest)
            case _:
                pass
    for op in ops_of(switch.connections.ops, PacketRulesOp):
        # Rules name selects, whose outputs stand in mastersets that may follow: hence a second time through.
        settings.rules[_at(switch, op.source)] += [
            PacketRule(rule.mask.value.data, rule.value.value.data, tuple(outputs[rule.amsel.owner]))
            for rule in ops_of(op.rules.ops, PacketRuleOp)
            if isinstance(rule.amsel.owner, AmselOp)
        ]


def _read_logic_ports(tile: TileId, settings: SwitchSettings) -> None:
    """A shim without a multiplexer has the PL's ports where others have it."""
    for (bundle, channel), south in SHIM_MUX_ENTRIES.items():
        if bundle is WireBundle.PLIO:
            settings.entries[StreamPort(tile, Port(bundle, channel))] = StreamPort(tile, Port(WireBundle.South, south))
    for (bundle, channel), south in SHIM_MUX_EXITS.items():
        if bundle is WireBundle.PLIO:
            settings.exits[StreamPort(tile, Port(WireBundle.South, south))] = StreamPort(tile, Port(bundle, channel))


def _read_multiplexer(multiplexer: ShimMuxOp, settings: SwitchSettings) -> None:
    """In a multiplexer North is the side of the switch, whose South ports are there."""
    for op in ops_of(multiplexer.connections.ops, ConnectOp):
        if op.dest.bundle is WireBundle.North:
            settings.entries[_at(multiplexer, op.source)] = _at(multiplexer, Port(WireBundle.South, op.dest.channel))
        else:
            settings.exits[_at(multiplexer, Port(WireBundle.South, op.source.channel))] = _at(multiplexer, op.dest)


def _at(op: TileElement, port: Port) -> StreamPort:
    if op.place is None:
        fail_op(op, "belongs to a tile that is not placed")
    return StreamPort(op.place, port)


@dataclass
class Walk:
    """Where data came out and whether its packet header came along, through which connections, and what went wrong."""

    arrivals: dict[StreamPort, bool] = field(default_factory=dict[StreamPort, bool])
    hops: set[SwitchHop] = field(default_factory=set[SwitchHop])
    faults: list[str] = field(default_factory=list[str])


def walk(
    settings: SwitchSettings,
    model: DeviceModel,
    source: StreamPort,
    packet_id: int | None,
    ends: Collection[StreamPort] = (),
) -> Walk:
    """Follow a circuit (no packet id) or the packets with one id that are sent into a port.

    Data comes out where nothing leads on, and at `ends`, behind which something else may begin.
    """
    result = Walk()
    waiting = [settings.entries.get(source, source)]  # a shim's DMA comes in through the multiplexer
    while waiting:
        entry = waiting.pop()
        for output in _outputs(settings, entry, packet_id, result):
            hop = SwitchHop(entry.tile, entry.port, output)
            if hop in result.hops:
                result.faults.append(f"data reaches {entry} twice")
                continue
            result.hops.add(hop)
            left = StreamPort(entry.tile, output)
            onward = None if left in ends else neighbour(model, left)
            keeps = packet_id is not None and keeps_header(settings, left)
            if onward is None or not settings.is_set(onward):
                result.arrivals[left if left in ends else settings.exits.get(left, left)] = keeps
            # The next switch could not tell where a packet without header goes.
            elif packet_id is not None and not keeps:
                result.faults.append(f"packets lose their header at {left}, halfway")
            else:
                waiting.append(onward)
    return result


def _outputs(settings: SwitchSettings, entry: StreamPort, packet_id: int | None, result: Walk) -> Iterator[Port]:
    if entry in settings.circuits:
        yield from settings.circuits[entry]
    elif packet_id is None:
        result.faults.append(f"no circuit leads on from {entry}")
    else:
        rule = next((rule for rule in settings.rules.get(entry, ()) if rule.matches(packet_id)), None)
        if rule is None:
            result.faults.append(f"no rule at {entry} matches packet {packet_id}")
        else:
            yield from rule.outputs


def neighbour(model: DeviceModel, output: StreamPort) -> StreamPort | None:
    """The port of the next tile that an output faces."""
    (column, row), (bundle, channel) = output
    if bundle not in STEPS:
        return None
    tile = TileId(column + STEPS[bundle][0], row + STEPS[bundle][1])
    return StreamPort(tile, Port(bundle.opposite, channel)) if model.is_valid_tile(*tile) else None


def keeps_header(settings: SwitchSettings, output: StreamPort) -> bool:
    """Unless told otherwise a switch takes the header off what goes to a DMA or out of the array.

    Source: `configureSwitches` in AIERT.cpp of mlir-aie at 3ca0193cea9e.
    """
    said = settings.keeps_header.get(output)
    return not is_last(output) if said is None else said


def is_last(output: StreamPort) -> bool:
    """Whether a port is one of a DMA, or one below the array by any name."""
    below = output.tile.row == 0 and output.port.bundle in (WireBundle.South, WireBundle.NOC, WireBundle.PLIO)
    return below or output.port.bundle is WireBundle.DMA


class RouteProblem(NamedTuple):
    """What is wrong with the way of a request; `misses` if its data does not get there."""

    request: Request
    text: str
    misses: bool = False


def check_routes(
    settings: SwitchSettings, model: DeviceModel, requests: Iterable[Request], *, headers: bool = True
) -> list[RouteProblem]:
    """All that is wrong with how these requests are carried out; `headers` are looked at where they arrive."""
    by_sender: dict[tuple[StreamPort, int | None], list[Request]] = defaultdict(list)
    for request in requests:
        by_sender[request.source, request.packet_id].append(request)
    walks = {
        sender: walk(settings, model, *sender, {request.dest for request in wanted})
        for sender, wanted in by_sender.items()
    }
    lost = chain.from_iterable(_check_sender(walks[sender], by_sender[sender], headers) for sender in by_sender)
    return [*lost, *_check_disjoint(walks, by_sender)]


def _check_sender(walked: Walk, wanted: list[Request], headers: bool) -> Iterator[RouteProblem]:
    dests = {request.dest for request in wanted}
    for request in wanted:
        if request.dest not in walked.arrivals:
            yield RouteProblem(request, "; ".join(["does not arrive", *walked.faults]), misses=True)
        elif headers and request.packet_id is not None and not _is_right(request, walked.arrivals[request.dest]):
            yield RouteProblem(request, f"arrives {'without' if wants_header(request) else 'with'} its packet header")
    for other in sorted(walked.arrivals.keys() - dests):
        yield RouteProblem(wanted[0], f"also arrives at {other}")
    yield from (RouteProblem(wanted[0], fault) for fault in walked.faults)


def wants_header(request: Request) -> bool:
    return not is_last(request.dest) if request.keep_header is None else bool(request.keep_header.value.data)


def _is_right(request: Request, has_header: bool) -> bool:
    """Whether packets may arrive with, or without, a header.

    What leaves the array at a shim's South port is not written into memory, so where nothing is asked for the
    header may stay: completion tokens, which are nothing but a header, share the port with flows that keep theirs.
    """
    may_stay = request.keep_header is None and request.dest.port.bundle is WireBundle.South
    return has_header == wants_header(request) or (has_header and may_stay)


def _check_disjoint(
    walks: dict[tuple[StreamPort, int | None], Walk], by_sender: dict[tuple[StreamPort, int | None], list[Request]]
) -> Iterator[RouteProblem]:
    """A circuit has its connections to itself, and so has the output of each."""
    users: dict[object, tuple[StreamPort, int | None]] = {}
    for sender in sorted(walks, key=lambda sender: sender[1] is not None):  # circuits first
        for hop in sorted(walks[sender].hops):
            for part in ((hop.tile, hop.source, "in"), (hop.tile, hop.dest, "out")):
                # Packets may share with packets, so only circuits are entered.
                other = users.setdefault(part, sender) if sender[1] is None else users.get(part, sender)
                if other != sender:
                    yield RouteProblem(by_sender[sender][0], f"meets {by_sender[other][0]} at {hop.tile} {hop.dest}")


def unused_hops(settings: SwitchSettings, model: DeviceModel, requests: Iterable[Request]) -> set[SwitchHop]:
    """Connections that carry none of the requests."""
    requests = list(requests)
    ends = {request.dest for request in requests}
    used: set[SwitchHop] = set()
    for source, packet_id in {(request.source, request.packet_id) for request in requests}:
        used |= walk(settings, model, source, packet_id, ends).hops
    every = {SwitchHop(*entry, output) for entry, outputs in settings.circuits.items() for output in outputs}
    for entry, rules in settings.rules.items():
        every |= {SwitchHop(*entry, output) for rule in rules for output in rule.outputs}
    return every - used
