"""What the operations with regions have in common."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    IndexType,
    SignlessIntegerConstraint,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    base,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from tilewright.dialects._syntax import (
    PAREN,
)
from tilewright.ir.constraints import described

LOOP_TYPE = described(SignlessIntegerConstraint | base(IndexType), "signless integer or index")


def parse_bindings(parser: Parser) -> tuple[list[Parser.UnresolvedArgument], list[UnresolvedOperand]]:
    """`(%argument = %value, ...)`."""

    def parse_binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        return argument, parser.parse_unresolved_operand()

    pairs = parser.parse_comma_separated_list(PAREN, parse_binding)
    return [argument for argument, _ in pairs], [value for _, value in pairs]


def print_bindings(printer: Printer, arguments: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    """The inverse of `parse_bindings`."""
    printer.print_string("(")
    for position, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        if position:
            printer.print_string(", ")
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(value)
    printer.print_string(")")


def resolve_arguments(
    arguments: Sequence[Parser.UnresolvedArgument], types: Sequence[Attribute]
) -> list[Parser.Argument]:
    return [argument.resolve(type) for argument, type in zip(arguments, types, strict=True)]


def terminator_of(region: Region) -> Operation | None:
    """What ends the last block of a region."""
    block = region.blocks.last
    return None if block is None else block.last_op
