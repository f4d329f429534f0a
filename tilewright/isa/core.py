"""A core that runs machine code, bundle by bundle, with its pipeline as it is: nothing waits for a result.

Cycle k of a bundle that is issued at time t is time t + k. A register is read in the cycle that the row says, and sees
what was written in cycles before; what is written in the same cycle is seen by the bypass alone, where both name the
same. A core that waits for a lock stands still as a whole, with all that is under way in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import Error
from tilewright.isa.meaning import ADDRESS, JUMPS, Values, access_bytes, next_place
from tilewright.isa.numbers import PLAIN, signed
from tilewright.isa.product_meaning import LOOKUP_BYTES, lookup_addresses
from tilewright.isa.registers import CoreRegister
from tilewright.isa.schedule import (
    DELAY_SLOTS,
    LOCK_CYCLE,
    WIDE,
    BundlePlan,
    ExecutionError,
    InstructionPlan,
    PipelineStep,
    address_behind_slots,
    lost_cycles,
    offset_of,
    planned_at,
)
from tilewright.isa.tables import InstructionSet, instruction_set

COUNT = (1 << 32) - 1
"""Of a loop."""


class CorePorts(Protocol):
    """The surroundings of a core. What cannot be done yet says so, and is asked again in the next cycle."""

    def load(self, address: int, size: int) -> bytes: ...
    def store(self, address: int, data: bytes) -> None: ...
    def acquire(self, lock: int, value: int) -> bool: ...
    def release(self, lock: int, value: int) -> bool: ...
    def read_stream(self, waits: bool) -> int | None: ...
    def write_stream(self, word: int, is_last: bool, waits: bool) -> bool: ...
    def read_cascade(self) -> bytes | None: ...
    def write_cascade(self, data: bytes) -> bool: ...
    def event(self, number: int, elapsed: int) -> None: ...


class FlatMemory:
    """Surroundings of a core on its own: memory alone. Every lock is free, words come from nowhere and go nowhere."""

    def __init__(self) -> None:
        self.memory = bytearray(1 << ADDRESS.bit_length())

    def windows(self) -> dict[int, NDArray[np.uint8]]:
        """The memory itself, in pieces of 64 KiB."""
        memory = np.frombuffer(self.memory, np.uint8)
        return {at >> 16: memory[at : at + (1 << 16)] for at in range(0, len(memory), 1 << 16)}

    def load(self, address: int, size: int) -> bytes:
        return bytes(self.memory[address : address + size])

    def store(self, address: int, data: bytes) -> None:
        self.memory[address : address + len(data)] = data

    def acquire(self, lock: int, value: int) -> bool:
        return True

    def release(self, lock: int, value: int) -> bool:
        return True

    def read_stream(self, waits: bool) -> int | None:
        return None

    def write_stream(self, word: int, is_last: bool, waits: bool) -> bool:
        return True

    def read_cascade(self) -> bytes | None:
        return None

    def write_cascade(self, data: bytes) -> bool:
        return True

    def event(self, number: int, elapsed: int) -> None:
        pass


class EarlyRead(NamedTuple):
    """A register that was read while a newer value was under way."""

    address: int
    instruction: str
    register: str


@dataclass
class _Flight:
    """An instruction under way."""

    plan: InstructionPlan
    issued: int
    address: int
    values: dict[str, Any]
    place: int = 0
    """In data memory."""


class _Commit(NamedTuple):
    unit: str
    value: Any
    bypass: str | None


class _Promise(NamedTuple):
    """A value that will be written, for `EarlyRead`."""

    units: frozenset[str]
    due: int
    bypass: str | None
    issued: int


class MachineCore:
    """A core with its registers, at a place in its program."""

    def __init__(
        self, program: bytes, ports: CorePorts, isa: InstructionSet | None = None, *, watches_reads: bool = False
    ):
        self.isa = isa or instruction_set()
        self.program, self.ports = program, ports
        self.pc = 0
        self.cycle = 0
        """Bundles that were issued, which the pipeline goes by."""
        self.conflicts = 0
        """Cycles that accesses to one bank of memory have cost."""
        self.stalls = 0
        self.is_done = False
        self.units: dict[str, Any] = {
            name: bytes(bits // 8) if bits >= WIDE and name != "cntr" else 0
            for name, bits in self.isa.registers.units.items()
        }
        self.early_reads: list[EarlyRead] | None = [] if watches_reads else None
        self._under_way = dict[int, list[tuple[_Flight, PipelineStep]]]()
        self._commits = dict[int, list[_Commit]]()
        self._stores = dict[int, list[tuple[int, bytes]]]()
        self._locks = dict[int, list[tuple[str, int, int]]]()
        self._jump: tuple[int, int | None] | None = None
        """When it shows, and where it leads if it is taken."""
        self._promised = list[_Promise]()
        self._moved = dict[str, dict[str, Any]]()
        """Words of streams that the next bundle has moved already, by instruction."""
        self._ends = False

    # ---- registers ----

    def register(self, name: str) -> Any:
        """The value of a register: a whole number, or bytes of a vector."""
        return self._joined(self.isa.registers.named(name))

    def set_register(self, name: str, value: Any) -> None:
        for unit, part in unit_parts(self.isa.registers.named(name), value, self.isa.registers.units):
            self.units[unit] = part

    def _joined(self, register: CoreRegister, newer: dict[str, Any] | None = None) -> Any:
        units = self.units if not newer else self.units | newer
        return joined_units(register, [units[unit] for unit in register.units])

    @property
    def elapsed(self) -> int:
        """Cycles in which the core ran, those among them in which it stood still for a bank of memory."""
        return self.cycle + self.conflicts

    # ---- running ----

    def run(self, limit: int = 10_000_000) -> None:
        """Go on until `done`; an error if it takes more cycles than `limit`, or waits for what will not come."""
        end = self.cycle + limit
        while not self.is_done:
            if not self.step():
                raise ExecutionError(self.pc, f"waits for {self.waiting_for() or 'nothing'}")
            if self.cycle >= end:
                raise ExecutionError(self.pc, f"no end after {limit} cycles")

    def run_until(self, cycle: int) -> bool:
        """Go on to a cycle, or to the end; False if the core has to wait."""
        while self.cycle < cycle and not self.is_done:
            if not self.step():
                return False
        return True

    def waiting_for(self) -> str:
        """What a core that stands still waits for."""
        for kind, lock, value in self._locks.get(self.cycle + 1, ()):
            if kind == "acq":
                return f"lock {lock}, value {signed(value)}"
        return "a stream or the cascade" if self._bundle().streams else ""

    def step(self) -> bool:
        """One cycle; False if the core has to wait, and then nothing has changed."""
        if self.is_done:
            return True
        now = self.cycle + 1
        bundle = None if self._ends else self._bundle()
        if not self._take_locks(now) or (bundle is not None and not self._move_streams(bundle)):
            self.stalls += 1
            return False
        # a bundle at the end of a loop was fetched as such: what it does to the loop itself comes too late
        loops = self.pc == self.units["le"] and self.units["lc"] > 0
        if bundle is not None:
            self._issue(bundle)
        accesses = self._read_and_compute(now)
        for commit in self._commits.pop(now, ()):
            self.units[commit.unit] = commit.value
        for place, data in self._stores.pop(now, ()):
            self.ports.store(place, data)
            accesses.append((place, len(data)))
        self.conflicts += lost_cycles(PLAIN, accesses)
        self.cycle = now
        if bundle is not None:
            self._advance(bundle.size, loops)
        elif not (self._under_way or self._commits or self._stores or self._locks):
            self.is_done = True
        return True

    def _bundle(self) -> BundlePlan:
        return planned_at(self.program, self.pc, self.isa)

    def _advance(self, size: int, loops: bool) -> None:
        self.pc += size
        target = None
        if self._jump is not None and self._jump[0] == self.cycle:
            target, self._jump = self._jump[1], None
        if target is not None:
            self.pc = target
        elif loops:
            self.units["lc"] = (self.units["lc"] - 1) & COUNT
            if self.units["lc"]:
                self.pc = self.units["ls"]

    def _take_locks(self, now: int) -> bool:
        waiting = self._locks.get(now)
        while waiting:
            kind, lock, value = waiting[0]
            ask = self.ports.release if kind == "rel" else self.ports.acquire
            if kind and not ask(lock, signed(value)):
                return False
            waiting.pop(0)
        self._locks.pop(now, None)
        return True

    def _move_streams(self, bundle: BundlePlan) -> bool:
        """Read and write the words of a bundle; False if one has to wait. None is moved twice."""
        for plan in bundle.streams:
            if plan.instruction.row.record not in self._moved:
                values = {it.name: self._joined(it.register) for step in plan.steps.values() for it in step.reads}
                word = STREAM_ACTIONS[plan.key[0]](self.ports, plan, values)
                if word is None and "nb" not in plan.key:
                    return False
                self._moved[plan.instruction.row.record] = {"word": word or 0, "moved": int(word is not None)}
        return True

    def _issue(self, bundle: BundlePlan) -> None:
        for plan in bundle.plans:
            flight = _Flight(plan, self.cycle, self.pc, dict(plan.constants))
            if bundle.streams:
                flight.values |= self._moved.pop(plan.instruction.row.record, {})
            for cycle, step in plan.steps.items():
                self._under_way.setdefault(self.cycle + cycle, []).append((flight, step))
            if self.early_reads is not None:
                for write in plan.writes.values():
                    due = self.cycle + write.cycle
                    self._promised.append(_Promise(frozenset(write.register.units), due, write.bypass, self.cycle))

    def _read_and_compute(self, now: int) -> list[tuple[int, int]]:
        """Carry out a cycle of all that is under way; the places and sizes that it reads in memory."""
        newest = self._commits.get(now, ())
        # all registers are read before anything is computed: a result of this very cycle is not seen in it
        flights = self._under_way.pop(now, ())
        accesses = list[tuple[int, int]]()
        for flight, step in flights:
            for _, name, register, bypass in step.reads:
                newer = {it.unit: it.value for it in newest if it.bypass == bypass} if bypass and newest else None
                flight.values[name] = self._joined(register, newer)
                if self.early_reads is not None:
                    self._watch(flight, register, bypass, now)
            if step.moves_pointer:
                self._move_pointer(flight)
            if step.loads:
                flight.values["memory"] = self._load(flight)
            if step.reads_bank:
                size = access_bytes(flight.plan.key)
                accesses.append((flight.place & -size, size))
        for flight, step in flights:
            if step.computes:
                self._compute(flight)
        return accesses

    def _watch(self, flight: _Flight, register: CoreRegister, bypass: str | None, now: int) -> None:
        """Note a register for which a bundle before this one has a value under way."""
        assert self.early_reads is not None
        self._promised = [it for it in self._promised if it.due >= now]
        for it in self._promised:
            is_seen = it.due == now and bypass is not None and it.bypass == bypass
            if it.issued < flight.issued and not is_seen and not it.units.isdisjoint(register.units):
                self.early_reads.append(EarlyRead(flight.address, str(flight.plan.instruction), register.name))

    def _commit(self, flight: _Flight, name: str, value: Any) -> None:
        write = flight.plan.writes.get(name)
        if write is None:
            return
        due = self._commits.setdefault(flight.issued + write.cycle, [])
        for unit, part in unit_parts(write.register, value, self.isa.registers.units):
            due.append(_Commit(unit, part, write.bypass))

    def _compute(self, flight: _Flight) -> None:
        plan, values = flight.plan, flight.values
        try:
            results = plan.definition(PLAIN, values)
        except Error as error:
            raise ExecutionError(flight.address, f"`{plan.instruction}`: {error}") from None
        for name, value in results.items():
            if name == "memory":
                due = self._stores.setdefault(flight.issued + plan.store_cycle, [])
                due.append((flight.place & -len(value), value))
            else:
                self._commit(flight, name, value)
        act = ACTIONS.get(plan.key[0])
        if act is not None:
            act(self, flight)

    # ---- memory ----

    def _move_pointer(self, flight: _Flight) -> None:
        values, name = flight.values, flight.plan.pointer
        pointer, step = values[name], offset_of(values)
        if flight.plan.moves_on:
            flight.place = pointer
            if isinstance(step, tuple):
                step, counts = next_place(PLAIN, cast("tuple[int, ...]", step))
                modifier = flight.plan.writes["m"].register
                due = self._commits.setdefault(flight.issued + 1, [])
                due += [_Commit(modifier.units[at], count, None) for at, count in counts.items()]
            due = self._commits.setdefault(flight.issued + 1, [])
            moved = flight.plan.writes[name].register.name
            due.append(_Commit(moved, (pointer + step) & ADDRESS, None))
        else:
            assert isinstance(step, int)
            flight.place = (pointer + step) & ADDRESS

    def _load(self, flight: _Flight) -> bytes:
        key = flight.plan.key
        if key[0] == "load4":
            places = lookup_addresses(PLAIN, int(key[1]), key[2], flight.values["a"])
            entries = (self.ports.load(place & ADDRESS, int(key[1]) // 8) for place in places)
            return b"".join(entry.ljust(LOOKUP_BYTES, b"\0") for entry in entries)
        size = access_bytes(key)
        # the lowest bits of an address count for nothing
        return self.ports.load(flight.place & -size, size)


def joined_units(register: CoreRegister, values: list[Any]) -> Any:
    """The value of a register whose units hold these."""
    if len(values) == 1:
        return values[0]
    if isinstance(values[0], bytes):
        return b"".join(values)
    return values[0] | values[1] << 32 if register.file == "l" else tuple(values)


def unit_parts(register: CoreRegister, value: Any, widths: dict[str, int]) -> list[tuple[str, Any]]:
    """What each unit of a register gets of a value; of bytes that are too many the first."""
    if isinstance(value, bytes):
        found, at = list[tuple[str, Any]](), 0
        for unit in register.units:
            size = widths[unit] // 8
            found.append((unit, value[at : at + size].ljust(size, b"\0")))
            at += size
        return found
    if register.file == "l":
        low, high = register.units
        return [(low, value & 0xFFFFFFFF), (high, value >> 32 & 0xFFFFFFFF)]
    if isinstance(value, tuple):
        return [*zip(register.units, cast("tuple[int, ...]", value), strict=True)]
    (unit,) = register.units
    return [(unit, value & ((1 << widths[unit]) - 1))]


def _jump(core: MachineCore, flight: _Flight) -> None:
    kind, values = flight.plan.key[0], flight.values
    if kind == "jl":
        core._commit(flight, "lr", address_behind_slots(core.program, flight.address))
    if core._jump is not None:
        raise ExecutionError(flight.address, "a jump in the slots behind another")
    target = values["lr"] if kind == "ret" else values["t"]
    core._jump = flight.issued + DELAY_SLOTS + 1, target if JUMPS[kind](values) else None


def _lock(core: MachineCore, flight: _Flight) -> None:
    kind, *condition = flight.plan.key
    is_wanted = not condition or flight.values["r26"] != 0
    due = core._locks.setdefault(flight.issued + LOCK_CYCLE, [])
    due.append((kind if is_wanted else "", flight.values["n"], flight.values["b"]))


def _event(core: MachineCore, flight: _Flight) -> None:
    core.ports.event(flight.values["i"], core.elapsed)


def _done(core: MachineCore, flight: _Flight) -> None:
    core._ends = True


ACTIONS: dict[str, Callable[[MachineCore, _Flight], None]] = {
    **dict.fromkeys(JUMPS, _jump),
    "acq": _lock,
    "rel": _lock,
    "event": _event,
    "done": _done,
}
"""What instructions do beside their results."""


def _read_word(ports: CorePorts, plan: InstructionPlan, values: Values) -> int | None:
    return ports.read_stream("nb" not in plan.key)


def _write_word(ports: CorePorts, plan: InstructionPlan, values: Values) -> int | None:
    is_last = "tlast" in plan.key or ("tlast_reg" in plan.key and bool(values["r28"]))
    moved = ports.write_stream(values["a"], is_last, "nb" not in plan.key)
    return values["a"] if moved else None


def _read_cascade(ports: CorePorts, plan: InstructionPlan, values: Values) -> bytes | None:
    return ports.read_cascade()


def _write_cascade(ports: CorePorts, plan: InstructionPlan, values: Values) -> bytes | None:
    return values["a"] if ports.write_cascade(values["a"]) else None


STREAM_ACTIONS: dict[str, Callable[[CorePorts, InstructionPlan, Values], int | bytes | None]] = {
    "stream_read": _read_word,
    "stream_write": _write_word,
    "cascade_read": _read_cascade,
    "cascade_write": _write_cascade,
}
"""Instructions that move a word of a stream or 512 bits of the cascade: these, or None if that is not possible yet."""
