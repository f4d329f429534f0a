"""A core's view of the machine: its tile's memory and locks and those of its neighbours, its streams and cascade."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import Arch, LockAction, Side, TileId, WireBundle
from tilewright.device.layout import WORD_BYTES
from tilewright.device.registers import CascadeControl
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.func import CallOp
from tilewright.ir.run_errors import Fault
from tilewright.sim.core_port import Kernel
from tilewright.sim.cpp_kernels import CKernel, CoreLibraries
from tilewright.sim.engine import Pause, Process, Signal, Wait
from tilewright.sim.faults import FaultKind
from tilewright.sim.fifo import Beat
from tilewright.sim.locks import Lock
from tilewright.sim.parts import PartKind
from tilewright.sim.switch import PortName
from tilewright.sim.tile import Tile
from tilewright.sim.trace import TraceEvent


class CoreAsker:
    """A core at one place of its program."""

    __slots__ = ("location", "position", "tile")

    def __init__(self, tile: TileId, location: LocationAttr, position: str = ""):
        self.tile = tile
        self.location = location
        self.position = position
        """What of its program it is in, in words."""

    def __str__(self) -> str:
        within = f" {self.position}" if self.position else ""
        return f"the core of tile ({self.tile.column}, {self.tile.row}){within}"


class TileCorePort:
    """What `core_port.CorePort` asks for, on a tile of the machine."""

    def __init__(self, tile: Tile, kernels: Mapping[str, Kernel]):
        self.tile = tile
        self.machine = tile.machine
        self.kernels = kernels
        self.reached = 0
        self.libraries = CoreLibraries()
        self.calling: str | None = None
        self.position: Callable[[], tuple[LocationAttr, str]] | None = None
        """Where in its machine code the core is."""
        self.part = tile.machine.part_ids.number(PartKind.CORE, tile.place)
        self._numbered = dict[int, Lock]()

    @property
    def arch(self) -> Arch:
        return self.machine.model.arch

    @property
    def hears_events(self) -> bool:
        return self.machine.events is not None

    def asker(self, location: LocationAttr) -> CoreAsker:
        if self.position is not None:
            return CoreAsker(self.tile.place, *self.position())
        return CoreAsker(self.tile.place, location, "" if self.calling is None else f"in @{self.calling}")

    def memory(self, buffer: BufferOp) -> npt.NDArray[np.uint8]:
        if buffer.place is None or buffer.address is None:
            raise Fault("the buffer has no address", buffer, kind=FaultKind.CORE)
        start = buffer.address.value.data
        # A view, not a copy: a core's writes are the tile's.
        return self.machine.tiles[buffer.place].memory[start : start + buffer.size_bytes]

    def acquire(self, lock: LockOp, amount: int, action: LockAction, location: LocationAttr) -> Process[None]:
        return self._acquire(self.lock(lock), amount, action is LockAction.AcquireGreaterEqual, location)

    def _acquire(self, found: Lock, amount: int, at_least: bool, location: LocationAttr) -> Process[None]:
        yield from self._take(found, amount, at_least, location)
        yield self.tile.timing.lock

    def _take(self, found: Lock, amount: int, at_least: bool, location: LocationAttr) -> Process[None]:
        """Wait for a lock and take it, in no time if it is free."""
        asker = self.asker(location)
        self._instruction("INSTR_LOCK_ACQUIRE_REQ")
        waits = found.value < amount if at_least else found.value != amount
        if waits:
            self.record(TraceEvent.LOCK_WAIT, found.index)
        yield from found.acquire(amount, asker) if at_least else found.acquire_equal(amount, asker)
        if waits:
            self.record(TraceEvent.LOCK_GO, found.index)

    def release(self, lock: LockOp, amount: int, location: LocationAttr) -> None:
        self._instruction("INSTR_LOCK_RELEASE_REQ")
        self.lock(lock).release(amount, self.asker(location))

    def use_lock(self, number: int, amount: int, is_acquire: bool, location: LocationAttr) -> Process[None]:
        yield from self.ask_lock(number, amount, is_acquire, location)
        if is_acquire:
            yield self.tile.timing.lock

    def ask_lock(self, number: int, amount: int, is_acquire: bool, location: LocationAttr) -> Process[None]:
        """Take or give a lock by its number, without the cycles of the request itself."""
        lock = self.numbered_lock(number, location)
        if is_acquire:
            yield from self._take(lock, abs(amount), amount < 0, location)
        else:
            self._instruction("INSTR_LOCK_RELEASE_REQ")
            lock.release(amount, self.asker(location))

    def numbered_lock(self, number: int, location: LocationAttr) -> Lock:
        """A lock as instructions number it: in the order of the sides that a core sees, its own last."""
        if number not in self._numbered:
            self._numbered[number] = self._find_lock(number, location)
        return self._numbered[number]

    def _find_lock(self, number: int, location: LocationAttr) -> Lock:
        count = len(self.tile.locks)
        place = None
        if 0 <= number < count * len(Side):
            place = self.machine.model.memory_tile(*self.tile.place, Side(number // count))
        if place is None:
            raise Fault(f"{self.tile} has no lock {number} that its core can reach", location, kind=FaultKind.CORE)
        return self.machine.tiles[TileId(*place)].locks[number % count]

    def read_register(self, address: int, location: LocationAttr) -> Process[int]:
        yield 1  # what the DMAs of this cycle do is done
        return self.tile.read(self._register(address, location))

    def write_register(self, address: int, value: int, location: LocationAttr) -> Process[None]:
        self.tile.write(self._register(address, location), value, location)
        yield 1

    def _register(self, address: int, location: LocationAttr) -> int:
        if not 0 <= address < 1 << self.machine.model.architecture.row_shift or address % WORD_BYTES:
            raise Fault(f"{self.tile} has no register {address:#x}", location, kind=FaultKind.CORE)
        return address

    def raises_events(self, call: CallOp) -> bool:
        """Whether the kernel that is called raises its own events."""
        kernel = self.kernels.get(call.callee.string_value())
        return isinstance(kernel, CKernel) and kernel.source.is_cpp

    def raise_event(self, number: int) -> None:
        self._instruction(f"INSTR_EVENT_{number}")

    def _instruction(self, event: str) -> None:
        """An instruction that trace units know as an event."""
        if self.machine.events is not None:
            self.machine.events.core_instruction(self.tile.place, event)

    def flow(self, entries: Sequence[int]) -> None:
        if self.machine.events is not None:
            self.machine.events.core_flow(self.tile.place, entries)

    def lock(self, lock: LockOp) -> Lock:
        """The lock of the machine that one of the program is."""
        if lock.place is None or lock.lock_id is None:
            raise Fault("the lock has no number", lock, kind=FaultKind.CORE)
        return self.machine.tiles[lock.place].locks[lock.lock_id.value.data]

    def put_cascade(self, data: bytes, location: LocationAttr) -> Process[None]:
        to_east = CascadeControl.output.get([self._cascade_word()])
        # Cascades go east or south, and come from the west or the north.
        step = (1, 0) if to_east else (0, -1)
        target = TileId(self.tile.place.column + step[0], self.tile.place.row + step[1])
        link = self.machine.cascade(self.tile.place, target)
        yield from link.put(data, self.asker(location))

    def get_cascade(self, size_bytes: int, location: LocationAttr) -> Process[bytes]:
        from_west = CascadeControl.input.get([self._cascade_word()])
        step = (-1, 0) if from_west else (0, 1)
        source = TileId(self.tile.place.column + step[0], self.tile.place.row + step[1])
        link = self.machine.cascade(source, self.tile.place)
        data = yield from link.get(self.asker(location))
        # The wire is as wide as the accumulator, whatever type each side gives it.
        return data[:size_bytes].ljust(size_bytes, b"\0")

    def _cascade_word(self) -> int:
        offset = self.tile.table.cascade_control
        return self.tile.register(offset) if offset is not None else 0

    def put_stream(self, channel: int, data: bytes, location: LocationAttr, is_last: bool = False) -> Process[None]:
        outlet = self.tile.switch.slaves[PortName(WireBundle.Core, channel)]
        words = np.frombuffer(data, dtype=np.uint32).tolist()
        for number, word in enumerate(words, 1):
            # No operation says so, but a kernel can: TLAST of a core's stream is another instruction.
            beat = Beat(word, is_last and number == len(words))
            yield from outlet.pass_on(beat, self.asker(location))

    def get_stream(self, channel: int, size_bytes: int, location: LocationAttr) -> Process[bytes]:
        inlet = self.tile.switch.masters[PortName(WireBundle.Core, channel)]
        words = np.empty(-(-size_bytes // WORD_BYTES), dtype=np.uint32)
        for number in range(len(words)):
            beat = yield from inlet.take(self.asker(location))
            words[number] = beat.word
        return words.tobytes()[:size_bytes]

    def record(self, event: TraceEvent, a: int = 0, b: int = 0) -> None:
        self.tile.trace.record(event, self.part, a, b)

    def spend(self, cycles: int) -> Process[None]:
        yield cycles

    def say(self, text: str) -> None:
        self.machine.output.say(self.tile.place, text)

    def pause(self, cycles: int, asker: object) -> Process[None]:
        yield Pause(cycles, self.look_wait(asker))

    def look_wait(self, asker: object) -> Wait:
        return Wait(Signal(), lambda: f"{asker} goes on in a loop whose end nothing tells", self.tile, asker)

    def kernel(self, name: str) -> Kernel | None:
        return self.kernels.get(name)
