"""Stream switches: circuits, packets with their arbiters, broadcast. Everything is read from their registers.

A word waits in the path to a master port (`Fifo`) until the slave port at the other end of the wire can pass it on to
every master that it goes to: broadcast stalls for the slowest. A packet holds its arbiter until its last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tilewright.device import DeviceModel, TileId, WireBundle
from tilewright.device.architecture import NUM_SLAVE_SLOTS
from tilewright.device.layout import WORD_BYTES
from tilewright.device.packets import PacketHeader
from tilewright.device.registers import MasterPort, PacketMasterPort, SlavePort, SlaveSlot
from tilewright.device.stream_switch import STEPS, Ports
from tilewright.device.timing import Timing
from tilewright.sim.engine import Engine, Process, Signal, Wait
from tilewright.sim.faults import FaultKind, FaultPolicy, place_of
from tilewright.sim.fifo import Beat, Fifo, PortWatch

NUM_ARBITERS = len(SlaveSlot.arbit.limits)
"""All that registers can name; `device.NUM_ARBITERS` are those that flows get."""


class PortName(NamedTuple):
    bundle: WireBundle
    channel: int

    def __str__(self) -> str:
        return f"{self.bundle.name} {self.channel}"


def names_of(ports: Ports) -> Iterator[PortName]:
    """Each port, in the order in which registers number them."""
    for bundle, count in ports.items():
        for channel in range(count):
            yield PortName(bundle, channel)


class SwitchTarget(NamedTuple):
    """A master port that a packet goes to."""

    fifo: Fifo
    drops_header: bool


class SwitchRoute(NamedTuple):
    """Where the words of a slave port go; packets hold an arbiter on the way."""

    targets: tuple[SwitchTarget, ...]
    arbiter: Arbiter | None = None


class Passage(NamedTuple):
    """What comes in at `source` can go out at `target`."""

    source: PortName
    target: PortName
    is_packet: bool


class Way(NamedTuple):
    """Where a word goes, as there is room everywhere; and the packet that it is part of."""

    fifos: tuple[Fifo, ...]
    packet: SwitchRoute | None


class Arbiter:
    """Lets one packet at a time through to its masters."""

    def __init__(self, tile: TileId, number: int):
        self.name = f"arbiter {number} of tile ({tile.column}, {tile.row})"
        self._held_by: Slave | None = None
        self.freed = Signal()

    def __str__(self) -> str:
        return self.name

    @property
    def held_by(self) -> Slave | None:
        """The slave port whose packet is under way."""
        return self._held_by

    def grants(self, slave: Slave) -> bool:
        """Let a slave port have it, unless another one does."""
        if self._held_by is None:
            self._held_by = slave
        return self._held_by is slave

    def wait(self, asker: object) -> Wait:
        return Wait(self.freed, lambda: f"{asker} needs {self}, which a packet of {self.held_by} holds", self, asker)

    def give(self) -> None:
        self._held_by = None
        self.freed.fire()


class Slave:
    """A port through which words come into a switch."""

    def __init__(self, switch: Switch, name: PortName, number: int):
        self.switch = switch
        self.name = name
        self.number = number
        self._packet: SwitchRoute | None = None
        self.watch: PortWatch | None = None

    def __str__(self) -> str:
        return f"{self.name} of the switch of tile ({self.switch.tile.column}, {self.switch.tile.row})"

    def pass_on(self, beat: Beat, asker: object, taken: Callable[[], None] | None = None) -> Process[None]:
        """Move a word to wherever it goes as soon as there is room everywhere; `taken` is called then."""
        while isinstance(way := self._way(beat.word, asker), Wait):
            if self.watch is not None:
                self.watch.stalled(True)
            yield way
        if self.watch is not None:
            self.watch.stalled(False)
            self.watch.moved(beat.last)
        if taken is not None:
            taken()
        for fifo in way.fifos:
            fifo.push(beat)
        if way.packet is not None and way.packet.arbiter is not None:
            # Later words of a packet have no header: they follow the first one until TLAST.
            self._packet = None if beat.last else way.packet
            if beat.last:
                way.packet.arbiter.give()
        yield 1

    def _way(self, word: int, asker: object) -> Way | Wait:
        """Where a word can go in this cycle, or what it has to wait for."""
        if self._packet is not None:
            return self._room(self._packet, self._packet, False, asker)
        if not (self.switch.is_enabled(self) and (self.switch.is_packet(self) or self.switch.circuit(self).targets)):
            return self.nowhere_wait(asker)
        if not self.switch.is_packet(self):
            return self._room(self.switch.circuit(self), None, False, asker)
        route = self.switch.packet_route(self, word)
        if route is None or route.arbiter is None:
            self.complain(word, asker)
            return Way((), None)
        # The header asks for the arbiter, before there is room: a packet that waits for room holds it.
        if not route.arbiter.grants(self):
            return route.arbiter.wait(asker)
        return self._room(route, route, True, asker)

    def _room(self, route: SwitchRoute, packet: SwitchRoute | None, is_header: bool, asker: object) -> Way | Wait:
        fifos = tuple(target.fifo for target in route.targets if not (is_header and target.drops_header))
        # Broadcast is all or nothing: a word leaves only when every target has room.
        full = next((fifo for fifo in fifos if fifo.is_full), None)
        return Way(fifos, packet) if full is None else full.full_wait(asker)

    def nowhere_wait(self, asker: object) -> Wait:
        return Wait(self.switch.configured, lambda: f"{asker} sends to {self}, which leads nowhere", self, asker)

    def complain(self, word: int, asker: object) -> None:
        """Nothing says where the packet with a header goes."""
        text = f"{self} has no rule for packet id {PacketHeader.id.get([word])}, which {asker} sends"
        note = place_of(asker), "send it with the id of a packet flow that comes through here, or add such a flow"
        self.switch.policy.fault(FaultKind.NO_ROUTE, text, asker, note)

    def carry(self, fifo: Fifo) -> Process[None]:
        """Pass on, for ever, what comes out of the path that leads here."""
        while True:
            beat = yield from fifo.head(fifo)
            yield from self.pass_on(beat, fifo, fifo.pop)


class StreamBlocks:
    """Makes what a switch is made of."""

    def slave(self, switch: Switch, name: PortName, number: int) -> Slave:
        return Slave(switch, name, number)

    def arbiter(self, tile: TileId, number: int) -> Arbiter:
        return Arbiter(tile, number)

    def fifo(self, tile: TileId, name: PortName, plain: Fifo) -> Fifo:
        """The path to a master port; `plain` has its name, depth and latency."""
        return plain


class Switch:
    """The switch of one tile. `register` gives the word that a register holds."""

    def __init__(
        self,
        engine: Engine,
        model: DeviceModel,
        tile: TileId,
        register: Callable[[int], int],
        policy: FaultPolicy,
        timing: Timing,
        blocks: StreamBlocks,
    ):
        self.tile = tile
        self.policy = policy
        self.configured = Signal()
        self._registers = model.registers(*tile)
        self._register = register
        ports = model.architecture.switches[model.tile_type(*tile)]
        self.slaves = {name: blocks.slave(self, name, number) for number, name in enumerate(names_of(ports.slaves))}
        self.masters = {name: _path(engine, tile, name, timing, blocks) for name in names_of(ports.masters)}
        self._master_names = list(self.masters)
        self.arbiters = [blocks.arbiter(tile, number) for number in range(NUM_ARBITERS)]
        self._circuits: dict[int, SwitchRoute] = {}
        self._passages: Sequence[Passage] | None = None

    def reconfigure(self) -> None:
        """One of the registers was written."""
        self._circuits.clear()
        self._passages = None
        self.configured.fire()

    def is_enabled(self, slave: Slave) -> bool:
        return bool(SlavePort.slave_enable.get([self._slave(slave.number)]))

    def is_packet(self, slave: Slave) -> bool:
        return bool(SlavePort.packet_enable.get([self._slave(slave.number)]))

    def circuit(self, slave: Slave) -> SwitchRoute:
        """The masters that are joined to a slave port."""
        found = self._circuits.get(slave.number)
        if found is None:
            joined = (SwitchTarget(fifo, False) for fifo, word in self._enabled_masters() if _joins(word, slave.number))
            found = self._circuits[slave.number] = SwitchRoute(tuple(joined))
        return found

    def packet_route(self, slave: Slave, header: int) -> SwitchRoute | None:
        """Where a packet goes; None if no rule of the slave port has its id."""
        packet = PacketHeader.id.get([header])
        for slot in range(NUM_SLAVE_SLOTS):
            rule = SlaveSlot.decode([self._slot(slave.number, slot)])
            # The first rule that matches wins, in the order of the slots.
            if rule["enable"] and (packet ^ rule["id"]) & rule["mask"] == 0:
                return SwitchRoute(tuple(self._selected(rule["arbit"], rule["msel"])), self.arbiters[rule["arbit"]])
        return None

    def leads_to(self, slave: Slave, fifo: Fifo) -> bool:
        """Whether something that comes in through a slave port can go out that way."""
        if not self.is_enabled(slave):
            return False
        if not self.is_packet(slave):
            return any(target.fifo is fifo for target in self.circuit(slave).targets)
        rules = [SlaveSlot.decode([self._slot(slave.number, slot)]) for slot in range(NUM_SLAVE_SLOTS)]
        reached = (self._selected(rule["arbit"], rule["msel"]) for rule in rules if rule["enable"])
        return any(target.fifo is fifo for targets in reached for target in targets)

    def passages(self) -> Sequence[Passage]:
        """All the ways that are open."""
        if self._passages is None:
            self._passages = [*self._open_passages()]
        return self._passages

    def _open_passages(self) -> Iterator[Passage]:
        for slave in self.slaves.values():
            if self.is_enabled(slave):
                is_packet = self.is_packet(slave)
                reached = [name for name, fifo in self.masters.items() if self.leads_to(slave, fifo)]
                yield from (Passage(slave.name, name, is_packet) for name in reached)

    def drops_header(self, fifo: Fifo) -> bool:
        """Whether packets leave through a master port without their header."""
        word = next((word for other, word in self._enabled_masters() if other is fifo), 0)
        return bool(MasterPort.drop_header.get([word]))

    def _selected(self, arbiter: int, msel: int) -> Iterator[SwitchTarget]:
        for fifo, word in self._enabled_masters():
            master = PacketMasterPort.decode([word])
            # A master listens to one arbiter, and to those of its four msels whose bit is set.
            if master["packet_enable"] and master["arbiter"] == arbiter and master["msel_mask"] >> msel & 1:
                yield SwitchTarget(fifo, bool(master["drop_header"]))

    def _enabled_masters(self) -> Iterator[tuple[Fifo, int]]:
        assert self._registers.switch_masters is not None
        for number, name in enumerate(self._master_names):
            word = self._register(self._registers.switch_masters[number])
            if MasterPort.master_enable.get([word]):
                yield self.masters[name], word

    def _slave(self, number: int) -> int:
        assert self._registers.switch_slaves is not None
        return self._register(self._registers.switch_slaves[number])

    def _slot(self, number: int, slot: int) -> int:
        assert self._registers.switch_slots is not None
        return self._register(self._registers.switch_slots[number] + WORD_BYTES * slot)


def _joins(master: int, slave: int) -> bool:
    fields = MasterPort.decode([master])
    return not fields["packet_enable"] and fields["configuration"] == slave


def _path(engine: Engine, tile: TileId, name: PortName, timing: Timing, blocks: StreamBlocks) -> Fifo:
    leaves = name.bundle in STEPS
    depth = timing.external_depth if leaves else timing.local_depth
    latency = timing.external_latency if leaves else timing.local_latency
    text = f"the stream to {name} of tile ({tile.column}, {tile.row})"
    return blocks.fifo(tile, name, Fifo(engine, text, depth, latency))
