"""Lists such as `[1, %n, 2]`: integers, with a marker where a value stands, and the values apart as operands.

MLIR calls them dynamic index lists. Everything that has one keeps, reads, prints and checks it through this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._syntax import INDEX, Integers
from tilewright.ir.interned import array_numbers, integer_array
from tilewright.ir.print_operations import PartDirective
from tilewright.ir.token_parser import TokenParser

Entries: TypeAlias = "list[SSAValue | int]"


def parse_mixed_entries(
    parser: Parser, type: IndexType | IntegerType = INDEX, delimiter: Parser.Delimiter = Parser.Delimiter.SQUARE
) -> Entries:
    """The entries of a list whose values are of `type`."""

    def parse_entry() -> SSAValue | int:
        operand = parser.parse_optional_unresolved_operand()
        return parse_i64(parser) if operand is None else parser.resolve_operand(operand, type)

    return parser.parse_comma_separated_list(delimiter, parse_entry)


def parse_optional_numbers(parser: Parser) -> tuple[int, ...] | None:
    """A list in square brackets, if it has no values and no signs."""
    return parser.parse_optional_numbers() if isinstance(parser, TokenParser) else None


def parse_i64(parser: Parser) -> int:
    """An integer that 64 bits hold: one more would wrap around to the marker for a value."""
    position = parser.pos
    integer = parser.parse_optional_integer(allow_boolean=False)
    if integer is None:  # the caller has looked for a value before
        parser.raise_error("expected SSA value or integer", position)
    if not -(1 << 63) <= integer < 1 << 63:
        parser.raise_error("integer value too large", position)
    return integer


def parse_mixed_indices(
    parser: Parser, delimiter: Parser.Delimiter = Parser.Delimiter.SQUARE
) -> tuple[list[SSAValue], Integers]:
    """A list of indices: the values in it, and the integers with a marker where a value stands."""
    return split_mixed(parse_mixed_entries(parser, INDEX, delimiter))


def print_mixed_indices(printer: Printer, values: Sequence[SSAValue], integers: Integers, brackets: str = "[]") -> None:
    """The inverse of `parse_mixed_indices`. What is not verified may lack values, and is printed for its message."""
    remaining = iter(values)
    printer.print_string(brackets[0])
    for position, integer in enumerate(integers.get_values()):
        if position:
            printer.print_string(", ")
        value = next(remaining, None) if integer == DYNAMIC_INDEX else None
        if value is None:
            printer.print_string(str(integer))
        else:
            printer.print_ssa_value(value)
    printer.print_string(brackets[1])


def split_mixed(entries: Iterable[SSAValue | int]) -> tuple[list[SSAValue], Integers]:
    """The values among the entries, and the integers with a marker where a value stands."""
    entries = tuple(entries)  # read twice
    values = [entry for entry in entries if isinstance(entry, SSAValue)]
    return values, integer_array(i64, tuple(DYNAMIC_INDEX if isinstance(e, SSAValue) else e for e in entries))


def join_mixed(values: Sequence[SSAValue], integers: Integers, what: str) -> Entries:
    """The inverse of `split_mixed`; `what` names an entry for the message of a list that does not fit."""
    verify_mixed(values, integers, what)  # passes may ask before the verifier does
    remaining = iter(values)
    return [next(remaining) if integer == DYNAMIC_INDEX else integer for integer in array_numbers(integers)]


def verify_mixed(values: Sequence[SSAValue], integers: Integers, what: str) -> None:
    """Each marker has its value, and each value its marker."""
    expected = array_numbers(integers).count(DYNAMIC_INDEX)
    if expected != len(values):
        raise VerifyException(f"expected {expected} dynamic {what} values, got {len(values)}")


@irdl_custom_directive
class MixedIndices(PartDirective):
    """A list in square brackets in a format."""

    values: VariadicOperandVariable
    integers: AttributeVariable

    DELIMITER: ClassVar = Parser.Delimiter.SQUARE
    BRACKETS: ClassVar = "[]"

    def parse(self, parser: Parser, state: ParsingState) -> None:
        operands: list[UnresolvedOperand] = []
        if self.DELIMITER is Parser.Delimiter.SQUARE and (numbers := parse_optional_numbers(parser)) is not None:
            self.values.set(state, operands)
            self.integers.set(state, integer_array(i64, numbers))
            return

        def parse_entry() -> int:
            operand = parser.parse_optional_unresolved_operand()
            if operand is None:
                return parse_i64(parser)
            operands.append(operand)
            return DYNAMIC_INDEX

        integers = parser.parse_comma_separated_list(self.DELIMITER, parse_entry)
        self.values.set(state, operands)
        self.integers.set(state, integer_array(i64, tuple(integers)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        integers = cast(Integers, self.integers.get(op))
        print_mixed_indices(printer, self.values.get(op), integers, self.BRACKETS)


class MixedInParens(MixedIndices):
    """The same in parentheses."""

    DELIMITER: ClassVar = Parser.Delimiter.PAREN
    BRACKETS: ClassVar = "()"
