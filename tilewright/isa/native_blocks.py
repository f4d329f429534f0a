"""Blocks of bundles as LLVM instructions, with the pipeline as it is.

What is under way when a block begins is known when it is translated: a *point* is an address with the cycles that each
instruction, each result and each store has still to go. So a block is translated for each point that a program comes
to, and values that are not due yet lie in the state between two blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast
from zlib import crc32

from llvmlite import ir

from tilewright.isa.bundles import DecodeError
from tilewright.isa.meaning import ADDRESS, JUMPS, Results, access_bytes, next_place
from tilewright.isa.native_numbers import I1, I8, I64, Native, NativeNumbers, bytes_type, constant
from tilewright.isa.native_state import STREAM_BYTES, WORD_BYTES, Leave, StateLayout
from tilewright.isa.numbers import signed
from tilewright.isa.product_meaning import LOOKUP_BYTES, LOOKUPS, lookup_addresses
from tilewright.isa.registers import CoreRegister
from tilewright.isa.schedule import (
    DELAY_SLOTS,
    LOCK_CYCLE,
    STREAMS,
    BundlePlan,
    ExecutionError,
    InstructionPlan,
    PipelineStep,
    address_behind_slots,
    lost_cycles,
    offset_of,
    planned_at,
)
from tilewright.isa.tables import InstructionSet

COUNT = (1 << 32) - 1
PROGRAM_BYTES = 1 << 14


class PendingJump(NamedTuple):
    """A jump in whose slots the program is."""

    cycles: int
    target: int | None
    """None if only the running program knows."""
    is_conditional: bool


class Point(NamedTuple):
    """A place in a program with what is under way there; all numbers of cycles are those still to go."""

    pc: int
    flights: tuple[tuple[int, int, int], ...] = ()
    """Address of the bundle, number in it, cycles that are over."""
    commits: tuple[tuple[int, str, str | None], ...] = ()
    """Cycles, unit of storage, bypass."""
    stores: tuple[tuple[int, int], ...] = ()
    """Cycles, bytes."""
    locks: tuple[tuple[int, bool], ...] = ()
    """Cycles, whether it is acquired."""
    jump: PendingJump | None = None
    ends: bool = False
    has_moved: bool = False
    """The words of streams of the next bundle lie in the state."""


class Successors(Protocol):
    """What a block asks of the native code around it."""

    isa: InstructionSet
    program: bytes
    loop_ends: frozenset[int]
    layout: StateLayout
    longest: int

    def label(self, point: Point) -> ir.Block:
        """Where the block of a point begins."""
        ...

    def row(self, point: Point) -> int:
        """The row of the table of targets for all that is under way at a point."""
        ...

    def dispatch(self) -> ir.Block:
        """Goes to the block whose number is in `next`."""
        ...

    def number(self, point: Point) -> int:
        """The number of a block."""
        ...

    def memory_access(self, size: int, is_store: bool) -> ir.Function: ...

    def evaluate(self, block: BlockTranslator, flight: NativeFlight) -> Results:
        """What an instruction gives."""
        ...


@dataclass
class NativeFlight:
    """An instruction under way."""

    plan: InstructionPlan
    origin: tuple[int, int]
    age: int
    values: dict[str, Any]
    place: Any = 0


@dataclass
class _Due:
    cycles: int
    values: tuple[Any, ...]


@dataclass
class _Commit(_Due):
    unit: str
    bypass: str | None


@dataclass
class _Lock(_Due):
    acquires: bool


@dataclass
class _Jump:
    cycles: int
    target: Any
    taken: Any
    """A flag, or True."""


class BlockTranslator:
    """Translates the block of one point."""

    def __init__(self, around: Successors, builder: ir.IRBuilder, state: ir.Value, point: Point):
        self.around, self.builder, self.state, self.point = around, builder, state, point
        self.layout, self.program, self.isa = around.layout, around.program, around.isa
        self.numbers = NativeNumbers(builder, self._refuse)
        self.pc = point.pc
        self.length = 0
        self.lost: Any = 0
        """Cycles that accesses to one bank of memory cost."""
        self.may_fault = False
        self.ends = point.ends
        self.units = dict[str, Any]()
        self.dirty = set[str]()
        self.flights = list[NativeFlight]()
        self.commits = list[_Commit]()
        self.stores = list[_Due]()
        self.locks = list[_Lock]()
        self.jump: _Jump | None = None
        self.sets_loop_end = False
        """To what blocks do not end at yet, as far as is known."""
        self.acting = (point.pc, 0)
        """The instruction that is computed, for refusals."""

    # ---- the state ----

    def place(self, offset: int) -> ir.Value:
        return self.builder.gep(self.state, [constant(I64, offset)], source_etype=I8)

    def field(self, name: str) -> ir.Value:
        return self.builder.load(self.place(self.layout.fields[name]), typ=I64)

    def set_field(self, name: str, value: Any) -> None:
        self.builder.store(self._value(value), self.place(self.layout.fields[name]))

    def _added(self, name: str, value: Any) -> ir.Value:
        return self.builder.add(self.field(name), self._value(value))

    def _value(self, value: Any) -> ir.Value:
        if isinstance(value, Native):
            return value.value
        return value if isinstance(value, ir.Value) else constant(I64, value)

    def _load(self, offset: int, size: int) -> Native:
        """Data of a size, or a word for 0."""
        if size:
            return Native(self.builder, self.builder.load(self.place(offset), typ=bytes_type(size), align=8), False)
        return Native(self.builder, self.builder.load(self.place(offset), typ=I64))

    def _store(self, offset: int, value: Any) -> None:
        made = self._value(value)
        if made.type != I64 and made.type.__class__ is ir.IntType:
            made = self.builder.zext(made, I64)
        self.builder.store(made, self.place(offset), align=8)

    def unit(self, name: str) -> Any:
        if name not in self.units:
            size = self.layout.size(name) if self.layout.is_data(name) else 0
            self.units[name] = self._load(self.layout.units[name], size)
        return self.units[name]

    def set_unit(self, name: str, value: Any) -> None:
        self.units[name] = value
        self.dirty.add(name)

    def _refuse(self, what: str, named: ir.Value) -> None:
        build_refusal(self.builder, self.place, self.layout, what, named, instruction_number(*self.acting))
        self.may_fault = True

    def _flag(self, flag: Any) -> Native:
        return flag if isinstance(flag, Native) else Native(self.builder, constant(I1, int(flag)), False)

    # ---- what is under way, from block to block ----

    def _slots(self) -> Callable[[int], int]:
        """Gives a place in the state for each value, in the order in which they are asked for."""
        at = [self.layout.under_way]

        def take(size: int) -> int:
            found = at[0]
            at[0] += -(-max(size, WORD_BYTES) // WORD_BYTES) * WORD_BYTES
            assert at[0] <= self.layout.size_bytes
            return found

        return take

    def _register_kinds(self, register: CoreRegister) -> list[int]:
        """Sizes of the values that a register is read as: 0 for words."""
        size = self.layout.data_bytes(register)
        return [size] if size else [0] * (1 if register.file == "l" else len(register.units))

    def _captured(self, plan: InstructionPlan, age: int) -> list[tuple[str, list[int], bool]]:
        """What an instruction has by then: names with the sizes of their values, and whether these are a tuple."""
        found = list[tuple[str, list[int], bool]]()
        if plan.key[0] in STREAMS:
            found += [("word", [STREAM_BYTES if plan.key[0] == "cascade_read" else 0], False), ("moved", [0], False)]
        for cycle, step in sorted(plan.steps.items()):
            if cycle <= age:
                for it in step.reads:
                    kinds = self._register_kinds(it.register)
                    found.append((it.name, kinds, len(kinds) > 1))
                if step.loads:
                    found.append(("memory", [_loaded_bytes(plan)], False))
        return found

    def _begin(self) -> None:
        """Take what is under way from the state."""
        take = self._slots()
        for address, number, age in self.point.flights:
            plan = planned_at(self.program, address, self.isa).plans[number]
            flight = NativeFlight(plan, (address, number), age, dict(plan.constants))
            for name, sizes, is_tuple in self._captured(plan, age):
                values = [self._load(take(size), size) for size in sizes]
                flight.values[name] = tuple(values) if is_tuple else values[0]
            if plan.steps[1].moves_pointer:
                flight.place = self._load(take(0), 0)
            self.flights.append(flight)
        for cycles, unit, bypass in self.point.commits:
            size = self.layout.size(unit) if self.layout.is_data(unit) else 0
            self.commits.append(_Commit(cycles, (self._load(take(size), size),), unit, bypass))
        for cycles, size in self.point.stores:
            self.stores.append(_Due(cycles, (self._load(take(0), 0), self._load(take(size), size))))
        for cycles, acquires in self.point.locks:
            values = tuple(self._load(take(0), 0) for _ in range(3))
            self.locks.append(_Lock(cycles, values, acquires))
        if self.point.jump is not None:
            jump = self.point.jump
            target = self._load(take(0), 0) if jump.target is None else jump.target
            taken = self._load(take(0), 0) != 0 if jump.is_conditional else True
            self.jump = _Jump(jump.cycles, target, taken)

    def _flush(self) -> Point:
        """Put registers and what is under way into the state; the point that the program has come to."""
        for name in sorted(self.dirty):
            self._store(self.layout.units[name], self.units[name])
        self.dirty.clear()
        take = self._slots()
        for flight in self.flights:
            for name, sizes, is_tuple in self._captured(flight.plan, flight.age):
                values = flight.values[name] if is_tuple else (flight.values[name],)
                for size, value in zip(sizes, values, strict=True):
                    self._store(take(size), value)
            if flight.plan.steps[1].moves_pointer:
                self._store(take(0), flight.place)
        for it in self.commits:
            self._store(take(self.layout.size(it.unit)), it.values[0])
        for store in self.stores:
            self._store(take(0), store.values[0])
            self._store(take(store.values[1].count), store.values[1])
        for lock in self.locks:
            for value in lock.values:
                self._store(take(0), value)
        jump = None
        if self.jump is not None:
            is_known = isinstance(self.jump.target, int)
            if not is_known:
                self._store(take(0), self.jump.target)
            if self.jump.taken is not True:
                self._store(take(0), self.jump.taken)
            target = self.jump.target if is_known else None
            jump = PendingJump(self.jump.cycles, target, self.jump.taken is not True)
        return Point(
            self.pc,
            tuple((*it.origin, it.age) for it in self.flights),
            tuple((it.cycles, it.unit, it.bypass) for it in self.commits),
            tuple((it.cycles, it.values[1].count) for it in self.stores),
            tuple((it.cycles, it.acquires) for it in self.locks),
            jump,
            self.ends,
        )

    # ---- a block ----

    def translate(self) -> None:
        """Build the block where the builder stands, with its end."""
        here = self.around.number(self.point)
        with self.builder.if_then(
            self.builder.icmp_signed(">=", self.field("cycle"), self.field("limit")), likely=False
        ):
            self._leave(Leave.TIME, here)
        self._begin()
        while not self._step():
            pass

    def _step(self) -> bool:
        """A cycle; True if the block ends with it or before it."""
        due = next((it for it in self.locks if it.cycles == 1), None)
        if due is not None:
            return self._end_at_lock(due)
        if self.ends:
            self._cycle(None)
            if not (self.flights or self.commits or self.stores or self.locks):
                self._finish(lambda point: self._leave(Leave.DONE, self.around.number(point)))
                return True
            return self.length >= self.around.longest and self._end(lambda point: self._go_to(point))
        try:
            bundle = planned_at(self.program, self.pc, self.isa)
            if self.jump is not None and any(it.key[0] in JUMPS for it in bundle.plans):
                raise ExecutionError(self.pc, "a jump in the slots behind another")
        except (ExecutionError, DecodeError, IndexError):
            return self._end(self._end_refused)
        if bundle.streams and not (self.point.has_moved and self.length == 0):
            return self._end(self._end_at_stream)
        at = self.pc
        loops = None
        if at in self.around.loop_ends:
            loops = self._flag((self.unit("le") == at) & (self.unit("lc") > 0))
        self._cycle(bundle)
        self.pc = at + bundle.size
        if self.jump is not None and self.jump.cycles == 0:
            return self._end_at_jump(loops)
        if loops is not None:
            return self._end_at_loop(loops)
        return (self.length >= self.around.longest or self.sets_loop_end) and self._end(self._go_to)

    def _finish(self, leave: Callable[[Point], None]) -> None:
        """Write everything back, then go on as `leave` builds it."""
        if self.length:
            self.set_field("cycle", self._added("cycle", self.length))
        if isinstance(self.lost, Native) or self.lost:
            self.set_field("conflicts", self._added("conflicts", self.lost))
        point = self._flush()
        if self.may_fault:
            with self.builder.if_then(
                self.builder.icmp_unsigned("!=", self.field("fault"), constant(I64, 0)), likely=False
            ):
                self.builder.ret(constant(I64, Leave.FAULT))
        leave(point)

    def _end(self, leave: Callable[[Point], None]) -> bool:
        self._finish(leave)
        return True

    def _leave(self, why: Leave, block: int) -> None:
        self.set_field("next", block)
        self.builder.ret(constant(I64, why))

    def _go_to(self, point: Point) -> None:
        if self.sets_loop_end:
            self._leave(Leave.LOOP_END, self.around.number(point))
            return
        self.builder.branch(self.around.label(point))

    def _go_to_address(self, point: Point, target: Any) -> None:
        """Go where only the running program knows."""
        if isinstance(target, int):
            self._go_to(point._replace(pc=target))
            return
        row = self.around.row(point)
        builder, layout = self.builder, self.layout
        known, unknown = builder.append_basic_block("known"), builder.append_basic_block("unknown")
        self.set_field("a", target)
        self.set_field("b", row)
        at = self._value((target >> 1) & (PROGRAM_BYTES // 2 - 1))
        table = builder.inttoptr(self.field("targets"), ir.PointerType())
        index = builder.add(constant(I64, row * PROGRAM_BYTES // 2), at)
        found = builder.load(builder.gep(table, [index], source_etype=ir.IntType(32)), typ=ir.IntType(32))
        fits = self._value((target < PROGRAM_BYTES) & ((target & 1) == 0))
        is_known = builder.and_(builder.icmp_unsigned("!=", found, ir.Constant(ir.IntType(32), 0)), fits)
        builder.cbranch(is_known, known, unknown)
        builder.position_at_end(unknown)
        builder.ret(constant(I64, Leave.TARGET))
        builder.position_at_end(known)
        builder.store(builder.zext(found, I64), self.place(layout.fields["next"]))
        builder.branch(self.around.dispatch())

    def _end_refused(self, point: Point) -> None:
        self.set_field("a", point.pc)
        self._leave(Leave.REFUSED, self.around.number(point))

    def _end_at_stream(self, point: Point) -> None:
        self._leave(Leave.STREAM, self._entered(point._replace(has_moved=True)))

    def _entered(self, point: Point) -> int:
        """The number of the block that Python will go on with."""
        self.around.label(point)
        return self.around.number(point)

    def _end_at_lock(self, due: _Lock) -> bool:
        self.locks.remove(due)
        number, value, wants = due.values

        def leave(point: Point) -> None:
            self.set_field("a", int(due.acquires))
            self.set_field("b", number)
            self.set_field("c", signed(value))
            if isinstance(wants, Native):
                with self.builder.if_then(self._value(wants == 0)):
                    self._go_to(point)
            self._leave(Leave.LOCK, self._entered(point))

        return self._end(leave)

    def _end_at_jump(self, loops: Any) -> bool:
        jump = self.jump
        assert jump is not None
        self.jump = None
        if loops is not None:
            # the loop counts only if the jump is not taken
            loops = loops & ~jump.taken if jump.taken is not True else None
        again = None if loops is None else self._count_loop(loops)

        def leave(point: Point) -> None:
            if jump.taken is not True:
                taken, other = (self.builder.append_basic_block(name) for name in ("taken", "other"))
                self.builder.cbranch(jump.taken.value, taken, other)
                self.builder.position_at_end(other)
                self._go_on(point, again)
                self.builder.position_at_end(taken)
            self._go_to_address(point, jump.target)

        return self._end(leave)

    def _end_at_loop(self, loops: Any) -> bool:
        again = self._count_loop(loops)
        return self._end(lambda point: self._go_on(point, again))

    def _count_loop(self, loops: Any) -> Any:
        """Count a loop down; whether it goes on."""
        left = (self.unit("lc") - 1) & COUNT
        again = loops & (left != 0)
        self.set_unit("lc", self.numbers.choose(loops, left, self.unit("lc")))
        return again

    def _go_on(self, point: Point, again: Any) -> None:
        """To the next bundle, or to the first of a loop."""
        if again is None:
            self._go_to(point)
            return
        back, on = (self.builder.append_basic_block(name) for name in ("back", "on"))
        self.builder.cbranch(again.value, back, on)
        self.builder.position_at_end(on)
        self._go_to(point)
        self.builder.position_at_end(back)
        self._go_to_address(point, self.unit("ls"))

    # ---- a cycle ----

    def _cycle(self, bundle: BundlePlan | None) -> None:
        if bundle is not None:
            self._issue(bundle)
        newest = [it for it in self.commits if it.cycles == 1]
        accesses = list[tuple[Any, int]]()
        acting = list[tuple[NativeFlight, PipelineStep]]()
        for flight in self.flights:
            flight.age += 1
            step = flight.plan.steps.get(flight.age)
            if step is not None:
                acting.append((flight, step))
                self._read(flight, step, newest)
                if step.reads_bank:
                    size = access_bytes(flight.plan.key)
                    accesses.append((flight.place & -size, size))
        for flight, step in acting:
            if step.computes:
                self._compute(flight)
        self.flights = [it for it in self.flights if it.age < it.plan.last_step]
        for commit in [it for it in self.commits if it.cycles == 1]:
            self.set_unit(commit.unit, commit.values[0])
            if commit.unit == "le":
                end = commit.values[0]
                self.sets_loop_end |= not isinstance(end, int) or end not in self.around.loop_ends
        for store in [it for it in self.stores if it.cycles == 1]:
            self._write_memory(*store.values)
            accesses.append((store.values[0], store.values[1].count))
        self.lost = lost_cycles(self.numbers, accesses) + self.lost
        for pending in (self.commits, self.stores, self.locks):
            for it in pending:
                it.cycles -= 1
        self.commits = [it for it in self.commits if it.cycles > 0]
        self.stores = [it for it in self.stores if it.cycles > 0]
        if self.jump is not None:
            self.jump.cycles -= 1
        self.length += 1

    def _issue(self, bundle: BundlePlan) -> None:
        for number, plan in enumerate(bundle.plans):
            flight = NativeFlight(plan, (self.pc, number), 0, dict(plan.constants))
            if plan in bundle.streams:
                place = bundle.streams.index(plan)
                size = STREAM_BYTES if plan.key[0] == "cascade_read" else 0
                flight.values["word"] = self._load(self.layout.streams + STREAM_BYTES * place, size)
                flight.values["moved"] = self._load(self.layout.moved + WORD_BYTES * place, 0)
            self.flights.append(flight)

    def _read(self, flight: NativeFlight, step: PipelineStep, newest: list[_Commit]) -> None:
        for _, name, register, bypass in step.reads:
            newer = {it.unit: it.values[0] for it in newest if it.bypass == bypass} if bypass else {}
            flight.values[name] = self._joined(register, newer)
        if step.moves_pointer:
            self._move_pointer(flight)
        if step.loads:
            flight.values["memory"] = self._read_memory(flight)

    def _joined(self, register: CoreRegister, newer: dict[str, Any]) -> Any:
        values = [newer[unit] if unit in newer else self.unit(unit) for unit in register.units]
        if len(values) == 1:
            return values[0]
        if self.layout.is_data(register.units[0]):
            return self.numbers.join(*values)
        return values[0] | values[1] << 32 if register.file == "l" else tuple(values)

    def _commit(self, flight: NativeFlight, name: str, value: Any) -> None:
        write = flight.plan.writes.get(name)
        cycles = 0 if write is None else write.cycle - flight.age + 1
        if write is None or cycles < 1:
            return
        for unit, part in self._parts(write.register, value):
            self.commits.append(_Commit(cycles, (part,), unit, write.bypass))

    def _parts(self, register: CoreRegister, value: Any) -> list[tuple[str, Any]]:
        """What each unit of a register gets of a value; of bytes that are too many the first."""
        if self.layout.is_data(register.units[0]):
            n, found, at = self.numbers, list[tuple[str, Any]](), 0
            wanted = self.layout.data_bytes(register)
            if value.count < wanted:
                value = n.join(value, n.zeros(wanted - value.count))
            for unit in register.units:
                found.append((unit, n.part(value, at, self.layout.size(unit))))
                at += self.layout.size(unit)
            return found
        if register.file == "l":
            low, high = register.units
            return [(low, value & 0xFFFFFFFF), (high, (value >> 32) & 0xFFFFFFFF)]
        (unit,) = register.units
        return [(unit, value & ((1 << self.layout.widths[unit]) - 1))]

    def _compute(self, flight: NativeFlight) -> None:
        plan = flight.plan
        self.acting = flight.origin
        for name, value in self.around.evaluate(self, flight).items():
            if name == "memory":
                place = flight.place & -value.count
                self.stores.append(_Due(plan.store_cycle - flight.age + 1, (place, value)))
            else:
                self._commit(flight, name, value)
        kind, *condition = plan.key
        if kind in JUMPS:
            self._begin_jump(flight, kind)
        elif kind in ("acq", "rel"):
            wants = flight.values["r26"] if condition else 1
            values = (flight.values["n"], flight.values["b"], wants)
            self.locks.append(_Lock(LOCK_CYCLE - flight.age + 1, values, kind == "acq"))
        elif kind == "event":
            self._raise_event(flight.values["i"])
        elif kind == "done":
            self.ends = True

    def _begin_jump(self, flight: NativeFlight, kind: str) -> None:
        if kind == "jl":
            self._commit(flight, "lr", address_behind_slots(self.program, flight.origin[0]))
        target = flight.values["lr" if kind == "ret" else "t"]
        taken = JUMPS[kind](flight.values)
        self.jump = _Jump(DELAY_SLOTS + 1, target, taken if taken is True else self._flag(taken))

    # ---- memory and events ----

    def _move_pointer(self, flight: NativeFlight) -> None:
        values, name = flight.values, flight.plan.pointer
        pointer, step = values[name], offset_of(values)
        if not flight.plan.moves_on:
            flight.place = (pointer + step) & ADDRESS
            return
        flight.place = pointer
        if isinstance(step, tuple):
            step, counts = next_place(self.numbers, cast("tuple[Any, ...]", step))
            modifier = flight.plan.writes["m"].register
            self.commits += [_Commit(1, (count,), modifier.units[at], None) for at, count in counts.items()]
        moved = flight.plan.writes[name].register.name
        self.commits.append(_Commit(1, ((pointer + step) & ADDRESS,), moved, None))

    def _read_memory(self, flight: NativeFlight) -> Native:
        key = flight.plan.key
        if key[0] == "load4":
            places = lookup_addresses(self.numbers, int(key[1]), key[2], flight.values["a"])
            size = int(key[1]) // 8
            entries = [self._memory_at(place & ADDRESS, size) for place in places]
            if size < LOOKUP_BYTES:
                entries = [self.numbers.join(entry, self.numbers.zeros(LOOKUP_BYTES - size)) for entry in entries]
            return self.numbers.join(*entries)
        size = access_bytes(key)
        # the lowest bits of an address count for nothing
        return self._memory_at(flight.place & -size, size)

    def _memory_at(self, place: Any, size: int) -> Native:
        self.may_fault = True
        made = self.builder.call(self.around.memory_access(size, False), [self.state, self._value(place)])
        return Native(self.builder, made, False)

    def _write_memory(self, place: Any, data: Native) -> None:
        self.may_fault = True
        access = self.around.memory_access(data.count, True)
        self.builder.call(access, [self.state, self._value(place), data.value])

    def _raise_event(self, number: int) -> None:
        self.may_fault = True
        type = ir.PointerType(ir.FunctionType(ir.VoidType(), [I64, I64]))
        elapsed = self.builder.add(self._added("cycle", self.length), self._added("conflicts", self.lost))
        self.builder.call(self.builder.inttoptr(self.field("event"), type), [constant(I64, number), elapsed])


def _loaded_bytes(plan: InstructionPlan) -> int:
    return LOOKUPS * LOOKUP_BYTES if plan.key[0] == "load4" else access_bytes(plan.key)


REFUSALS = dict[int, str]()
"""What native code can refuse, by the numbers that it leaves in the state."""


NUMBER_SHIFT = 32


def instruction_number(address: int, number: int) -> ir.Value:
    """An instruction of a bundle, as refusals name it."""
    return constant(I64, address | number << NUMBER_SHIFT)


def build_refusal(
    builder: ir.IRBuilder,
    place: Callable[[int], ir.Value],
    layout: StateLayout,
    what: str,
    named: ir.Value,
    instruction: ir.Value,
) -> None:
    """Note in the state that something is not known; the first of a block counts."""
    number = crc32(what.encode())
    REFUSALS[number] = what
    fault = place(layout.fields["fault"])
    is_first = builder.icmp_unsigned("==", builder.load(fault, typ=I64), constant(I64, 0))
    fields = {"fault": constant(I64, 1), "refused": constant(I64, number), "refused_named": named}
    with builder.if_then(is_first):
        for field, value in (fields | {"refused_at": instruction}).items():
            builder.store(value, place(layout.fields[field]))
