"""The traces of a device: what each is about, and the id under which its packets travel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TileId, TileType, WireBundle
from tilewright.device.event_unit import EventUnit
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aie.trace import TraceOp, TracePacketOp, TracePacketType, TraceStartEventOp, TraceStopEventOp
from tilewright.dialects.aie.trace_event import TraceEventAttr
from tilewright.ir.diagnostics import fail

PACKET_TYPES = {
    TileType.CoreTile: TracePacketType.core,
    TileType.MemTile: TracePacketType.memtile,
    TileType.ShimNOCTile: TracePacketType.shimtile,
    TileType.ShimPLTile: TracePacketType.shimtile,
}
"""What a trace of a tile is of if it does not say so."""
START_EVENT, STOP_EVENT = "USER_EVENT_1", "USER_EVENT_0"
"""What the sequence raises in the shim tile that receives the traces."""


@dataclass(frozen=True)
class TracedUnit:
    """One trace with its tile and its packets."""

    trace: TraceOp
    tile: TileOp
    packet_type: TracePacketType
    packet_id: int
    start: TraceStartEventOp
    stop: TraceStopEventOp

    @property
    def unit(self) -> EventUnit:
        return EventUnit.of(self.device.model, self.tile.tile_type, memory=self.packet_type is TracePacketType.mem)

    @property
    def device(self) -> DeviceOp:
        device = self.trace.parent_op()
        assert isinstance(device, DeviceOp)
        return device

    @property
    def port(self) -> Port:
        """Where the packets enter the streams."""
        # a core tile's memory has the second port
        return Port(WireBundle.Trace, 1 if self.packet_type is TracePacketType.mem else 0)

    def write_packet(self) -> None:
        """Make the trace itself say what its packets are."""
        packet = self.trace.packet
        if packet is None:
            packet = TracePacketOp(self.packet_type, self.packet_id)
            packet.location = self.trace.location
            Rewriter.insert_op(packet, InsertPoint.at_start(self.trace.body.block))
        packet.id = IntegerAttr(self.packet_id, i32)


def traced_units(device: DeviceOp, traces: Sequence[TraceOp], first_id: int) -> list[TracedUnit]:
    """The traces, complete; each unit of a tile has at most one."""
    ids = _packet_ids(device, traces, first_id)
    seen: dict[tuple[TileId, TracePacketType], TraceOp] = {}
    found: list[TracedUnit] = []
    for trace in traces:
        tile, packet = _tile(trace), trace.packet
        packet_type = PACKET_TYPES[tile.tile_type] if packet is None else packet.packet_type
        first = seen.setdefault((tile.place, packet_type), trace)
        if first is not trace:
            column, row = tile.place
            fail(
                trace,
                f"tile ({column}, {row}) is traced more than once on the same trace unit; each unit can have only one "
                "trace configuration",
                (first, "the other trace is here; move its events into one of the two"),
            )
        found.append(TracedUnit(trace, tile, packet_type, ids[trace], *_limits(trace)))
    return found


def _tile(trace: TraceOp) -> TileOp:
    tile = trace.tile.owner
    assert isinstance(tile, TileOp), "logical tiles are refused before"
    return tile


def _limits(trace: TraceOp) -> tuple[TraceStartEventOp, TraceStopEventOp]:
    starts, stops = trace.ops_of(TraceStartEventOp), trace.ops_of(TraceStopEventOp)
    if not starts:
        fail(trace, "trace is missing 'aie.trace.start'")
    if not stops:
        fail(trace, "trace is missing 'aie.trace.stop'")
    return starts[0], stops[0]


def _packet_ids(device: DeviceOp, traces: Sequence[TraceOp], first_id: int) -> dict[TraceOp, int]:
    """The ids that traces ask for; the others get free ones by column and row, wherever they stand in the program."""
    ids = {trace: packet.id.value.data for trace in traces if (packet := trace.packet) and packet.id is not None}
    _require_distinct(ids)
    taken = set(ids.values())
    waiting = sorted((trace for trace in traces if trace not in ids), key=lambda trace: _tile(trace).place)
    free = (number for number in range(first_id, device.model.max_packet_id + 1) if number not in taken)
    given = dict(zip(waiting, free, strict=False))
    if len(given) < len(waiting):
        fail(
            device,
            f"trace overlay needs {len(waiting)} auto-allocated packet IDs starting at {first_id} (with {len(taken)} "
            "id(s) reserved by explicit aie.trace.packet ops), but the hardware packet-id field is 5 bits (max "
            f"{device.model.max_packet_id}); reduce the number of traced tiles, free up an explicit id, or raise "
            "-packet-id-start only if you can spare the lower IDs",
        )
    return ids | given


def _require_distinct(ids: dict[TraceOp, int]) -> None:
    owners: dict[int, TraceOp] = {}
    for trace, number in ids.items():
        first = owners.setdefault(number, trace)
        if first is not trace:
            fail(
                trace.packet,
                f"trace packet id {number} is already used by another trace; explicit packet ids must be unique across "
                "the device",
                (first.packet, f"previous use of packet id {number}"),
            )


class TraceSignals(NamedTuple):
    """The broadcast channels on which traces wait for their start, and for their end."""

    starts: list[int]
    stops: list[int]

    @classmethod
    def of(cls, units: Sequence[TracedUnit]) -> TraceSignals:
        return cls(
            starts=_distinct(broadcast_of(traced, traced.start) for traced in units),
            stops=_distinct(broadcast_of(traced, traced.stop) for traced in units),
        )


def broadcast_of(traced: TracedUnit, limit: TraceStartEventOp | TraceStopEventOp) -> int | None:
    """The channel that a trace listens to, if it does not wait for an event of its own tile."""
    if limit.broadcast is None:
        return None
    channel = limit.broadcast.value.data
    name = traced.unit.broadcast_event(channel)
    if traced.unit.event(name) is None:
        fail(traced.trace, f"Failed to lookup broadcast event '{name}'")
    return channel


def _distinct(channels: Iterable[int | None]) -> list[int]:
    return list(dict.fromkeys(channel for channel in channels if channel is not None))


def listen_to_source(traced: TracedUnit) -> None:
    """Let the trace of the shim tile that raises the events wait for these: it does not hear its own broadcasts."""
    for limit, event in ((traced.start, START_EVENT), (traced.stop, STOP_EVENT)):
        if limit.broadcast is not None:
            limit.broadcast = None
            limit.event = TraceEventAttr(StringAttr(event))
