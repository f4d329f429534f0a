"""A core that runs native code of its program: the same as `core.MachineCore`, sooner."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.isa.core import STREAM_ACTIONS, CorePorts, joined_units, unit_parts
from tilewright.isa.native_blocks import NUMBER_SHIFT, REFUSALS, Point
from tilewright.isa.native_state import Leave, NativeState
from tilewright.isa.numbers import refusal
from tilewright.isa.schedule import ExecutionError, planned_at
from tilewright.isa.tables import InstructionSet, instruction_set
from tilewright.isa.translation import Translation, build_runner, native_object, state_layout, translation_of

_LOAD = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_EVENT = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)


@lru_cache(4)
def _runner(isa: InstructionSet) -> Callable[[int], int]:
    code = native_object(build_runner(state_layout(isa)))
    run = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code.address("run"))
    setattr(run, "code", code)  # noqa: B010, machine code stays as long as something can call it
    return run


class NativeCore:
    """A core with its registers, at a place in its program."""

    def __init__(
        self,
        program: bytes,
        ports: CorePorts,
        isa: InstructionSet | None = None,
        *,
        windows: Mapping[int, NDArray[np.uint8]] | None = None,
        translation: Translation | None = None,
    ):
        """`windows` is memory that native code uses itself, by the upper bits of addresses; for the rest it asks."""
        self.isa = isa or instruction_set()
        self.program, self.ports = program, ports
        self.translation = translation or translation_of(program, self.isa)
        self.state = NativeState(self.translation.layout)
        self.stalls = 0
        self.is_done = False
        self.waits_for: Leave | None = None
        """A lock or a stream."""
        self._error: BaseException | None = None
        self._run = _runner(self.isa)
        self._moved = dict[int, tuple[Any, int]]()
        self._tables: tuple[object, object] = (None, None)
        self._callbacks = (_LOAD(self._load), _LOAD(self._store), _EVENT(self._event))
        for name, callback in zip(("load", "store", "event"), self._callbacks, strict=True):
            self.state.set(name, ctypes.cast(callback, ctypes.c_void_p).value or 0)
        self._windows = dict(windows or {})
        for window, memory in self._windows.items():
            self.state.set_window(window, memory)
        self.state.set("next", self.translation.number(Point(0)))

    # ---- registers ----

    @property
    def cycle(self) -> int:
        return self.state.get("cycle")

    @property
    def conflicts(self) -> int:
        return self.state.get("conflicts")

    @property
    def elapsed(self) -> int:
        """Cycles in which the core ran, those among them in which it stood still for a bank of memory."""
        return self.cycle + self.conflicts

    @property
    def pc(self) -> int:
        point = self.translation.points[self.state.get("next")]
        assert point is not None
        return point.pc

    @property
    def units(self) -> dict[str, Any]:
        """What all units of storage hold."""
        return {name: self.state.unit(name) for name in self.isa.registers.units}

    def register(self, name: str) -> Any:
        """The value of a register: a whole number, or bytes of a vector."""
        register = self.isa.registers.named(name)
        return joined_units(register, [self.state.unit(unit) for unit in register.units])

    def set_register(self, name: str, value: Any) -> None:
        for unit, part in unit_parts(self.isa.registers.named(name), value, self.isa.registers.units):
            self.state.set_unit(unit, part)

    # ---- running ----

    def run(self, limit: int = 10_000_000) -> None:
        """Go on until `done`; an error if it takes more cycles than `limit`, or waits for what will not come."""
        end = self.cycle + limit
        while not self.is_done:
            if not self.run_until(end):
                raise ExecutionError(self.pc, f"waits for {self.waiting_for() or 'nothing'}")
            if self.cycle >= end:
                raise ExecutionError(self.pc, f"no end after {limit} cycles")

    def waiting_for(self) -> str:
        """What a core that stands still waits for."""
        if self.waits_for is Leave.LOCK:
            return f"lock {self.state.get('b')}, value {self.state.get('c')}"
        return "a stream or the cascade" if self.waits_for is Leave.STREAM else ""

    def run_until(self, cycle: int) -> bool:
        """Go on to a cycle, or some cycles behind it where that is within a block; False if the core has to wait."""
        if self.is_done:
            return True
        state, translation = self.state, self.translation
        state.set("limit", cycle)
        if self.waits_for is not None and not self._served():
            return False
        while True:
            self._see_tables()
            why = self._run(state.address)
            match why:
                case Leave.LOCK | Leave.STREAM:
                    self.waits_for = Leave(why)
                    if not self._served():
                        return False
                case Leave.TIME:
                    return True
                case Leave.TRANSLATE:
                    translation.translate(state.get("next"))
                case Leave.TARGET:
                    state.set("next", translation.add_target(state.get("b"), state.get("a")))
                case Leave.LOOP_END:
                    translation.add_loop_end(state.unit("le"))
                case Leave.DONE:
                    self.is_done = True
                    return True
                case Leave.REFUSED:
                    self._refuse(state.get("a"))
                case _:
                    self._raise_fault()

    def _see_tables(self) -> None:
        """Tell native code where the tables of its blocks are, which other cores with the program may have renewed."""
        tables = self.translation.entries, self.translation.targets
        if tables[0] is not self._tables[0] or tables[1] is not self._tables[1]:
            for name, table in zip(("entries", "targets"), tables, strict=True):
                self.state.set(name, table.ctypes.data)
            self._tables = tables

    def _served(self) -> bool:
        """Ask for the lock or the words that the core waits for."""
        served = self._use_lock() if self.waits_for is Leave.LOCK else self._move_streams()
        if served:
            self.waits_for = None
        else:
            self.stalls += 1
        return served

    def _use_lock(self) -> bool:
        ask = self.ports.acquire if self.state.get("a") else self.ports.release
        return ask(self.state.get("b"), self.state.get("c"))

    def _move_streams(self) -> bool:
        """Read and write the words of the next bundle; False if one has to wait. None is moved twice."""
        for place, plan in enumerate(planned_at(self.program, self.pc, self.isa).streams):
            if place not in self._moved:
                values = {it.name: self.register(it.register.name) for step in plan.steps.values() for it in step.reads}
                word = STREAM_ACTIONS[plan.key[0]](self.ports, plan, values)
                if word is None and "nb" not in plan.key:
                    return False
                self._moved[place] = (word or 0, int(word is not None))
        for place, (word, moved) in self._moved.items():
            self.state.set_stream(place, word, moved)
        self._moved.clear()
        return True

    def _refuse(self, address: int) -> None:
        # the plan of this bundle tells what is wrong with it
        planned_at(self.program, address, self.isa)
        raise ExecutionError(address, "a jump in the slots behind another")

    def _raise_fault(self) -> None:
        self.state.set("fault", 0)
        error, self._error = self._error, None
        if error is not None:
            raise error
        number, address = divmod(self.state.get("refused_at"), 1 << NUMBER_SHIFT)
        instruction = planned_at(self.program, address, self.isa).plans[number].instruction
        reason = refusal(REFUSALS[self.state.get("refused")], self.state.get("refused_named"))
        raise ExecutionError(address, f"`{instruction}`: {reason}")

    # ---- what native code calls ----

    def _load(self, address: int, size: int, place: int) -> None:
        try:
            ctypes.memmove(place, self.ports.load(address, size).ljust(size, b"\0"), size)
        except BaseException as error:
            self._keep(error)

    def _store(self, address: int, size: int, place: int) -> None:
        try:
            self.ports.store(address, ctypes.string_at(place, size))
        except BaseException as error:
            self._keep(error)

    def _event(self, number: int, elapsed: int) -> None:
        try:
            self.ports.event(number, elapsed)
        except BaseException as error:
            self._keep(error)

    def _keep(self, error: BaseException) -> None:
        """An error cannot pass through native code: it is raised when that comes back."""
        self._error = self._error or error
        self.state.set("fault", 1)
