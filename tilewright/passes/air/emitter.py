"""Putting operations into a program one after the other, with the place in the source that they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, LocationAttr, MemRefType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects.arith.meaning import PREDICATES
from tilewright.rewrite.folding.building import NO_OVERFLOW_FLAGS, cmpi, create
from tilewright.rewrite.folding.constants import make_constant, number_attr, scalar_int
from tilewright.rewrite.insertion import building

INDEX = IndexType()
_WITH_FLAGS = {"addi", "subi", "muli"}


class Emitter:
    """Inserts operations at a point, each after the one before."""

    def __init__(self, at: InsertPoint, location: LocationAttr):
        self.location = location
        self._builder = building(at, location)

    @classmethod
    def before(cls, op: Operation) -> Self:
        return cls(InsertPoint.before(op), op.location)

    @classmethod
    def at_end(cls, block: Block, location: LocationAttr) -> Self:
        return cls(InsertPoint.at_end(block), location)

    def insert(self, op: Operation) -> Operation:
        return self._builder.insert(op)

    def emit(
        self,
        name: str,
        operands: Sequence[SSAValue] = (),
        types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> Operation:
        return self.insert(create(name, operands, types, properties))

    def value(
        self,
        name: str,
        operands: Sequence[SSAValue],
        type: Attribute,
        properties: Mapping[str, Attribute] | None = None,
    ) -> SSAValue:
        """The one result of an operation."""
        return self.emit(name, operands, [type], properties).results[0]

    def constant(self, number: int, type: Attribute = INDEX) -> SSAValue:
        return self.insert(make_constant(number_attr(number, type))).results[0]

    def i32(self, number: int) -> SSAValue:
        return self.constant(number, i32)

    def i64(self, number: int) -> SSAValue:
        return self.constant(number, i64)

    def arith(self, name: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """An integer operation of arith on two operands."""
        flags = {"overflowFlags": NO_OVERFLOW_FLAGS} if name in _WITH_FLAGS else {}
        return self.value(f"arith.{name}", (lhs, rhs), lhs.type, flags)

    def product(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs * rhs`, which is a constant if both are."""
        numbers = scalar_int(lhs), scalar_int(rhs)
        if numbers[0] is not None and numbers[1] is not None:
            return self.constant(numbers[0] * numbers[1], lhs.type)
        if 0 in numbers:
            return lhs if numbers[0] == 0 else rhs
        if 1 in numbers:
            return rhs if numbers[0] == 1 else lhs
        return self.arith("muli", lhs, rhs)

    def sum(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs + rhs`, without an operation where one of them is 0."""
        numbers = scalar_int(lhs), scalar_int(rhs)
        if 0 in numbers:
            return rhs if numbers[0] == 0 else lhs
        if numbers[0] is not None and numbers[1] is not None:
            return self.constant(numbers[0] + numbers[1], lhs.type)
        return self.arith("addi", lhs, rhs)

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.insert(cmpi(PREDICATES.index(predicate), lhs, rhs, i1)).results[0]

    def load(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        type = cast(MemRefType, buffer.type).element_type
        return self.value("memref.load", (buffer, *indices), type)

    def store(self, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        self.emit("memref.store", (value, buffer, *indices))

    def loop(self, start: SSAValue, end: SSAValue, step: SSAValue, body: Callable[[Emitter, SSAValue], None]) -> None:
        """`scf.for`; `body` fills it."""
        block = Block(arg_types=[start.type])
        inner = Emitter.at_end(block, self.location)
        body(inner, block.args[0])
        inner.insert(scf.YieldOp())
        self.insert(scf.ForOp(start, end, step, [], Region(block)))

    def when(self, condition: SSAValue, body: Callable[[Emitter], None]) -> Block:
        """`scf.if` without results; `body` fills it. Gives the block that was filled."""
        block = Block()
        inner = Emitter.at_end(block, self.location)
        body(inner)
        inner.insert(scf.YieldOp())
        self.insert(scf.IfOp(condition, [], Region(block), Region()))
        return block

    def choose(
        self,
        condition: SSAValue,
        type: Attribute,
        then: Callable[[Emitter], SSAValue],
        otherwise: Callable[[Emitter], SSAValue],
    ) -> SSAValue:
        """`scf.if` with one result."""
        regions: list[Region] = []
        for fill in (then, otherwise):
            block = Block()
            inner = Emitter.at_end(block, self.location)
            inner.insert(scf.YieldOp(fill(inner)))
            regions.append(Region(block))
        return self.insert(scf.IfOp(condition, [type], regions[0], regions[1])).results[0]

    def spin(self, goes_on: Callable[[Emitter], SSAValue]) -> None:
        """`scf.while` that does nothing but ask whether it goes on."""
        before, after = Block(), Block([scf.YieldOp()])
        inner = Emitter.at_end(before, self.location)
        inner.insert(scf.ConditionOp(goes_on(inner)))
        self.insert(scf.WhileOp([], [], [before], [after]))

    def spin_for(self, type: Attribute, look: Callable[[Emitter], tuple[SSAValue, SSAValue]]) -> SSAValue:
        """`scf.while` that looks for a value, which it gives; `look` says whether it goes on, and the value."""
        before, after = Block(), Block([scf.YieldOp()], arg_types=[type])
        inner = Emitter.at_end(before, self.location)
        inner.insert(scf.ConditionOp(*look(inner)))
        return self.insert(scf.WhileOp([], [type], [before], [after])).results[0]
