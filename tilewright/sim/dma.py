"""DMA channels: tasks in order, each a chain of descriptors between locks, each descriptor a run of words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Protocol

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import TASK_QUEUE_DEPTH, DmaDirection, TileId
from tilewright.device.descriptors import PIECE_WORDS, Addresses, BdLock, BufferDescriptor
from tilewright.device.layout import WORD_BYTES
from tilewright.device.packets import TOKEN_TYPE, CompletionToken, PacketHeader, actor_number, with_parity
from tilewright.device.registers import TaskQueue
from tilewright.device.timing import Timing
from tilewright.sim.compression import Expansion, compressed, most_words
from tilewright.sim.engine import Engine, Process, Signal, Wait
from tilewright.sim.faults import FaultKind, FaultPolicy
from tilewright.sim.fifo import Beat, Fifo
from tilewright.sim.host import Bursts, burst_starts
from tilewright.sim.locks import Lock, lock_wait
from tilewright.sim.switch import Slave
from tilewright.sim.trace import Trace, TraceEvent

Words = npt.NDArray[np.uint32]

STARTED = 2
"""Tasks that have left the queue: the running one, and the next, which the channel makes ready. With the queue's four
that is six in flight; a seventh push is dropped. mlir-air #1826."""


@dataclass(frozen=True)
class QueuedTask:
    """What a write to the queue asks for."""

    start_bd: int
    runs: int
    token: bool
    location: LocationAttr
    pushed: int
    """The cycle in which that was."""


@dataclass(frozen=True)
class BdTransfer:
    """One descriptor as a channel executes it; what messages are about."""

    channel: Channel
    bd: int
    location: LocationAttr

    def __str__(self) -> str:
        return f"BD {self.bd} on {self.channel}"


@dataclass(frozen=True)
class Token:
    """The message that a task is done."""

    channel: Channel
    location: LocationAttr

    def __str__(self) -> str:
        return f"the completion token of {self.channel}"


class DmaTile(Protocol):
    """What a channel needs of its tile."""

    place: TileId
    engine: Engine
    policy: FaultPolicy
    timing: Timing
    trace: Trace
    queue_layout: type[TaskQueue]
    bd_count: int

    def descriptor(self, bd: int) -> BufferDescriptor: ...
    def descriptor_location(self, bd: int) -> LocationAttr: ...
    def count_iteration(self, bd: int, iteration: int) -> None: ...
    def can_use(self, bd: int, channel: int) -> bool: ...
    def dma_lock(self, number: int, channel: int, asker: object) -> Lock: ...
    def find_lock(self, number: int, channel: int) -> Lock | None: ...
    def reason_of(self, channel: Channel) -> str: ...
    def begin_access(self, addresses: Callable[[], Addresses], channel: Channel) -> None: ...
    def end_access(self, channel: Channel) -> None: ...
    def goes_in_pieces(self, descriptor: BufferDescriptor) -> bool: ...
    def gather(self, addresses: Addresses, channel: Channel, asker: object) -> Words: ...
    def scatter(self, addresses: Addresses, words: Words, channel: Channel, asker: object) -> None: ...
    def outlet(self, channel: Channel) -> Process[Slave]: ...
    def inlet(self, channel: Channel) -> Process[Fifo]: ...
    def token_outlet(self) -> Slave: ...
    def controller_id(self, direction: DmaDirection, channel: int) -> int: ...
    def compression_group(self, direction: DmaDirection, channel: int) -> int | None: ...
    def bursts(self, direction: DmaDirection) -> Bursts | None: ...
    def burst_bytes(self, descriptor: BufferDescriptor) -> int: ...
    def start_cost(self, direction: DmaDirection, tasks: int) -> int: ...
    def end_cost(self, direction: DmaDirection) -> int: ...
    def least_cost(self, direction: DmaDirection, tasks: int) -> int: ...


class Channel:
    """One channel of a tile's DMA."""

    def __init__(self, tile: DmaTile, direction: DmaDirection, number: int, part: int):
        self.part = part
        self.tile = tile
        self.direction = direction
        self.number = number
        self.queue: deque[QueuedTask] = deque()
        self.arrived = Signal()
        self.running: QueuedTask | None = None
        self._transfer: BdTransfer | None = None
        self.overflowed = False
        self._moved = 0
        self.latest: QueuedTask | None = None
        """The task that was pushed last."""
        self.with_token: list[QueuedTask] = []
        """All tasks so far that send a token."""
        self._to_load = frozenset[int]()
        self._ahead: BufferDescriptor | None = None
        """The first descriptor of the task that is next, while another one runs."""
        self.start_cost = 0
        """Cycles from the push of the running task to its first word."""
        self.least_end = 0
        """The cycle before which no transfer of the running task ends."""
        self._tasks = 0
        """How many have begun; the first ones take longer."""
        self._bursts = tile.bursts(direction)
        self._burst_ends: Iterator[int] = iter(())
        self._burst_at = 0
        """The word that the next burst begins with."""
        self._arriving: tuple[BufferDescriptor, Words] | None = None

    def __str__(self) -> str:
        return f"{self.direction.name} {self.number} of tile ({self.tile.place.column}, {self.tile.place.row})"

    @property
    def transfer(self) -> BdTransfer | None:
        """The descriptor that is being executed."""
        return self._transfer

    @property
    def moved(self) -> int:
        """Words that the current transfer has moved."""
        return self._moved

    def words_left(self, task: QueuedTask) -> int:
        """Words that a task has yet to move, as far as its descriptors tell: a run before the last is in its count."""
        words = sum(self.tile.descriptor(bd).length for bd in self.chain(task.start_bd))
        if task is not self.running:
            return task.runs * words
        begun = min(self.tile.descriptor(task.start_bd).iteration, task.runs - 1)
        return max((task.runs - begun) * words - self.moved, 0)

    @property
    def to_load(self) -> frozenset[int]:
        """Descriptors that the running task has yet to load."""
        return self._to_load

    def clear(self) -> None:
        """Forget all tasks."""
        # Tokens of forgotten tasks never come, so the count of those to wait for forgets them too.
        dropped = sum(task.token for task in (*self.queue, *filter(None, [self.running])))
        del self.with_token[len(self.with_token) - dropped :]
        self.queue.clear()
        self.running = self._transfer = self._ahead = self._arriving = None
        self.overflowed = False
        self._tasks = 0

    @property
    def location(self) -> LocationAttr | None:
        return self.transfer.location if self.transfer else None

    @property
    def is_idle(self) -> bool:
        return self.running is None and not self.queue

    def push(self, word: int, location: LocationAttr) -> None:
        """What a write to the queue register does."""
        fields = self.tile.queue_layout.decode([word])
        task = QueuedTask(
            fields["start_bd_id"],
            fields["repeat_count"],
            bool(fields["enable_token_issue"]),
            location,
            self.tile.engine.now,
        )
        waiting = len(self.queue) + (self.running is not None)
        if waiting >= TASK_QUEUE_DEPTH + STARTED:
            self._drop(task, waiting)
            return
        if not self.tile.can_use(task.start_bd, self.number):
            self.refuse(BdTransfer(self, task.start_bd, location))
            return
        self.queue.append(task)
        self.latest = task
        if task.token:
            self.with_token.append(task)
        self._record(TraceEvent.PUSH, task.start_bd, task.runs)
        if self.running is not None and len(self.queue) == 1:
            self._look_ahead()
        # Last: what is woken sees the task in the queue.
        self.arrived.fire()

    def _look_ahead(self) -> None:
        """Load the first descriptor of the task that is next; what is written to it from now on comes too late."""
        bd = self.queue[0].start_bd
        descriptor = self._ahead = self.tile.descriptor(bd)
        if descriptor.valid:
            self.tile.count_iteration(bd, descriptor.next_iteration)

    def take_task(self) -> tuple[QueuedTask, BufferDescriptor | None]:
        """Begin the next task; with its first descriptor, if that is loaded already."""
        loaded, self._ahead = self._ahead, None
        task = self.running = self.queue.popleft()
        self.start_cost = self.tile.start_cost(self.direction, self._tasks)
        self.least_end = self.tile.engine.now + self.tile.least_cost(self.direction, self._tasks)
        self._tasks += 1
        if self.queue:
            self._look_ahead()
        return task, loaded

    def refuse(self, transfer: BdTransfer) -> None:
        usable = [bd for bd in range(self.tile.bd_count) if self.tile.can_use(bd, self.number)]
        self.tile.policy.fault(
            FaultKind.UNREACHABLE_DESCRIPTOR,
            f"{self} cannot use BD {transfer.bd}",
            transfer,
            (transfer.location, f"it can use BD {usable[0]} to BD {usable[-1]}: give the transfer one of those"),
        )

    def _drop(self, task: QueuedTask, waiting: int) -> None:
        self.overflowed = True
        pushed = BdTransfer(self, task.start_bd, task.location)
        oldest = self.running or self.queue[0]
        self.tile.policy.fault(
            FaultKind.DROPPED_PUSH,
            f"push of BD {task.start_bd} on {self} is dropped: {waiting} tasks are in flight",
            pushed,
            (oldest.location, f"the oldest of them is not done: {self.tile.reason_of(self)}"),
            (task.location, "await one of these tasks before this push, or move some to another channel"),
        )

    def users(self, bd: int) -> Iterator[QueuedTask]:
        """The tasks in flight that have yet to load a descriptor: what is loaded may change without harm."""
        if self.running is not None and bd in self.to_load:
            yield self.running
        for number, task in enumerate(self.queue):
            if bd in self._needed(task, self._ahead if number == 0 else None):
                yield task

    def _needed(self, task: QueuedTask, loaded: BufferDescriptor | None) -> Iterator[int]:
        """The descriptors that a task in the queue has yet to load; `loaded` is the first one, if it is."""
        if loaded is None or task.runs > 1:
            yield from self.chain(task.start_bd)
        elif loaded.next is not None:
            yield from self.chain(loaded.next)

    def descriptors_ahead(self) -> Iterator[int]:
        """The descriptors that the tasks in flight run, the current one first."""
        if self.transfer is not None:
            yield self.transfer.bd
        yield from self.to_load
        for task in self.queue:
            yield from self.chain(task.start_bd)

    def chain(self, start: int) -> Iterator[int]:
        """Descriptors from one on, each once: the last one may lead back to one before it."""
        seen = set[int]()
        at: int | None = start
        while at is not None and at not in seen:
            seen.add(at)
            yield at
            at = self.tile.descriptor(at).next

    def run(self) -> Process[None]:
        """Take tasks in order, for ever."""
        while True:
            while not self.queue:
                yield self.idle_wait()
            task, loaded = self.take_task()
            self._record(TraceEvent.TASK, task.start_bd)
            yield from self._execute(task, loaded)
            self._record(TraceEvent.TASK_END, task.start_bd, int(task.token))
            self.running = self._transfer = None

    def idle_wait(self) -> Wait:
        return Wait(self.arrived, lambda: f"{self} has no task", self)

    def _execute(self, task: QueuedTask, loaded: BufferDescriptor | None) -> Process[None]:
        for left in reversed(range(task.runs)):
            at: int | None = task.start_bd
            while at is not None:
                following = self.tile.descriptor(at).next
                # Each run of the task loads its whole chain again.
                again = frozenset(self.chain(task.start_bd)) if left else frozenset[int]()
                self._to_load = again if following is None else again | frozenset(self.chain(following))
                at = yield from self._run_descriptor(at, loaded)
                loaded = None
        if task.token:
            yield from self._send_token(task)

    def _run_descriptor(self, bd: int, loaded: BufferDescriptor | None) -> Process[int | None]:
        """Run one descriptor, which may have been loaded before; gives the next one of the chain."""
        tile = self.tile
        transfer = self._transfer = BdTransfer(self, bd, tile.descriptor_location(bd))
        self._moved = 0
        self._record(TraceEvent.BD, bd)
        if not tile.can_use(bd, self.number):
            self.refuse(transfer)
            return None
        descriptor = loaded or tile.descriptor(bd)
        if not descriptor.valid:
            self.complain_invalid(transfer)
            return None
        if loaded is None:
            tile.count_iteration(bd, descriptor.next_iteration)
        # Loading takes its cycles even where no lock is waited for.
        yield tile.timing.descriptor
        if descriptor.acquire is not None:
            yield from self._acquire(self._lock(descriptor.acquire), descriptor.acquire.value)
            yield tile.timing.lock
        yield from self._move(descriptor)
        if descriptor.release is not None:
            self._lock(descriptor.release).release(descriptor.release.value, self.transfer)
        self._record(TraceEvent.BD_END, bd, descriptor.length)
        return descriptor.next

    def complain_invalid(self, transfer: BdTransfer) -> None:
        self.tile.policy.fault(
            FaultKind.INVALID_DESCRIPTOR,
            f"{transfer} is not marked valid",
            transfer,
            (transfer.location, "write the whole descriptor, with its valid bit, before the task is pushed"),
        )

    def _acquire(self, lock: Lock, value: int) -> Process[None]:
        waits = not lock.would_grant(value)
        if waits:
            self._record(TraceEvent.LOCK_WAIT, lock.index)
        yield from lock_wait(lock, value, self.transfer)
        if waits:
            self._record(TraceEvent.LOCK_GO, lock.index)

    def _record(self, event: TraceEvent, a: int = 0, b: int = 0) -> None:
        self.tile.trace.record(event, self.part, a, b)

    def _lock(self, use: BdLock) -> Lock:
        return self.tile.dma_lock(use.number, self.number, self.transfer)

    def _move(self, descriptor: BufferDescriptor) -> Process[None]:
        self._record(TraceEvent.MOVE, self.transfer.bd if self.transfer else 0, descriptor.length)
        yield from self._await_first_word()
        self._begin_bursts(descriptor)
        self.tile.begin_access(descriptor.addresses, self)
        if self.direction is DmaDirection.MM2S:
            words = self.tile.gather(descriptor.addresses(), self, self.transfer)
            group = self.compression_group(descriptor.compressed)
            yield from self._send(descriptor, words if group is None else compressed(words, group))
            self.tile.end_access(self)
        else:
            words = yield from self._receive(descriptor)
            self._arriving = None
            self.tile.end_access(self)
            self.tile.scatter(descriptor.addresses(), words, self, self.transfer)
            if cost := max(self.tile.end_cost(self.direction), self.least_end - self.tile.engine.now):
                yield cost

    def compression_group(self, compressed: bool) -> int | None:
        """The bytes that have one mask; None where words go as they are. Descriptor and channel both have to say so."""
        return self.tile.compression_group(self.direction, self.number) if compressed else None

    def _await_first_word(self) -> Process[None]:
        """Host memory is asked as soon as a task is in the queue, so only the first of several waits for all of it."""
        if self.start_cost and self.running is not None:
            # From the push, not from now: the latency of queued tasks overlaps with the running one.
            left = self.running.pushed + self.start_cost - self.tile.engine.now
            if left > 0:
                yield left

    def _send(self, descriptor: BufferDescriptor, words: Words) -> Process[None]:
        outlet = yield from self.tile.outlet(self)
        header = list[int]()
        if descriptor.packet is not None:
            header = [packet_header(self.tile.place, descriptor.packet.id, descriptor.packet.type)]
        before = len(header) - 1
        last = before + len(words)
        for index, word in enumerate(chain(header, _integers(words))):
            yield from self._take_turn(descriptor, index - before - 1)
            # Without TLAST the words of the next descriptor belong to the same packet.
            ends = index == last and not descriptor.suppress_tlast
            yield from outlet.pass_on(Beat(word, ends), self.transfer, partial(self._count, index - before, index == 0))

    def write_arrived(self) -> None:
        """Put the words of a transfer that is under way into memory: a trace is read before its buffer is full."""
        if self._arriving is not None:
            descriptor, words = self._arriving
            self.tile.scatter(descriptor.addresses()[: self._moved], words[: self._moved], self, self.transfer)

    def _receive(self, descriptor: BufferDescriptor) -> Process[Words]:
        inlet = yield from self.tile.inlet(self)
        group = self.compression_group(descriptor.compressed)
        if group is None:
            # Words come into memory all at once, after the last: `memory_watch` says when that could be seen.
            words = np.empty(descriptor.length, dtype=np.uint32)
            self._arriving = descriptor, words
            ends = range(PIECE_WORDS, descriptor.length, PIECE_WORDS) if self.tile.goes_in_pieces(descriptor) else ()
            for end in ends:
                yield from self._take_words(inlet, words, descriptor, self._moved, end)
                piece = slice(end - PIECE_WORDS, end)
                self.tile.scatter(descriptor.addresses()[piece], words[piece], self, self.transfer)
            yield from self._take_words(inlet, words, descriptor, self._moved, descriptor.length)
            return words
        expansion = Expansion(descriptor.length, group)
        stream = np.empty(most_words(descriptor.length, group), dtype=np.uint32)
        while not expansion.is_done:
            yield from self._take_words(inlet, stream, descriptor, self._moved, expansion.total)
            expansion.advance(stream)
        return expansion.words

    def _take_words(
        self, inlet: Fifo, words: Words, descriptor: BufferDescriptor, first: int, count: int
    ) -> Process[None]:
        for index in range(first, count):
            yield from self._take_turn(descriptor, index)
            beat = yield from inlet.head(self.transfer)
            words[index] = beat.word
            inlet.pop()
            self._count(index + 1, index == 0)
            yield 1

    def _take_turn(self, descriptor: BufferDescriptor, at: int) -> Process[None]:
        """Host memory is shared: each burst of words waits until there is room for it."""
        if self._bursts is not None and at == self._burst_at:
            self._burst_at = next(self._burst_ends)
            whole = self.tile.burst_bytes(descriptor) // WORD_BYTES
            # Reserved even if there is no wait: the next channel's burst begins after this one.
            wait = self._bursts.reserve(self.tile.engine.now, self._burst_at - at, whole, descriptor.is_upsized)
            if wait:
                yield wait

    def _begin_bursts(self, descriptor: BufferDescriptor) -> None:
        if self._bursts is not None and descriptor.length:
            starts = burst_starts(descriptor.addresses(), self.tile.burst_bytes(descriptor))
            self._burst_at, self._burst_ends = 0, iter(starts[1:])

    def _count(self, moved: int, is_first: bool) -> None:
        """A word is on its way, or has come."""
        self._moved = moved
        if is_first:
            self._record(TraceEvent.FLOW, self.transfer.bd if self.transfer else 0)

    def _send_token(self, task: QueuedTask) -> Process[None]:
        """Tell the controller that the task is done. The token needs a route like any other packet."""
        yield from self.tile.token_outlet().pass_on(Beat(self.token_word, True), Token(self, task.location))

    @property
    def token_word(self) -> int:
        tile = self.tile
        controller = tile.controller_id(self.direction, self.number)
        token = CompletionToken.encode(
            id=controller & PacketHeader.id.mask,
            type=TOKEN_TYPE,
            actor=actor_number(self.direction, self.number),
            source_column=tile.place.column,
            source_row=tile.place.row,
        )[0]
        return with_parity(token)


def _integers(words: Words) -> Iterator[int]:
    """Words as Python's integers, which take ten times the memory: some at a time."""
    for first in range(0, len(words), PIECE_WORDS):
        yield from words[first : first + PIECE_WORDS].tolist()


def packet_header(source: TileId, id: int, type: int) -> int:
    """The word that a DMA channel of a tile puts before a packet."""
    fields = {"source_column": source.column, "source_row": source.row}
    return with_parity(PacketHeader.encode(id=id, type=type, **fields)[0])
