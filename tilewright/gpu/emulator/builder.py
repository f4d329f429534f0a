"""Builds the flat program of a kernel: what every operation's translation uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, UNKNOWN_LOC, LocationAttr, MemRefType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir import Block as IrBlock

from tilewright.dialects._strides import strided_form
from tilewright.dialects.llvm import LLVMArrayType, LLVMStructType
from tilewright.gpu.emulator.arithmetic import fitting, wrap64
from tilewright.gpu.emulator.operation_kinds import counted_operation
from tilewright.gpu.emulator.program import (
    I64,
    LDS_WINDOW,
    PRIVATE_SHIFT,
    PRIVATE_WINDOW,
    Block,
    Branch,
    Constant,
    Edge,
    Goto,
    Instruction,
    Kind,
    MemRefParts,
    Operand,
    PrivateBuffer,
    Register,
    Space,
    Struct,
    Unsupported,
    Value,
    index,
    kind_of,
    leaf_positions,
    space_of,
)
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.shown import shown
from tilewright.native.ranges import Range, Ranges, exactly

LDS_ALIGNMENT = 16
"""As LLVM aligns the variables of a block that vectors may be loaded from."""
Handler = Callable[["ProgramBuilder", Any], "Value | None"]
"""Translates an operation; gives the value of its first result, unless it has set the results itself."""
FREE = frozenset({"arith.constant", "llvm.mlir.constant", "builtin.unrealized_conversion_cast", "llvm.insertvalue"})
"""Operations that cost no lane anything."""


class ProgramBuilder:
    """The program so far, the block that instructions go to, and the values of operations translated so far."""

    def __init__(self, handlers: Mapping[str, Handler], wave_size: int):
        self.handlers, self.wave_size = handlers, wave_size
        self.registers: list[Register] = []
        self.inputs: dict[str, Register] = {}
        self.private: list[PrivateBuffer] = []
        self.lds_bytes = 0
        self.lds_names: list[tuple[int, str]] = []
        self.values: dict[SSAValue, Value] = {}
        # what is known of numbers from the operations that made them
        self._ranges, self._sources = Ranges(), dict[Register, SSAValue]()
        self.entry = self.block = Block()
        self.where: LocationAttr = UNKNOWN_LOC
        self.calls: list[str] = []

    def register(self, kind: Kind, name: str | None = None) -> Register:
        made = Register(kind, len(self.registers), name=name)
        self.registers.append(made)
        return made

    def input(self, name: str, kind: Kind = I64) -> Register:
        """An id or a size that the kernel starts with."""
        if name not in self.inputs:
            self.inputs[name] = self.register(kind, name)
        return self.inputs[name]

    def emit(self, name: str, kind: Kind, /, *ins: Operand, **extra: Any) -> Register:
        result = self.register(kind)
        self.effect(name, *ins, outs=[result], **extra)
        return result

    def effect(self, name: str, /, *ins: Operand, outs: Sequence[Register] = (), **extra: Any) -> None:
        """An instruction that is there for what it does."""
        self.block.instructions.append(Instruction(name, list(ins), list(outs), self.where, extra))

    def plus(self, lhs: Operand, rhs: Operand) -> Operand:
        """A sum of indices, computed now if it can be."""
        match lhs, rhs:
            case Constant(value=left), Constant(value=right):
                return index(wrap64(left + right))
            case Constant(value=0), _:
                return rhs
            case _, Constant(value=0):
                return lhs
            case _:
                return self.emit("arith.addi", I64, lhs, rhs)

    def times(self, lhs: Operand, rhs: Operand) -> Operand:
        match lhs, rhs:
            case Constant(value=left), Constant(value=right):
                return index(wrap64(left * right))
            case (Constant(value=0) as zero, _) | (_, Constant(value=0) as zero):
                return zero
            case Constant(value=1), _:
                return rhs
            case _, Constant(value=1):
                return lhs
            case _:
                return self.emit("arith.muli", I64, lhs, rhs)

    def place(self, base: Operand, *terms: tuple[Operand, Operand]) -> Operand:
        """A number plus products, exactly: `NOWHERE` if that does not fit into 64 bits."""
        dynamic = list[Operand]()
        known = 0
        for lhs, rhs in terms:
            if isinstance(lhs, Constant) and isinstance(rhs, Constant):
                known += lhs.value * rhs.value
            elif index(0) not in (lhs, rhs):
                dynamic += [lhs, rhs]
        if isinstance(base, Constant):
            base = index(base.value + known)
            if not dynamic:
                return index(fitting(base.value))
            if len(dynamic) == 2 and base.value == 0 and index(1) in dynamic:
                return dynamic[0] if dynamic[1] == index(1) else dynamic[1]
        elif known:
            dynamic += [index(known), index(1)]
        # plain sums are faster than `place`, which looks at the numbers
        if self._stays_in_64_bits(base, dynamic):
            for lhs, rhs in zip(dynamic[::2], dynamic[1::2], strict=True):
                base = self.plus(base, self.times(lhs, rhs))
            return base
        return self.emit("place", I64, base, *dynamic) if dynamic else base

    def _stays_in_64_bits(self, base: Operand, factors: Sequence[Operand]) -> bool:
        """Whether a number plus products of pairs is known to need no more."""
        ranges = [self._range(operand) for operand in (base, *factors)]
        reach, *reaches = (1 << 63 if found is None else max(-found.low, found.high) for found in ranges)
        return reach + sum(a * b for a, b in zip(reaches[::2], reaches[1::2], strict=True)) < 1 << 63

    def _range(self, operand: Operand) -> Range | None:
        if isinstance(operand, Constant):
            return exactly(operand.value)
        source = self._sources.get(operand)
        return None if source is None else self._ranges.of(source)

    def __getitem__(self, value: SSAValue) -> Operand:
        found = self.values[value]
        if not isinstance(found, Register | Constant):
            raise Unsupported(f"{shown(value.type)} is no number")
        return found

    def __setitem__(self, value: SSAValue, result: Value) -> None:
        if isinstance(result, Register):
            result.name = result.name or value.name_hint
            self._sources.setdefault(result, value)
        self.values[value] = result

    def memref(self, value: SSAValue) -> MemRefParts:
        found = self.values[value]
        if not isinstance(found, MemRefParts):
            raise Unsupported(f"{shown(value.type)} is no memref")
        return found

    def operands(self, op: Operation) -> list[Operand]:
        return [self[value] for value in op.operands]

    def mixed(self, values: Sequence[SSAValue], static: Iterable[int]) -> list[Operand]:
        """Numbers of which some are written and the others values."""
        dynamic = iter(values)
        return [self[next(dynamic)] if number == DYNAMIC_INDEX else index(number) for number in static]

    def fresh(self, type: Attribute, name: str | None = None) -> tuple[Value, list[Register]]:
        """A value in new registers, and these, in the order of `leaves`."""
        match type:
            case MemRefType():
                buffer = self.fresh_memref(type, name)
                return buffer, [part for part in buffer.parts if isinstance(part, Register)]
            case LLVMStructType() | LLVMArrayType():
                places = leaf_positions(type)
                made = [self.register(kind_of(leaf_type(type, place))) for place in places]
                return Struct(dict[tuple[int, ...], Operand](zip(places, made, strict=True))), made
            case _:
                register = self.register(kind_of(type), name)
                return register, [register]

    def fresh_memref(self, type: MemRefType, name: str | None = None) -> MemRefParts:
        """A memref with registers for the parts that its type does not say."""
        known = known_parts(type)
        return memref_of_parts(type, [self.register(I64, name) if part is None else index(part) for part in known])

    def leaves(self, value: SSAValue) -> list[Operand]:
        """The parts of a value that its type does not already say."""
        match self.values[value]:
            case MemRefParts() as found:
                known = known_parts(cast(MemRefType, value.type))
                return [part for part, number in zip(found.parts, known, strict=True) if number is None]
            case Struct() as found:
                return [found.leaves[place] for place in leaf_positions(value.type)]
            case found:
                return [found]

    def private_buffer(self, kind: Kind, elements: int, where: LocationAttr, name: str | None = None) -> Constant:
        """Memory of a thread; gives its address."""
        self.private.append(PrivateBuffer(kind, elements, where, name))
        # a number in the upper half of the address tells buffers apart, the lower half is the byte
        return index(PRIVATE_WINDOW + ((len(self.private) - 1) << PRIVATE_SHIFT))

    def shared_buffer(self, kind: Kind, elements: int, name: str | None = None) -> MemRefParts:
        """Memory of a block."""
        # one behind the other: a kernel's buffers live as long as its blocks
        start = -(-self.lds_bytes // LDS_ALIGNMENT) * LDS_ALIGNMENT
        self.lds_bytes = start + elements * kind.bytes
        self.lds_names.append((start, name or f"shared{len(self.lds_names)}"))
        return MemRefParts(kind, Space.LDS, index(LDS_WINDOW + start), index(0), (index(elements),), (index(1),))

    def goto(self, target: Block, arguments: Sequence[Operand] = ()) -> None:
        self.block.end = Goto(Edge(target, list(arguments)))

    def wait(self, of_cluster: bool = False) -> None:
        """A barrier, and what comes behind it."""
        after = Block()
        self.block.end = Goto(Edge(after), self.where, of_cluster)
        self.block = after

    def branch(self, condition: Operand, yes: Edge, no: Edge) -> None:
        self.block.end = Branch(condition, yes, no, self.where)

    def parameters(self, block: Block, values: Iterable[SSAValue]) -> None:
        """Registers of a block for values that come in from several places."""
        for value in values:
            self[value], made = self.fresh(value.type, value.name_hint)
            block.parameters += made

    def lower(self, op: Operation) -> None:
        handler = self.handlers.get(op.name)
        if handler is None:
            fail_op(
                op,
                "cannot be run by the emulator",
                (op, "lower it first to operations of memref, arith, math, vector, scf, cf, gpu or llvm"),
            )
        self.where = op.location
        block, before = self.block, len(self.block.instructions)
        try:
            if (made := handler(self, op)) is not None:
                self[op.results[0]] = made
            if op.name not in FREE:
                block.operations.append(counted_operation(op, block.instructions[before:], self.wave_size))
        except Unsupported as error:
            fail_op(op, f"cannot be run by the emulator: {error}")

    def lower_block(self, block: IrBlock) -> Operation:
        """Everything but the terminator; gives that."""
        for op in block.ops:
            if op.next_op is not None:
                self.lower(op)
        last = block.last_op
        assert last is not None
        self.where = last.location
        return last

    def yielded(self, region: Region) -> Sequence[SSAValue]:
        """Run a region of one block here; gives what it yields."""
        return self.lower_block(region.block).operands

    def all_leaves(self, values: Iterable[SSAValue]) -> list[Operand]:
        return [leaf for value in values for leaf in self.leaves(value)]


def strided(type: MemRefType):
    form = strided_form(type)
    if form is None:
        raise Unsupported(f"{type} has no strides")
    return form


def known_parts(type: MemRefType) -> list[int | None]:
    """What a type says of pointer, offset, sizes and strides; None for what only a run knows."""
    form = strided(type)
    return [None, form.offset, *(None if size == DYNAMIC_INDEX else size for size in type.get_shape()), *form.strides]


def memref_of_parts(type: MemRefType, parts: Sequence[Operand]) -> MemRefParts:
    """A memref of pointer, offset, sizes and strides."""
    return MemRefParts.of(kind_of(type.element_type), space_of(type), parts)


def whole_memref(type: MemRefType, pointer: Operand, space: Space | None) -> MemRefParts:
    """A buffer that is all there, of a static type."""
    parts = known_parts(type)[1:]
    if None in parts:
        raise Unsupported(f"{type} has no size")
    return MemRefParts.of(kind_of(type.element_type), space, [pointer, *(index(cast(int, part)) for part in parts)])


def leaf_type(type: Attribute, place: Sequence[int]) -> Attribute:
    """The type of a scalar in an LLVM aggregate."""
    for number in place:
        type = type.types.data[number] if isinstance(type, LLVMStructType) else cast(LLVMArrayType, type).type
    return type
