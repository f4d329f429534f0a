"""Events of one module of a tile: levels, pulses, what is made of others, and the trace unit that records them.

Events that last (a stall, a core at work) are levels, others are pulses of one cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import UNKNOWN_LOC

from tilewright.device import WireBundle
from tilewright.device.event_unit import EventUnit
from tilewright.device.events import EventModule
from tilewright.device.register_fields import EVENT_REGISTERS, NUM_BROADCASTS, NUM_LOCK_EVENTS
from tilewright.device.trace_packets import PACKET_WORDS, SLOTS, RecordingMode
from tilewright.sim.dma import Channel
from tilewright.sim.fifo import Fifo
from tilewright.sim.switch import PortName, Slave
from tilewright.sim.trace_unit import PENDING_PACKETS, TraceUnit

if TYPE_CHECKING:
    from tilewright.sim.tile import Tile

RESET_LOCK_VALUE = 63
_COMBINED: Mapping[int, Callable[[bool, bool], bool]] = {
    0: lambda a, b: a and b,
    1: lambda a, b: a and not b,
    2: lambda a, b: a or b,
    3: lambda a, b: a or not b,
}


class ModuleEvents:
    """The events of one module of a tile, and its trace unit."""

    def __init__(self, tile: Tile, unit: EventUnit, rank: int, broadcast: Callable[[ModuleEvents, int], None]):
        """`broadcast` tells other modules of an event, on a channel; `rank` is that of the process that sends."""
        self.tile, self.unit, self._broadcast = tile, unit, broadcast
        self.engine = tile.engine
        # A core tile's memory has the second trace port.
        port = PortName(WireBundle.Trace, int(unit.module is EventModule.Mem))
        outlet = tile.switch.slaves[port]
        name = f"the trace of the {unit.module.name} module of {tile}"
        queue = Fifo(tile.engine, name, PENDING_PACKETS * PACKET_WORDS, 0)
        queue.begin_with(lambda: self.engine.start(queue.name, outlet.carry(queue), tile.place, rank))
        self.trace = TraceUnit(tile.place, outlet, queue, lambda: self.engine.now - self._timer_start)
        self.counter: Callable[[], int] = lambda: 0
        """Where the core is in its program."""
        self._timer_start = 0
        self._known = dict[str, Mapping[str, int]]()
        self._levels = set[int]()
        self._pulses = set[int]()
        self._cycle = self.engine.now
        self._edges = [False, False]
        self._edge_sources = [False, False]
        self._watches = list[_PortEvents]()
        self.configure("")

    def __str__(self) -> str:
        return f"the trace unit of the {self.unit.module.name} module of {self.tile}"

    # Registers.

    def fields(self, register: str) -> Mapping[str, int]:
        """What a register of the module holds, by field."""
        if register not in self._known:
            layout, offset = EVENT_REGISTERS[self.unit.module][register], self.unit.register(register)
            self._known[register] = layout.decode([0 if offset is None else self.tile.register(offset)])
        return self._known[register]

    def configure(self, name: str) -> None:
        """A register was written: read the settings anew, and do what the write asks for."""
        self._advance()
        self._known.clear()
        control, timer = self.fields("Trace_Control0"), self.fields("Timer_Control")
        self.start_event, self.stop_event = control["trace_start_event"], control["trace_stop_event"]
        self.timer_event = timer["reset_event"]
        self.slots = [self.fields(f"Trace_Event{n // 4}")[f"trace_event{n}"] for n in range(SLOTS)]
        self.trace.control1 = self.tile.register(self.unit.register("Trace_Control1") or 0)
        self.broadcasts = defaultdict[int, list[int]](list)
        suffix = "_A" if self.unit.module is EventModule.ShimTile else ""
        for channel in range(NUM_BROADCASTS):
            if event := self.fields(f"Event_Broadcast{channel}{suffix}")["event"]:
                self.broadcasts[event].append(channel)
        self._uses_edges = any(self.fields("Edge_Detection_event_control").values())
        self._watch_ports()
        if name == "Timer_Control" and timer["reset"]:
            self._timer_start = self.engine.now
        elif name == "Event_Generate":
            self.raise_number(self.fields(name)["event"])
        elif name == "Trace_Control0":
            # Set up anew, as each run of a sequence does: the record begins again.
            self.trace.abandon()
            if self.start_event == self.number("TRUE"):
                self._start()

    def _watch_ports(self) -> None:
        if self.unit.register("Stream_Switch_Event_Port_Selection_0") is None:
            return
        for watch in self._watches:
            watch.release()
        self._watches = list[_PortEvents]()
        for slot in range(SLOTS):
            fields = self.fields(f"Stream_Switch_Event_Port_Selection_{slot // 4}")
            self._watches.append(
                _PortEvents(self, slot, fields[f"port_{slot}_id"], fields[f"port_{slot}_master_slave"])
            )

    # Events.

    def number(self, name: str) -> int | None:
        return self.unit.events.get(name)

    def pulse(self, name: str) -> None:
        """Something happens in this cycle."""
        if (number := self.number(name)) is not None:
            self.raise_number(number)

    def raise_number(self, number: int) -> None:
        self._advance()
        self._pulses.add(number)
        self._heard(number)

    def level(self, name: str, on: bool) -> None:
        """Something begins or ends; it is active from the cycle of its beginning to the one before its end."""
        number = self.number(name)
        if number is None or (number in self._levels) is on:
            return
        self._advance()
        if on:
            self._levels.add(number)
            self._heard(number)
        else:
            self._levels.remove(number)

    def _heard(self, number: int) -> None:
        """What an event sets off."""
        if number == self.timer_event:
            self._timer_start = self.engine.now
        for channel in self.broadcasts.get(number, ()):
            self._broadcast(self, channel)
        if number and number == self.stop_event and self.trace.is_running:
            self.trace.stop()
        elif number and number == self.start_event and not self.trace.is_running:
            self._start()

    def _start(self) -> None:
        mode = RecordingMode(self.fields("Trace_Control0").get("mode", 0) % len(RecordingMode))
        program = self.tile.program
        if mode is RecordingMode.EXECUTION and program is not None and not program.program.logs_flow:
            self.tile.machine.report_unknown(f"the execution mode of {self}, which words set up alone", UNKNOWN_LOC)
            return
        self.trace.start(mode, self.engine.now, self.counter())

    def _advance(self) -> None:
        """Record the cycles that are over."""
        now, before = self.engine.now, self._cycle
        if now == before:
            return
        if self.trace.is_running:
            self._record(before, self._levels | self._pulses, 1)
            if now - before > 1 and self._uses_edges:
                # An edge is over in a cycle, whatever follows.
                self._record(before + 1, self._levels, 1)
                before += 1
            if now - before > 1:
                self._record(before + 1, self._levels, now - before - 1)
        self._pulses.clear()
        self._cycle = now

    def _record(self, cycle: int, active: set[int], count: int) -> None:
        if self._uses_edges:
            self._find_edges(active)
        slots = sum(1 << slot for slot, number in enumerate(self.slots) if number and self._holds(number, active))
        if slots:
            self.trace.record(cycle, slots, count, self.counter())

    def _holds(self, number: int, active: set[int]) -> bool:
        """Whether an event is active, be it one that is made of others."""
        if number in active:
            return True
        made = self._made.get(number)
        return made is not None and made(active)

    @cached_property
    def _made(self) -> dict[int, Callable[[set[int]], bool]]:
        """Events that are made of others, by number."""
        made: dict[str, Callable[[set[int]], bool]] = {"TRUE": lambda active: True}
        for slot in range(SLOTS):
            busy = {self.number(f"PORT_{state}_{slot}") for state in ("RUNNING", "STALLED")}
            made[f"PORT_IDLE_{slot}"] = lambda active, busy=busy: not busy & active
        for combo in range(3):
            made[f"COMBO_EVENT_{combo}"] = lambda active, combo=combo: self._combined(combo, active)
        for edge in range(2):
            made[f"EDGE_DETECTION_EVENT_{edge}"] = lambda active, edge=edge: self._edges[edge]
        numbers = ((self.number(name), test) for name, test in made.items())
        return {number: test for number, test in numbers if number is not None}

    def _combined(self, combo: int, active: set[int]) -> bool:
        logic = _COMBINED[self.fields("Combo_event_control")[f"combo{combo}"]]
        if combo == 2:
            return logic(self._combined(0, active), self._combined(1, active))
        inputs = self.fields("Combo_event_inputs")
        first, second = (inputs[f"event_{letter}"] for letter in ("ab", "cd")[combo])
        return logic(self._holds(first, active), self._holds(second, active))

    def _find_edges(self, active: set[int]) -> None:
        fields = self.fields("Edge_Detection_event_control")
        for edge in range(2):
            before, now = self._edge_sources[edge], self._holds(fields[f"edge_detection_event_{edge}"], active)
            rises, falls = (fields[f"edge_detection_{edge}_trigger_{way}"] for way in ("rising", "falling"))
            self._edges[edge] = bool((now and not before and rises) or (before and not now and falls))
            self._edge_sources[edge] = now

    # Names that depend on what the module is.

    def channel_names(self, channel: Channel) -> Iterator[str]:
        """How events of a DMA channel begin."""
        direction = channel.direction.name
        if self.unit.module is EventModule.MemTile:
            chosen = self.fields("DMA_Event_Channel_Selection")
            for selection in range(2):
                if chosen[f"{direction.lower()}_sel{selection}_channel"] == channel.number:
                    yield f"DMA_{direction}_SEL{selection}_"
        elif self.unit.module is not EventModule.Core:
            yield f"DMA_{direction}_{channel.number}_"

    def lock_changed(self, lock: int, before: int, value: int) -> None:
        for number in range(NUM_LOCK_EVENTS):
            register = f"Locks_Event_Selection_{number}"
            if (offset := self.unit.register(register)) is None:
                continue
            fields = self.fields(register)
            wanted = fields["lock_value"] if self.tile.register(offset) else RESET_LOCK_VALUE
            if fields["lock_select"] != lock:
                continue
            select = "" if self.unit.module is EventModule.ShimTile else "SEL"
            if value < before:
                self.pulse(f"LOCK_{select}{number}_ACQ_GE")
            elif value > before:
                released = "SEL" if self.unit.module is EventModule.MemTile else ""
                self.pulse(f"LOCK_{released}{number}_REL")
            self.level(f"LOCK_{select}{number}_EQUAL_TO_VALUE", value == wanted)


class _PortEvents:
    """The events of one port of a switch, in one of the slots for such."""

    def __init__(self, module: ModuleEvents, slot: int, port: int, is_master: int):
        self.module, self.slot = module, slot
        switch = module.tile.switch
        ports: list[Fifo | Slave] = list(switch.masters.values()) if is_master else list(switch.slaves.values())
        self._port = ports[port] if port < len(ports) else None
        self._next = None if self._port is None else self._port.watch
        if self._port is not None:
            # Several slots may be about one port: they tell each other.
            self._port.watch = self

    def release(self) -> None:
        if self._port is not None:
            self._port.watch = None

    def moved(self, last: bool) -> None:
        self.module.pulse(f"PORT_RUNNING_{self.slot}")
        if last:
            self.module.pulse(f"PORT_TLAST_{self.slot}")
        if self._next is not None:
            self._next.moved(last)

    def stalled(self, full: bool) -> None:
        self.module.level(f"PORT_STALLED_{self.slot}", full)
        if self._next is not None:
            self._next.stalled(full)
