"""A core's view of the machine: its tile's memory and locks and those of its neighbours, its streams and cascade."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import LockAction, TileId, WireBundle
from tilewright.device.layout import WORD_BYTES
from tilewright.device.registers import CascadeControl
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.ir.run_errors import Fault
from tilewright.sim.core_port import Kernel
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

    __slots__ = ("location", "tile")

    def __init__(self, tile: TileId, location: LocationAttr):
        self.tile = tile
        self.location = location

    def __str__(self) -> str:
        return f"the core of tile ({self.tile.column}, {self.tile.row})"


class TileCorePort:
    """What `core_port.CorePort` asks for, on a tile of the machine."""

    def __init__(self, tile: Tile, kernels: Mapping[str, Kernel]):
        self.tile = tile
        self.machine = tile.machine
        self.kernels = kernels
        self.reached = 0
        self.part = tile.machine.part_ids.number(PartKind.CORE, tile.place)

    def memory(self, buffer: BufferOp) -> npt.NDArray[np.uint8]:
        if buffer.place is None or buffer.address is None:
            raise Fault("the buffer has no address", buffer, kind=FaultKind.CORE)
        start = buffer.address.value.data
        # A view, not a copy: a core's writes are the tile's.
        return self.machine.tiles[buffer.place].memory[start : start + buffer.size_bytes]

    def acquire(self, lock: LockOp, amount: int, action: LockAction, location: LocationAttr) -> Process[None]:
        found, asker = self.lock(lock), CoreAsker(self.tile.place, location)
        at_least = action is LockAction.AcquireGreaterEqual
        self._instruction("INSTR_LOCK_ACQUIRE_REQ")
        waits = found.value < amount if at_least else found.value != amount
        if waits:
            self.record(TraceEvent.LOCK_WAIT, found.index)
        yield from found.acquire(amount, asker) if at_least else found.acquire_equal(amount, asker)
        if waits:
            self.record(TraceEvent.LOCK_GO, found.index)
        yield self.tile.timing.lock

    def release(self, lock: LockOp, amount: int, location: LocationAttr) -> None:
        self._instruction("INSTR_LOCK_RELEASE_REQ")
        self.lock(lock).release(amount, CoreAsker(self.tile.place, location))

    def _instruction(self, event: str) -> None:
        """An instruction that trace units know as an event."""
        if self.machine.events is not None:
            self.machine.events.core_instruction(self.tile.place, event)

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
        yield from link.put(data, CoreAsker(self.tile.place, location))

    def get_cascade(self, size_bytes: int, location: LocationAttr) -> Process[bytes]:
        from_west = CascadeControl.input.get([self._cascade_word()])
        step = (-1, 0) if from_west else (0, 1)
        source = TileId(self.tile.place.column + step[0], self.tile.place.row + step[1])
        link = self.machine.cascade(source, self.tile.place)
        data = yield from link.get(CoreAsker(self.tile.place, location))
        # The wire is as wide as the accumulator, whatever type each side gives it.
        return data[:size_bytes].ljust(size_bytes, b"\0")

    def _cascade_word(self) -> int:
        offset = self.tile.table.cascade_control
        return self.tile.register(offset) if offset is not None else 0

    def put_stream(self, channel: int, data: bytes, location: LocationAttr) -> Process[None]:
        outlet = self.tile.switch.slaves[PortName(WireBundle.Core, channel)]
        words = np.frombuffer(data, dtype=np.uint32).tolist()
        for word in words:
            # Never the last: TLAST of a core's stream is another instruction, which no operation stands for.
            yield from outlet.pass_on(Beat(word, False), CoreAsker(self.tile.place, location))

    def get_stream(self, channel: int, size_bytes: int, location: LocationAttr) -> Process[bytes]:
        inlet = self.tile.switch.masters[PortName(WireBundle.Core, channel)]
        words = np.empty(-(-size_bytes // WORD_BYTES), dtype=np.uint32)
        for number in range(len(words)):
            beat = yield from inlet.take(CoreAsker(self.tile.place, location))
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
