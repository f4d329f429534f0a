"""Builder of `emitc` operations, one after the other, each for an operation of the program, in a style of C++."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, LocationAttr, Signedness, StringAttr, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.emitc.calls import COMMENT, VerbatimOp
from tilewright.dialects.emitc.operators import BitwiseAndOp, BitwiseXorOp, CastOp, CmpOp, Predicate, SubOp
from tilewright.dialects.emitc.types import (
    OpaqueAttr,
    PtrDiffT,
    SizeT,
    is_integer,
    is_integral,
    is_unsigned,
    wider,
    width_of,
)
from tilewright.dialects.emitc.variables import ConstantOp, opaque
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.symbols import FreeNames


class StyleName(StrEnum):
    """The styles by the name that the option of the pass has for them."""

    UPSTREAM = "upstream"
    DRAFT = "draft"
    READABLE = "readable"


# g++ -Wextra finds upstream's way to return the stream redundant.
_PRAGMAS = (
    ("#pragma GCC diagnostic push", '#pragma GCC diagnostic ignored "-Wredundant-move"'),
    ("#pragma GCC diagnostic pop",),
)


@dataclass(frozen=True)
class Style:
    """How functions are named and divided, how operations are counted, how values reach the header's functions."""

    function: str = "generate_txn_{device}_{sequence}"
    counter: str = "__opcount"
    increment: str = "++{};"
    always_count: bool = False
    """Count at run time even where the number of operations is known."""
    returned: str = "std::move(txn)"
    pragmas: tuple[Sequence[str], Sequence[str]] = _PRAGMAS
    """Lines before and after all functions."""
    in_two_runs: bool = False
    """Where the header can, run the code twice, to count words and to write them: a stream is allocated once then."""
    keeps_buffers: bool = False
    """Whether host buffers, whose addresses the firmware fills in, are parameters all the same."""
    cast_words: bool = False
    """Cast what goes into a word to `uint32_t` rather than leave that to the call."""
    any_address: bool = False
    """Take a register address that is an argument of the sequence, as the native generator does."""
    readable: bool = False
    """For people: known outcomes left out, comments, and a function of its own that appends the operations.

    Such a function is run twice, to count and to write, so that the stream is allocated once.
    """

    @property
    def refuse(self) -> str:
        """The statement that gives up."""
        return "return false;" if self.readable else "return std::nullopt;"

    def function_name(self, device: str, sequence: str) -> str:
        parts = re.split(r"(\{device\}|\{sequence\})", self.function)
        known = {"{device}": device, "{sequence}": sequence}
        return re.sub(r"\W", "_", "".join(known.get(part, part) for part in parts), flags=re.ASCII)

    def function_names(self, sequences: Iterable[tuple[str, str]]) -> list[str]:
        """Names for all functions of a program, from devices and sequences: each a different one."""
        names = FreeNames(set())
        return [names.like(self.function_name(device, sequence)) for device, sequence in sequences]


STYLES = {
    StyleName.UPSTREAM: Style(),
    StyleName.DRAFT: Style(
        function="generate_txn_{sequence}",
        counter="op_count",
        increment="{}++;",
        always_count=True,
        returned="txn",
        pragmas=((), ()),
        cast_words=True,
        any_address=True,
    ),
    StyleName.READABLE: Style(pragmas=((), ()), cast_words=True, any_address=True, readable=True),
}


OpT = TypeVar("OpT", bound=Operation)

SIZE, DIFFERENCE = SizeT(), PtrDiffT()
WORD = IntegerType(32, Signedness.UNSIGNED)
# C++ reads the digits of the smallest number as one that is too large, with a minus before it.
SMALLEST, SMALLEST_TEXT = -(1 << 63), "INT64_MIN"

NOT_SUPPORTED = "is not supported by the C++ TXN target"


class CppBuilder:
    """Appends operations to a block, and knows which value stands for which value of the program."""

    def __init__(self, block: Block, style: Style, location: LocationAttr):
        self.block, self.style = block, style
        # Of the operation that is being lowered: what is made for it is written at the same place.
        self.location = location
        self._values: dict[SSAValue, SSAValue] = {}
        # By block, for what was checked in one need not hold outside of it.
        self._checked: set[tuple[Block, str, tuple[SSAValue, ...]]] = set()
        # What `without_sign` gives for results of `with_sign`.
        self._bits: dict[tuple[SSAValue, int], SSAValue] = {}

    def emit(self, op: OpT) -> OpT:
        op.location = self.location
        self.block.add_op(op)
        return op

    def value(self, op: Operation) -> SSAValue:
        """The result of a new operation."""
        return self.emit(op).results[0]

    def statement(self, text: str, *arguments: SSAValue) -> VerbatimOp:
        """C++ text with `{}` for each argument."""
        return self.emit(VerbatimOp(text, arguments))

    def refuse_if(self, comment: str | None, condition: str, *arguments: SSAValue) -> None:
        """Give up where a condition holds; people need not read twice that it does not."""
        check = (self.block, condition, arguments)
        if self.style.readable and check in self._checked:
            return
        self._checked.add(check)
        statement = self.statement(f"if ({condition}) {self.style.refuse}", *arguments)
        if self.style.readable and comment is not None:
            statement.attributes[COMMENT] = StringAttr(comment)

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Append to another block for a while."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    # Values of the program

    def __getitem__(self, value: SSAValue) -> SSAValue:
        return self._values[value]

    def knows(self, value: SSAValue) -> bool:
        """Whether there is something that stands for a value of the program."""
        return value in self._values

    def define(self, value: SSAValue, made: SSAValue) -> None:
        """Say what stands for a value of the program; it takes over the name that the value has there."""
        self._values[value] = made
        if made.name_hint is None:
            made.name_hint = value.name_hint

    # Integers

    def constant(self, value: int, type: Attribute) -> SSAValue:
        if value == SMALLEST:
            return self.value(ConstantOp(opaque(SMALLEST_TEXT), type))
        match type:
            case IntegerType():
                return self.value(ConstantOp(IntegerAttr(value, type, truncate_bits=True), type))
            case _:
                return self.value(ConstantOp(IntegerAttr(value, IndexType()), type))

    def cast(self, value: SSAValue, *types: Attribute) -> SSAValue:
        """The value converted to one type after the other."""
        for type in types:
            if value.type != type:
                constant = converted_constant(value, type) if self.style.readable else None
                value = self.value(constant or CastOp(value, type))
        return value

    def compare(self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.value(CmpOp(predicate, lhs, rhs))

    # Integers of widths that C++ has no types for: numbers of the next wider type, equal to what the bits are with sign

    def without_sign(self, value: SSAValue, width: int) -> SSAValue:
        """What the low bits of a number are without sign, as a type without sign."""
        type = unsigned(value.type)
        if (value, width) in self._bits:
            return self._bits[value, width]
        if width >= width_of(type):
            return self.cast(value, type)
        number = known(value) if self.style.readable else None
        if number is not None:
            return self.constant(number & (1 << width) - 1, type)
        return self.value(BitwiseAndOp(self.cast(value, type), self.constant((1 << width) - 1, type)))

    def with_sign(self, value: SSAValue, width: int) -> SSAValue:
        """What the low bits of a number are with sign."""
        if width >= width_of(value.type):
            return value
        sign = 1 << width - 1
        number = known(value) if self.style.readable else None
        if number is not None:
            return self.constant((number & 2 * sign - 1 ^ sign) - sign, value.type)
        bits = self.without_sign(value, width)
        # As C++ computes with narrow numbers.
        type = value.type if width_of(value.type) > width_of(i32) else i32
        flipped = self.value(BitwiseXorOp(self.cast(bits, type), self.constant(sign, type)))
        result = self.cast(self.value(SubOp(flipped, self.constant(sign, type))), value.type)
        self._bits[result, width] = bits
        return result


def known(value: SSAValue) -> int | None:
    """The integer that a value in the C++ code is known to be."""
    match value.owner:
        case ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case ConstantOp(value=OpaqueAttr(value=text)) if text.data == SMALLEST_TEXT:
            return SMALLEST
        case _:
            return None


def converted_constant(value: SSAValue, target: Attribute) -> ConstantOp | None:
    """A known number cast to another type, as C++ converts it; None if that has to stay a cast."""
    number, source = known(value), value.type
    if number is None or not is_integral(target) or width_of(target) == 1:
        return None
    if is_unsigned(source) or width_of(source) == 1:
        number %= 1 << width_of(source)
    number %= 1 << width_of(target)
    if not is_unsigned(target) and number >> width_of(target) - 1:
        number -= 1 << width_of(target)
    match target:
        case IntegerType():
            return None if number == SMALLEST else ConstantOp(IntegerAttr(number, target), target)
        case _:
            # What needs the 64th bit stays a cast: an `index` attribute has a sign.
            return None if number >> 63 else ConstantOp(IntegerAttr(number, IndexType()), target)


def known_before_cast(value: SSAValue) -> int | None:
    """`known`, for a value that may have been cast to a type of the same width."""
    number = known(value)
    return known(value.owner.source) if number is None and isinstance(value.owner, CastOp) else number


def unsigned(type: Attribute) -> Attribute:
    """The type of the same width whose arithmetic wraps around."""
    return IntegerType(width_of(type), Signedness.UNSIGNED) if is_integer(type) else SIZE


def signed(type: Attribute) -> Attribute:
    """The type of the same width whose comparison and division heed the sign; a signless integer's do, in C++."""
    return IntegerType(width_of(type)) if is_integer(type) else DIFFERENCE


def cpp_types(op: Operation, types: Sequence[Attribute]) -> list[Attribute]:
    """The types that stand for those of the program in C++."""
    return [_cpp_type(op, type) for type in types]


def _cpp_type(op: Operation, type: Attribute) -> Attribute:
    match type:
        case IndexType():
            return SIZE
        case IntegerType() if is_integer(type):
            return type
        case IntegerType() if (found := wider(type)) is not None:
            return found
        case _:
            fail_op(op, NOT_SUPPORTED, (op, f"C++ has no integer type for {type}"))
