"""Writes routed packets: the arbiter selects, mastersets and packet rules of each switch on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from xdsl.dialects.builtin import BoolAttr, UnitAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TileId
from tilewright.dialects.aie.flows import PacketFlowOp, Port
from tilewright.dialects.aie.switchbox import AmselOp, ConnectOp, MasterSetOp, PacketRuleOp, PacketRulesOp, SwitchboxOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.passes.design.create_pathfinder_flows.arbiters import Arbitration, NoSelect, Select
from tilewright.passes.design.create_pathfinder_flows.interconnect import Interconnect, append, connections_in
from tilewright.passes.design.create_pathfinder_flows.masks import cover
from tilewright.passes.design.create_pathfinder_flows.nets import Endpoint, Request
from tilewright.passes.design.create_pathfinder_flows.packets import Arrival, PacketSwitch, packet_switches
from tilewright.passes.design.create_pathfinder_flows.routes import Route
from tilewright.passes.design.create_pathfinder_flows.shim import input_port, multiplexer_side, output_port

OVERLAY = "is_ctrl_pkt_overlay"


def write_packets(interconnect: Interconnect, routes: Iterable[Route], requests: Sequence[Request]) -> None:
    """Configure switches for the packet flows, which stay in the design, and give every tile a switch."""
    switches = packet_switches(routes, requests)
    keeps = {request.dest: keep for request in requests if (keep := _keep_header(request)) is not None}
    for place in sorted(switches, key=lambda place: (not _has_control(switches[place]), place)):
        interconnect.tile(place, _first_request(switches[place]).op.location)
    for place in sorted(interconnect.tiles):
        interconnect.switch(place, interconnect.tiles[place].location, at_tile=True)
    for place, switch in switches.items():
        _Writer(interconnect, place, switch, keeps).write()


def _keep_header(request: Request) -> BoolAttr | None:
    return request.op.keep_pkt_header if isinstance(request.op, PacketFlowOp) else None


def _has_control(switch: PacketSwitch) -> bool:
    return bool(switch.control_outputs())


def _first_request(switch: PacketSwitch) -> Request:
    return next(iter(next(iter(switch.outputs.values())).values()))


class _Writer:
    """Writes the packets of one switch."""

    def __init__(
        self, interconnect: Interconnect, place: TileId, packets: PacketSwitch, keeps: Mapping[Endpoint, BoolAttr]
    ):
        self.interconnect, self.place, self.packets, self.keeps = interconnect, place, packets, keeps
        self.model = interconnect.device.model
        self.switch: SwitchboxOp = interconnect.switches[place]
        self.joined: list[ConnectOp] = []  # in the multiplexer

    def write(self) -> None:
        reserved = [_select(op) for op in self.switch.connections.ops if isinstance(op, AmselOp)]
        arbitration = Arbitration([[*outputs] for outputs in self.packets.outputs.values()], reserved)
        selects = {arrival: self.select(arbitration, arrival) for arrival in self.packets.by_importance()}
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
        request = next(iter(self.packets.outputs[cause].values()))
        append(self.switch.connections.block, [op], request.op.location)

    def select(self, arbitration: Arbitration, arrival: Arrival) -> Select:
        outputs = [*self.packets.outputs[arrival]]
        try:
            return arbitration.select_for(outputs, from_top=self.packets.is_control(arrival))
        except NoSelect as full:
            self.complain(arrival, full)

    def complain(self, arrival: Arrival, full: NoSelect) -> NoReturn:
        text = "tile op has used up all arbiter-msel combinations"
        if full.arbiter is not None:
            text = f"tile op arbiter {full.arbiter} has used up all its msels"
        flows = [(request.op, f"for {request}") for request in self.packets.outputs[arrival].values()]
        advice = "let packets that go to the same places use fewer combinations of outputs, or move a flow elsewhere"
        fail_op(self.interconnect.tiles[self.place], text, *flows, (self.interconnect.tiles[self.place], advice))

    def master_set(self, output: Port, amsels: Sequence[AmselOp]) -> MasterSetOp:
        left = output_port(self.model, self.place, output)
        if left != output:
            self.joined.append(ConnectOp(multiplexer_side(left), output))
        op = MasterSetOp(left, [amsel.result for amsel in amsels])
        op.keep_pkt_header = self.keeps.get(Endpoint(self.place, output))
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
                where = self.packets.outputs[Arrival(port, packet_id)]
                text = f"packet id {packet_id} exceeds the maximum of {self.model.max_packet_id}"
                fail(next(iter(where.values())).op, text)
        others = {arrival.packet_id for arrival in self.packets.outputs if arrival.port == port} - {*ids}
        return cover(ids, others, self.model.max_packet_id.bit_length())

    def check_slots(self, port: Port, present: int, more: int) -> None:
        limit = self.model.num_slave_slots
        if present + more <= limit:
            return
        here = [(arrival, [*outputs]) for arrival, outputs in self.packets.outputs.items() if arrival.port == port]
        ways = [f"{arrival.packet_id} to {'+'.join(f'{o.bundle}:{o.channel}' for o in outs)}" for arrival, outs in here]
        entry = input_port(self.model, self.place, port)
        op = PacketRulesOp(entry, [])
        op.location = next(iter(self.packets.outputs[here[-1][0]].values())).op.location
        fail_op(
            op,
            f"slave port packet rules exceed the {limit}-slot limit ({present} + {more}).",
            (
                self.interconnect.tiles[self.place],
                f"packets that enter {Endpoint(self.place, port)} leave in too many ways: {', '.join(ways)}",
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


def _select(op: AmselOp) -> Select:
    return Select(op.msel.value.data, op.arbiter)
