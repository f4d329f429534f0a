"""Fields of the registers with which a module raises, combines, broadcasts, times and records events.

They go by the vendor's names; where they are is in `vendor_registers`. AIE2 and AIE2P share them.
Source: aie_registers_aie2.json of mlir-aie at 3ca0193cea9e.
"""

from collections.abc import Mapping

from .events import EventModule
from .layout import Field, Layout, bit

NUM_BROADCASTS = 16


class TraceControl1(Layout):
    """The header of the packets that carry a trace."""

    packet_type = Field(hi=14, lo=12)
    id = Field(hi=4, lo=0)


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


EVENT_REGISTERS: Mapping[EventModule, Mapping[str, type[Layout]]] = {
    EventModule.Core: {**_NARROW, "Trace_Control0": CoreTraceControl0},
    EventModule.Mem: _NARROW,
    EventModule.ShimTile: _NARROW,
    EventModule.MemTile: _WIDE,
}
