"""The command processor: carries out the operations of a TXN stream, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection, TileId, WireBundle
from tilewright.device.packets import CompletionToken, actor_channel
from tilewright.sim.descriptors import WORD_BYTES
from tilewright.sim.engine import Pause, Process, Signal, Wait
from tilewright.sim.faults import FaultKind
from tilewright.sim.fifo import Fifo
from tilewright.sim.machine import Machine
from tilewright.sim.ports import PortName
from tilewright.sim.roster import PartKind
from tilewright.sim.trace import Event
from tilewright.txn.opcodes import Opcode, opcode_name
from tilewright.txn.stream import Operation, Stream

FOLDED = 0x8000_0000
"""Added to the offset of arguments from the sixth on; the firmware's own translation begins there."""
FIRST_FOLDED = 5
TOKEN_PORT = PortName(WireBundle.South, 0)
"""Where completion tokens leave a shim tile for the controller."""
POLL_CYCLES = 64


Images: TypeAlias = "dict[int, Callable[[], Stream]]"
"""Configurations by number; a call prepares the machine for one, after a reset, and gives its stream."""


class TokenSource(NamedTuple):
    """A channel that sends tokens."""

    tile: TileId
    direction: DmaDirection
    channel: int

    def __str__(self) -> str:
        return f"{self.direction.name} {self.channel} of tile ({self.tile.column}, {self.tile.row})"


class Controller:
    """Runs streams on a machine."""

    def __init__(self, machine: Machine, images: Images | None = None):
        self.machine = machine
        self.images = images if images is not None else {}
        self.tokens = Counter[TokenSource]()
        self.arrived = Signal()
        self.location: LocationAttr = UNKNOWN_LOC
        self.executed = 0
        self.listen()

    def listen(self) -> None:
        """Take the tokens that come out of the array; anew after a reset."""
        for tile in self.machine.shim_tiles():
            fifo = tile.switch.masters[TOKEN_PORT]
            fifo.on_first = partial(self._listen, fifo, tile.place)

    def __str__(self) -> str:
        return "the controller"

    def _listen(self, fifo: Fifo, place: TileId) -> None:
        name, part = f"tokens at tile ({place.column}, {place.row})", self.machine.roster.number(PartKind.TOKENS, place)
        self.machine.engine.start(name, self._collect(fifo), place, part)

    def _collect(self, fifo: Fifo) -> Process[None]:
        while True:
            beat = yield from fifo.take("the controller")
            fields = CompletionToken.decode([beat.word])
            direction, channel = actor_channel(fields["actor"])
            place = TileId(fields["source_column"], fields["source_row"])
            self.tokens[TokenSource(place, direction, channel)] += 1
            self._record_token(place, direction, channel)
            self.arrived.fire()

    def _record_token(self, place: TileId, direction: DmaDirection, channel: int) -> None:
        part = self.machine.roster.find(PartKind.CHANNEL, place, (direction, channel))
        if part is not None:
            self.machine.trace.record(Event.TOKEN, 0, part)

    def run(self, stream: Stream, locations: Sequence[LocationAttr] = (), cost: int | None = None) -> Process[None]:
        """Carry out a stream. `locations` has the source of each of its operations."""
        each = self.machine.timing.instruction if cost is None else cost
        for number, operation in enumerate(stream.operations):
            self.location = locations[number] if number < len(locations) else UNKNOWN_LOC
            self.machine.trace.record(Event.OPERATION, 0, number, operation.opcode)
            yield each
            yield from self._execute(operation)
            self.machine.trace.record(Event.OPERATION_END, 0, number)
            self.executed += 1

    def _execute(self, operation: Operation) -> Process[None]:
        action = _ACTIONS.get(operation.opcode)
        if action is None:
            text = f"the controller cannot carry out {opcode_name(operation.opcode)}"
            self.machine.judge.fault(FaultKind.UNKNOWN_REGISTER, text, self)
            return
        yield from action(self, operation)

    def write(self, op: Operation) -> Process[None]:
        self.machine.write(op.address, op.value, self.location)
        yield from ()

    def mask_write(self, op: Operation) -> Process[None]:
        value = self.machine.read(op.address, self.location) & ~op.mask | op.value & op.mask
        self.machine.write(op.address, value, self.location)
        yield from ()

    def block_write(self, op: Operation) -> Process[None]:
        for index, word in enumerate(op.payload.tolist()):
            self.machine.write(op.address + WORD_BYTES * index, word, self.location)
        yield from ()

    def poll(self, op: Operation) -> Process[None]:
        """Read a register until it has a value. Nothing tells when it changes, so it is read again and again."""
        while self.machine.read(op.address, self.location) & op.mask != op.value & op.mask:
            yield Pause(POLL_CYCLES, Wait(Signal(), partial(_polling, op), self.machine, self))

    def sync(self, op: Operation) -> Process[None]:
        """Wait for a token from each of some tiles."""
        for source in _sources(op):
            while not self.tokens[source]:
                yield Wait(self.arrived, partial("the controller waits for a token of {}".format, source), source)
            self.tokens[source] -= 1

    def patch(self, op: Operation) -> Process[None]:
        """Put the address of a host buffer into a descriptor."""
        buffers, index = self.machine.host.arguments, op.argument_index
        offset = op.argument_offset
        if index >= FIRST_FOLDED and offset >= FOLDED:
            offset -= FOLDED
        if index not in buffers:
            known = ", ".join(map(str, buffers)) or "none"
            text = f"the controller needs the address of argument {index}; the arguments that are arrays: {known}"
            self.machine.judge.fault(FaultKind.OUTSIDE_MEMORY, text, self)
            return
        address = buffers[index].address + offset
        low, high = op.address, op.address + WORD_BYTES
        self.machine.write(low, address & 0xFFFF_FFFF, self.location)
        kept = self.machine.read(high, self.location) & ~0xFFFF
        self.machine.write(high, kept | address >> 32 & 0xFFFF, self.location)
        yield from ()

    def load(self, op: Operation) -> Process[None]:
        """Reset the array and configure it anew, which leaves memories as they are."""
        load = self.images.get(op.id)
        if load is None:
            known = ", ".join(map(str, self.images)) or "none"
            text = f"the controller has no configuration {op.id} to load; there is {known}"
            self.machine.judge.fault(FaultKind.UNKNOWN_REGISTER, text, self)
            return
        self.machine.reset()
        self.listen()
        stream = load()
        for operation in stream.operations:
            yield from self._execute(operation)
        yield self.machine.timing.load_pdi

    def nothing(self, op: Operation) -> Process[None]:
        yield from ()


def _polling(op: Operation) -> str:
    return f"the controller polls register {op.address:#x} until it is {op.value:#x} under the mask {op.mask:#x}"


def _sources(op: Operation) -> Iterator[TokenSource]:
    direction = DmaDirection.S2MM if op.direction == 0 else DmaDirection.MM2S
    for column in range(op.column, op.column + max(op.column_count, 1)):
        for row in range(op.row, op.row + max(op.row_count, 1)):
            yield TokenSource(TileId(column, row), direction, op.channel)


_ACTIONS: dict[int, Callable[[Controller, Operation], Process[None]]] = {
    Opcode.WRITE: Controller.write,
    Opcode.MASKWRITE: Controller.mask_write,
    Opcode.BLOCKWRITE: Controller.block_write,
    Opcode.MASKPOLL: Controller.poll,
    Opcode.MASKPOLL_BUSY: Controller.poll,
    Opcode.TCT: Controller.sync,
    Opcode.DDR_PATCH: Controller.patch,
    Opcode.LOADPDI: Controller.load,
    Opcode.NOOP: Controller.nothing,
    Opcode.PREEMPT: Controller.nothing,
    Opcode.RECORD_TIMER: Controller.nothing,
}
