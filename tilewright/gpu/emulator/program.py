"""A kernel as blocks of simple instructions: what all control flow becomes before code is made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.gpu.emulator.values import Kind, Operand, Register


@dataclass(eq=False)
class Instruction:
    """`outs` = `name` of `ins`; what else it needs to know is in `extra`."""

    name: str
    ins: list[Operand]
    outs: list[Register]
    where: LocationAttr
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(eq=False)
class Edge:
    """Where lanes go, and what they take there."""

    target: Block
    arguments: list[Operand] = field(default_factory=list[Operand])


@dataclass(eq=False)
class Goto:
    edge: Edge
    barrier: LocationAttr | None = None
    """The barrier that lanes wait at before they go."""
    turn: bool = False
    """Others get a turn before these lanes go on, as in a loop that waits for them."""

    @property
    def edges(self) -> list[Edge]:
        return [self.edge]


@dataclass(eq=False)
class Branch:
    condition: Operand
    yes: Edge
    no: Edge
    where: LocationAttr = UNKNOWN_LOC

    @property
    def edges(self) -> list[Edge]:
        return [self.yes, self.no]


@dataclass(eq=False)
class Return:
    @property
    def edges(self) -> list[Edge]:
        return []


@dataclass(eq=False)
class Block:
    """Instructions that lanes take together; `number` is its place in the order that waiting lanes run in."""

    parameters: list[Register] = field(default_factory=list[Register])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    end: Goto | Branch | Return = field(default_factory=Return)
    number: int = -1
    lane_operations: int = 0

    @property
    def successors(self) -> list[Block]:
        return [edge.target for edge in self.end.edges]


@dataclass(eq=False)
class Loop:
    """A header and the blocks that can come back to it without leaving."""

    header: Block
    blocks: set[Block]
    parent: Loop | None = None
    children: list[Loop] = field(default_factory=list["Loop"])
    depth: int = 0

    def exits(self) -> Iterator[Block]:
        return (block for block in self.blocks if any(next not in self.blocks for next in block.successors))


@dataclass(frozen=True)
class PrivateBuffer:
    """Memory that every thread has for itself."""

    kind: Kind
    elements: int
    where: LocationAttr
    name: str | None = None


@dataclass(eq=False)
class Program:
    """A kernel, flat."""

    name: str
    where: LocationAttr
    entry: Block
    registers: list[Register]
    arguments: list[Register | None]
    """By parameter of the kernel, flattened as for LLVM; None where the type already says the value."""
    inputs: dict[str, Register]
    """Ids and sizes that the kernel asks for."""
    private: list[PrivateBuffer]
    lds_bytes: int
    lds_names: list[tuple[int, str]]
    """Where each buffer of a block begins, and what it is called."""
    blocks: list[Block] = field(default_factory=list[Block])
    """In the order that lanes run in which wait for others."""
    loops: list[Loop] = field(default_factory=list[Loop])
    innermost: dict[Block, Loop] = field(default_factory=dict[Block, Loop])
    reducible: bool = True
    kept: set[Register] = field(default_factory=set[Register])
    """Registers that must survive their block, for reports."""
