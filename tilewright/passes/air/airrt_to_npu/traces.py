"""Traces of cores and mem tiles: their units record, and shim tiles write what they send behind the results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType
from tilewright.device.enums import WireBundle
from tilewright.device.event_unit import EventUnit
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.flows import PacketDestOp, PacketFlowOp, PacketSourceOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.instructions import NpuWrite32Op
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.emitter import Emitter

TRACE_ARGUMENT = 2
"""The argument of a sequence that traces are written to."""
SYNC_CHANNEL = 15
"""The broadcast channel on which timers and traces hear that they start."""
SYNC_EVENT = "USER_EVENT_1"
"""What the first shim tile raises for that."""
FIRST_BD, LEAST_BD = 15, 4
"""Descriptors of a shim tile for traces, from the last one down; those below are for data."""
MASTER, SLAVE = True, False


@dataclass(frozen=True)
class TraceSlots:
    """What the trace unit of a kind of tile records, slot by slot, and the ports of its DMA that it looks at."""

    packet_type: int
    events: tuple[str, ...]
    ports: tuple[tuple[bool, int], ...]
    """Masters bring data to the DMA, slaves take it from there; with the channel."""


# upstream's choice, and its order
SETUPS = {
    TileType.CoreTile: TraceSlots(
        packet_type=0,
        events=(
            *("INSTR_VECTOR", "INSTR_EVENT_1", "INSTR_EVENT_0", "TRUE"),
            *("PORT_RUNNING_1", "PORT_RUNNING_0", "INSTR_LOCK_RELEASE_REQ", "INSTR_LOCK_ACQUIRE_REQ"),
        ),
        ports=((MASTER, 0), (SLAVE, 0)),
    ),
    TileType.MemTile: TraceSlots(
        packet_type=3,
        events=(
            *("PORT_RUNNING_2", "PORT_RUNNING_1", "PORT_RUNNING_0", "TRUE"),
            *("PORT_RUNNING_6", "PORT_RUNNING_5", "PORT_RUNNING_4", "PORT_RUNNING_3"),
        ),
        ports=((MASTER, 0), (MASTER, 1), (MASTER, 2), (SLAVE, 0), (SLAVE, 1), (SLAVE, 2), (SLAVE, 3)),
    ),
}


def trace_sequence(sequence: RuntimeSequenceOp, device: DeviceOp, size_bytes: int, offset_bytes: int) -> None:
    """Start all traces that have a way out of the device, before anything else is done."""
    block = sequence.body.block
    build = Emitter.at_start(block, sequence.location)
    writer = _TraceWriter(device.model, build, size_bytes // device.model.columns, offset_bytes)
    for flow in [op for op in device.body.ops if isinstance(op, PacketFlowOp)]:
        writer.start(flow)
    writer.synchronize()


@dataclass
class _TraceWriter:
    model: DeviceModel
    build: Emitter
    column_bytes: int
    offset_bytes: int
    _next_bd: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: FIRST_BD))

    def start(self, flow: PacketFlowOp) -> None:
        """Let the source of a flow record, and its end write to the host, if it is a flow of a trace."""
        source, dest = flow.ports_of(PacketSourceOp)[-1], flow.ports_of(PacketDestOp)[-1]
        if source.port.bundle is not WireBundle.Trace:
            return
        from_tile, to_tile = tile_of(source.tile), tile_of(dest.tile)
        setup = SETUPS.get(from_tile.tile_type) if from_tile is not None else None
        # channel 1 is that of the memory module
        if from_tile is None or from_tile.place is None or setup is None or source.port.channel != 0:
            fail_op(flow, "unsupported trace src.", (flow, "traces start at Trace : 0 of a core or mem tile"))
        if to_tile is None or to_tile.place is None or to_tile.tile_type is not TileType.ShimNOCTile:
            fail_op(flow, "unsupported trace dest.", (flow, "traces end at the DMA of a shim tile"))
        packet_id = flow.packet_id.value.data
        self._record(from_tile.place, EventUnit.of(self.model, from_tile.tile_type), setup, packet_id)
        if dest.port.channel not in range(self.model.resources(TileType.ShimNOCTile).channels(DmaDirection.S2MM)):
            fail_op(flow, "unknown trace dest.", (dest, "a shim tile has two channels that write to the host"))
        self._receive(flow, to_tile.place, dest.port.channel, packet_id, setup.packet_type)

    def _record(self, tile: TileId, unit: EventUnit, setup: TraceSlots, packet_id: int) -> None:
        start = unit.broadcast_event(SYNC_CHANNEL)
        self._set(tile, unit, "Timer_Control", {"Reset_Event": self._event(unit, start)})
        self._set(tile, unit, "Trace_Control0", {"Trace_Start_Event": self._event(unit, start)})
        self._set(tile, unit, "Trace_Control1", {"Packet_Type": setup.packet_type, "ID": packet_id})
        events = {f"Trace_Event{slot}": self._event(unit, event) for slot, event in enumerate(setup.events)}
        self._set_halves(tile, unit, "Trace_Event", [{name: event} for name, event in events.items()])
        switch = self.model.architecture.switches[unit.tile_type]
        ports: list[dict[str, int]] = []
        for slot, (is_master, channel) in enumerate(setup.ports):
            number = switch.port_number(WireBundle.DMA, channel, master=is_master)
            assert number is not None
            ports.append({f"Port_{slot}_ID": number, f"Port_{slot}_Master_Slave": int(is_master)})
        self._set_halves(tile, unit, "Stream_Switch_Event_Port_Selection_", ports)

    def _set_halves(self, tile: TileId, unit: EventUnit, register: str, slots: Sequence[dict[str, int]]) -> None:
        """Two registers with four slots each."""
        for half in range(2):
            fields = {name: value for slot in slots[4 * half : 4 * half + 4] for name, value in slot.items()}
            self._set(tile, unit, f"{register}{half}", fields)

    def _set(self, tile: TileId, unit: EventUnit, register: str, fields: dict[str, int]) -> None:
        offset = unit.register(register)
        assert offset is not None
        value = 0
        for name, number in fields.items():
            found = unit.field(register, name)
            assert found is not None
            value |= found.place(number)
        self._write(tile, offset, value)

    def _event(self, unit: EventUnit, name: str) -> int:
        number = unit.event(name)
        assert number is not None
        return number

    def _write(self, tile: TileId, offset: int, value: int) -> None:
        self.build.insert(NpuWrite32Op(self.build.constant(offset), self.build.constant(value), *tile))

    def _receive(self, flow: PacketFlowOp, shim: TileId, channel: int, packet_id: int, packet_type: int) -> None:
        """Give a channel of a shim tile a descriptor that takes the packets of one trace."""
        bd_id = self._next_bd[shim.column]
        if bd_id < LEAST_BD:
            fail_op(flow, "runs out of bd_id.", (flow, "let some traces leave by the shim tile of another column"))
        self._next_bd[shim.column] -= 1
        offset_bytes = self.offset_bytes + shim.column * self.column_bytes
        self.build.insert(
            NpuWriteBdOp(
                column=shim.column,
                row=shim.row,
                bd_id=bd_id,
                # upstream's number; descriptors count words, so that a trace may get longer than its share
                buffer_length=self.column_bytes,
                buffer_offset=offset_bytes,
                enable_packet=1,
                packet_id=packet_id,
                packet_type=packet_type,
                valid_bd=1,
            )
        )
        registers = self.model.registers(*shim)
        address = self.model.bd_address(*shim, bd_id) + WORD_BYTES * registers.bd_address_word
        self.build.insert(NpuAddressPatchOp(address, TRACE_ARGUMENT, self.build.constant(offset_bytes)))
        self._write(shim, registers.task_queue(DmaDirection.S2MM)[channel], registers.queue.pack(start_bd_id=bd_id)[0])

    def synchronize(self) -> None:
        """Raise the event by which all timers begin at 0, and all traces begin."""
        shim = TileId(0, 0)
        unit = EventUnit.of(self.model, self.model.tile_type(*shim))
        event = self._event(unit, SYNC_EVENT)
        # a shim tile does not hear its own broadcast
        self._set(shim, unit, "Timer_Control", {"Reset_Event": event})
        self._set(shim, unit, f"Event_Broadcast{SYNC_CHANNEL}_A", {"Event": event})
        self._set(shim, unit, "Event_Generate", {"Event": event})
