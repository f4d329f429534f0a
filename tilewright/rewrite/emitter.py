"""Building IR: operations inserted one after the other, by a pattern's rewriter or at a point of the program.

`Emitter(rewriter)` serves patterns, `Emitter.before(op)` and `Emitter(point, location)` everything else; an operation
without a location takes that of the matched operation, or the one given. `constant_op` makes one that has no place yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    UnknownLoc,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tilewright.dialects import arith, memref, scf
from tilewright.ir.interned import i32_number
from tilewright.rewrite.folding.constants import INDEX, constant_of, number_attr, scalar_int

if TYPE_CHECKING:
    from tilewright.device.layout import Field

OpT = TypeVar("OpT", bound=Operation)
PREDICATES = {name: IntegerAttr(number, i64) for number, name in enumerate(CMPI_COMPARISON_OPERATIONS)}

Number = SSAValue | int
"""Known when compiling, or only at run time."""


def constant_op(value: Attribute | int | float, type: Attribute = i32) -> arith.ConstantOp:
    """`arith.constant` of an attribute, or of a number as one of `type`; bits that do not fit are cut off."""
    # `is`, not `==`: types are compared field by field, and nearly all constants are of this very object
    if not isinstance(value, Attribute):
        value = i32_number(value) if type is i32 and isinstance(value, int) else number_attr(value, type)
    return arith.ConstantOp.create(properties={"value": value}, result_types=[cast(Any, value).type])


CastOperation: TypeAlias = (
    arith.BitcastOp
    | arith.ExtSIOp
    | arith.ExtUIOp
    | arith.IndexCastOp
    | arith.SIToFPOp
    | arith.TruncIOp
    | arith.UIToFPOp
)


def cast_op(kind: type[CastOperation], value: SSAValue, type: Attribute) -> Operation:
    """A cast to a type of any shape; xDSL declares its constructors for scalars."""
    return kind(value, cast(Any, type))


def known(number: Number) -> int | None:
    if isinstance(number, int):
        return number
    constant = constant_of(number)
    return constant.value.data if constant is not None and isinstance(constant, IntegerAttr) else None


class SharedConstants:
    """Constants of sequences, each once, at the start of its sequence."""

    def __init__(self) -> None:
        self._values: dict[Block, dict[int | float | tuple[int | float, Attribute], SSAValue]] = {}
        self._starts: dict[Block, Block] = {}
        self._last: Block | None = None

    def get(self, builder: Builder, value: int | float, type: Attribute) -> SSAValue:
        block = builder.insertion_point.block
        # most are for the block that the one before was for
        if block is not self._last:
            if block not in self._starts:
                self._starts[block] = _sequence_start(block)
            self._last, self._start = block, self._starts[block]
            self._of_last = self._values.setdefault(self._start, {})
        # the type is hashed field by field, and nearly all are of this very object
        key = value if type is i32 else (value, type)
        found = self._of_last.get(key)
        if found is None:
            place = InsertPoint(self._start, self._start._first_op)
            found = self._of_last[key] = builder.insert(constant_op(value, type), place).results[0]
        return found


def _sequence_start(block: Block) -> Block:
    """The first block of the runtime sequence that a block is in; the block itself outside of sequences."""
    outer: Block | None = block
    while outer is not None:
        parent = outer.parent_op()
        if parent is not None and parent.name == "aie.runtime_sequence":  # by name: the dialect costs to import
            return outer
        outer = parent.parent if parent is not None else None
    return block


class Emitter:
    """Inserts operations, each after the one before.

    It is `Arithmetic[SSAValue]` on i32 values, so that the one encoder of access patterns can use it. Constants are
    made where they are used, unless there is a place for them.
    """

    def __init__(
        self,
        at: PatternRewriter | InsertPoint,
        location: LocationAttr | None = None,
        *,
        constants: SharedConstants | None = None,
    ):
        self.location = location or UNKNOWN_LOC
        # a PatternRewriter is a Builder that locates by itself, with the operation that its pattern matched
        self._builder = (
            at if isinstance(at, PatternRewriter) else Builder(at, operation_insertion_handler=[self._locate])
        )
        self._constants = constants

    @classmethod
    def before(cls, op: Operation) -> Self:
        """Inserts before `op`, for the same place in the source."""
        return cls(InsertPoint.before(op), op.location)

    @classmethod
    def at_start(cls, block: Block, location: LocationAttr) -> Self:
        return cls(InsertPoint.at_start(block), location)

    @classmethod
    def at_end(cls, block: Block, location: LocationAttr) -> Self:
        return cls(InsertPoint.at_end(block), location)

    def _locate(self, op: Operation) -> None:
        if isinstance(op.location, UnknownLoc):
            op.location = self.location

    @property
    def block(self) -> Block:
        """Where it inserts."""
        return self._builder.insertion_point.block

    def insert(self, op: OpT) -> OpT:
        return self._builder.insert(op)

    def value(self, op: Operation) -> SSAValue:
        """The first result of a new operation."""
        return self._builder.insert(op).results[0]

    def constant(self, value: int | float, type: Attribute = i32) -> SSAValue:
        if self._constants is not None:
            return self._constants.get(self._builder, value, type)
        return self.value(constant_op(value, type))

    def constants(self, *values: int) -> list[SSAValue]:
        return [self.constant(value) for value in values]

    def i64(self, value: int) -> SSAValue:
        return self.constant(value, i64)

    def index(self, value: int) -> SSAValue:
        return self.constant(value, INDEX)

    def number(self, number: Number) -> SSAValue:
        """A number as an i32 value."""
        if (value := known(number)) is not None:
            return self.constant(value)
        assert isinstance(number, SSAValue)
        if isinstance(number.type, IndexType):
            return self.cast(arith.IndexCastOp, number, i32)
        bits = cast(IntegerType, number.type).bitwidth
        if bits == i32.bitwidth:
            return number
        return self.cast(arith.TruncIOp if bits > i32.bitwidth else arith.ExtUIOp, number, i32)

    def widened(self, number: Number) -> Number:
        """A number of an instruction with at least 32 bits: one of fewer bits has no sign."""
        type = i32 if isinstance(number, int) else number.type
        bits = type.bitwidth if isinstance(type, IntegerType) else i32.bitwidth
        if isinstance(number, int) or bits >= i32.bitwidth:
            return number
        value = known(number)
        return self.cast(arith.ExtUIOp, number, i32) if value is None else value & (1 << bits) - 1

    def add(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.binary(arith.AddiOp, first, second)

    def product(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.binary(arith.MuliOp, first, second)

    def folded_sum(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs + rhs`, without an operation where one of them is 0."""
        numbers = scalar_int(lhs), scalar_int(rhs)
        if 0 in numbers:
            return rhs if numbers[0] == 0 else lhs
        if numbers[0] is not None and numbers[1] is not None:
            return self.constant(numbers[0] + numbers[1], lhs.type)
        return self.add(lhs, rhs)

    def folded_product(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs * rhs`, which is a constant if both are."""
        numbers = scalar_int(lhs), scalar_int(rhs)
        if numbers[0] is not None and numbers[1] is not None:
            return self.constant(numbers[0] * numbers[1], lhs.type)
        if 0 in numbers:
            return lhs if numbers[0] == 0 else rhs
        if 1 in numbers:
            return rhs if numbers[0] == 1 else lhs
        return self.product(lhs, rhs)

    def binary(self, kind: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """An operation of arith on two values of one type; its constructor would look for other kinds of operands."""
        return self.value(kind.create(operands=(lhs, rhs), result_types=(lhs.type,)))

    def cast(self, kind: type[Operation], value: SSAValue, type: Attribute) -> SSAValue:
        return self.value(kind.create(operands=(value,), result_types=(type,)))

    def select(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return self.value(arith.SelectOp.create(operands=(condition, then, otherwise), result_types=(then.type,)))

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        properties = {"predicate": PREDICATES[predicate]}
        return self.value(arith.CmpiOp.create(operands=(lhs, rhs), properties=properties, result_types=(i1,)))

    def multiply(self, value: SSAValue, factor: int) -> SSAValue:
        return self.product(value, self.constant(factor))

    def divide(self, value: SSAValue, divisor: int) -> SSAValue:
        return self.binary(arith.DivUIOp, value, self.constant(divisor))

    def scale(self, value: SSAValue, factor: int, divisor: int) -> SSAValue:
        return self.divide(self.multiply(value, factor), divisor)

    def subtract(self, value: SSAValue, amount: int) -> SSAValue:
        return self.binary(arith.SubiOp, value, self.constant(amount))

    def select_less(self, value: SSAValue, bound: int, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return self.select(self.compare("slt", value, self.constant(bound)), then, otherwise)

    def select_greater(self, value: SSAValue, bound: int, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return self.select(self.compare("sgt", value, self.constant(bound)), then, otherwise)

    def word(self, fields: Sequence[tuple[Field, SSAValue]], known_bits: int = 0) -> SSAValue:
        """A register word with these contents, cut to the width of their fields."""
        word = self.constant(known_bits)
        for field, value in fields:
            # a value too large for its field spoils no other one
            bits = self.binary(arith.AndIOp, value, self.constant((1 << field.width) - 1))
            if field.lo > 0:
                bits = self.binary(arith.ShLIOp, bits, self.constant(field.lo))
            word = self.binary(arith.OrIOp, word, bits)
        return word

    def load(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        types = [cast(MemRefType, buffer.type).element_type]
        return self.value(memref.LoadOp.create(operands=[buffer, *indices], result_types=types))

    def store(self, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        self.insert(memref.StoreOp.create(operands=[value, buffer, *indices]))

    def loop(self, start: SSAValue, end: SSAValue, step: SSAValue, body: Callable[[Emitter, SSAValue], None]) -> None:
        """`scf.for`; `body` fills it."""
        block = Block(arg_types=[start.type])
        inner = Emitter.at_end(block, self.location)
        body(inner, block.args[0])
        inner.insert(scf.YieldOp())
        self.insert(scf.ForOp(start, end, step, [], Region(block)))

    def when(self, condition: SSAValue, body: Callable[[Emitter], object]) -> Block:
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
        return self.value(scf.IfOp(condition, [type], regions[0], regions[1]))

    def spin(self, goes_on: Callable[[Emitter], SSAValue]) -> None:
        """`scf.while` that does nothing but ask whether it goes on."""
        # all work is in the condition: the body of the loop is empty
        before, after = Block(), Block([scf.YieldOp()])
        inner = Emitter.at_end(before, self.location)
        inner.insert(scf.ConditionOp(goes_on(inner)))
        self.insert(scf.WhileOp([], [], [before], [after]))

    def spin_for(self, type: Attribute, look: Callable[[Emitter], tuple[SSAValue, SSAValue]]) -> SSAValue:
        """`scf.while` that looks for a value, which it gives; `look` says whether it goes on, and the value."""
        before, after = Block(), Block([scf.YieldOp()], arg_types=[type])
        inner = Emitter.at_end(before, self.location)
        inner.insert(scf.ConditionOp(*look(inner)))
        return self.value(scf.WhileOp([], [type], [before], [after]))

    def repeat_while(
        self,
        value: SSAValue,
        goes_on: Callable[[Emitter, SSAValue], SSAValue],
        following: Callable[[Emitter, SSAValue], SSAValue],
    ) -> SSAValue:
        """`scf.while` that goes from one value to the following while a condition holds; gives the last."""
        before, after = Block(arg_types=[value.type]), Block(arg_types=[value.type])
        inner = Emitter.at_end(before, self.location)
        inner.insert(scf.ConditionOp(goes_on(inner, before.args[0]), before.args[0]))
        inner = Emitter.at_end(after, self.location)
        inner.insert(scf.YieldOp(following(inner, after.args[0])))
        return self.value(scf.WhileOp([value], [value.type], [before], [after]))
