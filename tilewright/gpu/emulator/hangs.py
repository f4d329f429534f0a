"""Loops that wait for others, those that end when memory says so, and reports of waits that never end.

A wave in such a loop lets others have a turn. A report says of each wave that waits what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from xdsl.dialects.builtin import LocationAttr

from tilewright.dialects.arith.meaning import PREDICATES
from tilewright.gpu.emulator.program import (
    LDS_WINDOW,
    PRIVATE_WINDOW,
    Block,
    Branch,
    Constant,
    Goto,
    Instruction,
    KernelProgram,
    Loop,
    Operand,
    Register,
    Space,
)
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.ir.run_errors import Hang

if TYPE_CHECKING:
    from tilewright.gpu.emulator.launch import Launch
    from tilewright.gpu.emulator.lockstep import LockstepGroup

SHOWN = 4
"""Waits that a report shows; there are rarely more kinds."""
WORDS = {
    "eq": "is equal to",
    "ne": "is not equal to",
    **dict.fromkeys(("slt", "ult"), "is less than"),
    **dict.fromkeys(("sle", "ule"), "is at most"),
    **dict.fromkeys(("sgt", "ugt"), "is greater than"),
    **dict.fromkeys(("sge", "uge"), "is at least"),
}


def report_hang(launch: Launch, why: str = "", others: Mapping[int, str] | None = None) -> NoReturn:
    """Raise a `Hang` with the waits of this rank."""
    found = list[Diagnostic]()
    for group in [*launch.ready, *launch.held]:
        found.append(_barrier_wait(group) if group.held else _spin_wait(launch, group, why))
        if len(found) >= SHOWN:
            break
    # the rest is said once, of all
    last, where = found[-1], launch.plan.program.where
    rest = len(launch.ready) + len(launch.held) - len(found)
    if rest > 0:
        last.note(where, f"{rest} more groups of waves wait as well")
    if launch.started < launch.blocks:
        rest = launch.blocks - launch.started
        last.note(where, f"{rest} blocks have not begun: {launch.resident_blocks} fit on this GPU at a time")
    for rank, state in sorted((others or {}).items()):
        last.note(where, f"rank {rank} {state}")
    raise Hang.of(found)


def _spin_wait(launch: Launch, group: LockstepGroup, why: str) -> Diagnostic:
    spin = launch.plan.spins.get(group.spinning_at if group.spinning_at is not None else -1)
    lane = int(group.active(group.m).argmax())
    who = group.batch.who(int(group.waves[lane // group.wave_size]))
    if spin is None:
        return Diagnostic(Severity.ERROR, f"{who} does not get on", launch.plan.program.where)
    error = Diagnostic(Severity.ERROR, f"{who} waits in this loop for ever{f': it {why}' if why else ''}", spin.where)
    for read in spin.reads[:SHOWN]:
        error.note(read.where, _what_it_reads(group, read, lane))
    if spin.comparison is not None:
        error.note(spin.comparison.where, _what_it_compares(group, spin.comparison, lane))
    for where, text in _writers(launch, spin):
        error.note(where, text)
    if group.pending:
        text = f"other lanes wait behind the loop for these: lanes of a wave go in step on {launch.target.chip}"
        error.note(spin.where, text)
    return error


def _what_it_reads(group: LockstepGroup, read: Instruction, lane: int) -> str:
    pointer, place = read.ins[-2:] if read.name == "load" else read.ins[1:3]
    base, index = _value(group, pointer, lane), _value(group, place, lane)
    if base is None or index is None:
        return "it reads this"
    address = base + index * read.extra["kind"].bytes
    value = _value(group, read.outs[0], lane)
    return f"it reads {'' if value is None else f'{value} from '}{name_of(group, address)}"


def name_of(group: LockstepGroup, address: int) -> str:
    """Which buffer an address is in, and where."""
    if LDS_WINDOW <= address < PRIVATE_WINDOW:
        return _name_of_shared(group, address - LDS_WINDOW)
    if group.lds.base <= address < group.lds.base + group.lds.size:
        slot, offset = divmod(address - group.lds.base, group.lds_bytes)
        own = bool((group.slots == slot).all())
        return _name_of_shared(group, offset, "its block" if own else group.batch.block(slot))
    range = group.memory.find(address)
    if range is None:
        return f"address {address:#x}"
    # an argument that points into the range says more than the allocation does
    starts = [
        (value, register.name)
        for register, value in group.batch.launch.arguments
        if isinstance(value, int) and range.base <= value <= address and register.name is not None
    ]
    if not starts:
        return f"{range.name}, byte {address - range.base}"
    start, name = max(starts)
    return f"%{name} ({range.name}), byte {address - start}"


def _name_of_shared(group: LockstepGroup, offset: int, block: str = "its block") -> str:
    names = [(start, name) for start, name in group.plan.program.lds_names if start <= offset]
    return f"%{names[-1][1]} of {block}, byte {offset - names[-1][0]}" if names else f"byte {offset} of {block}"


def _what_it_compares(group: LockstepGroup, comparison: Instruction, lane: int) -> str:
    values = [_value(group, operand, lane) for operand in comparison.ins]
    left, right = ("?" if value is None else value for value in values)
    return f"and asks whether {left} {WORDS[comparison.name]} {right}"


def _writers(launch: Launch, spin: Spin) -> Iterator[tuple[LocationAttr, str]]:
    """Who could end the wait: what writes to the same kind of memory."""
    spaces = {read.extra["space"] for read in spin.reads}
    if Space.LDS in spaces:
        spaces.add(Space.CLUSTER)
    kinds = {read.extra["kind"] for read in spin.reads}
    seen = set[LocationAttr]()
    # of all kernels: another rank may be in another one
    for plan in launch.device.all_plans():
        for writer in plan.writers:
            fits = writer.extra["kind"] in kinds and writer.extra["space"] in spaces and writer not in spin.reads
            if fits and writer.where not in seen and len(seen) < SHOWN:
                seen.add(writer.where)
                yield writer.where, f"this could write to it, in kernel @{plan.name}"


def _value(group: LockstepGroup, operand: Operand, lane: int) -> Any:
    if isinstance(operand, Constant):
        return operand.value
    value: Any = group.frame[operand.number]
    if not hasattr(value, "shape") or not value.ndim:
        return value
    return value[..., lane if value.shape[-1] == group.lanes else 0].tolist()


def _barrier_wait(group: LockstepGroup) -> Diagnostic:
    """Lanes at a barrier, and how many others are still awaited there."""
    batch, held = group.batch, group.held[0]
    lane = int(held.mask.argmax())
    barriers = held.barriers
    number = int(barriers.of(group.slots)[lane])
    which = "this barrier" if barriers is batch.barriers else f"the barrier of its {barriers.name}"
    text = f"{batch.who(int(group.waves[lane // group.wave_size]))} waits at {which} for ever"
    missing = int(barriers.alive[number] - barriers.arrived[number])
    away = f"{missing} of {barriers.threads} threads of its {barriers.name} do not come"
    return Diagnostic(Severity.ERROR, text, held.where).note(held.where, away)


READS = {"load", "atomic", "cmpxchg"}


@dataclass(eq=False)
class Spin:
    """A loop that waits: where it is, what it reads, and what it compares."""

    where: LocationAttr
    reads: list[Instruction]
    comparison: Instruction | None
    """What decides whether lanes go on."""
    carried: list[Register]
    """What the loop carries round; if none of it changes, a turn brought nothing."""


def find_spins(program: KernelProgram) -> dict[Block, Spin]:
    """By the last block of each loop that waits; its way back gives others a turn."""
    definitions = {
        register: instruction
        for block in program.blocks
        for instruction in block.instructions
        for register in instruction.outs
    }
    found = dict[Block, Spin]()
    for loop in program.loops:
        if (spin := _spin(loop, definitions)) is not None:
            for block in loop.blocks:
                if isinstance(block.end, Goto) and block.end.edge.target is loop.header:
                    block.end.turn = True
                    found[block] = spin
    return found


def _spin(loop: Loop, definitions: dict[Register, Instruction]) -> Spin | None:
    for block in loop.exits():
        if isinstance(block.end, Branch):
            sources = _sources(loop, block.end.condition, definitions)
            reads = [i for i in sources if i.name in READS and i.extra["space"] is not Space.PRIVATE]
            compared = [i for i in sources if len(i.ins) == 2 and i.name in PREDICATES]
            # a loop that no memory ends computes: others get no turn before it is done
            if reads:
                return Spin(block.end.where, reads, compared[0] if compared else None, loop.header.parameters)
    return None


def _sources(loop: Loop, operand: Operand, definitions: dict[Register, Instruction]) -> list[Instruction]:
    """Instructions inside of a loop that a value comes from."""
    inside = {instruction for block in loop.blocks for instruction in block.instructions}
    parameters = {
        register: (block, number) for block in loop.blocks for number, register in enumerate(block.parameters)
    }
    seen, work, found = set[Register](), [operand], list[Instruction]()
    while work:
        value = work.pop(0)
        if isinstance(value, Constant) or value in seen:
            continue
        seen.add(value)
        instruction = definitions.get(value)
        if instruction is not None and instruction in inside:
            found.append(instruction)
            # whatever address it is read from, memory decides
            work += [] if instruction.name in READS else instruction.ins
        elif value in parameters:
            target, number = parameters[value]
            work += [
                edge.arguments[number] for block in loop.blocks for edge in block.end.edges if edge.target is target
            ]
    return found
