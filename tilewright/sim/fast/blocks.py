"""The blocks of a machine whose numbers are in the state: what Python sees of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection, TileId
from tilewright.sim.descriptors import WORD_BYTES, Addresses, Dimension, byte_addresses
from tilewright.sim.dma import Channel, Transfer
from tilewright.sim.engine import Actor, Process, Signal, Wait
from tilewright.sim.fast.state import BD_NUMBERS, DIMENSIONS, NONE, BdField, ChannelStep, Exit, Waiting
from tilewright.sim.faults import Judge
from tilewright.sim.fifo import Beat, Fifo
from tilewright.sim.locks import Lock
from tilewright.sim.switch import Arbiter, PortName, Slave, StreamBlocks, Switch
from tilewright.sim.trace import Trace

if TYPE_CHECKING:
    from tilewright.sim.fast.engine import FastEngine
    from tilewright.sim.fast.numbering import Numbering
    from tilewright.sim.tile import Tile


NOTHING = frozenset[int]()


class NativeSignal(Signal):
    """A signal for which native parts wait too."""

    __slots__ = ("engine", "number")

    def __init__(self, engine: FastEngine, number: int):
        super().__init__()
        self.engine = engine
        self.number = number

    def add(self, actor: Actor) -> None:
        self.engine.wait_for(actor.rank, self.number, Waiting.NOTHING)

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

    def __init__(self, engine: FastEngine, tile: TileId, number: int, index: int, judge: Judge, trace: Trace):
        super().__init__(tile, number, index, judge, trace)
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
        """Native code starts nobody, so who is a process waits from the beginning."""
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
        self.words = np.empty(0, dtype=np.uint32)
        """What it moves, or has moved so far."""
        self._kept: tuple[tuple[int, int], LocationAttr] = (NONE, NONE), UNKNOWN_LOC
        """The source of a descriptor that was rewritten while it was executed, by its number and how many began."""

    @property
    def step(self) -> int:
        return int(self.engine.state.channel_step[self.index])

    @property
    def transfer(self) -> Transfer | None:
        if self.running is None:
            return None
        bd = int(self.engine.state.channel_bd[self.index])
        known, location = self._kept
        if known != (bd, self.engine.state.channel_begun[self.index]):
            location = self.tile.descriptor_location(bd)
        return Transfer(self, bd, location)

    def keep_location(self, bd: int) -> None:
        """A descriptor is about to be written: if it is being executed, that was written where it was so far."""
        if self.running is not None and self.engine.state.channel_bd[self.index] == bd:
            transfer = self.transfer
            assert transfer is not None
            self._kept = (bd, int(self.engine.state.channel_begun[self.index])), transfer.location

    @property
    def moved(self) -> int:
        has_header = self.direction is DmaDirection.MM2S and self.number_of(BdField.HEADER) != NONE
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
            Dimension(
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

    def make_room(self, words: int) -> None:
        grown = np.zeros(max(words, 1024), dtype=np.uint32)
        grown[: len(self.words)] = self.words
        self.words = grown
        self.engine.state.channel_data[self.index] = grown.ctypes.data
        self.engine.state.channel_room[self.index] = len(grown)
