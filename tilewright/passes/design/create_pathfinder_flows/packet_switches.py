"""Routed packets: the arbiter selects, mastersets and packet rules of each switch on the way.

An output takes its packets from one arbiter only, so outputs that get a packet together have the arbiter in common. A
select of an arbiter stands for a set of outputs, those whose mastersets name it.

A rule is a mask and a value: it takes the ids that have the value in the masked bits. Rules for some ids must leave
alone the others that come through the same port; ids that never come there may match either way. As in Quine and
McCluskey's method, the widest possible rules are found first, then the fewest of them that suffice, and each is
narrowed again to what it is needed for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import BoolAttr, UnitAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import NUM_ARBITERS, NUM_MSELS, TileId
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.switchbox import AmselOp, ConnectOp, MasterSetOp, PacketRuleOp, PacketRulesOp, SwitchboxOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.passes.design.create_pathfinder_flows.interconnect import (
    Interconnect,
    connections_in,
    input_port,
    multiplexer_side,
    output_port,
)
from tilewright.passes.design.create_pathfinder_flows.nets import Request, StreamPort
from tilewright.passes.design.create_pathfinder_flows.routes import NetRoute
from tilewright.passes.design.create_pathfinder_flows.switch_settings import SwitchHop
from tilewright.rewrite.pass_bases import append_to, ops_of

OVERLAY = "is_ctrl_pkt_overlay"
Pair = tuple[int, int]


def write_packets(interconnect: Interconnect, routes: Iterable[NetRoute], requests: Sequence[Request]) -> None:
    """Configure switches for the packet flows, which stay in the design, and give every tile a switch."""
    switches = packet_switches(routes, requests)
    keeps = {request.dest: keep for request in requests if (keep := request.keep_header) is not None}
    # Tiles that the design does not declare are added in this order, upstream's: those on the way of control first.
    for place in sorted(switches, key=lambda place: (not switches[place].control_outputs(), place)):
        interconnect.tile(place, switches[place].first_request(next(iter(switches[place].outputs))).op.location)
    for place in sorted(interconnect.tiles):
        interconnect.switch(place, interconnect.tiles[place].location, at_tile=True)
    for place, switch in switches.items():
        _SwitchWriter(interconnect, place, switch, keeps).write()


class _SwitchWriter:
    """Writes the packets of one switch."""

    def __init__(
        self, interconnect: Interconnect, place: TileId, packets: PacketSwitch, keeps: Mapping[StreamPort, BoolAttr]
    ):
        self.interconnect, self.place, self.packets, self.keeps = interconnect, place, packets, keeps
        self.model = interconnect.device.model
        self.switch: SwitchboxOp = interconnect.switches[place]
        self.joined: list[ConnectOp] = []  # in the multiplexer

    def write(self) -> None:
        # selects that the design has settings for already
        reserved = [Select(op.msel.value.data, op.arbiter) for op in ops_of(self.switch.connections.ops, AmselOp)]
        arbitration = Arbitration([[*outputs] for outputs in self.packets.outputs.values()], reserved)
        # Control packets choose first, from the highest select down.
        order = sorted(self.packets.outputs, key=lambda arrival: (not self.packets.is_control(arrival), arrival))
        selects = {arrival: self.select(arbitration, arrival) for arrival in order}
        amsels = {select: AmselOp(select.arbiter, select.msel) for select in sorted(arbitration.outputs)}
        for select, amsel in amsels.items():
            self.append(amsel, next(arrival for arrival in selects if selects[arrival] == select))
        for output, of_output in sorted(arbitration.masters().items()):
            master = self.master_set(output, [amsels[select] for select in of_output])
            self.append(master, next(a for a, outputs in self.packets.outputs.items() if output in outputs))
        for port, rules in self.packet_rules(selects, amsels).items():
            self.append(rules, next(arrival for arrival in self.packets.outputs if arrival.port == port))
        self.join_below()

    def append(self, op: Operation, cause: Arrival) -> None:
        """Add an operation to the switch, for the first flow that brings these packets here."""
        append_to(self.switch.connections.block, op, self.packets.first_request(cause).op.location)

    def select(self, arbitration: Arbitration, arrival: Arrival) -> Select:
        outputs = [*self.packets.outputs[arrival]]
        try:
            return arbitration.select_for(outputs, from_top=self.packets.is_control(arrival))
        except NoSelect as full:
            text = "tile op has used up all arbiter-msel combinations"
            if full.arbiter is not None:
                text = f"tile op arbiter {full.arbiter} has used up all its msels"
            flows = [(request.op, f"for {request}") for request in self.packets.outputs[arrival].values()]
            tile = self.interconnect.tiles[self.place]
            advice = (
                "let packets that go to the same places use fewer combinations of outputs, or move a flow elsewhere"
            )
            fail_op(tile, text, *flows, (tile, advice))

    def master_set(self, output: Port, amsels: Sequence[AmselOp]) -> MasterSetOp:
        left = output_port(self.model, self.place, output)
        if left != output:
            self.joined.append(ConnectOp(multiplexer_side(left), output))
        op = MasterSetOp(left, [amsel.result for amsel in amsels])
        op.keep_pkt_header = self.keeps.get(StreamPort(self.place, output))
        if output in self.packets.control_outputs():
            op.attributes[OVERLAY] = UnitAttr()
        return op

    def packet_rules(
        self, selects: Mapping[Arrival, Select], amsels: Mapping[Select, AmselOp]
    ) -> dict[Port, PacketRulesOp]:
        """The rules of each input, packets that leave the same way matched together."""
        rules: dict[Port, list[PacketRuleOp]] = {}
        overlay: set[Port] = set()
        for group in self.packets.groups():
            port = group[0].port
            if port not in rules and self.packets.is_control(group[0]):
                overlay.add(port)
            pairs = self.cover(port, [arrival.packet_id for arrival in group])
            self.check_slots(port, len(rules.setdefault(port, [])), len(pairs))
            amsel = amsels[selects[group[0]]]
            rules[port] += [PacketRuleOp(mask, value, amsel.result) for mask, value in pairs]
        return {port: self.rules_of(port, of_port, overlay) for port, of_port in rules.items()}

    def rules_of(self, port: Port, rules: Sequence[PacketRuleOp], overlay: set[Port]) -> PacketRulesOp:
        entry = input_port(self.model, self.place, port)
        if entry != port:
            self.joined.append(ConnectOp(port, multiplexer_side(entry)))
        op = PacketRulesOp(entry, rules)
        if port in overlay:
            op.attributes[OVERLAY] = UnitAttr()
        return op

    def cover(self, port: Port, ids: Sequence[int]) -> list[tuple[int, int]]:
        for packet_id in ids:
            if packet_id > self.model.max_packet_id:
                text = f"packet id {packet_id} exceeds the maximum of {self.model.max_packet_id}"
                fail(self.packets.first_request(Arrival(port, packet_id)).op, text)
        # Only ids that come through the same port can be mistaken for these.
        others = {arrival.packet_id for arrival in self.packets.outputs if arrival.port == port} - {*ids}
        return cover(ids, others, self.model.max_packet_id.bit_length())

    def check_slots(self, port: Port, present: int, more: int) -> None:
        limit = self.model.num_slave_slots
        if present + more <= limit:
            return
        here = [(arrival, [*outputs]) for arrival, outputs in self.packets.outputs.items() if arrival.port == port]
        ways = [f"{arrival.packet_id} to {'+'.join(f'{o.bundle}:{o.channel}' for o in outs)}" for arrival, outs in here]
        # Upstream's error is about the operation that it has only begun.
        op = PacketRulesOp(input_port(self.model, self.place, port), [])
        op.location = self.packets.first_request(here[-1][0]).op.location
        fail_op(
            op,
            f"slave port packet rules exceed the {limit}-slot limit ({present} + {more}).",
            (
                self.interconnect.tiles[self.place],
                f"packets that enter {StreamPort(self.place, port)} leave in too many ways: {', '.join(ways)}",
            ),
            (op.location, "give packets that leave together ids that share bits, or send some from another port"),
        )

    def join_below(self) -> None:
        """Join the DMA to the switch in front of what the multiplexer does already."""
        if not self.joined or not self.interconnect.has_multiplexer(self.place):
            return
        location = self.interconnect.tiles[self.place].location
        multiplexer = self.interconnect.multiplexer(self.place, location, at_tile=True)
        present = connections_in(multiplexer)
        for op in self.joined:
            if (op.source, op.dest) not in present:
                op.location = location
                Rewriter.insert_op(op, InsertPoint.at_start(multiplexer.connections.block))


class Arrival(NamedTuple):
    """Packets with one id at an input of a switch."""

    port: Port
    packet_id: int


@dataclass
class PacketSwitch:
    """The packets in one switch, in the order in which the flows ask for them."""

    outputs: dict[Arrival, dict[Port, Request]] = field(default_factory=dict[Arrival, dict[Port, Request]])
    """Where packets leave, and the first flow that wants them there."""
    with_priority: dict[tuple[Port, int], bool] = field(default_factory=dict[tuple[Port, int], bool])
    _order: list[Arrival] = field(default_factory=list[Arrival])

    def add(self, hop: SwitchHop, request: Request) -> None:
        assert request.packet_id is not None
        arrival = Arrival(hop.source, request.packet_id)
        outputs = self.outputs.setdefault(arrival, {})
        if hop.dest not in outputs:
            outputs[hop.dest] = request
            self._order.append(arrival)
        self.with_priority[hop.dest, request.packet_id] = request.has_priority

    def first_request(self, arrival: Arrival) -> Request:
        return next(iter(self.outputs[arrival].values()))

    def is_control(self, arrival: Arrival) -> bool:
        return any(self.with_priority[output, arrival.packet_id] for output in self.outputs[arrival])

    def control_outputs(self) -> set[Port]:
        return {output for (output, _), priority in self.with_priority.items() if priority}

    def groups(self) -> list[list[Arrival]]:
        """Packets at one port that leave the same way, to be matched together; those asked for last come first."""
        groups: dict[tuple[Port, frozenset[Port]], dict[Arrival, None]] = {}
        for arrival in reversed(self._order):
            groups.setdefault((arrival.port, frozenset(self.outputs[arrival])), {})[arrival] = None
        return [list(group) for group in groups.values()]


def packet_switches(routes: Iterable[NetRoute], requests: Iterable[Request]) -> dict[TileId, PacketSwitch]:
    """The switches that packets pass, by place."""
    by_request = {request: route for route in routes for request in route.net.requests}
    switches: dict[TileId, PacketSwitch] = {}
    for request in requests:
        if request.packet_id is None:
            continue
        route = by_request[request]
        way = set(route.ways[request.dest])
        for tile in {hop.tile: None for hop in route.ways[request.dest]}:
            for hop in route.hops.get(tile, ()):  # the rest of the way is that of a route which this one joins
                if hop in way:
                    switches.setdefault(tile, PacketSwitch()).add(hop, request)
    return dict(sorted(switches.items()))


class Select(NamedTuple):
    """Ordered as upstream numbers them: the first select of every arbiter, then the second of every one."""

    msel: int
    arbiter: int


ALL_SELECTS = [Select(msel, arbiter) for msel in range(NUM_MSELS) for arbiter in range(NUM_ARBITERS)]


class NoSelect(Exception):
    """All selects are taken, those of one arbiter or those of all."""

    def __init__(self, arbiter: int | None, outputs: Sequence[Port]):
        self.arbiter, self.outputs = arbiter, outputs
        super().__init__("no select is left")


class Arbitration:
    """The selects of one switch."""

    def __init__(self, output_sets: Collection[Sequence[Port]], reserved: Collection[Select] = ()):
        self._partners = _partners(output_sets)
        self._reserved = reserved
        self._arbiter_of: dict[Port, int] = {}  # by the first output of those that go together
        self.outputs: dict[Select, Sequence[Port]] = {}

    def select_for(self, outputs: Sequence[Port], *, from_top: bool) -> Select:
        """The select for packets that go to these outputs; a new one is the lowest free one, or the highest."""
        leader = self._partners[outputs[0]]
        arbiter = self._arbiter_of.get(leader)
        selects = (select for select in sorted(self.outputs) if select.arbiter == arbiter)
        # Upstream looks no further than the first select for any of the outputs for one to use again.
        overlapping = next((select for select in selects if set(self.outputs[select]) & set(outputs)), None)
        if overlapping is not None and set(self.outputs[overlapping]) == set(outputs):
            return overlapping
        free = [select for select in ALL_SELECTS if select not in self.outputs and select not in self._reserved]
        if arbiter is not None:
            free = [select for select in free if select.arbiter == arbiter]
        if free:
            select = free[-1] if from_top and arbiter is None else free[0]
        else:
            # None is free: look further than upstream for one that sends to the same outputs.
            select = next((select for select, other in self.outputs.items() if set(other) == set(outputs)), None)
        if select is None:
            raise NoSelect(arbiter, outputs)
        self.outputs[select] = outputs
        self._arbiter_of[leader] = select.arbiter
        return select

    def masters(self) -> Mapping[Port, list[Select]]:
        """The selects that send packets to each output."""
        masters: dict[Port, list[Select]] = {}
        for select, outputs in sorted(self.outputs.items()):
            for output in outputs:
                masters.setdefault(output, []).append(select)
        return masters


def _partners(output_sets: Collection[Sequence[Port]]) -> dict[Port, Port]:
    """For each output, the first of all that get some packet together with it, directly or through others."""
    leader: dict[Port, Port] = {}

    def find(port: Port) -> Port:
        while leader.setdefault(port, port) != port:
            port = leader[port]
        return port

    for outputs in output_sets:
        first, *others = (find(port) for port in outputs)
        for other in others:
            leader[find(other)] = find(first)
    return {port: find(port) for port in leader}


def cover(wanted: Sequence[int], others: Collection[int], bits: int) -> list[Pair]:
    """The fewest (mask, value) pairs that match every wanted id and none of the others."""
    wanted = list(dict.fromkeys(wanted))
    widest = _widest(wanted, others, bits)
    matched = [frozenset(id for id in wanted if id & mask == value) for mask, value in widest]
    chosen = [widest[number] for number in _fewest(matched, frozenset(wanted), len(wanted) + 1) or ()]
    taken: dict[Pair, list[int]] = {}
    for id in wanted:
        taken.setdefault(next(pair for pair in chosen if id & pair[0] == pair[1]), []).append(id)
    return [_narrowed(taken[pair], bits) for pair in chosen if pair in taken]


def _widest(wanted: Sequence[int], others: Collection[int], bits: int) -> list[Pair]:
    """Pairs that match a wanted id and no other one, and would match another without any one bit of their mask."""

    def is_clear(mask: int, value: int) -> bool:
        return all(id & mask != value for id in others)

    found: list[Pair] = []
    for mask in range(1 << bits):
        for value in sorted({id & mask for id in wanted}):
            fewer = ((mask & ~bit, value & ~bit) for bit in (1 << n for n in range(bits)) if mask & bit)
            if is_clear(mask, value) and not any(is_clear(*pair) for pair in fewer):
                found.append((mask, value))
    return found


def _fewest(matched: Sequence[frozenset[int]], left: frozenset[int], limit: int) -> list[int] | None:
    """The first smallest choice of sets, below a limit, that together contain what is left."""
    if not left:
        return [] if limit > 0 else None
    if limit <= 1:
        return None
    # Some rule has to match this id anyway, and it has the fewest to choose from.
    scarcest = min(sorted(left), key=lambda id: sum(id in ids for ids in matched))
    best: list[int] | None = None
    for number, ids in enumerate(matched):
        if scarcest in ids:
            rest = _fewest(matched, left - ids, limit - 1)
            if rest is not None:
                best = [number, *rest]
                limit = len(best)
    return best


def _narrowed(ids: Sequence[int], bits: int) -> Pair:
    """The pair with the most masked bits that matches these ids."""
    mask = (1 << bits) - 1
    for id in ids:
        mask &= ~(id ^ ids[0])
    return mask, ids[0] & mask
