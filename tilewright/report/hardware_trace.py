"""Hardware traces: the packets that trace units wrote to a host buffer, as events with their cycles.

A packet says which module of which tile recorded it, and the registers of the module's event unit what the slots mean;
those come from the register writes of a lowered design. What `trace_entries` gives has the form that mlir-aie's own
decoder writes, so that tools for that read it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.device import DeviceModel, TileId
from tilewright.device.event_unit import EventUnit
from tilewright.device.events import MODULES, EventModule
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.device.packets import PacketHeader, with_parity
from tilewright.device.register_fields import EVENT_REGISTERS
from tilewright.device.trace_packets import (
    COUNTER,
    CYCLES,
    LOOP,
    NEW_COUNTER,
    NOT_TAKEN,
    PACKET_WORDS,
    REPEAT_KINDS,
    REPEATS,
    SLOTS,
    START,
    START_COUNTERS,
    START_EXECUTION,
    SYNC,
    SYNC_CYCLES,
    TAKEN,
    TIMER,
    WITH_COUNTER,
    RecordingMode,
    TraceFrame,
    frames_of,
)
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.lookup import constant_values
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.instructions import NpuWrite32Op, NpuWriteWordsOp
from tilewright.errors import ArgumentError

Words = npt.NDArray[np.uint32]
SETTINGS = ("Trace_Control0", "Trace_Event0", "Trace_Event1")
EXECUTED_KINDS = (NEW_COUNTER, LOOP, TAKEN, NOT_TAKEN)
EXECUTED = ("NEW_PC", "LOOP_COUNT", "BRANCH_TAKEN", "BRANCH_NOT_TAKEN")
"""What a unit records that records execution, in the place of events: how the program goes on where it branches."""
_PROCESSES = {
    EventModule.Core: "core",
    EventModule.Mem: "mem",
    EventModule.ShimTile: "shim",
    EventModule.MemTile: "memtile",
}


class TracedModule(NamedTuple):
    """What a trace unit belongs to; packets name it by the type and the source in their header."""

    module: EventModule
    tile: TileId

    def __str__(self) -> str:
        return f"the {self.module.name} module of tile ({self.tile.column}, {self.tile.row})"


@dataclass(frozen=True)
class TraceSetup:
    """The settings of a trace unit."""

    events: tuple[str, ...]
    """Names of the events in its slots."""
    mode: RecordingMode

    @property
    def recorded(self) -> Sequence[str]:
        """Names of what it records: events, or how its core's program goes on."""
        return EXECUTED if self.mode is RecordingMode.EXECUTION else self.events


@dataclass(frozen=True)
class RecordedEvent:
    """An event that was active from one cycle up to another, or, where no time was recorded, the how manieth it was."""

    source: TracedModule
    slot: int
    name: str
    begin: int
    end: int
    counter: int | None = None
    """The program counter, where that was recorded, or the turns of a loop."""


def trace_setups(device: DeviceOp) -> dict[TracedModule, TraceSetup]:
    """The trace units that the sequences of a lowered device set up."""
    model, written = device.model, defaultdict[TileId, dict[int, int]](dict)
    for place, offset, value in _writes(device):
        written[place][offset] = value
    found = dict[TracedModule, TraceSetup]()
    for place, registers in written.items():
        for unit in _units(model, place):
            if (setup := _setup(unit, registers)) is not None:
                found[TracedModule(unit.module, place)] = setup
    return dict(sorted(found.items()))


def records_execution(core: CoreOp) -> bool:
    """Whether the trace unit of a core is set up to record which way its program goes."""
    device = core.parent_op()
    if not isinstance(device, DeviceOp) or core.place is None or not any(True for _ in trace_registers(device)):
        return False
    setup = trace_setups(device).get(TracedModule(EventModule.Core, core.place))
    return setup is not None and setup.mode is RecordingMode.EXECUTION


def trace_registers(device: DeviceOp) -> Iterator[tuple[TileId, int, int]]:
    """The writes of a lowered device that say what is recorded: tile, offset in it and value."""
    for place, offset, value in _writes(device):
        if any(unit.register(name) == offset for unit in _units(device.model, place) for name in SETTINGS):
            yield place, offset, value


def _units(model: DeviceModel, place: TileId) -> Iterator[EventUnit]:
    # By row alone: where a design is put is not known, and its columns may be counted from elsewhere.
    if model.is_valid_tile(0, place.row):
        tile_type = model.tile_type(0, place.row)
        yield from (EventUnit(model, tile_type, module) for module in MODULES[tile_type])


def _writes(device: DeviceOp) -> Iterator[tuple[TileId, int, int]]:
    """The register writes whose addresses and values are known."""
    for op in device.walk():
        match op:
            case NpuWrite32Op() if op.buffer is None:
                address, *values = constant_values([op.address, op.value])
                if address is not None and op.column is not None and op.row is not None:
                    address = device.model.tile_address(op.column.value.data, op.row.value.data, address)
            case NpuWriteWordsOp():
                address, *values = constant_values([op.address, *op.values])
            case _:
                continue
        if address is not None:
            numbered = ((address + WORD_BYTES * n, value) for n, value in enumerate(values))
            yield from ((*device.model.locate(at), value & WORD_MASK) for at, value in numbered if value is not None)


def _setup(unit: EventUnit, registers: Mapping[int, int]) -> TraceSetup | None:
    offsets = {name: unit.register(name) for name in SETTINGS}
    if not any(offset in registers for offset in offsets.values()):
        return None
    fields = dict[str, int]()
    for name, offset in offsets.items():
        fields |= EVENT_REGISTERS[unit.module][name].decode([0 if offset is None else registers.get(offset, 0)])
    names = {number: name for name, number in unit.events.items()}
    events = tuple(names.get(number := fields[f"trace_event{slot}"], f"EVENT_{number}") for slot in range(SLOTS))
    return TraceSetup(events, RecordingMode(fields.get("mode", 0) % len(RecordingMode)))


def decode_trace(
    words: npt.NDArray[Any], setups: Mapping[TracedModule, TraceSetup], column_shift: int | None = None
) -> list[RecordedEvent]:
    """The events in a trace buffer, unit by unit, in the order of their cycles.

    Cycles are counted from the earliest start of a unit. A design may have been placed some columns further on than it
    says, by `column_shift`; where that is not given, the first column of the trace is taken for the design's.
    """
    payloads = payloads_of(words)
    if column_shift is None and payloads and setups:
        column_shift = min(key.tile.column for key in payloads) - min(key.tile.column for key in setups)
    streams = list[tuple[TracedModule, list[TraceFrame]]]()
    for source, data in payloads.items():
        meant = source._replace(tile=TileId(source.tile.column - (column_shift or 0), source.tile.row))
        if meant not in setups:
            raise ArgumentError(
                f"the trace has packets of {source}, which the design does not trace: it is of another design, or of "
                "another column (--column-shift)"
            )
        streams.append((meant, list(frames_of(data, setups[meant].mode))))
    starts = [frame[TIMER] for _, frames in streams for frame in frames if frame.kind in (START, START_COUNTERS)]
    events = list[RecordedEvent]()
    for source, frames in sorted(streams, key=lambda stream: stream[0]):
        events += events_of(source, setups[source], frames, min(starts, default=0))
    return events


def events_of(
    source: TracedModule, setup: TraceSetup, frames: Iterable[TraceFrame], origin: int = 0
) -> Iterator[RecordedEvent]:
    """The events that frames of one unit tell of; `origin` is the time at which cycles begin to be counted."""
    return _Reading(source, setup, origin).events(frames)


def payloads_of(words: npt.NDArray[Any]) -> dict[TracedModule, bytes]:
    """The bytes behind the headers of packets, for each module. What is no packet is passed over."""
    numbers: list[int] = np.ascontiguousarray(words).view(np.uint32).reshape(-1).tolist()
    found, at = defaultdict[TracedModule, bytearray](bytearray), 0
    while at < len(numbers):
        if (source := _source(numbers[at])) is None:
            at += 1
            continue
        for word in numbers[at + 1 : at + PACKET_WORDS]:
            found[source] += word.to_bytes(4, "big")
        at += PACKET_WORDS
    return {source: bytes(data) for source, data in found.items()}


def _source(word: int) -> TracedModule | None:
    """The module that a packet comes from; None for a word that is no header of a trace packet."""
    fields = PacketHeader.decode([word])
    known = {name: value for name, value in fields.items() if name != "parity"}
    # Bits between the fields are 0 in a header, and its ones are odd in number.
    if not word or with_parity(PacketHeader.encode(**known)[0]) != word or fields["type"] >= len(EventModule):
        return None
    return TracedModule(EventModule(fields["type"]), TileId(fields["source_column"], fields["source_row"]))


class _Reading:
    """Reads the frames of one unit."""

    def __init__(self, source: TracedModule, setup: TraceSetup, origin: int):
        self.source, self.setup, self.origin = source, setup, origin
        self._cycle, self._skipped = 0, 0
        self._active = dict[int, int]()
        self._last: TraceFrame | None = None
        self._captures = 0

    def events(self, frames: Iterable[TraceFrame]) -> Iterator[RecordedEvent]:
        for frame in frames:
            if frame.kind in (START, START_COUNTERS, START_EXECUTION):
                yield from self._end(set())
                self._cycle, self._last = frame[TIMER] - self.origin, None
            elif frame.kind is SYNC:
                self._skipped += SYNC_CYCLES
            elif frame.kind in REPEAT_KINDS:
                yield from self._repeat(frame[REPEATS])
            elif frame.slots or frame.kind in EXECUTED_KINDS:
                yield from self._happen(frame)
                self._last = frame
        yield from self._end(set())

    def _happen(self, frame: TraceFrame) -> Iterator[RecordedEvent]:
        if frame.kind in EXECUTED_KINDS:
            slot, number = EXECUTED_KINDS.index(frame.kind), next(iter(frame.values.values()), None)
            yield RecordedEvent(self.source, slot, EXECUTED[slot], self._captures, self._captures, number)
            self._captures += 1
            return
        if frame.kind is WITH_COUNTER:
            for slot in _slots(frame):
                name = self.setup.events[slot]
                yield RecordedEvent(self.source, slot, name, self._captures, self._captures, frame[COUNTER])
            self._captures += 1
            return
        waits = frame[CYCLES] + self._skipped
        yield from self._end(set() if waits else {*_slots(frame)})
        self._cycle += 1 + waits
        self._skipped = 0
        for slot in _slots(frame):
            self._active.setdefault(slot, self._cycle)

    def _repeat(self, count: int) -> Iterator[RecordedEvent]:
        if self._last is None:
            return
        # Nothing ends and nothing begins from cycle to cycle: no need to go through them.
        if self._last.kind not in (WITH_COUNTER, *EXECUTED_KINDS) and not self._last[CYCLES]:
            self._cycle += count
            return
        for _ in range(count):
            yield from self._happen(self._last)

    def _end(self, kept: set[int]) -> Iterator[RecordedEvent]:
        for slot in [slot for slot in self._active if slot not in kept]:
            yield RecordedEvent(self.source, slot, self.setup.events[slot], self._active.pop(slot), self._cycle + 1)


def _slots(frame: TraceFrame) -> Iterator[int]:
    return (slot for slot in range(SLOTS) if frame.slots >> slot & 1)


def trace_entries(events: Iterable[RecordedEvent], setups: Mapping[TracedModule, TraceSetup]) -> list[dict[str, Any]]:
    """Events in the Trace Event Format: a process for each unit, a thread for each slot."""
    processes = {source: number for number, source in enumerate(setups)}
    entries = list[dict[str, Any]]()
    for source, number in processes.items():
        name = f"{_PROCESSES[source.module]}_trace for tile{source.tile.row},{source.tile.column}"
        entries.append({"name": "process_name", "ph": "M", "pid": number, "args": {"name": name}})
        for slot, event in enumerate(setups[source].recorded):
            shown = {"name": "thread_name", "ph": "M", "pid": number, "tid": slot, "args": {"name": event}}
            entries.append(shown)
    return entries + timed_entries(events, processes)


def timed_entries(events: Iterable[RecordedEvent], processes: Mapping[TracedModule, int]) -> list[dict[str, Any]]:
    """The beginnings and ends of events, in order; modules are processes of these numbers."""
    timed = list[tuple[int, int, int, int, dict[str, Any]]]()
    for event in events:
        place = {"pid": processes[event.source], "tid": event.slot}
        if event.counter is not None or event.name in EXECUTED:
            args = {} if event.counter is None else {"turns" if event.name == EXECUTED[1] else "pc": event.counter}
            entry = {"name": event.name, "ts": event.begin, "ph": "i", "s": "t", **place, "args": args}
            timed.append((place["pid"], event.begin, 1, event.slot, entry))
            continue
        for order, (phase, cycle) in enumerate((("B", event.begin), ("E", event.end))):
            entry: dict[str, Any] = {"name": event.name, "ts": cycle, "ph": phase, **place, "args": {}}
            timed.append((place["pid"], cycle, 1 - order, event.slot, entry))
    return [entry for *_, entry in sorted(timed, key=lambda item: item[:4])]
