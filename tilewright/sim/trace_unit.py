"""Trace units: events of a module, cycle by cycle, become frames, and frames packets on the module's trace port."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilewright.device import TileId
from tilewright.device.packets import PacketHeader, with_parity
from tilewright.device.register_fields import TraceControl1
from tilewright.device.trace_packets import (
    COUNTER,
    EVENTS,
    LOOP,
    NEW_COUNTER,
    NOT_TAKEN,
    PACKET_WORDS,
    SINGLES,
    SKIP,
    START,
    START_COUNTERS,
    START_EXECUTION,
    TAKEN,
    TIMER,
    TURNS,
    WITH_COUNTER,
    FrameKind,
    PayloadWriter,
    RecordingMode,
    TraceFrame,
    event_frames,
    repeat_frames,
)
from tilewright.native import context_layout
from tilewright.sim.fifo import Beat, Fifo
from tilewright.sim.switch import Slave

PENDING_PACKETS = 1024
"""Packets that wait for the stream; what is recorded while so many do is lost."""
TIMER_MASK = START.room(TIMER)


class TraceEncoder:
    """Makes frames of what happens in each cycle, and payloads of packets of frames."""

    def __init__(self, mode: RecordingMode, cycle: int, timer: int):
        """The cycles after `cycle` are recorded; `timer` is what the module's timer has in it."""
        self.mode = mode
        self._writer = PayloadWriter(mode)
        self._cycle = cycle
        self._before: tuple[int, int] | None = None
        self._repeats = 0
        kind = START_COUNTERS if mode is RecordingMode.PROGRAM_COUNTER else START
        self._writer.add([TraceFrame(kind, {TIMER: timer & TIMER_MASK})])

    def record(self, cycle: int, slots: int, count: int = 1, counter: int = 0) -> list[list[int]]:
        """Write down the slots that are active in `count` cycles from `cycle` on; gives the payloads that are full."""
        full = self._add(slots, cycle - self._cycle - 1, 1, counter)
        if count > 1:
            full += self._add(slots, 0, count - 1, counter)
        self._cycle = cycle + count - 1
        return full

    def finish(self) -> list[list[int]]:
        """The payloads to the end of the record."""
        full = self._writer.add([*repeat_frames(self._repeats), TraceFrame(SKIP, {})])
        self._repeats = 0
        return full + self._writer.finish()

    def _add(self, slots: int, cycles: int, times: int, counter: int) -> list[list[int]]:
        detail = counter if self.mode is RecordingMode.PROGRAM_COUNTER else cycles
        if self._before == (slots, detail):
            self._repeats += times
            return []
        full = self._writer.add(repeat_frames(self._repeats))
        self._repeats = times - 1
        self._before = (slots, detail) if self._repeatable(slots, cycles) else None
        if self.mode is RecordingMode.PROGRAM_COUNTER:
            values = {EVENTS: slots, COUNTER: counter & WITH_COUNTER.room(COUNTER)}
            return full + self._writer.add([TraceFrame(WITH_COUNTER, values)])
        return full + self._writer.add(event_frames(slots, cycles))

    def _repeatable(self, slots: int, cycles: int) -> bool:
        # Decoders of others repeat several events only from cycle to cycle, so that is how they are written.
        return (
            self.mode is RecordingMode.PROGRAM_COUNTER
            or cycles == 0
            or (not slots & slots - 1 and cycles <= SINGLES[-1].room("c"))
        )


class ExecutionEncoder:
    """Makes frames of which way a core goes."""

    mode = RecordingMode.EXECUTION

    def __init__(self, place: int):
        """`place` is where the program is."""
        self._writer = PayloadWriter(self.mode)
        self._before: FrameKind | None = None
        self._repeats = 0
        self._writer.add([TraceFrame(START_EXECUTION, {COUNTER: place & START_EXECUTION.room(COUNTER)})])

    def record(self, entries: Iterable[int]) -> list[list[int]]:
        """Write down entries of a core's log; gives the payloads that are full."""
        full = list[list[int]]()
        for entry in entries:
            frame = self._frame(entry)
            if frame.kind is self._before:
                self._repeats += 1
                continue
            full += self._writer.add([*repeat_frames(self._repeats), frame])
            # Loops and returns have numbers, and are not repeated.
            self._repeats, self._before = 0, None if frame.values else frame.kind
        return full

    def finish(self) -> list[list[int]]:
        """Nothing: hardware does not send what does not fill a packet, there is no way to ask for it."""
        return []

    def _frame(self, entry: int) -> TraceFrame:
        number = entry >> 2
        match entry & 3:
            case context_layout.FLOW_LOOP:
                return TraceFrame(LOOP, {TURNS: number & LOOP.room(TURNS)})
            case context_layout.FLOW_RETURN:
                return TraceFrame(NEW_COUNTER, {COUNTER: number & NEW_COUNTER.room(COUNTER)})
            case taken:
                return TraceFrame(TAKEN if taken else NOT_TAKEN, {})


class TraceUnit:
    """One unit: sends what it records as packets, until it is stopped."""

    def __init__(self, place: TileId, outlet: Slave, queue: Fifo, timer: Callable[[], int]):
        """`queue` has room for packets that wait for `outlet`, the trace port of the switch."""
        self.place, self.outlet, self.queue = place, outlet, queue
        self.control1 = 0
        """The register with type and id of the packets."""
        self._timer = timer
        self.place_of_program: Callable[[], int] = lambda: 0
        self._encoder: TraceEncoder | ExecutionEncoder | None = None
        self.started = 0

    @property
    def is_running(self) -> bool:
        return self._encoder is not None

    @property
    def mode(self) -> RecordingMode | None:
        return None if self._encoder is None else self._encoder.mode

    @property
    def header(self) -> int:
        """The first word of its packets."""
        fields = TraceControl1.decode([self.control1])
        (word,) = PacketHeader.encode(
            id=fields["id"], type=fields["packet_type"], source_column=self.place.column, source_row=self.place.row
        )
        return with_parity(word)

    def start(self, mode: RecordingMode, cycle: int, place: int = 0) -> None:
        """Begin to record; `place` is where the core's program is."""
        is_execution = mode is RecordingMode.EXECUTION
        self._encoder = ExecutionEncoder(place) if is_execution else TraceEncoder(mode, cycle, self._timer())
        self.started = cycle

    def stop(self) -> None:
        if self._encoder is not None:
            self._send(self._encoder.finish())
        self._encoder = None

    def abandon(self) -> None:
        """Forget what is not sent yet."""
        self._encoder = None

    def record(self, cycle: int, slots: int, count: int, counter: int) -> None:
        """Slots that are active in some cycles; the one in which the unit was started is not recorded."""
        if isinstance(self._encoder, TraceEncoder) and cycle > self.started:
            self._send(self._encoder.record(cycle, slots, count, counter))

    def record_flow(self, entries: Iterable[int]) -> None:
        """Which way the core went, where that is what is recorded."""
        if isinstance(self._encoder, ExecutionEncoder):
            self._send(self._encoder.record(entries))

    def _send(self, payloads: list[list[int]]) -> None:
        for payload in payloads:
            if len(self.queue) + PACKET_WORDS > self.queue.depth:
                # Hardware loses events as well; the next frame tells the time anew.
                self._overrun()
                return
            for number, word in enumerate([self.header, *payload], 1):
                self.queue.push(Beat(word, number == PACKET_WORDS))

    def _overrun(self) -> None:
        if self._encoder is not None:
            self.start(self._encoder.mode, self.queue.engine.now, self.place_of_program())
