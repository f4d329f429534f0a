"""A core that runs machine code, bundle by bundle, with its pipeline as it is: nothing waits for a result.

Cycle k of a bundle that is issued at time t is time t + k. A register is read in the cycle that the row says, and sees
what was written in cycles before; what is written in the same cycle is seen by the bypass alone, where both name the
same. A core that waits for a lock stands still as a whole, with all that is under way in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, cast

from tilewright.errors import Error
from tilewright.isa.bundles import CoreInstruction, bundle_size, decode_bundle
from tilewright.isa.meaning import (
    ADDRESS,
    JUMPS,
    Meaning,
    UnknownMeaningError,
    Values,
    access_bytes,
    meaning_of,
    signed,
)
from tilewright.isa.registers import CoreRegister
from tilewright.isa.tables import InstructionSet, instruction_set

DELAY_SLOTS = 5
"""Bundles behind a jump that are issued before it shows."""
LOCK_CYCLE = 5
"""In which a lock is asked for or given back: after stores that were issued before it reached memory."""
COUNT_OF = (3, 7)
"""Where a modifier's counts stand among its parts."""
WIDE = 64
"""Units of so many bits and more hold bytes, others whole numbers."""


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
    def event(self, number: int) -> None: ...


class FlatMemory:
    """Surroundings of a core on its own: memory alone. Every lock is free, words come from nowhere and go nowhere."""

    def __init__(self) -> None:
        self.memory = bytearray(1 << ADDRESS.bit_length())

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

    def event(self, number: int) -> None:
        pass


class ExecutionError(Error):
    """A core that cannot go on: the bundle's address, and why."""

    def __init__(self, address: int, reason: str):
        self.address, self.reason = address, reason
        super().__init__(f"{address:#x}: {reason}")


class EarlyRead(NamedTuple):
    """A register that was read while a newer value was under way."""

    address: int
    instruction: str
    register: str


class _Read(NamedTuple):
    cycle: int
    name: str
    register: CoreRegister
    bypass: str | None


class _Write(NamedTuple):
    cycle: int
    register: CoreRegister
    bypass: str | None


class _Step(NamedTuple):
    """A cycle of an instruction: what it reads then, and what follows from it."""

    reads: tuple[_Read, ...]
    moves_pointer: bool
    loads: bool
    computes: bool


@dataclass(frozen=True)
class _Plan:
    """An instruction, prepared: what happens in each of its cycles."""

    instruction: CoreInstruction
    key: tuple[str, ...]
    constants: Values
    steps: dict[int, _Step]
    writes: dict[str, _Write]
    store_cycle: int
    meaning: Meaning = field(repr=False)


@dataclass
class _Flight:
    """An instruction under way."""

    plan: _Plan
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
        self.stalls = 0
        self.is_done = False
        self.units: dict[str, Any] = {
            name: bytes(bits // 8) if bits >= WIDE and name != "cntr" else 0
            for name, bits in self.isa.registers.units.items()
        }
        self.early_reads: list[EarlyRead] | None = [] if watches_reads else None
        self._under_way = dict[int, list[tuple[_Flight, _Step]]]()
        self._commits = dict[int, list[_Commit]]()
        self._stores = dict[int, list[tuple[int, bytes]]]()
        self._locks = dict[int, list[tuple[str, int, int]]]()
        self._jump: tuple[int, int] | None = None
        self._promised = list[_Promise]()
        self._moved = dict[str, dict[str, Any]]()
        """Words of streams that the next bundle has moved already, by instruction."""
        self._ends = False

    # ---- registers ----

    def register(self, name: str) -> Any:
        """The value of a register: a whole number, or bytes of a vector."""
        return self._joined(self.isa.registers.named(name))

    def set_register(self, name: str, value: Any) -> None:
        for unit, part in _parts(self.isa.registers.named(name), value, self.isa.registers.units):
            self.units[unit] = part

    def _joined(self, register: CoreRegister, newer: dict[str, Any] | None = None) -> Any:
        units = self.units if not newer else self.units | newer
        if len(register.units) == 1:
            return units[register.units[0]]
        values = [units[unit] for unit in register.units]
        if isinstance(values[0], bytes):
            return b"".join(values)
        return values[0] | values[1] << 32 if register.file == "l" else tuple(values)

    # ---- running ----

    def run(self, limit: int = 10_000_000) -> None:
        """Go on until `done`; an error if it takes more cycles than `limit`, or waits for what will not come."""
        end = self.cycle + limit
        while not self.is_done:
            if not self.step():
                raise ExecutionError(self.pc, f"waits for {self.waiting_for() or 'nothing'}")
            if self.cycle >= end:
                raise ExecutionError(self.pc, f"no end after {limit} cycles")

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
        self._read_and_compute(now)
        for commit in self._commits.pop(now, ()):
            self.units[commit.unit] = commit.value
        for place, data in self._stores.pop(now, ()):
            self.ports.store(place, data)
        self.cycle = now
        if bundle is not None:
            self._advance(bundle.size, loops)
        elif not (self._under_way or self._commits or self._stores or self._locks):
            self.is_done = True
        return True

    def _bundle(self) -> _Prepared:
        return _prepared(self.program, self.pc, self.isa)

    def _advance(self, size: int, loops: bool) -> None:
        self.pc += size
        if self._jump is not None and self._jump[0] == self.cycle:
            self.pc, self._jump = self._jump[1], None
        elif loops:
            self.units["lc"] -= 1
            if self.units["lc"]:
                self.pc = self.units["ls"]

    def _take_locks(self, now: int) -> bool:
        waiting = self._locks.get(now)
        while waiting:
            kind, lock, value = waiting[0]
            ask = self.ports.release if kind == "rel" else self.ports.acquire
            if not ask(lock, signed(value)):
                return False
            waiting.pop(0)
        self._locks.pop(now, None)
        return True

    def _move_streams(self, bundle: _Prepared) -> bool:
        """Read and write the words of a bundle; False if one has to wait. None is moved twice."""
        for plan in bundle.streams:
            if plan.instruction.row.record not in self._moved:
                values = {it.name: self._joined(it.register) for step in plan.steps.values() for it in step.reads}
                word = STREAMS[plan.key[0]](self, plan, values)
                if word is None and "nb" not in plan.key:
                    return False
                self._moved[plan.instruction.row.record] = {"word": word or 0, "moved": int(word is not None)}
        return True

    def _issue(self, bundle: _Prepared) -> None:
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

    def _read_and_compute(self, now: int) -> None:
        newest = self._commits.get(now, ())
        # all registers are read before anything is computed: a result of this very cycle is not seen in it
        flights = self._under_way.pop(now, ())
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
        for flight, step in flights:
            if step.computes:
                self._compute(flight)

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
        for unit, part in _parts(write.register, value, self.isa.registers.units):
            due.append(_Commit(unit, part, write.bypass))

    def _compute(self, flight: _Flight) -> None:
        plan, values = flight.plan, flight.values
        try:
            results = plan.meaning(values)
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
        values = flight.values
        name = "p" if "p" in values else "sp"
        pointer, step = values[name], _offset(values)
        if "[p]," in flight.plan.instruction.row.syntax or flight.plan.key == ("padd",):
            flight.place = pointer
            if isinstance(step, tuple):
                step, counts = _next_place(step)
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
            from tilewright.isa.vector_meaning import lookup_addresses

            places = lookup_addresses(int(key[1]), key[2], flight.values["a"])
            return b"".join(self.ports.load(place & ADDRESS & -4, 8) for place in places)
        size = access_bytes(key)
        # the lowest bits of an address count for nothing
        return self.ports.load(flight.place & -size, size)


def _offset(values: Values) -> int | tuple[int, ...]:
    for name in ("i", "j", "m"):
        if name in values:
            return values[name]
    return 0


def _next_place(modifier: tuple[int, ...]) -> tuple[int, dict[int, int]]:
    """The step of a pointer that walks a matrix, and the counts after it, by their place in the modifier."""
    m, dn, dj, dc, *upper = modifier
    if dc < dn:
        return dj, {COUNT_OF[0]: dc + 1}
    if not upper:
        return m, {COUNT_OF[0]: 0}
    _, size, step, count = upper
    if count < size:
        return step, {COUNT_OF[0]: 0, COUNT_OF[1]: count + 1}
    return m, {COUNT_OF[0]: 0, COUNT_OF[1]: 0}


def _parts(register: CoreRegister, value: Any, widths: dict[str, int]) -> list[tuple[str, Any]]:
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


class _Prepared(NamedTuple):
    """A bundle with how its instructions run; those that do nothing are left out."""

    size: int
    plans: tuple[_Plan, ...]
    streams: tuple[_Plan, ...]


@lru_cache(1 << 12)
def _prepared(program: bytes, pc: int, isa: InstructionSet) -> _Prepared:
    bundle = decode_bundle(program, pc, isa)
    try:
        plans = tuple(plan for it in bundle.instructions if (plan := _plan(it)) is not None)
    except UnknownMeaningError as error:
        raise ExecutionError(pc, str(error)) from None
    return _Prepared(bundle.size, plans, tuple(it for it in plans if it.key[0] in STREAMS))


def _plan(instruction: CoreInstruction) -> _Plan | None:
    """How an instruction runs; None for one that does nothing."""
    row = instruction.row
    if row.meaning == ("nop",):
        return None
    constants = dict[str, Any]()
    reads = list[_Read]()
    writes = dict[str, _Write]()
    for it in row.operands:
        value = instruction.operands[it.letter] if it.letter else it.kind
        if isinstance(value, int):
            constants[it.letter] = value
            continue
        assert isinstance(value, CoreRegister)
        name = it.letter or value.name
        if it.read is not None:
            reads.append(_Read(it.read, name, value, it.bypass_of(value)))
        if it.written is not None:
            writes[name] = _Write(it.written, value, it.bypass_of(value))
    # masks of exceptions are read after the result is there, which does not depend on them
    first_result = min((it.cycle for it in writes.values() if it.cycle > 1), default=99)
    reads = [it._replace(cycle=min(it.cycle, first_result)) for it in reads]
    is_memory = row.meaning[0] in ("load", "store", "padd", "load4")
    has_pointer = is_memory and row.meaning[0] != "load4"
    load_cycle = row.memory[0] if row.memory and row.meaning[0] in ("load", "load4") else 0
    last = max([it.cycle for it in reads] + [load_cycle, 1])
    cycles = sorted({it.cycle for it in reads} | {1, last} | ({load_cycle} if load_cycle else set()))
    steps = {
        cycle: _Step(
            tuple(it for it in reads if it.cycle == cycle),
            has_pointer and cycle == 1,
            cycle == load_cycle,
            cycle == last,
        )
        for cycle in cycles
    }
    store_cycle = row.memory[-1] if row.memory else 0
    return _Plan(instruction, row.meaning, constants, steps, writes, store_cycle, meaning_of(row.meaning))


def _jump(core: MachineCore, flight: _Flight) -> None:
    kind, values = flight.plan.key[0], flight.values
    if kind == "jl":
        at = flight.address
        for _ in range(DELAY_SLOTS + 1):
            at += bundle_size(core.program[at])
        core._commit(flight, "lr", at)
    if JUMPS[kind](values):
        core._jump = flight.issued + DELAY_SLOTS + 1, values["lr"] if kind == "ret" else values["t"]


def _lock(core: MachineCore, flight: _Flight) -> None:
    kind, *condition = flight.plan.key
    if not condition or flight.values["r26"]:
        due = core._locks.setdefault(flight.issued + LOCK_CYCLE, [])
        due.append((kind, flight.values["n"], flight.values["b"]))


def _event(core: MachineCore, flight: _Flight) -> None:
    core.ports.event(flight.values["i"])


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


def _read_word(core: MachineCore, plan: _Plan, values: Values) -> int | None:
    return core.ports.read_stream("nb" not in plan.key)


def _write_word(core: MachineCore, plan: _Plan, values: Values) -> int | None:
    is_last = "tlast" in plan.key or ("tlast_reg" in plan.key and bool(values["r28"]))
    moved = core.ports.write_stream(values["a"], is_last, "nb" not in plan.key)
    return values["a"] if moved else None


def _read_cascade(core: MachineCore, plan: _Plan, values: Values) -> bytes | None:
    return core.ports.read_cascade()


def _write_cascade(core: MachineCore, plan: _Plan, values: Values) -> bytes | None:
    return values["a"] if core.ports.write_cascade(values["a"]) else None


STREAMS: dict[str, Callable[[MachineCore, _Plan, Values], int | bytes | None]] = {
    "stream_read": _read_word,
    "stream_write": _write_word,
    "cascade_read": _read_cascade,
    "cascade_write": _write_cascade,
}
"""Instructions that move a word of a stream or 512 bits of the cascade: these, or None if that is not possible yet."""
