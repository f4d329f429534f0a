"""The command processor: carries out the operations of a TXN stream, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection, TileId, WireBundle
from tilewright.device.bd import ShimBd
from tilewright.device.layout import WORD_BITS, WORD_BYTES, WORD_MASK
from tilewright.device.packets import CompletionToken, actor_channel
from tilewright.device.register_names import name_address
from tilewright.sim.engine import Pause, Process, Signal, Wait
from tilewright.sim.faults import FaultKind
from tilewright.sim.fifo import Fifo
from tilewright.sim.machine import Machine
from tilewright.sim.parts import PartKind
from tilewright.sim.scratchpad import Scratchpad, ScratchpadError, updated
from tilewright.sim.switch import PortName
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import FIRST_FOLDED_ARGUMENT, FOLDED_OFFSET, Opcode, opcode_name
from tilewright.txn.stream import Operation, Stream

TOKEN_PORT = PortName(WireBundle.South, 0)
"""Where completion tokens leave a shim tile for the controller."""
POLL_CYCLES = 64


class Image(NamedTuple):
    """A configuration, and the source of each of its operations."""

    stream: Stream
    locations: Sequence[LocationAttr] = ()


Images: TypeAlias = "dict[int, Callable[[], Image]]"
"""Configurations by number; a call prepares the machine for one, after a reset."""


class TokenSource(NamedTuple):
    """A channel that sends tokens."""

    tile: TileId
    direction: DmaDirection
    channel: int

    def __str__(self) -> str:
        return f"{self.direction.name} {self.channel} of tile ({self.tile.column}, {self.tile.row})"


class Polled(NamedTuple):
    """A register that the controller reads until it has a value."""

    name: str
    address: int
    mask: int
    wanted: int
    found: int
    """What was read last."""

    def __str__(self) -> str:
        return f"{self.name} until it is {self.wanted:#x} under the mask {self.mask:#x}, it is {self.found:#x}"


class Controller:
    """Runs streams on a machine."""

    def __init__(self, machine: Machine, images: Images | None = None):
        self.machine = machine
        self.images = images if images is not None else {}
        self.tokens = Counter[TokenSource]()
        """Those that have come and were not waited for."""
        self.awaited = Counter[TokenSource]()
        self.arrived = Signal()
        self.location: LocationAttr = UNKNOWN_LOC
        self.executed = 0
        self.scratchpad = Scratchpad()
        self.is_patched = False
        """Whether the host has put addresses into the stream itself; the operations for that do nothing then."""
        self._interrupted = 0
        """Cycles that tokens have taken from what the controller does."""
        self._free_at = 0
        """When it has dealt with the tokens that came."""
        self.listen()

    def listen(self) -> None:
        """Take the tokens that come out of the array; anew after a reset."""
        for tile in self.machine.shim_tiles():
            fifo = tile.switch.masters[TOKEN_PORT]
            # With the first token: most shim tiles of a device never send one.
            fifo.begin_with(partial(self._listen, fifo, tile.place))

    def __str__(self) -> str:
        return "the controller"

    def _listen(self, fifo: Fifo, place: TileId) -> None:
        name, part = f"tokens at tile {tuple(place)}", self.machine.part_ids.number(PartKind.TOKENS, place)
        self.machine.engine.start(name, self._collect(fifo), place, part)

    def _collect(self, fifo: Fifo) -> Process[None]:
        while True:
            beat = yield from fifo.take("the controller")
            fields = CompletionToken.decode([beat.word])
            direction, channel = actor_channel(fields["actor"])
            place = TileId(fields["source_column"], fields["source_row"])
            self.tokens[TokenSource(place, direction, channel)] += 1
            self._record_token(place, direction, channel)
            self._interrupt()
            self.arrived.fire()

    def _interrupt(self) -> None:
        """A token comes: deal with it, unless those before it are being dealt with."""
        if self.machine.engine.now >= self._free_at:
            cycles = self.machine.timing.cycles(self.machine.timing.token_ns)
            self._free_at = self.machine.engine.now + cycles
            self._interrupted += cycles

    def _become_free(self) -> Process[None]:
        while (left := self._free_at - self.machine.engine.now) > 0:
            yield left

    def _spend(self, cycles: int) -> Process[None]:
        """Work for some cycles, and longer if tokens interrupt that."""
        yield from self._become_free()
        before = self._interrupted
        yield cycles
        while (more := self._interrupted - before) > 0:
            before += more
            yield more

    def _record_token(self, place: TileId, direction: DmaDirection, channel: int) -> None:
        part = self.machine.part_ids.find(PartKind.CHANNEL, place, (direction, channel))
        if part is not None:
            self.machine.trace.record(TraceEvent.TOKEN, 0, part)

    def run(self, stream: Stream, locations: Sequence[LocationAttr] = (), cost: int | None = None) -> Process[None]:
        """Carry out a stream. `locations` has the source of each of its operations."""
        timing = self.machine.timing
        places = chain(locations, repeat(UNKNOWN_LOC))
        for number, (operation, self.location) in enumerate(zip(stream.operations, places, strict=False)):
            self.machine.trace.record(TraceEvent.OPERATION, 0, number, operation.opcode)
            # Before it takes effect: an operation is fetched and decoded first.
            yield from self._spend(timing.operation_cycles(self._accesses(operation)) if cost is None else cost)
            yield from self._execute(operation)
            self.machine.trace.record(TraceEvent.OPERATION_END, 0, number)
            self.executed += 1

    def _accesses(self, operation: Operation) -> int:
        """Registers that an operation reads and writes."""
        if operation.opcode == Opcode.BLOCKWRITE:
            return len(operation.payload)
        is_done = operation.opcode == Opcode.DDR_PATCH and self.is_patched
        return 1 if is_done else _ACCESSES.get(operation.opcode, 1)

    def _execute(self, operation: Operation) -> Process[None]:
        action = _ACTIONS.get(operation.opcode)
        if action is None:
            text = f"the controller cannot carry out {opcode_name(operation.opcode)}"
            self.machine.policy.fault(FaultKind.UNKNOWN_OPERATION, text, self)
            return
        yield from action(self, operation)

    def write(self, op: Operation) -> Process[None]:
        self.machine.write(op.address, op.value, self.location)
        yield from ()

    def mask_write(self, op: Operation) -> Process[None]:
        # Reads have effects of their own, as on the device: a lock request takes the lock.
        value = self.machine.read(op.address, self.location) & ~op.mask | op.value & op.mask
        self.machine.write(op.address, value, self.location)
        yield from ()

    def block_write(self, op: Operation) -> Process[None]:
        for index, word in enumerate(op.payload.tolist()):
            self.machine.write(op.address + WORD_BYTES * index, word, self.location)
        yield from ()

    def poll(self, op: Operation) -> Process[None]:
        """Read a register until it has a value. Nothing tells when it changes, so it is read again and again."""
        name = name_address(self.machine.model, op.address) or f"register {op.address:#x}"
        while (found := self.machine.read(op.address, self.location) & op.mask) != op.value & op.mask:
            polled = Polled(name, op.address, op.mask, op.value & op.mask, found)
            yield Pause(POLL_CYCLES, Wait(Signal(), partial("the controller polls {}".format, polled), polled, self))

    def sync(self, op: Operation) -> Process[None]:
        """Wait for a token from each of some tiles."""
        for source in _sources(op):
            while not self.tokens[source]:
                reason = partial("the controller waits for a token of {}".format, source)
                yield Wait(self.arrived, reason, source, self)
            # Tokens that came before the wait count: the controller keeps them.
            self.tokens[source] -= 1
            self.awaited[source] += 1
            yield from self._become_free()

    def patch(self, op: Operation) -> Process[None]:
        """Put the address of a host buffer into a descriptor."""
        if self.is_patched:
            return
        index, offset = op.argument_index, op.argument_offset
        # Hosts add the translation to the later arguments only; one that did not is understood as well.
        if index >= FIRST_FOLDED_ARGUMENT and offset >= FOLDED_OFFSET:
            offset -= FOLDED_OFFSET
        buffer = self.machine.host.argument(index)
        if buffer is None:
            known = ", ".join(map(str, self.machine.host.arguments)) or "none"
            text = f"the controller needs the address of argument {index}; the arguments that are arrays: {known}"
            note = self.location, "arguments are counted from 0, scalars too: pass an array there, or name another one"
            self.machine.policy.fault(FaultKind.OUTSIDE_MEMORY, text, self, note)
            return
        address = buffer.address + offset
        low, high = op.address, op.address + WORD_BYTES
        self.machine.write(low, address & WORD_MASK, self.location)
        # The upper word has other fields above the address.
        kept = self.machine.read(high, self.location) & ~ShimBd.address_high.mask
        self.machine.write(high, kept | address >> WORD_BITS & ShimBd.address_high.mask, self.location)
        yield from ()

    def load(self, op: Operation) -> Process[None]:
        """Reset the array and configure it anew, which leaves memories as they are."""
        load = self.images.get(op.id)
        if load is None:
            known = ", ".join(map(str, self.images)) or "none"
            text = f"the controller has no configuration {op.id} to load; there is {known}"
            note = self.location, "load one that is in the design"
            self.machine.policy.fault(FaultKind.UNKNOWN_OPERATION, text, self, note)
            return
        # The streams that tokens come out of are new after this, so `listen` follows.
        self.machine.reset()
        # Tokens that were sent and not taken stay counted: they are in the controller, not in the array.
        self.awaited.clear()
        self.listen()
        (stream, locations), at = load(), self.location
        for operation, self.location in zip(stream.operations, chain(locations, repeat(at)), strict=False):
            yield from self._execute(operation)
        self.location = at
        yield self.machine.timing.cycles(1000 * self.machine.timing.load_pdi_us)

    def create_scratchpad(self, op: Operation) -> Process[None]:
        try:
            self.scratchpad.create(op.scratchpad_bytes)
        except ScratchpadError as error:
            self.machine.policy.fault(FaultKind.OUTSIDE_MEMORY, f"the controller is to create {error}", self)
        yield from ()

    def update_from_scratchpad(self, op: Operation) -> Process[None]:
        """Add a number of the scratchpad to the address in two words."""
        low, high = op.address, op.address + WORD_BYTES
        try:
            amount = self.scratchpad.amount(op.state_table_index, op.function, op.function_argument)
        except ScratchpadError as error:
            text = f"the controller is to update register {low:#x} from {error}"
            self.machine.policy.fault(FaultKind.OUTSIDE_MEMORY, text, self)
            return
        words = updated(self.machine.read(low, self.location), self.machine.read(high, self.location), amount)
        self.machine.write(low, words[0], self.location)
        self.machine.write(high, words[1], self.location)
        yield from ()

    def nothing(self, op: Operation) -> Process[None]:
        yield from ()


def _sources(op: Operation) -> Iterator[TokenSource]:
    direction = DmaDirection.S2MM if op.direction == 0 else DmaDirection.MM2S
    for column in range(op.column, op.column + max(op.column_count, 1)):
        for row in range(op.row, op.row + max(op.row_count, 1)):
            yield TokenSource(TileId(column, row), direction, op.channel)


_ACCESSES: dict[int, int] = {Opcode.MASKWRITE: 2, Opcode.DDR_PATCH: 3, Opcode.UPDATE_REG: 4}
_ACTIONS: dict[int, Callable[[Controller, Operation], Process[None]]] = {
    Opcode.WRITE: Controller.write,
    Opcode.MASKWRITE: Controller.mask_write,
    Opcode.BLOCKWRITE: Controller.block_write,
    Opcode.MASKPOLL: Controller.poll,
    Opcode.MASKPOLL_BUSY: Controller.poll,
    Opcode.TCT: Controller.sync,
    Opcode.DDR_PATCH: Controller.patch,
    Opcode.LOADPDI: Controller.load,
    Opcode.CREATE_SCRATCHPAD: Controller.create_scratchpad,
    Opcode.UPDATE_REG: Controller.update_from_scratchpad,
    Opcode.NOOP: Controller.nothing,
    Opcode.PREEMPT: Controller.nothing,
    Opcode.RECORD_TIMER: Controller.nothing,
}
