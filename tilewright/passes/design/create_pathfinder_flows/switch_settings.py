"""The settings of all stream switches as plain data, and how they are read from a design."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.ir import Operation

from tilewright.device import TileId, WireBundle
from tilewright.device.stream_switch import SHIM_MUX_ENTRIES, SHIM_MUX_EXITS
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
from tilewright.passes.design.create_pathfinder_flows.nets import Endpoint


class Hop(NamedTuple):
    """A connection in a switch."""

    tile: TileId
    source: Port
    dest: Port


class Rule(NamedTuple):
    """Packets whose masked id has this value leave through these ports."""

    mask: int
    value: int
    outputs: tuple[Port, ...]

    def matches(self, packet_id: int) -> bool:
        return packet_id & self.mask == self.value


@dataclass
class Settings:
    """What every switch does with what enters it. A port is circuit switched or has rules, the first match deciding."""

    circuits: dict[Endpoint, list[Port]] = field(default_factory=lambda: defaultdict(list))
    rules: dict[Endpoint, list[Rule]] = field(default_factory=lambda: defaultdict(list))
    keeps_header: dict[Endpoint, bool] = field(default_factory=dict[Endpoint, bool])  # outputs that say so
    entries: dict[Endpoint, Endpoint] = field(default_factory=dict[Endpoint, Endpoint])
    """From a shim's DMA, NoC or PL port, through the multiplexer, to the switch."""
    exits: dict[Endpoint, Endpoint] = field(default_factory=dict[Endpoint, Endpoint])
    """The other way round."""

    def is_set(self, entry: Endpoint) -> bool:
        return entry in self.circuits or entry in self.rules


def read_settings(device: DeviceOp) -> Settings:
    """The settings that the switches and multiplexers of a design describe."""
    settings = Settings()
    for op in device.body.ops:
        if isinstance(op, SwitchboxOp):
            _read_switch(op, settings)
            if op.place is not None and device.model.is_shim_pl(*op.place):
                _read_logic_ports(op.place, settings)
        elif isinstance(op, ShimMuxOp):
            _read_multiplexer(op, settings)
    return settings


def _read_switch(switch: SwitchboxOp, settings: Settings) -> None:
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
    for op in switch.connections.ops:
        if isinstance(op, PacketRulesOp):
            settings.rules[_at(switch, op.source)] += [
                Rule(rule.mask.value.data, rule.value.value.data, tuple(outputs[rule.amsel.owner]))
                for rule in op.rules.ops
                if isinstance(rule, PacketRuleOp) and isinstance(rule.amsel.owner, AmselOp)
            ]


def _read_logic_ports(tile: TileId, settings: Settings) -> None:
    """A shim without a multiplexer has the PL's ports where others have it."""
    for (bundle, channel), south in SHIM_MUX_ENTRIES.items():
        if bundle is WireBundle.PLIO:
            settings.entries[Endpoint(tile, Port(bundle, channel))] = Endpoint(tile, Port(WireBundle.South, south))
    for (bundle, channel), south in SHIM_MUX_EXITS.items():
        if bundle is WireBundle.PLIO:
            settings.exits[Endpoint(tile, Port(WireBundle.South, south))] = Endpoint(tile, Port(bundle, channel))


def _read_multiplexer(multiplexer: ShimMuxOp, settings: Settings) -> None:
    """In a multiplexer North is the side of the switch, whose South ports are there."""
    for op in multiplexer.connections.ops:
        if not isinstance(op, ConnectOp):
            continue
        if op.dest.bundle is WireBundle.North:
            settings.entries[_at(multiplexer, op.source)] = _at(multiplexer, Port(WireBundle.South, op.dest.channel))
        else:
            settings.exits[_at(multiplexer, Port(WireBundle.South, op.source.channel))] = _at(multiplexer, op.dest)


def _at(op: TileElement, port: Port) -> Endpoint:
    if op.place is None:
        fail_op(op, "belongs to a tile that is not placed")
    return Endpoint(op.place, port)
