"""Python code for the blocks of a program: one function per block, on NumPy arrays over lanes.

A block's function gets the frame `f` (registers that live longer than a block), the mask `m` of active lanes (None for
all), their number `n`, and the group `g`. It returns the number of the next block, or what a parting of lanes needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tilewright.gpu.emulator import arithmetic, lane_operations
from tilewright.gpu.emulator.order import definitions, is_uniform, uses
from tilewright.gpu.emulator.program import (
    Block,
    Branch,
    Edge,
    Goto,
    Instruction,
    KernelProgram,
    Kind,
    Operand,
    Register,
)
from tilewright.gpu.emulator.write_lanes import LANES, VECTORS
from tilewright.gpu.emulator.write_memory import MEMORY
from tilewright.gpu.emulator.write_numbers import NUMBERS

TURN = -1_000_000
"""Added to the number of the next block: others have a turn first."""
BARRIER = -2_000_000
EXIT = -3_000_000


class Writer:
    """Text of all blocks, and the objects that it names."""

    def __init__(self, program: KernelProgram, careful: bool):
        self.program, self.careful = program, careful
        self.names: dict[str, Any] = {
            "np": np,
            **{name: getattr(arithmetic, name) for name in _FUNCTIONS},
            **{function.__name__: function for function in lane_operations.FUNCTIONS},
            **{f"I{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
            **{f"U{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
        }
        self.sites: list[Instruction] = []
        self.framed = _framed(program)
        self.lines: list[str] = []
        self.local: set[Register] = set()

    def source(self) -> str:
        return "\n".join(line for block in self.program.blocks for line in self.block(block))

    def block(self, block: Block) -> list[str]:
        self.lines = [f"def b{block.number}(f, m, n, g):"]
        self.local = set()
        for instruction in block.instructions:
            self.instruction(instruction)
        self.end(block)
        return self.lines

    def line(self, text: str) -> None:
        self.lines.append("    " + text)

    # Operands

    def is_array(self, operand: Operand) -> bool:
        return bool(operand.kind.shape) or not is_uniform(operand)

    def makes_array(self, instruction: Instruction) -> bool:
        """Whether the expression of a result is an array; a register that must be one may get a number to spread."""
        return any(map(self.is_array, instruction.ins)) or bool(instruction.outs[0].kind.shape)

    def text(self, operand: Operand) -> str:
        if isinstance(operand, Register):
            if operand not in self.local:
                self.line(f"r{operand.number} = f[{operand.number}]")
                self.local.add(operand)
            return f"r{operand.number}"
        if operand.kind.is_float or operand.kind.shape:
            return self.typed(operand)
        return f"({operand.value})" if operand.value < 0 else repr(operand.value)

    def typed(self, operand: Operand) -> str:
        """A value with its NumPy type."""
        if isinstance(operand, Register):
            text = self.text(operand)
            return text if self.is_array(operand) else f"{self.dtype(operand.kind)}.type({text})"
        if operand.kind.shape:
            return self.name(f"v{id(operand.value)}", operand.value)
        value = operand.kind.dtype.type(operand.value)
        return self.name(f"k_{operand.kind.code}_{value.tobytes().hex()}", value)

    def spread(self, operand: Operand) -> str:
        """A value as an array over lanes."""
        if operand.kind.shape and is_uniform(operand):
            return f"np.broadcast_to({self.text(operand)}, {(*operand.kind.shape,)} + (g.lanes,))"
        if self.is_array(operand):
            return self.text(operand)
        return f"np.full(g.lanes, {self.text(operand)}, {self.dtype(operand.kind)})"

    def dtype(self, kind: Kind) -> str:
        return self.name(f"t_{kind.code}", kind.dtype)

    def name(self, name: str, value: Any) -> str:
        self.names[name] = value
        return name

    def site(self, instruction: Instruction) -> int:
        self.sites.append(instruction)
        return len(self.sites) - 1

    # Instructions

    def instruction(self, instruction: Instruction) -> None:
        if instruction.name in MEMORY:
            MEMORY[instruction.name](self, instruction)
        elif instruction.name in LANES:
            LANES[instruction.name](self, instruction)
        else:
            text = (NUMBERS.get(instruction.name) or VECTORS[instruction.name])(self, instruction)
            self.assign(instruction.outs[0], text, self.makes_array(instruction))

    def assign(self, register: Register, text: str, is_array: bool) -> None:
        """Set a register in the lanes that are active."""
        if not register.uniform and not is_array:
            text = f"np.full(g.lanes, {text}, {self.dtype(register.kind)})"
        elif not register.uniform and register.kind.shape:
            text = f"np.broadcast_to({text}, {(*register.kind.shape,)} + (g.lanes,))"
        name = f"r{register.number}"
        if register.merges and register in self.framed:
            self.line(f"{name} = {text}")
            self.line(
                f"if m is not None and f[{register.number}] is not None: "
                f"{name} = np.where(m, {name}, f[{register.number}])"
            )
        else:
            self.line(f"{name} = {text}")
        self.local.add(register)
        if register in self.framed:
            self.line(f"f[{register.number}] = {name}")

    # Ways out of a block

    def end(self, block: Block) -> None:
        match block.end:
            case Goto() as end:
                self.moves(end.edge, "m")
                number = end.edge.target.number
                if end.barrier is not None:
                    number += BARRIER
                elif end.turn:
                    number += TURN
                self.line(f"return {number}")
            case Branch() as end if is_uniform(end.condition):
                self.uniform_branch(end)
            case Branch() as end:
                self.parting(end)
            case _:
                self.line(f"return {EXIT}")

    def uniform_branch(self, end: Branch) -> None:
        condition = self.text(end.condition)
        self.load([argument for edge in end.edges for argument in edge.arguments])
        self.line(f"if {condition}:")
        self.indented(lambda: self.moves(end.yes, "m"))
        self.line(f"    return {end.yes.target.number}")
        self.moves(end.no, "m")
        self.line(f"return {end.no.target.number}")

    def parting(self, end: Branch) -> None:
        """Lanes that may go two ways."""
        yes, no = end.yes.target.number, end.no.target.number
        self.load([argument for edge in end.edges for argument in edge.arguments])
        self.line(f"c = {self.text(end.condition)}")
        self.line("y = c if m is None else c & m")
        self.line("k = int(np.count_nonzero(y))")
        self.line("if k == n:")
        self.indented(lambda: self.moves(end.yes, "m"))
        self.line(f"    return {yes}")
        self.line("if k == 0:")
        self.indented(lambda: self.moves(end.no, "m"))
        self.line(f"    return {no}")
        self.line("o = ~c if m is None else m & ~c")
        self.moves(end.yes, "y")
        self.moves(end.no, "o")
        self.line(f"return {yes}, y, k, {no}, o, n - k")

    def indented(self, write: Any) -> None:
        before = len(self.lines)
        write()
        self.lines[before:] = ["    " + line for line in self.lines[before:]]

    def load(self, operands: Iterable[Operand]) -> None:
        for operand in operands:
            self.text(operand)

    def moves(self, edge: Edge, mask: str) -> None:
        """Parameters of the next block, all at once."""
        pairs = [
            (register, argument)
            for register, argument in zip(edge.target.parameters, edge.arguments, strict=True)
            if register is not argument
        ]
        texts = [self.moved(register, argument, mask) for register, argument in pairs]
        for number, text in enumerate(texts):
            self.line(f"p{number} = {text}")
        for number, (register, _) in enumerate(pairs):
            self.line(f"f[{register.number}] = p{number}")

    def moved(self, register: Register, argument: Operand, mask: str) -> str:
        if register.uniform:
            return self.typed(argument) if register.kind.is_float else self.text(argument)
        text, old = self.spread(argument), f"f[{register.number}]"
        return f"{text} if {mask} is None or {old} is None else np.where({mask}, {text}, {old})"


_FUNCTIONS = (
    *("wrap8", "wrap16", "wrap32", "wrap64", "divs", "rems", "floordivs", "ceildivs", "modulo", "divu", "remu"),
    *("ceildivu", "mulhigh", "to_integer", "bitcast", "call_math", "place", "shl", "shrs", "shru"),
)


def _framed(program: KernelProgram) -> set[Register]:
    """Registers that are used outside of the block that they are set in, and all that come in from outside."""
    home = {register: block for block in program.blocks for register in (r for i in block.instructions for r in i.outs)}
    framed = {register for block in program.blocks for register in block.parameters}
    for block in program.blocks:
        for operand in uses(block):
            if isinstance(operand, Register) and home.get(operand) is not block:
                framed.add(operand)
    framed |= program.kept
    return framed | {register for block in program.blocks for register in definitions(block) if register.merges}
