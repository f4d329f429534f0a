"""Loops that wait for others: those that end when memory says so. A wave in one lets others have a turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr

from tilewright.gpu.emulator.program import Block, Branch, Goto, Instruction, Loop, Program
from tilewright.gpu.emulator.values import Constant, Operand, Register, Space

READS = {"load", "atomic", "cmpxchg"}


@dataclass(eq=False)
class Spin:
    """A loop that waits: where it is, what it reads, and what it compares."""

    where: LocationAttr
    reads: list[Instruction] = field(default_factory=list[Instruction])
    comparison: Instruction | None = None
    """What decides whether lanes go on."""
    carried: list[Register] = field(default_factory=list[Register])
    """What the loop carries round; if none of it changes, a turn brought nothing."""


def find_spins(program: Program) -> dict[Block, Spin]:
    """By the last block of each loop that waits; its way back gives others a turn."""
    definitions = {
        register: instruction
        for block in program.blocks
        for instruction in block.instructions
        for register in instruction.outs
    }
    found = dict[Block, Spin]()
    for loop in program.loops:
        spin = _spin(program, loop, definitions)
        if spin is None:
            continue
        for block in loop.blocks:
            if isinstance(block.end, Goto) and block.end.edge.target is loop.header:
                block.end.turn = True
                found[block] = spin
    return found


def _spin(program: Program, loop: Loop, definitions: dict[Register, Instruction]) -> Spin | None:
    for block in loop.exits():
        if not isinstance(block.end, Branch):
            continue
        spin = Spin(block.end.where, carried=loop.header.parameters)
        sources = _sources(program, loop, block.end.condition, definitions)
        spin.reads = [i for i in sources if i.name in READS and i.extra["space"] is not Space.PRIVATE]
        compared = [i for i in sources if len(i.ins) == 2 and i.name in _COMPARISONS]
        spin.comparison = compared[0] if compared else None
        if spin.reads:
            return spin
    return None


_COMPARISONS = {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}


def _sources(
    program: Program, loop: Loop, operand: Operand, definitions: dict[Register, Instruction]
) -> list[Instruction]:
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
            work += [] if instruction.name in READS else instruction.ins
        elif value in parameters:
            target, number = parameters[value]
            work += [
                edge.arguments[number] for block in loop.blocks for edge in block.end.edges if edge.target is target
            ]
    return found
