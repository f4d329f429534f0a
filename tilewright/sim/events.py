"""Events of the array: what modules raise, hear of each other, and record in their trace units.

A machine has these once a trace unit is set up. Events that last (a stall, a core at work) are levels, others are
pulses of one cycle. Which are modelled: docs/tracing.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import UNKNOWN_LOC

from tilewright.device import DmaDirection, TileId, TileType, WireBundle
from tilewright.device.event_unit import EventUnit
from tilewright.device.events import EventModule
from tilewright.device.register_fields import EVENT_REGISTERS, NUM_BROADCASTS, NUM_LOCK_EVENTS
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.device.trace_packets import PACKET_WORDS, SLOTS, RecordingMode
from tilewright.dialects.aie.cascade import EventOp, GetCascadeOp, GetStreamOp, PutCascadeOp, PutStreamOp
from tilewright.dialects.func import CallOp
from tilewright.sim.dma import Channel
from tilewright.sim.engine import Actor
from tilewright.sim.fifo import CascadeLink, Fifo
from tilewright.sim.locks import LockNeed
from tilewright.sim.parts import ArrayPart, PartKind
from tilewright.sim.register_roles import event_registers
from tilewright.sim.switch import PortName, Slave
from tilewright.sim.trace import TraceEvent
from tilewright.sim.trace_unit import PENDING_PACKETS, TraceUnit

if TYPE_CHECKING:
    from tilewright.sim.machine import Machine
    from tilewright.sim.tile import Tile

RESET_LOCK_VALUE = 63
SETTLING_CYCLES = 256
"""How long traces under way are watched before it is asked again whether any are left."""
_INSTRUCTIONS = {
    PutCascadeOp: "INSTR_CASCADE_PUT",
    GetCascadeOp: "INSTR_CASCADE_GET",
    PutStreamOp: "INSTR_STREAM_PUT",
    GetStreamOp: "INSTR_STREAM_GET",
}
_CHANNEL_PULSES = {
    TraceEvent.TASK: "START_TASK",
    TraceEvent.BD_END: "FINISHED_BD",
    TraceEvent.TASK_END: "FINISHED_TASK",
}
_COMBINED: Mapping[int, Callable[[bool, bool], bool]] = {
    0: lambda a, b: a and b,
    1: lambda a, b: a and not b,
    2: lambda a, b: a or b,
    3: lambda a, b: a or not b,
}


class ModuleEvents:
    """The events of one module of a tile, and its trace unit."""

    def __init__(self, network: EventNetwork, tile: Tile, unit: EventUnit, queue: Fifo):
        self.network, self.tile, self.unit = network, tile, unit
        self.engine = tile.engine
        # A core tile's memory has the second trace port.
        port = PortName(WireBundle.Trace, int(unit.module is EventModule.Mem))
        outlet = tile.switch.slaves[port]
        rank = len(tile.machine.part_ids) + len(network.modules)
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
        self._watches = []
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
            self.network.broadcast(self, channel)
        if number and number == self.stop_event and self.trace.is_running:
            self.trace.stop()
        elif number and number == self.start_event and not self.trace.is_running:
            self._start()

    def _start(self) -> None:
        mode = RecordingMode(self.fields("Trace_Control0").get("mode", 0) % len(RecordingMode))
        if mode is RecordingMode.EXECUTION:
            self.network.machine.report_unknown(f"the execution mode of {self}", UNKNOWN_LOC)
            return
        self.trace.start(mode, self.engine.now)

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


class EventNetwork:
    """The events of all modules, and who hears of whom."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.modules: dict[tuple[TileId, EventModule], ModuleEvents] = {}
        self._of_tile = defaultdict[TileId, list[ModuleEvents]](list)
        self._lock_values = dict[int, int]()
        self._lock_places = dict[int, tuple[TileId, int]]()
        for place, tile in machine.tiles.items():
            for lock in tile.locks:
                self._lock_values[lock.index] = lock.value
                self._lock_places[lock.index] = place, lock.number
        machine.engine.on_wait = self._actor_waits
        machine.trace.listener = self._row
        for tile in machine.tiles.values():
            for module in dict.fromkeys(
                module for module, _, offset in event_registers(tile.type) if tile.register(offset)
            ):
                self._add(tile, module)

    def configure(self, tile: Tile, module: EventModule, register: str) -> None:
        """A register of an event unit was written."""
        found = self.modules.get((tile.place, module))
        if found is None:
            found = self._add(tile, module)
        found.configure(register)

    def _add(self, tile: Tile, module: EventModule) -> ModuleEvents:
        unit = EventUnit(tile.model, tile.type, module)
        depth = PENDING_PACKETS * PACKET_WORDS
        queue = Fifo(tile.engine, f"the trace of the {module.name} module of {tile}", depth, 0)
        made = self.modules[tile.place, module] = ModuleEvents(self, tile, unit, queue)
        self._of_tile[tile.place].append(made)
        if module is EventModule.Core:
            made.counter = lambda: 0 if tile.program is None else tile.program.port.reached
            made.level("ACTIVE" if self._core_runs(tile) else "DISABLED", True)
        # What already waits when a tile is first looked at goes on waiting.
        for actor in self.machine.engine.actors:
            if actor.tile == tile.place and actor.wait is not None and not actor.done:
                self._actor_waits(actor)
        return made

    def _core_runs(self, tile: Tile) -> bool:
        return tile.core_enabled and not self.machine.core_is_done(tile)

    def broadcast(self, source: ModuleEvents, channel: int) -> None:
        """All other modules hear of an event; how long it takes to get there is not modelled."""
        for module in self.modules.values():
            if module is not source:
                module.pulse(module.unit.broadcast_event(channel))

    def core_instruction(self, tile: TileId, name: str) -> None:
        """A core executes an instruction that is an event."""
        if (core := self.modules.get((tile, EventModule.Core))) is not None:
            core.pulse(name)

    # Where events come from.

    def _row(self, event: TraceEvent, part: int, a: int, b: int) -> None:
        if event is TraceEvent.LOCK:
            self._lock_row(a, b)
            return
        actor = self.machine.part_ids.parts[part]
        if actor.tile not in self._of_tile:
            return
        if actor.kind is PartKind.CHANNEL and event in _CHANNEL_PULSES:
            for module, name in self._channel_names(actor):
                module.pulse(name + _CHANNEL_PULSES[event])
        elif actor.kind is PartKind.CORE:
            self._core_row(event, actor.tile, a)

    def _lock_row(self, index: int, value: int) -> None:
        before, self._lock_values[index] = self._lock_values.get(index, 0), value
        place, number = self._lock_places[index]
        for module in self._of_tile.get(place, ()):
            module.lock_changed(number, before, value)

    def _core_row(self, event: TraceEvent, place: TileId, stop: int) -> None:
        core = self.modules.get((place, EventModule.Core))
        if core is None:
            return
        if event in (TraceEvent.CORE, TraceEvent.CORE_END):
            core.level("ACTIVE", event is TraceEvent.CORE)
            core.level("DISABLED", event is TraceEvent.CORE_END)
        elif event in (TraceEvent.WAIT, TraceEvent.GO) and core.tile.program is not None:
            op = core.tile.program.program.code.stops[stop].op
            if isinstance(op, CallOp):
                # The kernels of mlir-aie raise these at their beginning and their end.
                first, second = (
                    ("INSTR_CALL", "INSTR_EVENT_0") if event is TraceEvent.WAIT else ("INSTR_EVENT_1", "INSTR_RETURN")
                )
                core.pulse(first)
                core.pulse(second)
            elif event is TraceEvent.WAIT and isinstance(op, EventOp):
                core.pulse(f"INSTR_EVENT_{op.val.value.data}")
            elif event is TraceEvent.WAIT and (name := _INSTRUCTIONS.get(type(op))):
                core.pulse(name)

    def _actor_waits(self, actor: Actor) -> None:
        """An actor begins to wait, or ceases to."""
        if actor.tile not in self._of_tile or actor.rank >= len(self.machine.part_ids):
            return
        part, what = self.machine.part_ids.parts[actor.rank], actor.wait.of if actor.wait else None
        if part.kind is PartKind.CORE:
            if (core := self.modules.get((actor.tile, EventModule.Core))) is not None:
                core.level("LOCK_STALL", isinstance(what, LockNeed))
                core.level("STREAM_STALL", isinstance(what, Fifo))
                core.level("CASCADE_STALL", isinstance(what, CascadeLink))
        elif part.kind is PartKind.CHANNEL:
            receives = part.detail is not None and part.detail[0] is DmaDirection.S2MM
            for module, name in self._channel_names(part):
                module.level(name + "STALLED_LOCK", isinstance(what, LockNeed))
                stream = "STREAM_STARVATION" if receives else "STREAM_BACKPRESSURE"
                module.level(name + stream, isinstance(what, Fifo))

    def _channel_names(self, part: ArrayPart) -> Iterator[tuple[ModuleEvents, str]]:
        assert part.tile is not None
        direction, number = part.detail or (DmaDirection.S2MM, 0)
        channel = self.machine.tiles[part.tile].channels[DmaDirection(direction), number]
        for module in self._of_tile[part.tile]:
            for name in module.channel_names(channel):
                yield module, name

    # Where traces go.

    def settle(self) -> None:
        """Let the packets under way reach their end, and put what has come into memory, as a host finds it."""
        passed = -1
        while any(len(fifo) for fifo in self._ways()) and passed != (passed := self._passed()):
            self.machine.engine.run(lambda: False, self.machine.engine.now + SETTLING_CYCLES)
        for channel in self.channels():
            if not channel.is_idle:
                channel.write_arrived()
                # The next run asks for a trace anew.
                self.machine.restart_channel(channel)

    def channels(self) -> set[Channel]:
        """The channels that traces come to."""
        return {channel for module in self.modules.values() for channel in self._ends(module)}

    def _passed(self) -> int:
        return sum(fifo.passed for fifo in self._ways()) + sum(channel.moved for channel in self.channels())

    def _ways(self) -> list[Fifo]:
        queues = [module.trace.queue for module in self.modules.values()]
        return queues + [fifo for module in self.modules.values() for _, _, fifo in self._way(module)]

    def _ends(self, module: ModuleEvents) -> Iterator[Channel]:
        for tile, name, _ in self._way(module):
            ports = SHIM_DMA_PORTS[DmaDirection.S2MM]
            if name.bundle is WireBundle.DMA:
                yield tile.channels[DmaDirection.S2MM, name.channel]
            elif tile.type is TileType.ShimNOCTile and name.bundle is WireBundle.South and name.channel in ports:
                yield tile.channels[DmaDirection.S2MM, ports.index(name.channel)]

    def _way(self, module: ModuleEvents) -> Iterator[tuple[Tile, PortName, Fifo]]:
        """The streams that the packets of a trace unit go through."""
        header, open, seen = module.trace.header, [(module.tile, module.trace.outlet)], set[Slave]()
        while open:
            tile, slave = open.pop()
            if slave in seen or not tile.switch.is_enabled(slave):
                continue
            seen.add(slave)
            switch = tile.switch
            route = switch.packet_route(slave, header) if switch.is_packet(slave) else switch.circuit(slave)
            names = {fifo: name for name, fifo in switch.masters.items()}
            for target in route.targets if route is not None else ():
                yield tile, names[target.fifo], target.fifo
                if (beyond := self.machine.other_end(tile, names[target.fifo])) is not None:
                    open.append((self.machine.tiles[beyond.switch.tile], beyond))
