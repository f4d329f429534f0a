"""A core that runs the machine code in its program memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import UNKNOWN_LOC

from tilewright.device import Side, TileId
from tilewright.device.layout import WORD_BYTES
from tilewright.ir.run_errors import Fault
from tilewright.isa.bundles import DecodeError
from tilewright.isa.core import MachineCore
from tilewright.isa.program_places import ProgramPlaces
from tilewright.isa.schedule import ExecutionError
from tilewright.sim.core_binding import CoreAsker, TileCorePort
from tilewright.sim.debugged_core import program_position
from tilewright.sim.engine import Process
from tilewright.sim.faults import FaultKind
from tilewright.sim.tile import Tile
from tilewright.sim.trace import TraceEvent

WINDOW_BITS = 16
FIRST_WINDOW = 4
"""Data memory begins at 0x40000: a window of 64 KiB for each side that a core sees."""
REGISTERS = 0x80000
"""Of the core's own tile, by `lda.tm` and `st.tm`."""
CASCADE_BYTES = 64
LONGEST_TURN = 1000
"""Cycles that a core goes ahead of the others, as long as it neither gives nor takes anything."""


class MachineCodePorts:
    """What `isa.core.CorePorts` asks for, on a tile."""

    def __init__(self, tile: Tile):
        self.tile, self.machine = tile, tile.machine
        self.port = TileCorePort(tile, {})
        self.wanted: Callable[[], Process[Any]] | None = None
        """A lock or a word that the core needs to go on."""
        self.turn_began = 0
        """The core's cycle up to which all others have come, too."""
        self._answers = list[Any]()
        self._events = list[tuple[int, int]]()
        """The core's cycle and the number of each that is still to be raised."""
        self._windows = dict[int, Tile]()

    def load(self, address: int, size: int) -> bytes:
        if address >= REGISTERS and size == WORD_BYTES:
            return self.tile.read(address - REGISTERS).to_bytes(WORD_BYTES, "little")
        memory, at = self._memory(address, size)
        return memory[at : at + size].tobytes()

    def store(self, address: int, data: bytes) -> None:
        if address >= REGISTERS and len(data) == WORD_BYTES:
            self.tile.write(address - REGISTERS, int.from_bytes(data, "little"))
            return
        memory, at = self._memory(address, len(data))
        memory[at : at + len(data)] = np.frombuffer(data, np.uint8)

    def _memory(self, address: int, size: int) -> tuple[npt.NDArray[np.uint8], int]:
        window, at = address >> WINDOW_BITS, address & ((1 << WINDOW_BITS) - 1)
        tile = self._windows.get(window)
        if tile is None:
            tile = self._windows[window] = self._seen(window, address)
        if at + size > len(tile.memory):
            raise self._fault(f"reaches address {address:#x}, behind the end of {tile}")
        return tile.memory, at

    def _seen(self, window: int, address: int) -> Tile:
        tile = self._neighbour(window - FIRST_WINDOW)
        if tile is None:
            raise self._fault(f"reaches address {address:#x}, where no memory is")
        return tile

    def _neighbour(self, number: int) -> Tile | None:
        place = self.machine.model.memory_tile(*self.tile.place, Side(number)) if 0 <= number < len(Side) else None
        return None if place is None else self.machine.tiles[TileId(*place)]

    def windows(self) -> dict[int, npt.NDArray[np.uint8]]:
        """Memories that the core sees, by the upper bits of addresses."""
        seen = {FIRST_WINDOW + number: self._neighbour(number) for number in range(len(Side))}
        return {window: tile.memory for window, tile in seen.items() if tile is not None}

    def _fault(self, text: str) -> Fault:
        asker = self.asker()
        return Fault(f"{asker} {text}", asker.location, kind=FaultKind.CORE)

    def asker(self) -> CoreAsker:
        return self.port.asker(UNKNOWN_LOC)

    def acquire(self, lock: int, value: int) -> bool:
        return self._asked(partial(self._use_lock, lock, value, True)) is not None

    def release(self, lock: int, value: int) -> bool:
        return self._asked(partial(self._use_lock, lock, value, False)) is not None

    def _use_lock(self, lock: int, value: int, is_acquire: bool) -> Process[None]:
        yield from self.port.ask_lock(lock, value, is_acquire, UNKNOWN_LOC)
        if not is_acquire:
            # machine code does not say beforehand which it releases; explanations of hangs know those that it did
            self.tile.core_releases.add(self.port.numbered_lock(lock, UNKNOWN_LOC))
        # Traces of hardware have a cycle of LOCK_STALL for each request, releases too. It is waited for with those
        # that the core goes on for.
        self.turn_began -= self.machine.timing.lock

    def read_stream(self, waits: bool) -> int | None:
        found = self._asked(partial(self.port.get_stream, 0, WORD_BYTES, UNKNOWN_LOC)) if waits else self._refuse()
        return None if found is None else int.from_bytes(found, "little")

    def write_stream(self, word: int, is_last: bool, waits: bool) -> bool:
        data = word.to_bytes(WORD_BYTES, "little")
        ask = partial(self.port.put_stream, 0, data, UNKNOWN_LOC, is_last)
        return (self._asked(ask) if waits else self._refuse()) is not None

    def read_cascade(self) -> bytes | None:
        return self._asked(partial(self.port.get_cascade, CASCADE_BYTES, UNKNOWN_LOC))

    def write_cascade(self, data: bytes) -> bool:
        return self._asked(partial(self.port.put_cascade, data, UNKNOWN_LOC)) is not None

    def _refuse(self) -> bytes:
        raise self._fault("reads or writes a stream without waiting, which is not modelled")

    def _asked(self, ask: Callable[[], Process[Any]]) -> Any:
        """What came of asking; None until then, and the process asks meanwhile."""
        if self._answers:
            return self._answers.pop()
        self.wanted = ask
        return None

    def answer(self) -> Process[None]:
        """Ask for what the core wants, however long that takes."""
        assert self.wanted is not None
        ask, self.wanted = self.wanted, None
        found = yield from ask()
        self._answers.append(b"" if found is None else found)

    def event(self, number: int, elapsed: int) -> None:
        self._events.append((elapsed, number))

    def catch_up(self, elapsed: int) -> Process[None]:
        """Let all others come as far as the core has; its events are raised on the way."""
        events, self._events = self._events, []
        for cycle, number in (*events, (elapsed, None)):
            if ahead := cycle - self.turn_began:
                self.turn_began = cycle
                yield ahead
            if number is not None:
                self.port.raise_event(number)


def machine_code_process(tile: Tile, program: bytes, *, translates: bool = False) -> Process[None]:
    """Run machine code from its beginning until `done`; with `translates` as native code."""
    ports = MachineCodePorts(tile)
    debugged = tile.machine.debugged_cores.get(tile.place)
    places = ProgramPlaces() if debugged is None else debugged.places
    if debugged is not None:
        core = debugged.start(program, ports)
    elif translates:
        from tilewright.isa.native_core import NativeCore  # needs LLVM

        core = NativeCore(program, ports, windows=ports.windows())
    else:
        core = MachineCore(program, ports)
    ports.port.position = lambda: program_position(places, core.pc)
    ports.port.record(TraceEvent.CORE)
    while not core.is_done:
        try:
            core.run_until(core.cycle + LONGEST_TURN)
        except (ExecutionError, DecodeError) as error:
            location, where = program_position(places, error.address)
            text = f"{CoreAsker(tile.place, location)} stops {where}: {error.reason}"
            raise Fault(text, location, kind=FaultKind.CORE) from None
        yield from ports.catch_up(core.elapsed)
        if ports.wanted is not None:
            yield from ports.answer()
    ports.port.record(TraceEvent.CORE_END)
