"""The plan that both models of a core follow: what each instruction of a bundle does in which cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from tilewright.errors import Error
from tilewright.isa.bundles import CoreInstruction, bundle_size, decode_bundle
from tilewright.isa.meaning import Definition, Values, definition_of
from tilewright.isa.numbers import Numbers, UnknownMeaningError, Word
from tilewright.isa.registers import CoreRegister
from tilewright.isa.tables import InstructionSet

DELAY_SLOTS = 5
"""Bundles behind a jump that are issued before it shows."""
LOCK_CYCLE = 5
"""In which a lock is asked for or given back: after stores that were issued before it reached memory."""
STREAMS = ("stream_read", "stream_write", "cascade_read", "cascade_write")
"""Meanings of instructions that move a word of a stream or 512 bits of the cascade, before they are issued."""
BANK = 0xFC000
"""Bits of an address that tell its bank: four of 16 KiB in each memory (AM020 ch. 2)."""
HALF_BANK = 0x10
"""The two halves of a bank take turns every 16 bytes; what is no wider needs one of them (AM020 ch. 2)."""
WIDE = 64
"""Units of so many bits and more hold bytes, others whole numbers."""


class ExecutionError(Error):
    """A core that cannot go on: the bundle's address, and why."""

    def __init__(self, address: int, reason: str):
        self.address, self.reason = address, reason
        super().__init__(f"{address:#x}: {reason}")


class OperandRead(NamedTuple):
    """A register that is read, and the operand's name."""

    cycle: int
    name: str
    register: CoreRegister
    bypass: str | None


class OperandWrite(NamedTuple):
    """A register that is written."""

    cycle: int
    register: CoreRegister
    bypass: str | None


class PipelineStep(NamedTuple):
    """A cycle of an instruction: what it reads then, and what follows from it."""

    reads: tuple[OperandRead, ...]
    moves_pointer: bool
    loads: bool
    reads_bank: bool
    """Whether it keeps a bank of memory busy to load, or for the bytes around those that it will store."""
    computes: bool


@dataclass(frozen=True)
class InstructionPlan:
    """An instruction, prepared: what happens in each of its cycles."""

    instruction: CoreInstruction
    key: tuple[str, ...]
    constants: Values
    steps: dict[int, PipelineStep]
    writes: dict[str, OperandWrite]
    store_cycle: int
    definition: Definition = field(repr=False)

    @property
    def last_step(self) -> int:
        return max(self.steps)

    @property
    def pointer(self) -> str:
        """The name of the operand that says where in memory."""
        return "p" if any(it.name == "p" for it in self.steps[1].reads) else "sp"

    @property
    def moves_on(self) -> bool:
        """Whether the pointer is another one afterwards."""
        return "[p]," in self.instruction.row.syntax or self.key == ("padd",)


class BundlePlan(NamedTuple):
    """A bundle with how its instructions run; those that do nothing are left out."""

    size: int
    plans: tuple[InstructionPlan, ...]
    streams: tuple[InstructionPlan, ...]


@lru_cache(1 << 13)
def bundle_plan(code: bytes, address: int, isa: InstructionSet) -> BundlePlan:
    """The plan of a bundle, of which these are the bytes."""
    bundle = decode_bundle(code, 0, isa)
    try:
        plans = tuple(plan for it in bundle.instructions if (plan := _plan(it)) is not None)
    except UnknownMeaningError as error:
        raise ExecutionError(address, str(error)) from None
    return BundlePlan(bundle.size, plans, tuple(it for it in plans if it.key[0] in STREAMS))


def planned_at(program: bytes, address: int, isa: InstructionSet) -> BundlePlan:
    """The plan of the bundle at an address."""
    return bundle_plan(program[address : address + 16], address, isa)


def address_behind_slots(program: bytes, address: int) -> int:
    """Where a call returns to: behind the bundles that are issued before it shows."""
    for _ in range(DELAY_SLOTS + 1):
        address += bundle_size(program[address])
    return address


def _plan(instruction: CoreInstruction) -> InstructionPlan | None:
    """How an instruction runs; None for one that does nothing."""
    row = instruction.row
    if row.meaning == ("nop",):
        return None
    constants = dict[str, Any]()
    reads = list[OperandRead]()
    writes = dict[str, OperandWrite]()
    for it in row.operands:
        value = instruction.operands[it.letter] if it.letter else it.kind
        if isinstance(value, int):
            constants[it.letter] = value
            continue
        assert isinstance(value, CoreRegister)
        name = it.letter or value.name
        if it.read is not None:
            reads.append(OperandRead(it.read, name, value, it.bypass_of(value)))
        if it.written is not None:
            writes[name] = OperandWrite(it.written, value, it.bypass_of(value))
    # masks of exceptions are read after the result is there, which does not depend on them
    first_result = min((it.cycle for it in writes.values() if it.cycle > 1), default=99)
    reads = [it._replace(cycle=min(it.cycle, first_result)) for it in reads]
    is_memory = row.meaning[0] in ("load", "store", "padd", "load4")
    has_pointer = is_memory and row.meaning[0] != "load4"
    load_cycle = row.memory[0] if row.memory and row.meaning[0] in ("load", "load4") else 0
    last = max([it.cycle for it in reads] + [load_cycle, 1])
    # tables for lookups are laid out so that their loads never meet
    bank_cycle = row.memory[0] if row.meaning[0] == "load" or len(row.memory) > 1 else 0
    cycles = sorted(({it.cycle for it in reads} | {1, last, load_cycle, bank_cycle}) - {0})
    steps = {
        cycle: PipelineStep(
            tuple(it for it in reads if it.cycle == cycle),
            has_pointer and cycle == 1,
            cycle == load_cycle,
            cycle == bank_cycle,
            cycle == last,
        )
        for cycle in cycles
    }
    store_cycle = row.memory[-1] if row.memory else 0
    return InstructionPlan(instruction, row.meaning, constants, steps, writes, store_cycle, definition_of(row.meaning))


def lost_cycles(n: Numbers, accesses: Sequence[tuple[Word, int]]) -> Word:
    """Cycles that a core stands still for accesses of one cycle, places and sizes: a bank serves one at a time."""
    lost = None
    for at, (place, size) in enumerate(accesses):
        behind = None
        for other, other_size in accesses[:at]:
            mask = BANK | (HALF_BANK if max(size, other_size) <= HALF_BANK else 0)
            waits = n.choose(((place ^ other) & mask) == 0, 1, 0)
            behind = waits if behind is None else behind + waits
        if behind is not None:
            lost = behind if lost is None else n.choose(behind > lost, behind, lost)
    return 0 if lost is None else lost


def offset_of(values: Values) -> Any:
    """How far from its pointer memory is reached, or how the pointer moves on."""
    for name in ("i", "j", "m"):
        if name in values:
            return values[name]
    return 0
