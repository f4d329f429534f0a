"""Traces of some tiles: which events each records, and the start of all of them in a runtime sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from tilewright.device import WireBundle
from tilewright.dialects.aie.trace import MAX_EVENTS, TraceMode
from tilewright.iron.builders.location import refuse
from tilewright.iron.placed.trace import (
    TracePacketType,
    trace,
    trace_event,
    trace_host_config,
    trace_mode,
    trace_packet,
    trace_port,
    trace_start,
    trace_start_config,
    trace_stop,
)
from tilewright.iron.utils.trace.events import (
    BasePortEvent,
    CoreEvent,
    GenericEvent,
    MemEvent,
    MemTileEvent,
    MemTilePortEvent,
    PortEvent,
    ShimTileEvent,
)

_CONFIGURED: ContextVar[tuple[str, ...]] = ContextVar("configured traces", default=())
"""The traces that `start_trace` starts."""

_SHIM_STATES = ("START_TASK", "FINISHED_TASK")
_SHIM_CHANNELS = ("S2MM_0", "S2MM_1", "MM2S_0")
DEFAULT_EVENTS: dict[TracePacketType, list[Any]] = {
    TracePacketType.Core: [
        *(CoreEvent.INSTR_EVENT_0, CoreEvent.INSTR_EVENT_1, CoreEvent.INSTR_VECTOR),
        *(CoreEvent.MEMORY_STALL, CoreEvent.STREAM_STALL, CoreEvent.LOCK_STALL),
        PortEvent(CoreEvent.PORT_RUNNING_0, WireBundle.DMA, 0, True),
        PortEvent(CoreEvent.PORT_RUNNING_1, WireBundle.DMA, 0, False),
    ],
    TracePacketType.Mem: [
        *(MemEvent.DMA_S2MM_0_START_TASK, MemEvent.DMA_MM2S_0_START_TASK),
        *(MemEvent[f"CONFLICT_DM_BANK_{bank}"] for bank in range(4)),
        *(MemEvent.EDGE_DETECTION_EVENT_0, MemEvent.EDGE_DETECTION_EVENT_1),
    ],
    TracePacketType.MemTile: [
        MemTilePortEvent(MemTileEvent[f"PORT_RUNNING_{slot}"], WireBundle.DMA, slot % 4, slot < 4) for slot in range(8)
    ],
    TracePacketType.ShimTile: [
        *(ShimTileEvent[f"DMA_{channel}_{state}"] for state in _SHIM_STATES for channel in _SHIM_CHANNELS),
        *(ShimTileEvent.DMA_S2MM_0_STREAM_STARVATION, ShimTileEvent.DMA_S2MM_1_STREAM_STARVATION),
    ],
}
"""What tiles record where a program does not say; what mlir-aie's do."""
_NAMES = {
    TracePacketType.Core: "core",
    TracePacketType.Mem: "mem",
    TracePacketType.MemTile: "memtile",
    TracePacketType.ShimTile: "shim",
}


def configure_trace(
    tiles_to_trace: Sequence[Any],
    start_broadcast: int = 15,
    stop_broadcast: int = 14,
    coretile_events: Sequence[Any] | None = None,
    coremem_events: Sequence[Any] | None = None,
    memtile_events: Sequence[Any] | None = None,
    shimtile_events: Sequence[Any] | None = None,
    core_trace_mode: TraceMode = TraceMode.EventTime,
    own_events: Sequence[tuple[Any, Sequence[Any]]] = (),
) -> None:
    """Have these tiles record events, between two events that all tiles hear of.

    Args:
        tiles_to_trace: tiles; the memory of a core tile is recorded too where the tile is there twice, or where
            `coremem_events` are given
        start_broadcast: the channel of the event that starts the traces
        stop_broadcast: the channel of the event that ends them
        coretile_events: what cores record, at most eight events; the others are for the other kinds of tiles
        coremem_events: what memories of core tiles record
        memtile_events: what mem tiles record
        shimtile_events: what shim tiles record
        core_trace_mode: what cores write down of an event: the time, the program counter, or every branch
        own_events: what some cores record instead, by their tiles
    """
    chosen = {
        TracePacketType.Core: coretile_events,
        TracePacketType.Mem: coremem_events,
        TracePacketType.MemTile: memtile_events,
        TracePacketType.ShimTile: shimtile_events,
    }
    names = list[str]()
    for number, (tile, kind) in enumerate(_units(tiles_to_trace, coremem_events is not None), 1):
        name = f"trace_{_NAMES[kind]}_{number}"
        events = chosen[kind] if chosen[kind] is not None else DEFAULT_EVENTS[kind]
        if kind is TracePacketType.Core:
            events = next((own for place, own in own_events if place == tile), events)
        mode = core_trace_mode if kind is TracePacketType.Core else None
        _record(tile, name, kind, _checked(events or ()), mode, start_broadcast, stop_broadcast)
        names.append(name)
    _CONFIGURED.set(tuple(names))


def start_trace(
    trace_size: int = 8192, reuse_output_buffer: bool = False, routing: Any = "single", egress_shim_col: int = 0
) -> None:
    """Start the configured traces, in a runtime sequence.

    Args:
        trace_size: bytes for what is recorded
        reuse_output_buffer: whether these are at the end of the last argument, and not an argument of their own
        routing: how packets find a shim tile; there is one way
        egress_shim_col: the column of that shim tile
    """
    trace_host_config(
        buffer_size=trace_size,
        reuse_output_buffer=reuse_output_buffer,
        routing=routing,
        egress_shim_col=egress_shim_col,
    )
    for name in _CONFIGURED.get():
        trace_start_config(name)


def _units(tiles: Sequence[Any], with_memories: bool) -> Iterator[tuple[Any, TracePacketType]]:
    """The trace units of some tiles, those of memories that nobody named at the end."""
    seen, memories = list[Any](), list[Any]()
    for tile in tiles:
        if not tile.is_core_tile():
            yield tile, TracePacketType.MemTile if tile.is_mem_tile() else TracePacketType.ShimTile
        elif tile in seen:
            memories.append(tile)
            yield tile, TracePacketType.Mem
        else:
            seen.append(tile)
            yield tile, TracePacketType.Core
    if with_memories:
        yield from ((tile, TracePacketType.Mem) for tile in seen if tile not in memories)


def _checked(events: Sequence[Any]) -> list[GenericEvent]:
    """Events, eight of them: what is not used records nothing."""
    if len(events) > MAX_EVENTS:
        refuse(f"At most {MAX_EVENTS} events can be traced at once, have {len(events)}.")
    given = [event if isinstance(event, GenericEvent) else GenericEvent(event) for event in events]
    monitors = dict[int, BasePortEvent]()
    for event in given:
        if isinstance(event, BasePortEvent):
            first = monitors.setdefault(event.slot, event)
            if (first.port, first.channel, first.master) != (event.port, event.channel, event.master):
                refuse(
                    f"Conflicting port configurations for slot {event.slot}: {first.code.name} is about "
                    f"{_port(first)}, {event.code.name} about {_port(event)}. Events sharing a slot must monitor the "
                    "same port."
                )
    return given + [GenericEvent("NONE")] * (MAX_EVENTS - len(given))


def _port(event: BasePortEvent) -> str:
    return f"{event.port.name} {event.channel} ({'out of' if event.master else 'into'} the switch)"


def _record(
    tile: Any,
    name: str,
    kind: TracePacketType,
    events: Sequence[GenericEvent],
    mode: TraceMode | None,
    start_broadcast: int,
    stop_broadcast: int,
) -> None:
    @trace(tile, name)
    def body() -> None:
        if mode is not None:
            trace_mode(mode)
        trace_packet(type=kind)
        for event in events:
            trace_event(event)
        for slot, event in {event.slot: event for event in events if isinstance(event, BasePortEvent)}.items():
            trace_port(slot, event.port, event.channel, event.direction)
        trace_start(broadcast=start_broadcast)
        trace_stop(broadcast=stop_broadcast)
