"""Routes traces to the host: packet flows to a shim tile, and what the runtime sequence does to receive them.

Each trace gets the id under which its packets travel, and knows the events that start and stop it; `egress` has the way
to the host. A runtime sequence sets timers, makes the shim receive, starts the traces, and stops them at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import IntAttr, IntegerAttr, StringAttr, i32
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import Arch, DeviceModel, DmaDirection, TileId, TileType, WireBundle
from tilewright.device.event_unit import EventUnit
from tilewright.device.layout import WORD_BYTES
from tilewright.device.registers import ShimChannelControl
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.flows import PacketDestOp, PacketFlowOp, PacketSourceOp, Port
from tilewright.dialects.aie.lookup import device_model
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp, LogicalTileOp, TileOp
from tilewright.dialects.aie.trace import TraceOp, TracePacketOp, TracePacketType, TraceStartEventOp, TraceStopEventOp
from tilewright.dialects.aie.trace_config import TraceHostConfigOp, TraceStartConfigOp
from tilewright.dialects.aie.trace_event import TraceEventAttr
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp
from tilewright.ir.diagnostics import CompileError, Severity, diagnose, fail
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.insert_trace_flows.egress import (
    Egress,
    EgressOptions,
    TraceChannel,
    TraceHostBuffer,
    choose_egress,
    host_buffers,
)
from tilewright.passes.design.trace_units import RegisterWriter
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import DevicePass, append_to, ops_of

NOT_PLACED = (
    "LogicalTileOp must be resolved to TileOp before running -aie-insert-trace-flows (run -aie-place-tiles first)"
)
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
class InsertTraceFlowsPass(DevicePass):
    name = "aie-insert-trace-flows"

    shim_channel: int = field(default=1, metadata={"help": "S2MM channel of the shim tile that receives traces"})
    default_bd_id: int = field(default=15, metadata={"help": "buffer descriptor that receives traces"})
    packet_id_start: int = field(default=1, metadata={"help": "first id for traces that do not name theirs"})
    burst_length: int = field(default=64, metadata={"help": "bytes per burst to host memory"})
    distribute_channels: bool = field(
        default=False, metadata={"help": "let traces take turns on both S2MM channels of the shim tile"}
    )
    lateral_routing: bool = field(
        default=False, metadata={"help": "let traces leave by a column without cores, away from the data"}
    )
    lateral_target_col: int = field(
        default=-1, metadata={"help": "the column for lateral routing; -1 is the nearest without cores"}
    )

    def apply_to(self, device: DeviceOp) -> None:
        if unplaced := ops_of(all_operations(device), LogicalTileOp):
            raise CompileError([diagnose(Severity.ERROR, tile, NOT_PLACED) for tile in unplaced])
        traces = ops_of(device.body.ops, TraceOp)
        if not traces:
            # programs switch traces on before they know whether any worker is traced
            for request in ops_of(all_operations(device), TraceHostConfigOp):
                Rewriter.erase_op(request)
            return
        if device.model.arch is Arch.AIE1:
            fail(device, f"traces on {device.model} cannot be lowered: the registers of its trace units are not known")
        buffers = host_buffers(device)
        units = traced_units(device, traces, self.packet_id_start)
        signals = TraceSignals.of(units)
        # all sequences ask for the same column, which `host_buffers` has made sure of
        egress = choose_egress(device, self._wishes(buffers[0].egress_column), len(units))
        for index, traced in enumerate(units):
            traced.write_packet()
            if traced.tile.place == egress.shim.place:
                listen_to_source(traced)
            source = PacketSourceOp(traced.tile.result, traced.port)
            dest = PacketDestOp(egress.shim.result, egress.channel_of(index).port)
            # With their headers, by which the traces in the host's buffer are told apart.
            flow = PacketFlowOp(traced.packet_id, [source, dest], keep_header=True)
            append_to(device.body, flow, traced.trace.location)
        for buffer in buffers:
            buffer.claim(len(egress.channels))
            SequenceSetup(buffer, units, egress, signals, self.burst_length).insert()

    def _wishes(self, column: int) -> EgressOptions:
        return EgressOptions(
            column=column,
            channel=self.shim_channel,
            bd_id=self.default_bd_id,
            distribute=self.distribute_channels,
            lateral=self.lateral_routing,
            lateral_column=self.lateral_target_col if self.lateral_target_col >= 0 else None,
        )


@dataclass(frozen=True)
class SequenceSetup:
    """The instructions for the traces of one sequence."""

    buffer: TraceHostBuffer
    units: Sequence[TracedUnit]
    egress: Egress
    signals: TraceSignals
    burst_bytes: int

    @property
    def model(self) -> DeviceModel:
        return device_model(self.egress.shim)

    @property
    def shim_unit(self) -> EventUnit:
        return EventUnit.of(self.model, self.egress.shim.tile_type)

    def insert(self) -> None:
        sequence = self.buffer.sequence
        begin = RegisterWriter(_after_last_start(sequence), sequence.location)
        self._synchronize_timers(begin)
        for position, channel in enumerate(self.egress.channels):
            self._receive(begin, channel, self.buffer.offset_bytes + position * self.buffer.channel_bytes)
        if self.signals.starts:
            # The shim does not hear its own broadcast: its timer waits for the event itself.
            self._reset_timer(begin, self.egress.shim.place, self.shim_unit, START_EVENT)
            self._raise(begin, START_EVENT, self.signals.starts)
        if self.signals.stops:
            # a runtime sequence has no terminator
            self._raise(RegisterWriter.at_end(sequence.body.block, sequence.location), STOP_EVENT, self.signals.stops)

    def _synchronize_timers(self, writer: RegisterWriter) -> None:
        """Let the timers of all traced tiles begin at 0 when the traces start."""
        for traced in self.units:
            channel = broadcast_of(traced, traced.start)
            if channel is not None:
                self._reset_timer(writer, traced.tile.place, traced.unit, traced.unit.broadcast_event(channel))

    def _reset_timer(self, writer: RegisterWriter, tile: TileId, unit: EventUnit, event: str) -> None:
        writer.write(tile, _register(unit, "Timer_Control"), _field(unit, "Timer_Control", "Reset_Event", event))

    def _receive(self, writer: RegisterWriter, channel: TraceChannel, offset_bytes: int) -> None:
        """Let a channel of the shim's DMA write what comes in to the host, until the buffer is full."""
        column, row = place = self.egress.shim.place
        registers = self.model.registers(column, row)
        writer.insert(
            NpuWriteBdOp(
                column=column,
                row=row,
                bd_id=channel.bd_id,
                buffer_length=self.buffer.channel_bytes // WORD_BYTES,
                enable_packet=1,
                valid_bd=1,
                burst_length=self.burst_bytes,
            )
        )
        address = self.model.bd_address(column, row, channel.bd_id) + WORD_BYTES * registers.bd_address_word
        writer.insert(NpuAddressPatchOp(address, self.buffer.argument, writer.constant(offset_bytes)))
        controller = ShimChannelControl.controller_id
        control = registers.control(DmaDirection.S2MM)[channel.number]
        writer.write_masked(place, control, controller.place(self._controller_id()), controller.mask)
        task = registers.queue.pack(enable_token_issue=1, start_bd_id=channel.bd_id)
        writer.write(place, registers.task_queue(DmaDirection.S2MM)[channel.number], task[0])

    def _controller_id(self) -> int:
        """The id under which the shim tile sends completion tokens."""
        shim = self.egress.shim
        if shim.controller_id is None:  # the pass that gives tiles their ids need not have run
            ids = self.model.controller_ids()
            shim.attributes["controller_id"] = PacketInfoAttr.new([IntAttr(0), IntAttr(ids[shim.place])])
        assert shim.controller_id is not None
        return shim.controller_id.pkt_id.data

    def _raise(self, writer: RegisterWriter, event: str, channels: Sequence[int]) -> None:
        """Raise an event in the shim tile, and broadcast it on some channels."""
        unit, place = self.shim_unit, self.egress.shim.place
        for channel in channels:
            register = f"Event_Broadcast{channel}_A"
            writer.write(place, _register(unit, register), _field(unit, register, "Event", event))
        writer.write(place, _register(unit, "Event_Generate"), _field(unit, "Event_Generate", "Event", event))


def _register(unit: EventUnit, name: str) -> int:
    offset = unit.register(name)
    assert offset is not None, f"the device has no register {name}"
    return offset


def _field(unit: EventUnit, register: str, name: str, event: str) -> int:
    """A register word with the number of an event in one of its fields."""
    field, number = unit.field(register, name), unit.event(event)
    assert field is not None and number is not None, f"{register}.{name} cannot be {event}"
    return field.place(number)


def _after_last_start(sequence: RuntimeSequenceOp) -> InsertPoint:
    """Behind the set-up of all traces, so that nothing is lost of what they record."""
    starts = ops_of(sequence.body.block.ops, TraceStartConfigOp)
    return InsertPoint.after(starts[-1]) if starts else InsertPoint.at_start(sequence.body.block)


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
            build = Emitter.at_start(self.trace.body.block, self.trace.location)
            packet = build.insert(TracePacketOp(self.packet_type, self.packet_id))
        packet.id = IntegerAttr(self.packet_id, i32)


def traced_units(device: DeviceOp, traces: Sequence[TraceOp], first_id: int) -> list[TracedUnit]:
    """The traces, complete; each unit of a tile has at most one."""
    ids = _packet_ids(device, traces, first_id)
    seen: dict[tuple[TileId, TracePacketType], TraceOp] = {}
    found: list[TracedUnit] = []
    for trace in traces:
        tile, packet = _tile(trace), trace.packet
        packet_type = PACKET_TYPES[tile.tile_type] if packet is None else packet.packet_type
        # the core and the memory of a core tile have a unit each
        first = seen.setdefault((tile.place, packet_type), trace)
        if first is not trace:
            fail(
                trace,
                f"tile {tuple(tile.place)} is traced more than once on the same trace unit; each unit can have only "
                "one trace configuration",
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
    waiting = sorted((trace for trace in traces if trace not in ids), key=lambda trace: _tile(trace).place)
    free = (number for number in range(first_id, device.model.max_packet_id + 1) if number not in owners)
    given = dict(zip(waiting, free, strict=False))
    if len(given) < len(waiting):
        fail(
            device,
            f"trace overlay needs {len(waiting)} auto-allocated packet IDs starting at {first_id} (with {len(owners)} "
            "id(s) reserved by explicit aie.trace.packet ops), but the hardware packet-id field is 5 bits (max "
            f"{device.model.max_packet_id}); reduce the number of traced tiles, free up an explicit id, or raise "
            "-packet-id-start only if you can spare the lower IDs",
        )
    return ids | given


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
