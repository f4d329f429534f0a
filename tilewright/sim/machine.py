"""The whole array: tiles joined by their switches, host memory, and registers at addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType, WireBundle
from tilewright.device.layout import WORD_BYTES
from tilewright.device.packets import READ, ControlHeader, PacketHeader, with_parity
from tilewright.device.registers import CoreStatus
from tilewright.device.stream_switch import STEPS
from tilewright.device.timing import Timing, timing_of
from tilewright.sim.core import BoundCore
from tilewright.sim.dma import Channel
from tilewright.sim.engine import Actor, Engine, Process, Signal
from tilewright.sim.faults import At, FaultKind, FaultPolicy
from tilewright.sim.fifo import Beat, CascadeLink, Fifo
from tilewright.sim.host import HostMemory, HostPort
from tilewright.sim.locks import Lock, locks_of
from tilewright.sim.memory_watch import MemoryWatch
from tilewright.sim.parts import PartKind, part_ids_of
from tilewright.sim.register_roles import RegisterRole, event_registers
from tilewright.sim.switch import PortName, Slave, StreamBlocks, Switch
from tilewright.sim.tile import Tile
from tilewright.sim.trace import Output, Trace

if TYPE_CHECKING:
    from tilewright.sim.debugged_core import DebuggedCore
    from tilewright.sim.event_network import EventNetwork
    from tilewright.sim.tile import Tile

TRACE_CONTROL = "Trace_Control0"
"""The register that sets a trace unit up."""
RETURN_TYPE = 0
"""Packet type of what a read sends back; switches go by the id alone."""


class Machine:
    """A device, freshly out of reset."""

    translates_code = False
    """Whether machine code of cores runs as native code."""

    def __init__(
        self,
        model: DeviceModel,
        policy: FaultPolicy | None = None,
        timing: Timing | None = None,
        *,
        runs_machine_code: bool = False,
        runs_native_cores: bool = True,
    ):
        """With `runs_machine_code` a core without a program runs what is in its program memory, which is AIE2's.

        Without `runs_native_cores` programs are executed operation by operation in Python.
        """
        self.runs_machine_code, self.runs_native_cores = runs_machine_code, runs_native_cores
        self.model = model
        self.policy = policy or FaultPolicy()
        self.timing = timing or timing_of(model.arch)
        self.host_port = HostPort(self.timing)
        self.engine = self.make_engine()
        self.trace = self.make_trace()
        self.part_ids = part_ids_of(model.name)
        self.host = HostMemory(self.policy)
        self.output = Output(self.engine)
        self.watch = MemoryWatch(self.policy, self.name_memory)
        self._unknown = set[str]()
        self.tiles: dict[TileId, Tile] = {}
        self.debugged_cores: dict[TileId, DebuggedCore] = {}
        """Cores that run machine code and are looked at."""
        self.events: EventNetwork | None = None
        """Events of the modules, once a trace unit is set up."""
        self.reset()

    def reset(self) -> None:
        """Forget everything but what is in memories."""
        for actor in self.engine.processes:
            # The controller has no tile: it goes on, as it is often what asks for the reset.
            if actor.tile is not None:
                actor.stop()
        self.engine.forget_finished()
        self.watch.forget()
        before = self.tiles
        self._channel_actors: dict[Channel, Actor] = {}
        self._core_actors: dict[TileId, Actor] = {}
        self._beyond: dict[TileId, Tile] = {}
        self._cascades: dict[tuple[TileId, TileId], CascadeLink] = {}
        self.forget_events()
        self.tiles = {place: Tile(self, place) for place in self.model.tiles}
        for place, tile in self.tiles.items():
            if place in before:
                # A reset of the array leaves its memories as they are.
                tile.memory = before[place].memory
            self._start(tile)

    def forget_events(self) -> None:
        """No trace unit is set up any more."""
        self.events = None
        self.engine.on_wait = self.trace.listener = None

    def close(self) -> None:
        """Let go of what takes memory; nothing runs on it any more."""
        for actor in self.engine.processes:
            actor.stop()
        self.host.arguments.clear()
        self.tiles.clear()

    # What the machine is made of.

    def make_engine(self) -> Engine:
        return Engine()

    def make_trace(self) -> Trace:
        return Trace(self.engine)

    def make_locks(self, place: TileId, count: int) -> list[Lock]:
        return locks_of(place, count, self.first_lock(place), self.policy, self.trace)

    def make_switch(self, place: TileId, register: Callable[[int], int]) -> Switch:
        return Switch(self.engine, self.model, place, register, self.policy, self.timing, StreamBlocks())

    def make_channel(self, tile: Tile, direction: DmaDirection, number: int) -> Channel:
        return Channel(tile, direction, number, self.part_ids.number(PartKind.CHANNEL, tile.place, (direction, number)))

    def make_mux_signal(self, place: TileId) -> Signal:
        """Fires when a shim tile's multiplexer is set."""
        return Signal()

    def _start(self, tile: Tile) -> None:
        """Join a tile's streams to their ends, and let its channels wait for tasks."""
        for name, fifo in tile.switch.masters.items():
            self._join(tile, name, fifo)
        for channel in tile.channels.values():
            self._run_channel(channel)

    def _join(self, tile: Tile, name: PortName, fifo: Fifo) -> None:
        """Whatever reads a stream begins to when its first word comes."""
        if (slave := self.other_end(tile, name)) is not None:
            rank = self.part_ids.number(PartKind.STREAM, tile.place, name)
            fifo.begin_with(lambda: self.engine.start(fifo.name, slave.carry(fifo), tile.place, rank))
        elif name.bundle is WireBundle.TileControl:
            port = f"the control port of {tile}"
            rank = self.part_ids.number(PartKind.CONTROL_PORT, tile.place)
            fifo.begin_with(lambda: self.engine.start(port, serve_control_port(tile, fifo), tile.place, rank))

    def other_end(self, tile: Tile, name: PortName) -> Slave | None:
        """The slave port that a master port is wired to."""
        # The FIFO of a switch leads back into it.
        if name.bundle is WireBundle.FIFO:
            return tile.switch.slaves.get(name)
        neighbour = self._beside(tile, name)
        return neighbour.switch.slaves.get(PortName(name.bundle.opposite, name.channel)) if neighbour else None

    def upstream(self, tile: Tile, name: PortName) -> Fifo | None:
        """The stream that comes into a tile through a slave port."""
        neighbour = self._beside(tile, name)
        return neighbour.switch.masters.get(PortName(name.bundle.opposite, name.channel)) if neighbour else None

    def _beside(self, tile: Tile, name: PortName) -> Tile | None:
        """The tile that a port leads to or from; None at the edge of the device, and for ports inside of a tile."""
        columns, rows = STEPS.get(name.bundle, (0, 0))
        return self.tiles.get(TileId(tile.place.column + columns, tile.place.row + rows)) if columns or rows else None

    def _run_channel(self, channel: Channel) -> None:
        self._channel_actors[channel] = self.engine.start(str(channel), channel.run(), channel.tile.place, channel.part)

    def restart_channel(self, channel: Channel) -> None:
        """Forget the tasks of a channel."""
        self._channel_actors[channel].stop()
        # What it had begun is given up, so nothing can meet it any more.
        self.watch.forget(channel)
        channel.clear()
        self._run_channel(channel)

    # Registers by address.

    def write(self, address: int, value: int, location: LocationAttr = UNKNOWN_LOC) -> None:
        place, offset = self.model.locate(address)
        tile = self.tiles.get(place)
        if tile is None:
            self._outside(address, "written", location)
            return
        tile.write(offset, value, location)

    def read(self, address: int, location: LocationAttr = UNKNOWN_LOC) -> int:
        place, offset = self.model.locate(address)
        tile = self.tiles.get(place)
        if tile is None:
            self._outside(address, "read", location)
            return 0
        return tile.read(offset)

    def _outside(self, address: int, verb: str, location: LocationAttr) -> None:
        place, _ = self.model.locate(address)
        text = f"register {address:#x} is {verb}, but {self.model} has no tile ({place.column}, {place.row})"
        self.policy.fault(FaultKind.OUTSIDE_MEMORY, text, At(location))

    def report_unknown(self, name: str, location: LocationAttr) -> None:
        """Say once that a register means nothing here."""
        # Designs write thousands of such registers; one remark for each is enough.
        if name not in self._unknown:
            self._unknown.add(name)
            self.policy.fault(
                FaultKind.UNKNOWN_REGISTER, f"{name} is not modelled: writing it has no effect", At(location)
            )

    def name_memory(self, address: int) -> str:
        """Where an address is: in a host argument, or in the memory of a tile."""
        if (known := self.host.name(address)) is not None:
            return known
        place, offset = self.model.locate(address)
        return f"address {offset:#x} of tile ({place.column}, {place.row})"

    def descriptor_touched(self, tile: Tile, bd: int) -> None:
        """A word of a descriptor is about to be written or read."""

    def event_register_written(self, tile: Tile, role: RegisterRole, location: LocationAttr) -> None:
        """A register of an event unit was written: of no consequence as long as no trace unit is set up."""
        from tilewright.sim.event_network import EventNetwork

        module, name, _ = event_registers(tile.type)[role.number]
        if self.events is None and name == TRACE_CONTROL:
            self.events = EventNetwork(self)
        if self.events is not None:
            self.events.configure(tile, module, name)

    def register_written(self, tile: Tile, role: RegisterRole) -> None:
        """A register was written, and what comes of it is done."""

    # Cores.

    def core_enabled(self, tile: Tile) -> None:
        """A core was started or stopped."""
        self._stop_core(tile)
        if tile.core_enabled and tile.program is not None:
            self._start_core(tile, tile.program)
        elif tile.core_enabled and self.runs_machine_code and (code := tile.machine_code()) is not None:
            # those that look at a core have until its first turn to say so
            from tilewright.sim.machine_code import machine_code_process

            self._start_process(tile, machine_code_process(tile, code, translates=self.translates_code))

    def _stop_core(self, tile: Tile) -> None:
        actor = self._core_actors.pop(tile.place, None)
        if actor is not None:
            actor.stop()

    def _start_core(self, tile: Tile, program: BoundCore) -> None:
        self._start_process(tile, program.process())

    def _start_process(self, tile: Tile, process: Process[None]) -> None:
        name, part = f"the core of {tile}", self.part_ids.number(PartKind.CORE, tile.place)
        self._core_actors[tile.place] = self.engine.start(name, process, tile.place, part)

    def core_is_done(self, tile: Tile) -> bool:
        actor = self._core_actors.get(tile.place)
        return actor is not None and actor.done

    def core_status(self, tile: Tile) -> int:
        return CoreStatus.pack(enable=int(tile.core_enabled), core_done=int(self.core_is_done(tile)))[0]

    def mem_tile(self, place: TileId) -> Tile | None:
        """The mem tile at a place that another one reaches.

        A partition does not begin with the first column of the chip, so there is one west of it, which no design owns.
        """
        if place.column == -1 and self.model.is_virtualized and place not in self._beyond:
            # It has locks and memory, but is in no table: no stream and no address leads to it.
            self._beyond[place] = Tile(self, TileId(0, place.row))
        return self.tiles.get(place) or self._beyond.get(place)

    def first_lock(self, place: TileId) -> int:
        """The number of a tile's lock 0 when all locks of the array are counted."""
        return sum(self.model.tile_resources(*tile).locks for tile in takewhile(place.__ne__, self.model.tiles))

    def cascade(self, source: TileId, target: TileId) -> CascadeLink:
        """The cascade between two neighbours."""
        name = f"the cascade from tile ({source.column}, {source.row}) to tile ({target.column}, {target.row})"
        return self._cascades.setdefault((source, target), CascadeLink(name, self.timing.cascade_depth))

    def cascade_ends(self, link: CascadeLink) -> tuple[TileId, TileId]:
        """The tiles that a cascade leads from and to."""
        return next(ends for ends, other in self._cascades.items() if other is link)

    def find_channel(self, place: TileId, direction: DmaDirection, number: int) -> Channel | None:
        tile = self.tiles.get(place)
        return tile.channels.get((direction, number)) if tile else None

    def channels(self) -> Iterator[Channel]:
        for tile in self.tiles.values():
            yield from tile.channels.values()

    def shim_tiles(self) -> Iterator[Tile]:
        return (tile for tile in self.tiles.values() if tile.type is TileType.ShimNOCTile)


def serve_control_port(tile: Tile, fifo: Fifo) -> Process[None]:
    """Carry out, for ever, the packets that come in.

    A packet ends after as many words as it says. Several can come in one transfer, only the last word of which is
    marked as such: what mlir-aie sends to AIE2P.
    """
    while True:
        word, last = yield from fifo.take(fifo)
        # The packet header is only there if the master port keeps it.
        if not tile.switch.drops_header(fifo) and not last:
            word, last = yield from fifo.take(fifo)
        fields = ControlHeader.decode([word])
        if fields["operation"] == READ:
            yield from _answer(tile, fields)
            continue
        for beat in range(fields["beats"]):
            if last:
                break
            word, last = yield from fifo.take(fifo)
            tile.write(fields["address"] + WORD_BYTES * beat, word)


def _answer(tile: Tile, fields: dict[str, int]) -> Process[None]:
    """Send back what the registers hold, as a packet with the id that the request names."""
    outlet = tile.switch.slaves[PortName(WireBundle.TileControl, 0)]
    asker = f"the answer of the control port of {tile}"
    place = tile.place
    header = PacketHeader.encode(
        id=fields["return_id"], type=RETURN_TYPE, source_column=place.column, source_row=place.row
    )[0]
    words = [tile.read(fields["address"] + WORD_BYTES * n) for n in range(fields["beats"])]
    for n, word in enumerate([with_parity(header), *words]):
        yield from outlet.pass_on(Beat(word, n == len(words)), asker)
