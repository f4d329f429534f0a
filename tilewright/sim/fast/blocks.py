"""The blocks of a machine whose numbers are in the state: what Python sees of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection, TileId
from tilewright.device.architecture import NUM_SLAVE_SLOTS
from tilewright.device.descriptors import PIECE_WORDS, Addresses, BdDimension, byte_addresses
from tilewright.device.layout import WORD_BYTES
from tilewright.device.registers import SlaveSlot
from tilewright.sim.compression import Expansion
from tilewright.sim.dma import BdTransfer, Channel
from tilewright.sim.engine import Actor, Process, Signal, Wait
from tilewright.sim.fast.engine import FastEngine
from tilewright.sim.fast.state import (
    BD_NUMBERS,
    DIMENSIONS,
    MAX_TARGETS,
    NONE,
    BdField,
    ChannelStep,
    Exit,
    FastState,
    SlaveKind,
    WaitKind,
)
from tilewright.sim.faults import FaultPolicy
from tilewright.sim.fifo import Beat, Fifo
from tilewright.sim.locks import Lock
from tilewright.sim.parts import PartKind
from tilewright.sim.switch import Arbiter, PortName, Slave, StreamBlocks, Switch, SwitchTarget
from tilewright.sim.trace import Trace

if TYPE_CHECKING:
    from tilewright.sim.fast.engine import FastEngine
    from tilewright.sim.fast.machine import FastMachine
    from tilewright.sim.fast.numbering import Numbering
    from tilewright.sim.tile import Tile

NOTHING = frozenset[int]()
LEAST_ROOM = 1024
"""Words."""


class NativeSignal(Signal):
    """A signal for which native parts wait too."""

    __slots__ = ("engine", "number")

    def __init__(self, engine: FastEngine, number: int):
        super().__init__()
        self.engine = engine
        self.number = number

    def add(self, actor: Actor) -> None:
        self.engine.wait_for(actor.rank, self.number, WaitKind.NOTHING)

    def remove(self, actor: Actor) -> None:
        self.engine.forget(actor.rank)

    def fire(self) -> None:
        self.engine.fire(self.number)


class Parked(Signal):
    """Stands for a signal that native code has made a process wait for already."""

    __slots__ = ("engine",)

    def __init__(self, engine: FastEngine):
        super().__init__()
        self.engine = engine

    def add(self, actor: Actor) -> None:
        pass

    def remove(self, actor: Actor) -> None:
        self.engine.forget(actor.rank)


class FastLock(Lock):
    """A lock whose value is in the state."""

    __slots__ = ("engine",)

    def __init__(self, engine: FastEngine, tile: TileId, number: int, index: int, policy: FaultPolicy, trace: Trace):
        super().__init__(tile, number, index, policy, trace)
        self.engine = engine
        self.changed = NativeSignal(engine, index)

    @property
    def value(self) -> int:
        return int(self.engine.state.lock_value[self.index])

    def _store(self, value: int) -> None:
        self.engine.state.lock_value[self.index] = value


class FastFifo(Fifo):
    """A stream whose words are in the state."""

    __slots__ = ("native", "number")

    def __init__(self, engine: FastEngine, plain: Fifo, number: int):
        super().__init__(engine, plain.name, plain.depth, plain.latency)
        self.native, self.number = engine, number
        self.changed = NativeSignal(engine, engine.state.signal_fifo + number)
        engine.state.fifo_depth[number] = plain.depth
        engine.state.fifo_latency[number] = plain.latency

    def __len__(self) -> int:
        return int(self.native.state.fifo_count[self.number])

    @property
    def passed(self) -> int:
        return int(self.native.state.fifo_words[self.number])

    def begin_with(self, start: Callable[[], object]) -> None:
        """Native code starts no processes, so a reader that is one waits from the beginning."""
        start()

    def push(self, beat: Beat) -> None:
        self.native.push_beat(self.number, beat.word, int(beat.last))

    def head(self, asker: object) -> Process[Beat]:
        state = self.native.state
        while not len(self):
            yield self.empty_wait(asker)
        at = self.number * state.ring + state.fifo_head[self.number]
        if state.beat_ready[at] > state.now:
            yield int(state.beat_ready[at]) - state.now
        return Beat(int(state.beat_word[at]), bool(state.beat_last[at]))

    def pop(self) -> None:
        self.native.pop_beat(self.number)


class FastArbiter(Arbiter):
    """An arbiter that native code gives to slave ports."""

    def __init__(self, engine: FastEngine, tile: TileId, number: int, index: int):
        super().__init__(tile, number)
        self.engine, self.index = engine, index

    @property
    def held_by(self) -> Slave | None:
        held = int(self.engine.state.arbiter_held[self.index])
        return None if held == NONE else self.engine.slaves[held]


class FastSlave(Slave):
    """A slave port through which native code passes words."""

    def __init__(self, engine: FastEngine, switch: Switch, name: PortName, number: int, index: int):
        super().__init__(switch, name, number)
        self.engine, self.index = engine, index
        engine.slaves[index] = self

    def pass_on(self, beat: Beat, asker: object, taken: Callable[[], None] | None = None) -> Process[None]:
        """What processes of Python send goes the same way; `taken` is for streams, which are none."""
        engine, part = self.engine, self.engine.acting
        # Native code returns for what only Python knows, then tries the same word again.
        while True:
            code = engine.pass_on(part, self.index, beat.word, int(beat.last))
            if code == Exit.ROUTE:
                engine.find_route(self.index)
            elif code == Exit.NO_ROUTE:
                self.complain(beat.word, asker)
                break
            elif (wait := engine.wait_of(part, asker)) is not None:
                yield Wait(Parked(engine), wait.reason, wait.of, asker)
            else:
                break
        if taken is not None:
            taken()
        yield 1


class FastStreamBlocks(StreamBlocks):
    """Makes the blocks of one switch."""

    def __init__(self, engine: FastEngine, numbering: Numbering):
        self.engine, self.numbering = engine, numbering

    def slave(self, switch: Switch, name: PortName, number: int) -> Slave:
        index = self.numbering.slaves[switch.tile, name]
        self.engine.state.slave_switch[index] = self.numbering.tiles[switch.tile]
        return FastSlave(self.engine, switch, name, number, index)

    def arbiter(self, tile: TileId, number: int) -> Arbiter:
        return FastArbiter(self.engine, tile, number, self.numbering.arbiter(tile, number))

    def fifo(self, tile: TileId, name: PortName, plain: Fifo) -> Fifo:
        fifo = FastFifo(self.engine, plain, self.numbering.fifos[tile, name])
        self.engine.fifos[fifo.number] = fifo
        return fifo


class FastChannel(Channel):
    """A channel that native code plays. Its queue is here, one task at a time goes there."""

    def __init__(self, engine: FastEngine, tile: Tile, direction: DmaDirection, number: int, part: int, index: int):
        super().__init__(tile, direction, number, part)
        self.home = tile
        self.engine, self.index = engine, index
        self.arrived = NativeSignal(engine, engine.state.signal_task + index)
        self._space = np.empty(0, dtype=np.uint32)
        self.expansion: Expansion | None = None
        self._kept: tuple[tuple[int, int], LocationAttr] = (NONE, NONE), UNKNOWN_LOC
        """The source of a descriptor that was rewritten while it was executed, by its number and how many began."""

    def clear(self) -> None:
        super().clear()
        self.expansion = None

    @property
    def step(self) -> int:
        return int(self.engine.state.channel_step[self.index])

    @property
    def transfer(self) -> BdTransfer | None:
        if self.running is None:
            return None
        bd = int(self.engine.state.channel_bd[self.index])
        known, location = self._kept
        if known != (bd, self.engine.state.channel_begun[self.index]):
            location = self.tile.descriptor_location(bd)
        return BdTransfer(self, bd, location)

    def keep_location(self, bd: int) -> None:
        """A descriptor is about to be written: if it is being executed, that was written where it was so far."""
        if self.running is not None and self.engine.state.channel_bd[self.index] == bd:
            transfer = self.transfer
            assert transfer is not None
            self._kept = (bd, int(self.engine.state.channel_begun[self.index])), transfer.location

    @property
    def moved(self) -> int:
        has_header = self.direction is DmaDirection.MM2S and self.number_of(BdField.HEADER) != NONE
        # Words in blocks are moved ahead of time; those of later cycles do not count yet.
        at = int(self.engine.state.channel_at[self.index]) - self.engine.moves_ahead(self.index)
        return max(at - has_header, 0)

    @property
    def to_load(self) -> frozenset[int]:
        if self.running is None:
            return NOTHING
        following, runs_again = self.number_of(BdField.NEXT), self.engine.state.channel_left[self.index] > 1
        if following == NONE and not runs_again:
            return NOTHING
        ahead = set[int]()
        if self.step < ChannelStep.TOKEN and following != NONE:
            ahead.update(self.chain(following))
        if runs_again:
            ahead.update(self.chain(self.running.start_bd))
        return frozenset(ahead)

    def number_of(self, field: int) -> int:
        """A number of the descriptor that it runs."""
        return int(self.engine.state.channel_descriptor[self.index * BD_NUMBERS + field])

    @property
    def addresses(self) -> Addresses:
        """Those of the descriptor that it runs."""
        dimensions = tuple(
            BdDimension(
                self.number_of(BdField.WRAP + level),
                self.number_of(BdField.STEP + level),
                self.number_of(BdField.PAD_BEFORE + level),
                self.number_of(BdField.PAD_AFTER + level),
            )
            for level in range(min(self.number_of(BdField.DIMENSIONS), DIMENSIONS))
        )
        steps = self.number_of(BdField.ITERATION) * self.number_of(BdField.ITERATION_STEP)
        start = self.number_of(BdField.BASE) + WORD_BYTES * steps
        return byte_addresses(dimensions, self.number_of(BdField.LENGTH), start)

    def addresses_in_array(self) -> Addresses:
        return self.home.in_array(self.addresses)

    def _look_ahead(self) -> None:
        self.home.machine.descriptor_touched(self.home, self.queue[0].start_bd)
        super()._look_ahead()

    @property
    def is_lent(self) -> bool:
        """Whether the words that it sends are those of a host buffer."""
        state = self.engine.state
        return state.channel_data[self.index] != state.channel_buffer[self.index]

    def keep_words(self) -> None:
        """Send from now on what the host buffer holds now."""
        count, data = self.number_of(BdField.LENGTH), int(self.engine.state.channel_data[self.index])
        self.make_room(count + 1)
        ctypes.memmove(self.words.ctypes.data, data, WORD_BYTES * count)

    @property
    def words(self) -> npt.NDArray[np.uint32]:
        """What it moves, or has moved so far."""
        state = self.engine.state
        if not len(self._space):
            return self._space
        first = (int(state.channel_buffer[self.index]) - self._space.ctypes.data) // WORD_BYTES
        return self._space[first : first + int(state.channel_room[self.index])]

    def make_room(self, words: int) -> None:
        kept, state = self.words, self.engine.state
        self.engine.spill(self.index)
        # Never tiny: most channels then need no more room for the whole run.
        room = max(words, len(kept), LEAST_ROOM)
        has_spare = self.direction is DmaDirection.MM2S and room <= 2 * PIECE_WORDS
        self._space = np.zeros(2 * room if has_spare else room, dtype=np.uint32)
        self._space[: len(kept)] = kept
        state.channel_buffer[self.index] = state.channel_data[self.index] = self._space.ctypes.data
        state.channel_spare[self.index] = self._space.ctypes.data + WORD_BYTES * room if has_spare else 0
        state.channel_room[self.index] = room


class FastSwitch(Switch):
    """A change makes the routes of all its slave ports unknown until a word needs one."""

    fast: FastEngine
    number: int
    before_change: Callable[[], None]

    def bind(self, engine: FastEngine, number: int, before_change: Callable[[], None]) -> None:
        """Let native code know of changes; `number` is that of the tile."""
        self.fast, self.number, self.before_change = engine, number, before_change

    def reconfigure(self) -> None:
        self.before_change()
        for slave in self.slaves.values():
            self.fast.state.slave_known[cast(FastSlave, slave).index] = 0
        super().reconfigure()

    def tell_route(self, slave: FastSlave) -> None:
        """Write down where a slave port leads."""
        state, first = self.fast.state, slave.index * NUM_SLAVE_SLOTS
        state.slave_known[slave.index] = 1
        if not self.is_enabled(slave):
            state.slave_kind[slave.index] = SlaveKind.NOWHERE
        elif self.is_packet(slave):
            state.slave_kind[slave.index] = SlaveKind.PACKET
            for slot in range(NUM_SLAVE_SLOTS):
                self._tell_rule(slave, slot, first + slot)
        else:
            targets = self.circuit(slave).targets
            state.slave_kind[slave.index] = SlaveKind.CIRCUIT if targets else SlaveKind.NOWHERE
            _put_targets(state, first, targets)

    def _tell_rule(self, slave: Slave, slot: int, rule: int) -> None:
        state, fields = self.fast.state, SlaveSlot.decode([self._slot(slave.number, slot)])
        state.rule_on[rule] = fields["enable"]
        state.rule_id[rule] = fields["id"]
        state.rule_mask[rule] = fields["mask"]
        state.rule_arbiter[rule] = self.number * len(self.arbiters) + fields["arbit"]
        _put_targets(state, rule, tuple(self._selected(fields["arbit"], fields["msel"])))


def _put_targets(state: FastState, rule: int, targets: tuple[SwitchTarget, ...]) -> None:
    state.rule_targets[rule] = len(targets)
    for number, target in enumerate(targets, rule * MAX_TARGETS):
        state.target_fifo[number] = cast(FastFifo, target.fifo).number
        state.target_drops[number] = int(target.drops_header)


@dataclass
class Node:
    """A stream of a circuit."""

    fifo: FastFifo
    above: int | None
    """The node that its words come from; None if it is the channel."""
    part: int
    leaf: FastChannel | None
    children: list[int] = field(default_factory=list[int])


def find_nodes(machine: FastMachine, root: FastSlave) -> list[Node] | None:
    """All streams behind a slave port, those of each node side by side; None if they are not a tree."""
    nodes = list[Node]()
    waiting: list[tuple[Slave, int | None]] = [(root, None)]
    while waiting:
        slave, above = waiting.pop(0)
        if not slave.switch.is_enabled(slave) or slave.switch.is_packet(slave):
            return None
        targets = slave.switch.circuit(slave).targets
        if not targets:
            return None
        for target in targets:
            node = _node(machine, slave, target.fifo, above)
            if node is None or any(node.fifo is other.fifo for other in nodes):
                return None
            if above is not None:
                nodes[above].children.append(len(nodes))
            if node.leaf is None:
                waiting.append((machine.end_of(node.fifo), len(nodes)))
            nodes.append(node)
    return nodes


def _node(machine: FastMachine, slave: Slave, fifo: object, above: int | None) -> Node | None:
    assert isinstance(fifo, FastFifo)
    if machine.has_end(fifo):
        tile, name = machine.place_of(fifo)
        return Node(fifo, above, machine.part_ids.number(PartKind.STREAM, tile, name), None)
    channel = machine.receiver_of(fifo)
    return None if channel is None else Node(fifo, above, channel.part, channel)


def put_nodes(state: FastState, channel: FastChannel, nodes: list[Node], tree: int, root: int) -> None:
    """Write down the nodes of a tree; they follow the one that stands for the channel."""
    first = root + 1
    state.node_tree[root], state.node_channel[root], state.node_above[root] = tree, channel.index, NONE
    state.node_child[root], state.node_children[root] = first, sum(node.above is None for node in nodes)
    for number, node in enumerate(nodes, first):
        state.node_tree[number] = tree
        state.node_above[number] = root if node.above is None else first + node.above
        state.node_child[number] = first + node.children[0] if node.children else 0
        state.node_children[number] = len(node.children)
        state.node_fifo[number] = node.fifo.number
        state.node_part[number] = node.part
        state.node_channel[number] = NONE if node.leaf is None else node.leaf.index
        state.node_depth[number] = node.fifo.depth
        state.node_latency[number] = node.fifo.latency


def receivers(channels: dict[int, FastChannel]) -> dict[int, FastChannel]:
    """The channels that receive, by the number of the stream that they read."""
    found = dict[int, FastChannel]()
    for channel in channels.values():
        port = channel.home.port_of(channel)
        if channel.direction is DmaDirection.S2MM and isinstance(port, FastFifo):
            found[port.number] = channel
    return found
