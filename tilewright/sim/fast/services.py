"""Services of Python for native code, which comes back for what is rare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.device import LockAction
from tilewright.device.descriptors import BdLock, BufferDescriptor, word_extent
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.func import CallOp
from tilewright.native.compiled_python import load32
from tilewright.native.coroutine import FIRST_WAIT
from tilewright.sim.compression import Expansion, compressed, most_words
from tilewright.sim.core import Activation, BoundCore
from tilewright.sim.core_binding import CoreAsker, TileCorePort
from tilewright.sim.core_code import SuspendPoint
from tilewright.sim.dma import Token, packet_header
from tilewright.sim.engine import Actor, Process
from tilewright.sim.fast import channels, transfers
from tilewright.sim.fast.blocks import FastChannel
from tilewright.sim.fast.channels import MOVING_ON
from tilewright.sim.fast.state import (
    BD_NUMBERS,
    NONE,
    BdField,
    ChannelStep,
    CoreStep,
    Exit,
    StopKind,
    TurnKind,
    WaitKind,
)
from tilewright.sim.trace import TraceEvent

if TYPE_CHECKING:
    from tilewright.sim.fast.machine import FastMachine


class Services:
    """Handlers for each `Exit`; they give the part that goes on at once, or NONE."""

    def __init__(self, machine: FastMachine):
        self.machine, self.state, self.engine = machine, machine.state, machine.fast
        self.activations: dict[int, Activation] = {}
        """The programs of cores, by part."""
        self._begin_piece = self.engine.native(transfers.begin_piece)
        self._after_scatter = self.engine.native(channels.after_scatter)
        self._end_descriptor = self.engine.native(channels.end_descriptor)
        self._follow_chain = self.engine.native(channels.follow_chain)
        machine.fast.handlers = {
            Exit.TASK: self.next_task,
            Exit.TASK_DONE: self.end_task,
            Exit.DESCRIPTOR: self.load_descriptor,
            Exit.INVALID: self.refuse_descriptor,
            Exit.GATHER: self.gather,
            Exit.SCATTER: self.scatter,
            Exit.EXPAND: self.expand,
            Exit.BUFFER: self.make_room,
            Exit.TOKEN: self.make_token,
            Exit.ROUTE: self.find_route,
            Exit.NO_ROUTE: self.drop_word,
            Exit.LOCK_RANGE: self.change_lock,
            Exit.START: self.start_core,
            Exit.SERVE: self.serve_core,
            Exit.TRAP: self.trap,
            Exit.TRACE: self.drain_trace,
            Exit.BREATHE: self.breathe,
            Exit.CORE_DONE: self.end_core,
            Exit.MEETING: self.check_meeting,
            Exit.TREE: self.tell_tree,
        }

    # Channels.

    def next_task(self, part: int, _: int) -> int:
        channel = self.machine.channel_of(part)
        if not channel.queue:
            self.engine.wait_for(part, self.state.signal_task + channel.index, WaitKind.TASK)
            return NONE
        task, loaded = channel.take_task()
        self.machine.trace.record(TraceEvent.TASK, part, task.start_bd)
        index = channel.index
        self.state.channel_task_bd[index] = self.state.channel_bd[index] = task.start_bd
        self.state.channel_left[index] = task.runs
        self.state.channel_pushed[index] = task.pushed
        self.state.channel_start_cost[index] = channel.start_cost
        self.state.channel_least_end[index] = channel.least_end
        self.state.channel_token[index] = int(task.token)
        self.state.channel_step[index] = ChannelStep.LOAD
        if loaded is not None:
            row = descriptor_numbers(channel, loaded)
            self.state.array("channel_descriptor")[index * BD_NUMBERS : (index + 1) * BD_NUMBERS] = row
            self.state.channel_loaded[index] = 1
        return part

    def end_task(self, part: int, _: int) -> int:
        channel = self.machine.channel_of(part)
        assert channel.running is not None
        self.machine.trace.record(TraceEvent.TASK_END, part, channel.running.start_bd, int(channel.running.token))
        channel.running = None
        self.state.channel_step[channel.index] = ChannelStep.IDLE
        return part

    def load_descriptor(self, part: int, bd: int) -> int:
        channel, state = self.machine.channel_of(part), self.state
        if not channel.tile.can_use(bd, channel.number):
            transfer = channel.transfer
            assert transfer is not None
            self.machine.trace.record(TraceEvent.BD, part, bd)
            channel.refuse(transfer)
            self._follow_chain(channel.index, NONE)
            return part
        number = int(state.channel_bds[channel.index]) + bd
        descriptor = channel.tile.descriptor(bd)
        if descriptor.valid:
            channel.home.check_length(bd)
        row = descriptor_numbers(channel, descriptor)
        state.array("bd_number")[number * BD_NUMBERS : (number + 1) * BD_NUMBERS] = row
        state.bd_known[number] = 1
        return part

    def refuse_descriptor(self, part: int, _: int) -> int:
        channel = self.machine.channel_of(part)
        transfer = channel.transfer
        assert transfer is not None
        channel.complain_invalid(transfer)
        self._follow_chain(channel.index, NONE)
        return part

    def gather(self, part: int, _: int) -> int:
        channel = self.machine.channel_of(part)
        words = channel.tile.gather(channel.addresses, channel, channel.transfer)
        group = channel.compression_group(bool(channel.number_of(BdField.COMPRESSED)))
        if group is not None:
            words = compressed(words, group)
            channel.make_room(len(words) + 1)
            self.state.channel_total[channel.index] = len(words)
        channel.words[: len(words)] = words
        self.state.channel_step[channel.index] = ChannelStep.JOIN
        return part

    def scatter(self, part: int, _: int) -> int:
        channel, index = self.machine.channel_of(part), self.machine.channel_of(part).index
        first, end = int(self.state.channel_piece[index]), int(self.state.channel_at[index])
        addresses = channel.addresses if first == NONE else channel.addresses[first:end]
        channel.tile.scatter(addresses, channel.words[: len(addresses)], channel, channel.transfer)
        if channel.step == ChannelStep.RECEIVE:
            self._begin_piece(index, end)
            return part
        return part if self._after_scatter(part, channel.index) == MOVING_ON else NONE

    def expand(self, part: int, _: int) -> int:
        """Find out how many words of the stream are still to come; the words of memory after the last of them."""
        channel, index = self.machine.channel_of(part), self.machine.channel_of(part).index
        if channel.expansion is None:
            length, group = channel.number_of(BdField.LENGTH), channel.compression_group(True)
            if group is None:
                self.state.channel_total[index] = length
                self.state.channel_descriptor[index * BD_NUMBERS + BdField.COMPRESSED] = 0
                return part
            channel.expansion = Expansion(length, group)
            channel.make_room(most_words(length, group) + 1)
        else:
            channel.expansion.advance(channel.words)
        if channel.expansion.is_done:
            channel.words[: len(channel.expansion.words)] = channel.expansion.words
            channel.expansion = None
            self.state.channel_step[index] = ChannelStep.SCATTER
        else:
            self.state.channel_total[index] = channel.expansion.total
        return part

    def make_room(self, part: int, words: int) -> int:
        channel = self.machine.channel_of(part)
        channel.make_room(words)
        return part

    def make_token(self, part: int, _: int) -> int:
        channel = self.machine.channel_of(part)
        self.state.channel_token_word[channel.index] = channel.token_word
        self.state.channel_step[channel.index] = ChannelStep.SEND_TOKEN
        return part

    def check_meeting(self, part: int, _: int) -> int:
        """Let the watch decide, with all that is in flight, whether transfers that are close really meet."""
        channel = self.machine.channel_of(part)
        self.machine.check_meeting(channel)
        self.state.channel_checked[channel.index] = 1
        return part

    def tell_tree(self, part: int, _: int) -> int:
        self.machine.tell_tree(self.machine.channel_of(part))
        return part

    # Streams and locks.

    def find_route(self, part: int, slave: int) -> int:
        self.engine.find_route(slave)
        return part

    def drop_word(self, part: int, slave: int) -> int:
        """A packet that goes nowhere: complain, and if that is all, lose the word."""
        state, index = self.state, int(self.state.part_index[part])
        if state.part_kind[part] == TurnKind.STREAM:
            fifo = self.engine.fifos[int(state.stream_fifo[index])]
            word = int(state.beat_word[fifo.number * state.ring + state.fifo_head[fifo.number]])
            self.engine.slaves[slave].complain(word, fifo)
            fifo.pop()
        else:
            self._drop_of_channel(self.machine.channel_of(part), slave)
        self.engine.schedule_part(part, state.now + 1)
        return NONE

    def _drop_of_channel(self, channel: FastChannel, slave: int) -> None:
        state, index = self.state, channel.index
        if channel.step == ChannelStep.SEND_TOKEN:
            assert channel.running is not None
            asker = Token(channel, channel.running.location)
            self.engine.slaves[slave].complain(channel.token_word, asker)
            state.channel_step[index] = ChannelStep.DONE
            return
        at = int(state.channel_at[index])
        header = channel.number_of(BdField.HEADER)
        data = int(state.channel_data[index]) + WORD_BYTES * (at - (header != NONE))
        word = load32(data) if at or header == NONE else header
        self.engine.slaves[slave].complain(word, channel.transfer)
        state.channel_at[index] = at + 1

    def change_lock(self, part: int, number: int) -> int:
        """A lock leaves its range: complain, and if that is all, let it wrap around."""
        lock = self.machine.lock_at(number)
        if self.state.part_kind[part] == TurnKind.CHANNEL:
            channel = self.machine.channel_of(part)
            lock.release(channel.number_of(BdField.RELEASE_VALUE), channel.transfer)
            return part if self._end_descriptor(part, channel.index) == MOVING_ON else NONE
        activation = self.activations[part]
        stop = activation.stop
        amount = activation.number(stop.slots[0])
        asker = CoreAsker(core_port(activation).tile.place, activation.location)
        lock.release(amount if stop_kind(stop) is StopKind.RELEASE else -amount, asker)
        self.state.core_step[int(self.state.part_index[part])] = CoreStep.RESUME
        return part

    # Cores.

    def begin_core(self, part: int, core: int, bound: BoundCore) -> None:
        """Let a core have its first turn."""
        self.end_activation(part)
        self.activations[part] = Activation(bound.program, bound.port)
        self.state.part_kind[part] = TurnKind.CORE
        self.state.part_index[part] = core
        self.state.core_step[core] = CoreStep.START
        self.engine.schedule_part(part, self.state.now)

    def end_activation(self, part: int) -> None:
        activation = self.activations.pop(part, None)
        if activation is not None:
            activation.destroy()

    def start_core(self, part: int, _: int) -> int:
        activation, core = self.activations[part], int(self.state.part_index[part])
        activation.port.record(TraceEvent.CORE)
        self._put_stops(core, activation)
        activation.start()
        self.state.core_context[core] = activation.context_address
        self.state.core_handle[core] = activation.handle
        self.state.core_resume[core] = activation.native.resume_address
        self.state.core_low[core], self.state.core_high[core] = activation.reach
        self.state.core_step[core] = CoreStep.STOPPED
        return part

    def _put_stops(self, core: int, activation: Activation) -> None:
        """Tell native code which stops are for locks."""
        stops, port = activation.code.stops, core_port(activation)
        first = self.machine.room_for_stops(len(stops))
        self.state.core_stops[core] = first
        for number, stop in enumerate(stops, first):
            kind = stop_kind(stop)
            self.state.stop_kind[number] = kind
            if stop.lock is not None:
                self.state.stop_lock[number] = port.lock(stop.lock).index
                self.state.stop_slot[number] = stop.slots[0]

    def serve_core(self, part: int, code: int) -> int:
        """Let Python do what a program stopped for; native code goes on with the program when it is done."""
        activation = self.activations[part]
        stop = activation.code.stops[code - FIRST_WAIT]
        if not isinstance(stop.op, CallOp):
            return self._serve(part, activation.serve(code))
        activation.port.record(TraceEvent.WAIT, code - FIRST_WAIT)
        call = activation.kernel_call(stop)
        outcome = call.begin()
        if (prepared := call.prepared) is not None:
            self.machine.tell_call(self._stop_number(part, code), call, prepared)
        if not isinstance(outcome, int):
            return self._serve(part, activation.ended(outcome, code - FIRST_WAIT))
        self.state.core_step[int(self.state.part_index[part])] = CoreStep.SERVED
        # A kernel that takes no time does not cost a turn, as in the plain model.
        if outcome == 0:
            return part
        self.engine.schedule_part(part, self.state.now + outcome)
        return NONE

    def _stop_number(self, part: int, code: int) -> int:
        return int(self.state.core_stops[int(self.state.part_index[part])]) + code - FIRST_WAIT

    def _serve(self, part: int, process: Process[None]) -> int:
        """A process of Python has the part until it is over."""
        name, tile = self.machine.name_of(part), self.machine.part_ids.parts[part].tile
        actor = Actor(self.engine, name, process, tile, part)
        self.engine.processes.append(actor)
        self.engine.by_part[part] = actor
        self.state.part_kind[part] = TurnKind.PYTHON
        return self.engine.step(part)

    def after_step(self, part: int, actor: Actor) -> int:
        """A process has had its turn: a core's service that is over gives the turn back to native code."""
        if not actor.done or part not in self.activations:
            return NONE
        self.engine.processes.remove(actor)
        self.state.part_kind[part] = TurnKind.CORE
        return part

    def trap(self, part: int, code: int) -> int:
        raise self.activations[part].trapped(code)

    def end_core(self, part: int, _: int) -> int:
        self.activations[part].destroy()
        return NONE

    # The rest.

    def drain_trace(self, part: int, _: int) -> int:
        self.machine.fast_trace.drain()
        return NONE

    def breathe(self, part: int, _: int) -> int:
        return NONE


def descriptor_numbers(channel: FastChannel, descriptor: BufferDescriptor) -> list[int]:
    """All numbers of a descriptor, for a channel that runs it."""
    numbers = [0] * BD_NUMBERS
    numbers[BdField.VALID] = int(descriptor.valid)
    numbers[BdField.LENGTH] = descriptor.length
    numbers[BdField.BASE] = descriptor.base
    numbers[BdField.NEXT] = NONE if descriptor.next is None else descriptor.next
    numbers[BdField.ACQUIRE], numbers[BdField.ACQUIRE_VALUE] = _lock(channel, descriptor.acquire)
    numbers[BdField.RELEASE], numbers[BdField.RELEASE_VALUE] = _lock(channel, descriptor.release)
    packet = descriptor.packet
    numbers[BdField.HEADER] = NONE if packet is None else packet_header(channel.tile.place, packet.id, packet.type)
    numbers[BdField.COMPRESSED] = int(descriptor.compressed)
    numbers[BdField.UPSIZED] = int(descriptor.is_upsized)
    numbers[BdField.BURST] = channel.tile.burst_bytes(descriptor)
    numbers[BdField.SUPPRESS_LAST] = int(descriptor.suppress_tlast)
    numbers[BdField.ITERATIONS] = descriptor.iterations
    numbers[BdField.ITERATION_STEP] = descriptor.iteration_step
    numbers[BdField.ITERATION] = descriptor.iteration
    _put_pattern(numbers, descriptor)
    return numbers


def _lock(channel: FastChannel, use: BdLock | None) -> tuple[int, int]:
    if use is None:
        return NONE, 0
    return channel.tile.dma_lock(use.number, channel.number, channel.transfer).index, use.value


def _put_pattern(numbers: list[int], descriptor: BufferDescriptor) -> None:
    numbers[BdField.DIMENSIONS] = len(descriptor.dimensions)
    for level, dimension in enumerate(descriptor.dimensions):
        numbers[BdField.WRAP + level] = dimension.wrap
        numbers[BdField.STEP + level] = dimension.step
        numbers[BdField.PAD_BEFORE + level] = dimension.pad_before
        numbers[BdField.PAD_AFTER + level] = dimension.pad_after
        numbers[BdField.PADDED] |= dimension.pad_before | dimension.pad_after
    _put_rows(numbers)
    if descriptor.length:
        low, high = word_extent(descriptor.dimensions, descriptor.length)
        numbers[BdField.LOW], numbers[BdField.HIGH] = low * WORD_BYTES, high * WORD_BYTES


def _put_rows(numbers: list[int]) -> None:
    """Tell a matrix whose rows are apart, so that other columns of it are known to be elsewhere."""
    wrap, step, pitch = numbers[BdField.WRAP], numbers[BdField.STEP], numbers[BdField.STEP + 1]
    width, rows = (wrap - 1) * step + 1, numbers[BdField.WRAP + 1]
    is_whole = rows == 0 or wrap * rows >= numbers[BdField.LENGTH]
    if 0 < width <= pitch and is_whole and not numbers[BdField.PADDED]:
        numbers[BdField.PITCH], numbers[BdField.WIDTH] = pitch * WORD_BYTES, width * WORD_BYTES


def core_port(activation: Activation) -> TileCorePort:
    assert isinstance(activation.port, TileCorePort)
    return activation.port


def stop_kind(stop: SuspendPoint) -> StopKind:
    if not isinstance(stop.op, UseLockOp):
        return StopKind.SERVICE
    if not stop.op.is_acquire:
        return StopKind.RELEASE
    at_least = stop.op.lock_action is LockAction.AcquireGreaterEqual
    return StopKind.ACQUIRE_AT_LEAST if at_least else StopKind.ACQUIRE_EQUAL
