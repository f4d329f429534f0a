"""Events of the whole array: where they come from, which modules hear of which, and the way of traces to the host.

A machine has these once a trace unit is set up. Which events are modelled: docs/tracing.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tilewright.device import DmaDirection, TileId, TileType, WireBundle
from tilewright.device.event_unit import EventUnit
from tilewright.device.events import EventModule
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.dialects.aie.cascade import EventOp, GetCascadeOp, GetStreamOp, PutCascadeOp, PutStreamOp
from tilewright.dialects.func import CallOp
from tilewright.sim.dma import Channel
from tilewright.sim.engine import Actor
from tilewright.sim.fifo import CascadeLink, Fifo
from tilewright.sim.locks import LockNeed
from tilewright.sim.module_events import ModuleEvents
from tilewright.sim.parts import ArrayPart, PartKind
from tilewright.sim.register_roles import event_registers
from tilewright.sim.switch import PortName, Slave
from tilewright.sim.trace import TraceEvent

if TYPE_CHECKING:
    from tilewright.sim.machine import Machine
    from tilewright.sim.tile import Tile

SETTLING_CYCLES = 256
"""How long traces under way are watched before it is asked again whether any are left."""
_INSTRUCTIONS: Mapping[type[Operation], str] = {
    PutCascadeOp: "INSTR_CASCADE_PUT",
    GetCascadeOp: "INSTR_CASCADE_GET",
    PutStreamOp: "INSTR_STREAM_PUT",
    GetStreamOp: "INSTR_STREAM_GET",
}
_CALL, _RETURN = ("INSTR_CALL", "INSTR_EVENT_0"), ("INSTR_EVENT_1", "INSTR_RETURN")
"""What a core raises around a kernel: those of mlir-aie raise the two numbered ones themselves."""
_CHANNEL_PULSES = {
    TraceEvent.TASK: "START_TASK",
    TraceEvent.BD_END: "FINISHED_BD",
    TraceEvent.TASK_END: "FINISHED_TASK",
}


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
        # Behind all other parts, so that what they do in a cycle is done.
        rank = len(self.machine.part_ids) + len(self.modules)
        made = self.modules[tile.place, module] = ModuleEvents(tile, unit, rank, self.broadcast)
        self._of_tile[tile.place].append(made)
        if module is EventModule.Core:
            made.counter = lambda: 0 if tile.program is None else tile.program.port.reached
            made.trace.place_of_program = made.counter
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

    def core_flow(self, tile: TileId, entries: Sequence[int]) -> None:
        """A core went this way."""
        if (core := self.modules.get((tile, EventModule.Core))) is not None:
            core.trace.record_flow(entries)

    # Where events come from.

    def _row(self, event: TraceEvent, part: int, a: int, b: int) -> None:
        if event is TraceEvent.LOCK:
            self._lock_row(a, b)
            return
        actor = self.machine.part_ids.parts[part]
        if actor.tile is None or actor.tile not in self._of_tile:
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
                pulses = _CALL if event is TraceEvent.WAIT else _RETURN
                # A kernel in C++ raises the numbered ones where it says so.
                own = core.tile.program.port.raises_events(op)
                for name in pulses:
                    if not own or not name.startswith("INSTR_EVENT"):
                        core.pulse(name)
            elif event is TraceEvent.WAIT and isinstance(op, EventOp):
                core.pulse(f"INSTR_EVENT_{op.val.value.data}")
            elif event is TraceEvent.WAIT and (name := _INSTRUCTIONS.get(type(op))):
                core.pulse(name)

    def _actor_waits(self, actor: Actor) -> None:
        """An actor begins to wait, or ceases to."""
        if actor.tile is None or actor.tile not in self._of_tile or actor.rank >= len(self.machine.part_ids):
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
