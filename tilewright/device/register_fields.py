"""Fields of registers by address: the layout that a register belongs to, and the layouts of event registers.

With event registers a module raises, combines, broadcasts, times and records events. They go by the vendor's names;
where they are is in `vendor_registers`. AIE2 and AIE2P share them.
Source: aie_registers_aie2.json of mlir-aie at 3ca0193cea9e.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from .bd import BD_LAYOUTS
from .devices import DEVICES
from .enums import Arch, DeviceName, DmaDirection, TileType
from .events import MODULES, EventModule
from .layout import Field, Layout, bit
from .model import DeviceModel
from .registers import (
    CascadeControl,
    CoreControl,
    LockValue,
    MasterPort,
    PacketMasterPort,
    ShimDemux,
    ShimMux,
    SlavePort,
    SlaveSlot,
)
from .vendor_registers import find_register

NUM_BROADCASTS, NUM_LOCK_EVENTS, NUM_SHIM_LOCK_EVENTS = 16, 8, 6


def fields_at(model: DeviceModel, address: int, value: int) -> dict[str, int]:
    """Fields of the register at an address, as values (biases undone); empty where its bits are not known."""
    (column, row), offset = model.locate(address)
    if not model.is_valid_tile(column, row):
        return {}
    found = layout_at(model, model.tile_type(column, row), offset)
    if found is None:
        return {}
    return word_fields(*found, value)


def word_fields(layout: type[Layout], word: int, value: int) -> dict[str, int]:
    """The fields that a word of a layout holds."""
    # a bit of the register says which of two layouts it has
    if layout is MasterPort and MasterPort.packet_enable.get([value]):
        layout = PacketMasterPort
    words = [0] * layout.words
    words[word] = value
    return {name: field.get(words) for name, field in _fields_of(layout, word)}


@cache
def _fields_of(layout: type[Layout], word: int) -> list[tuple[str, Field]]:
    return [(name, field) for name, field in layout.fields.items() if field.word == word]


def layout_at(model: DeviceModel, tile_type: TileType, offset: int) -> tuple[type[Layout], int] | None:
    """The layout that a register at an offset in a tile belongs to, and which word of it the register is."""
    return None if model.arch is Arch.AIE1 else _layouts(model.name, tile_type).get(offset)


@cache
def _layouts(device: DeviceName, tile_type: TileType) -> dict[int, tuple[type[Layout], int]]:
    """Byte offset in a tile -> layout and word of it."""
    model = DEVICES[device]
    registers, resources = model.registers(*model.representative_tile(tile_type)), model.resources(tile_type)
    table: dict[int, tuple[type[Layout], int]] = {}
    if layout := BD_LAYOUTS.get(tile_type):
        for bd in range(resources.bds):
            table |= {registers.bds[bd] + 4 * word: (layout, word) for word in range(layout.words)}
    for direction in DmaDirection:
        for channel in range(resources.channels(direction)):
            table[registers.control(direction)[channel]] = registers.channel_control, 0
            table[registers.task_queue(direction)[channel]] = registers.queue, 0
            if status := registers.status(direction):
                table[status[channel]] = registers.channel_status, 0
    if registers.locks:
        table |= {registers.locks[lock]: (LockValue, 0) for lock in range(resources.locks)}
    switch = model.architecture.switches[tile_type]
    if registers.switch_masters and registers.switch_slaves and registers.switch_slots:
        for port in range(sum(switch.masters.values())):
            table[registers.switch_masters[port]] = MasterPort, 0
        for port in range(sum(switch.slaves.values())):
            table[registers.switch_slaves[port]] = SlavePort, 0
            table |= {registers.switch_slots[port] + 4 * slot: (SlaveSlot, 0) for slot in range(4)}
    singles = {
        registers.shim_mux: ShimMux,
        registers.shim_demux: ShimDemux,
        registers.core_control: CoreControl,
        registers.cascade_control: CascadeControl,
    }
    table |= {offset: (layout, 0) for offset, layout in singles.items() if offset is not None}
    return table | dict(_event_layouts(tile_type))


def _event_layouts(tile_type: TileType) -> Iterator[tuple[int, tuple[type[Layout], int]]]:
    for module in MODULES[tile_type]:
        for name, layout in EVENT_REGISTERS[module].items():
            if (offset := find_register(module, name)) is not None:
                yield offset, (layout, 0)


class TraceControl1(Layout):
    """The header of the packets that carry a trace."""

    packet_type = Field(hi=14, lo=12)
    id = Field(hi=4, lo=0)


class DmaEventChannels(Layout):
    """The channels of a mem tile's DMA that its DMA events are about."""

    mm2s_sel1_channel = Field(hi=26, lo=24)
    mm2s_sel0_channel = Field(hi=18, lo=16)
    s2mm_sel1_channel = Field(hi=10, lo=8)
    s2mm_sel0_channel = Field(hi=2, lo=0)


class LockEventSelection(Layout):
    """The lock that lock events are about, and the value that one of them waits for; that is 63 after a reset."""

    lock_select = Field(hi=21, lo=16)
    lock_value = Field(hi=5, lo=0)


class ComboEventControl(Layout):
    """How each combo event is made of two others: 0 and, 1 and not, 2 or, 3 or not."""

    combo2 = Field(hi=17, lo=16)  # of the results of the other two
    combo1 = Field(hi=9, lo=8)
    combo0 = Field(hi=1, lo=0)


class EventPorts03(Layout):
    """The ports of the stream switch that the port events 0 to 3 are about: their numbers, and 1 for masters."""

    port_3_master_slave = bit(29)
    port_3_id = Field(hi=28, lo=24)
    port_2_master_slave = bit(21)
    port_2_id = Field(hi=20, lo=16)
    port_1_master_slave = bit(13)
    port_1_id = Field(hi=12, lo=8)
    port_0_master_slave = bit(5)
    port_0_id = Field(hi=4, lo=0)


class EventPorts47(Layout):
    """The same of the port events 4 to 7."""

    port_7_master_slave = bit(29)
    port_7_id = Field(hi=28, lo=24)
    port_6_master_slave = bit(21)
    port_6_id = Field(hi=20, lo=16)
    port_5_master_slave = bit(13)
    port_5_id = Field(hi=12, lo=8)
    port_4_master_slave = bit(5)
    port_4_id = Field(hi=4, lo=0)


def _registers(event_bits: int) -> Mapping[str, type[Layout]]:
    """The registers of a module whose event numbers have so many bits."""

    def number(lo: int) -> Field:
        return Field(hi=lo + event_bits - 1, lo=lo)

    class TimerControl(Layout):
        reset = bit(31)
        reset_event = number(8)

    class EventNumber(Layout):
        event = number(0)

    class TraceControl0(Layout):
        trace_stop_event = number(24)
        trace_start_event = number(16)

    class TraceEvents03(Layout):
        trace_event3 = number(24)
        trace_event2 = number(16)
        trace_event1 = number(8)
        trace_event0 = number(0)

    class TraceEvents47(Layout):
        trace_event7 = number(24)
        trace_event6 = number(16)
        trace_event5 = number(8)
        trace_event4 = number(0)

    class ComboEventInputs(Layout):
        """A and B make combo event 0, C and D make 1."""

        event_d = number(24)
        event_c = number(16)
        event_b = number(8)
        event_a = number(0)

    class EdgeDetectionControl(Layout):
        edge_detection_1_trigger_falling = bit(26)
        edge_detection_1_trigger_rising = bit(25)
        edge_detection_event_1 = number(16)
        edge_detection_0_trigger_falling = bit(10)
        edge_detection_0_trigger_rising = bit(9)
        edge_detection_event_0 = number(0)

    return {
        "Timer_Control": TimerControl,
        "Event_Generate": EventNumber,
        **{f"Event_Broadcast{channel}": EventNumber for channel in range(NUM_BROADCASTS)},
        **{f"Event_Broadcast{channel}_A": EventNumber for channel in range(NUM_BROADCASTS)},  # in shim tiles
        "Trace_Control0": TraceControl0,
        "Trace_Control1": TraceControl1,
        "Trace_Event0": TraceEvents03,
        "Trace_Event1": TraceEvents47,
        "Combo_event_inputs": ComboEventInputs,
        "Combo_event_control": ComboEventControl,
        "Edge_Detection_event_control": EdgeDetectionControl,
        "Stream_Switch_Event_Port_Selection_0": EventPorts03,
        "Stream_Switch_Event_Port_Selection_1": EventPorts47,
    }


_NARROW, _WIDE = _registers(event_bits=7), _registers(event_bits=8)


class CoreTraceControl0(_NARROW["Trace_Control0"]):
    """Only a core can record something else than times: program counters (1) or every branch (2)."""

    mode = Field(hi=1, lo=0)


def _locks(count: int) -> Mapping[str, type[Layout]]:
    return {f"Locks_Event_Selection_{number}": LockEventSelection for number in range(count)}


EVENT_REGISTERS: Mapping[EventModule, Mapping[str, type[Layout]]] = {
    EventModule.Core: {**_NARROW, "Trace_Control0": CoreTraceControl0},
    EventModule.Mem: {**_NARROW, **_locks(NUM_LOCK_EVENTS)},
    EventModule.ShimTile: {**_NARROW, **_locks(NUM_SHIM_LOCK_EVENTS)},
    EventModule.MemTile: {**_WIDE, **_locks(NUM_LOCK_EVENTS), "DMA_Event_Channel_Selection": DmaEventChannels},
}
