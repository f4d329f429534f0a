"""Waits of native parts, in the words of the plain model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilewright.sim.core import Activation
from tilewright.sim.core_binding import CoreAsker
from tilewright.sim.dma import Token
from tilewright.sim.engine import Actor, Process, Signal, Wait
from tilewright.sim.fast.blocks import FastChannel
from tilewright.sim.fast.services import core_port, stop_kind
from tilewright.sim.fast.state import BdField, ChannelStep, CoreStep, StopKind, TurnKind, WaitKind
from tilewright.sim.locks import LockNeed
from tilewright.sim.switch import Slave

if TYPE_CHECKING:
    from tilewright.sim.fast.machine import FastMachine


class Views:
    """Makes actors of what native code plays, to be looked at."""

    def __init__(self, machine: FastMachine):
        self.machine = machine

    def actors(self) -> list[Actor]:
        return list(self._actors())

    def _actors(self) -> Iterator[Actor]:
        state = self.machine.state
        for part, kind in enumerate(state.part_kind):
            if kind in (TurnKind.CHANNEL, TurnKind.CORE, TurnKind.STREAM):
                name, asker, done = self._describe(part, kind)
                wait = self.wait_of(part, asker)
                yield Actor(
                    self.machine.fast, name, _nothing(), self.machine.part_ids.parts[part].tile, part, wait, done=done
                )

    def _describe(self, part: int, kind: int) -> tuple[str, object, bool]:
        """What a part is called, who waits when it does, and whether it has ended."""
        index, place = int(self.machine.state.part_index[part]), self.machine.part_ids.parts[part].tile
        assert place is not None
        if kind == TurnKind.CHANNEL:
            channel = self.machine.channel_of(part)
            return str(channel), _asker(channel), False
        if kind == TurnKind.STREAM:
            return self.machine.fast.fifos[index].name, self.machine.fast.fifos[index], False
        activation = self.machine.services.activations.get(part)
        done = self.machine.state.core_step[index] == CoreStep.FINISHED
        return f"the core of {self.machine.tiles[place]}", activation and _core_asker(activation), bool(done)

    def wait_of(self, part: int, asker: object) -> Wait | None:
        """Why a part does not move, with the words that the plain model has for it."""
        machine, state = self.machine, self.machine.state
        why, signal = int(state.part_wait[part]), int(state.part_signal[part])
        match why:
            case WaitKind.EMPTY:
                return machine.fast.fifos[signal - state.signal_fifo].empty_wait(asker)
            case WaitKind.FULL:
                return machine.fast.fifos[signal - state.signal_fifo].full_wait(asker)
            case WaitKind.ARBITER:
                return machine.arbiter_at(signal - state.signal_arbiter).wait(asker)
            case WaitKind.NOWHERE:
                return self._slave(part).nowhere_wait(asker)
            case WaitKind.LOCK:
                return self._lock_wait(part, signal, asker)
            case WaitKind.MUX:
                channel = machine.channel_of(part)
                return channel.home.mux_wait(channel)
            case WaitKind.TASK:
                return machine.channel_of(part).idle_wait()
            # A core in a polling loop waits for no signal: it has a turn, and looks again.
            case _ if state.part_looks[part] and part in machine.services.activations:
                activation = machine.services.activations[part]
                return core_port(activation).look_wait(activation.core)
            case WaitKind.LOOP:
                core = machine.services.activations[part].core
                return Wait(Signal(), lambda: f"{core} is in a loop that does nothing and never ends", by=core)
            case _:
                return None

    def _slave(self, part: int) -> Slave:
        """The slave port that a stream or a channel sends to."""
        state, index = self.machine.state, int(self.machine.state.part_index[part])
        if state.part_kind[part] == TurnKind.STREAM:
            return self.machine.fast.slaves[int(state.stream_slave[index])]
        sends_token = state.channel_step[index] == ChannelStep.SEND_TOKEN
        ports = state.channel_token_port if sends_token else state.channel_port
        return self.machine.fast.slaves[int(ports[index])]

    def _lock_wait(self, part: int, lock: int, asker: object) -> Wait:
        found = self.machine.lock_at(lock)
        if self.machine.state.part_kind[part] == TurnKind.CHANNEL:
            value = self.machine.channel_of(part).number_of(BdField.ACQUIRE_VALUE)
            return LockNeed(found, abs(value), exactly=value >= 0).wait(asker)
        activation = self.machine.services.activations[part]
        exactly = stop_kind(activation.stop) is StopKind.ACQUIRE_EQUAL
        return LockNeed(found, activation.number(activation.stop.slots[0]), exactly).wait(asker)


def _asker(channel: FastChannel) -> object:
    if channel.step == ChannelStep.SEND_TOKEN and channel.running is not None:
        return Token(channel, channel.running.location)
    return channel.transfer


def _core_asker(activation: Activation) -> object:
    return CoreAsker(core_port(activation).tile.place, activation.location)


def _nothing() -> Process[None]:
    """Stands for the process of a part that is native code."""
    yield from ()
