"""A kernel as blocks of simple instructions on registers: what all control flow becomes before code is made of it.

A register holds one value per lane. It is *uniform* where all lanes that are active together have the same value; then
one Python number stands for all of them. Vectors have their own dimensions first and lanes last.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, NamedTuple, TypeAlias, TypeVar

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute

from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from tilewright.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from tilewright.dialects.nvgpu import TensorMapDescriptorType
from tilewright.ir.shown import shown

# far above any address that a process of Linux has
LDS_WINDOW = 1 << 60
"""Where the memory of a block begins in the addresses of its threads, as the apertures of real GPUs do."""
PRIVATE_WINDOW = 2 << 60
PRIVATE_SHIFT = 32
"""Each private buffer has a window of its own, by its number."""


class Space(Enum):
    """Who has a buffer."""

    GLOBAL = "global"
    LDS = "workgroup"
    CLUSTER = "cluster"
    PRIVATE = "private"


@dataclass(frozen=True)
class Kind:
    """The type of a register: `bits` wide integers or floats, alone or as a vector."""

    dtype: np.dtype[Any]
    bits: int
    is_float: bool = False
    shape: tuple[int, ...] = ()

    @property
    def element(self) -> Kind:
        return Kind(self.dtype, self.bits, self.is_float)

    @property
    def code(self) -> str:
        """A word for the type in generated code."""
        return f"{'bf' if self.dtype == ml_dtypes.bfloat16 else 'f' if self.is_float else 'i'}{self.bits}"

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize

    @property
    def elements(self) -> int:
        return prod(self.shape)

    def with_shape(self, shape: tuple[int, ...]) -> Kind:
        return Kind(self.dtype, self.bits, self.is_float, shape)


# of NumPy's types, whose operators wrap at the width as a GPU's do
I1 = Kind(np.dtype(np.bool_), 1)
I8, I16, I32, I64 = (Kind(np.dtype(f"i{bits // 8}"), bits) for bits in (8, 16, 32, 64))
F16, F32, F64 = (Kind(np.dtype(f"f{bits // 8}"), bits, True) for bits in (16, 32, 64))
BF16 = Kind(np.dtype(ml_dtypes.bfloat16), 16, True)
INTEGERS = {kind.bits: kind for kind in (I1, I8, I16, I32, I64)}


# compared by identity: analyses keep registers in sets while they change them
@dataclass(eq=False)
class Register:
    """One value per lane; analyses fill in the flags."""

    kind: Kind
    number: int
    uniform: bool = False
    merges: bool = False
    """Lanes that are elsewhere may still need what they have in it: writes must leave their values alone."""
    name: str | None = None


@dataclass(frozen=True)
class Constant:
    kind: Kind
    value: Any


Operand: TypeAlias = "Register | Constant"


class Expression(NamedTuple):
    """Python text that computes a value where it is used."""

    kind: Kind
    text: str
    uniform: bool


Computed: TypeAlias = "Operand | Expression"


@dataclass(frozen=True)
class MemRefParts:
    """A buffer in parts, all of them in elements but the pointer."""

    kind: Kind
    space: Space | None
    """None if only the address can tell."""
    pointer: Operand
    offset: Operand
    sizes: tuple[Operand, ...]
    strides: tuple[Operand, ...]

    @classmethod
    def of(cls, kind: Kind, space: Space | None, parts: Sequence[Operand]) -> MemRefParts:
        """A memref of pointer, offset, sizes and strides."""
        pointer, offset, *rest = parts
        rank = len(rest) // 2
        return cls(kind, space, pointer, offset, tuple(rest[:rank]), tuple(rest[rank:]))

    @property
    def parts(self) -> list[Operand]:
        """The inverse of `of`."""
        return [self.pointer, self.offset, *self.sizes, *self.strides]


@dataclass
class Struct:
    """An LLVM aggregate, by its leaves' positions."""

    leaves: dict[tuple[int, ...], Operand] = field(default_factory=dict[tuple[int, ...], "Operand"])


Value: TypeAlias = "Operand | MemRefParts | Struct"


class Unsupported(Exception):
    """A type that the emulator has no registers for; the text goes on after the type's name."""


def index(number: int) -> Constant:
    return Constant(I64, number)


def number_constant(kind: Kind, value: object) -> Constant:
    """A constant as registers of that kind hold it."""
    if isinstance(value, int) and not kind.is_float:
        bits = 1 << kind.bits
        value = bool(value & 1) if kind.bits == 1 else (value + bits // 2) % bits - bits // 2
    return Constant(kind, value)


def kind_of(type: Attribute) -> Kind:
    """The registers of a type."""
    match type:
        # pointers have 64 bits in every space
        case IndexType() | LLVMPointerType():
            return I64
        # a kernel has the address of one
        case TensorMapDescriptorType():
            return I64
        case IntegerType() if type.width.data in INTEGERS:
            return INTEGERS[type.width.data]
        case Float16Type():
            return F16
        case BFloat16Type():
            return BF16
        case Float32Type():
            return F32
        case Float64Type():
            return F64
        case VectorType():
            return kind_of(type.element_type).with_shape(tuple(type.get_shape()))
        case _:
            raise Unsupported(f"{shown(type)} is no type that the emulator has registers for")


_NUMBERED = {0: Space.GLOBAL, 1: Space.GLOBAL, 3: Space.LDS, 5: Space.PRIVATE}
_NAMED = {
    AddressSpace.GLOBAL: Space.GLOBAL,
    AddressSpace.WORKGROUP: Space.LDS,
    AddressSpace.PRIVATE: Space.PRIVATE,
    AddressSpace.CONSTANT: Space.GLOBAL,
}


def space_of(type: MemRefType) -> Space | None:
    """Who has the memory of such a memref, as far as the type tells; spaces are numbered as AMD's are."""
    match type.memory_space:
        case AddressSpaceAttr() as space:
            return _NAMED[space.data]
        # a number that is not known leaves it to the address
        case IntegerAttr() as space:
            return _NUMBERED.get(space.value.data)
        case _:
            return Space.GLOBAL


def leaf_positions(type: Attribute) -> list[tuple[int, ...]]:
    """The places of the scalars in an LLVM aggregate."""
    match type:
        case LLVMStructType():
            parts = list(type.types.data)
        case LLVMArrayType():
            parts = [type.type] * type.size.data
        case _:
            return [()]
    return [(number, *rest) for number, part in enumerate(parts) for rest in leaf_positions(part)]


@dataclass(eq=False)
class Instruction:
    """`outs` = `name` of `ins`; what else it needs to know is in `extra`."""

    name: str
    ins: list[Operand]
    outs: list[Register]
    where: LocationAttr
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


class CountedOperation(NamedTuple):
    """An operation of the program that lanes take a step for, as profiles count it."""

    kind: str
    where: LocationAttr
    flops: int = 0
    """Of each lane."""
    computed_in: str = ""
    """What these are in: a type for lanes, `matrix` and a type for matrix instructions."""


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
    of_cluster: bool = False
    """Whether that is the cluster's, where lanes have arrived before, and not the block's."""
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
    operations: list[CountedOperation] = field(default_factory=list[CountedOperation])
    """As the program has them, not the instructions here."""

    @property
    def successors(self) -> list[Block]:
        return [edge.target for edge in self.end.edges]


N = TypeVar("N", bound=Hashable)


def postorder(start: N, following: Callable[[N], Iterable[N]]) -> list[N]:
    """Nodes of a graph that can be reached, each behind those that follow it, but for edges back."""
    seen, order, stack = {start}, list[N](), [(start, iter(following(start)))]
    # not recursive: a kernel may have more blocks than Python has frames
    while stack:
        node, rest = stack[-1]
        for next in rest:
            if next not in seen:
                seen.add(next)
                stack.append((next, iter(following(next))))
                break
        else:
            order.append(node)
            stack.pop()
    return order


@dataclass(eq=False)
class Loop:
    """A header and the blocks that can come back to it without leaving."""

    header: Block
    blocks: set[Block]
    parent: Loop | None = None
    children: list[Loop] = field(default_factory=list["Loop"])

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
class KernelProgram:
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
    cluster: tuple[int, int, int] = (1, 1, 1)
    """Blocks that run together, in each dimension."""
    tensor_maps: frozenset[Register | None] = frozenset()
    """Arguments that are passed by value and are addresses to the kernel."""
    blocks: list[Block] = field(default_factory=list[Block])
    """In the order that lanes run in which wait for others."""
    loops: list[Loop] = field(default_factory=list[Loop])
    innermost: dict[Block, Loop] = field(default_factory=dict[Block, Loop])
    reducible: bool = True
    kept: set[Register] = field(default_factory=set[Register])
    """Registers that must survive their block, for reports."""

    @property
    def private_bytes(self) -> int:
        """Of one thread."""
        return sum(buffer.elements * buffer.kind.bytes for buffer in self.private)
