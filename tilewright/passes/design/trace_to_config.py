"""Lowers traces to the register fields that set them up."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import WireBundle
from tilewright.device.event_unit import EventUnit
from tilewright.dialects._ods import enum_value
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aie.trace import (
    ComboLogic,
    EdgeTrigger,
    TraceComboEventOp,
    TraceEdgeEventOp,
    TraceEventOp,
    TraceMode,
    TraceModeOp,
    TraceOp,
    TracePacketOp,
    TracePacketType,
    TracePortOp,
    TraceStartEventOp,
    TraceStopEventOp,
)
from tilewright.dialects.aie.trace_config import TraceConfigOp, TraceRegOp, TraceStartConfigOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.trace_units import event_number, unit_at
from tilewright.rewrite.pass_bases import DevicePass, ops_of

SLOTS_PER_REGISTER = 4  # of events to record, and of ports
COMBO_INPUTS = {0: ("eventA", "eventB"), 1: ("eventC", "eventD")}
"""The fields with the inputs of a combo event. The third one combines the results of these two, and nothing else."""


class TraceToConfigPass(DevicePass):
    name = "aie-trace-to-config"

    def apply_to(self, device: DeviceOp) -> None:
        configs: dict[str, TraceConfigOp] = {}
        for trace in ops_of(device.body.ops, TraceOp):
            config = configs[trace.sym_name.data] = _lower(trace)
            Rewriter.insert_op(config, InsertPoint.after(trace))
            Rewriter.erase_op(trace)
        for start in ops_of(all_operations(device), TraceStartConfigOp):
            if config := configs.get(start.trace_config.string_value()):
                start.trace_config = TraceStartConfigOp(config.sym_name.data).trace_config


def _lower(trace: TraceOp) -> TraceConfigOp:
    packet = trace.packet
    packet_type = TracePacketType.core if packet is None else packet.packet_type
    unit = unit_at(trace, trace.tile, memory=packet_type is TracePacketType.mem)
    config = TraceConfigOp(
        f"{trace.sym_name.data}_config", trace.tile, packet_type, list(_Fields(trace, packet_type, unit))
    )
    for op in config.walk():
        if not isinstance(op, TraceRegOp):  # these know where they come from
            op.location = trace.location
    return config


class _Fields:
    """The fields to write for a trace: first those that make the events which others refer to."""

    def __init__(self, trace: TraceOp, packet_type: TracePacketType, unit: EventUnit):
        self.trace, self.packet_type, self.unit = trace, packet_type, unit

    def __iter__(self) -> Iterator[TraceRegOp]:
        for combo in self.trace.ops_of(TraceComboEventOp):
            yield from self._combo(combo)
        for edge in self.trace.ops_of(TraceEdgeEventOp):
            yield from self._edge(edge)
        for op in self.trace.body.ops:
            yield from self._control(op)
        for port in self.trace.ops_of(TracePortOp):
            yield from self._port(port)
        for slot, event in enumerate(self.trace.ops_of(TraceEventOp)):
            # refuses what the unit does not know; the name is written
            event_number(event, self.unit, event.event.event_name)
            register = f"Trace_Event{slot // SLOTS_PER_REGISTER}"
            yield self._write(register, f"Trace_Event{slot}", event.event.text, event.event.event_name)

    def _write(
        self, register: str, field: str, value: int | str, comment: str, origin: Operation | None = None
    ) -> TraceRegOp:
        op = TraceRegOp(register, field, value, comment)
        op.location = (origin or self.trace).location
        return op

    def _combo(self, op: TraceComboEventOp) -> Iterator[TraceRegOp]:
        slot = op.slot.value.data
        for event in (op.event_a, op.event_b):
            event_number(op, self.unit, event.event_name)
        # The third combo has no inputs of its own, so that nothing is written for it here.
        for which, field, event in zip("AB", COMBO_INPUTS.get(slot, ()), (op.event_a, op.event_b), strict=False):
            yield self._write("Combo_event_inputs", field, event.text, f"combo{slot} event{which}", op)
        logic = enum_value(ComboLogic, op.logic)
        yield self._write("Combo_event_control", f"combo{slot}", logic, f"combo{slot} logic", op)

    def _edge(self, op: TraceEdgeEventOp) -> Iterator[TraceRegOp]:
        register, slot = "Edge_Detection_event_control", op.slot.value.data
        event_number(op, self.unit, op.event.event_name)
        yield self._write(register, f"Edge_Detection_Event_{slot}", op.event.text, f"edge{slot} source", op)
        trigger = enum_value(EdgeTrigger, op.trigger)
        for edge in (EdgeTrigger.RISING, EdgeTrigger.FALLING):
            word = edge.name.lower()
            field = f"Edge_Detection_{slot}_Trigger_{word.capitalize()}"
            yield self._write(register, field, int(trigger & edge != 0), f"edge{slot} {word}", op)

    def _control(self, op: Operation) -> Iterator[TraceRegOp]:
        match op:
            case TraceStartEventOp():
                yield self._write("Trace_Control0", "Trace_Start_Event", self._limit(op), "start event")
            case TraceStopEventOp():
                yield self._write("Trace_Control0", "Trace_Stop_Event", self._limit(op), "stop event")
            case TraceModeOp() if self.packet_type is TracePacketType.core:  # no other unit has modes
                yield self._write("Trace_Control0", "Mode", enum_value(TraceMode, op.mode), "trace mode")
            case TracePacketOp():
                if op.id is None:
                    fail(op, "the trace has no packet id yet; run --aie-insert-trace-flows first, or give it one")
                yield self._write("Trace_Control1", "ID", op.id.value.data, "packet ID")
                yield self._write("Trace_Control1", "Packet_Type", op.packet_type, "packet type")
            case _:
                pass

    def _limit(self, op: TraceStartEventOp | TraceStopEventOp) -> int:
        """The number of the event that begins or ends the trace."""
        if op.broadcast is None:
            return event_number(op, self.unit, op.event.event_name if op.event is not None else "")
        name = self.unit.broadcast_event(op.broadcast.value.data)
        number = self.unit.event(name)
        if number is None:
            fail(op, f"unknown broadcast event '{name}'")
        return number

    def _port(self, op: TracePortOp) -> Iterator[TraceRegOp]:
        slot = op.slot.value.data
        register = f"Stream_Switch_Event_Port_Selection_{slot // SLOTS_PER_REGISTER}"
        place = f"{enum_value(WireBundle, op.port)}:{op.channel.value.data}"
        yield self._write(register, f"Port_{slot}_ID", place, f"port {slot} ID", op)
        yield self._write(register, f"Port_{slot}_Master_Slave", int(op.is_master), f"port {slot} master/slave", op)
