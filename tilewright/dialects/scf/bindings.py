"""Bindings of values to arguments of regions, as loops write them."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._syntax import PAREN, parse_optional_arrow_types
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


class Carried(NamedTuple):
    """Arguments of a loop's body, what they are at first, and their types."""

    arguments: list[Parser.UnresolvedArgument]
    initial: list[UnresolvedOperand]
    types: list[Attribute]


def parse_carried(parser: Parser, keyword: str, mismatch: str | None = None) -> Carried:
    """`keyword (%argument = %value, ...) -> (type, ...)`, or nothing; `mismatch` complains about other numbers."""
    position = parser.pos
    if parser.parse_optional_keyword(keyword) is None:
        return Carried([], [], [])
    # Types follow the arrow, as those of results: they are the same.
    carried = Carried(*parse_bindings(parser), parse_optional_arrow_types(parser))
    if mismatch is not None and len(carried.arguments) != len(carried.types):
        parser.raise_error(mismatch, position)
    return carried


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


def verify_cases(values: Sequence[int], regions: Sequence[Region]) -> None:
    """A switch has a region for each of its cases, which differ."""
    if len(values) != len(regions):
        raise VerifyException(f"has {len(regions)} case regions but {len(values)} case values")
    seen: set[int] = set()
    for value in values:
        if value in seen:
            raise VerifyException(f"has duplicate case value: {value}")
        seen.add(value)


def terminator_of(region: Region) -> Operation | None:
    """What ends the last block of a region."""
    # The last and not the only one: `scf.execute_region` may have several.
    block = region.blocks.last
    return None if block is None else block.last_op
