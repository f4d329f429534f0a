"""Work on a device that may be waited for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from tilewright.dialects._syntax import SQUARE, parse_optional_operands, print_operands, resolve_all
from tilewright.dialects.gpu.attributes import TOKEN


def parse_dependencies(parser: Parser) -> tuple[bool, list[SSAValue]]:
    """`async [%token, ...]`, either part optional."""
    is_async = parser.parse_optional_keyword("async") is not None
    return is_async, resolve_all(parser, parse_optional_operands(parser, SQUARE), TOKEN)


def print_dependencies(printer: Printer, is_async: bool, tokens: Sequence[SSAValue]) -> None:
    """The inverse of `parse_dependencies`, with a space between the parts."""
    printer.print_string("async" if is_async else "")
    if tokens:
        printer.print_string(" " if is_async else "")
        print_operands(printer, tokens)
