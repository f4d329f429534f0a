"""Memory that a kernel has for each of its blocks (workgroup) or threads (private): arguments of its body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._syntax import PAREN

WORKGROUP_COUNT = "workgroup_attributions"
KEYWORDS = "workgroup", "private"


def parse_attributions(parser: Parser, keyword: str) -> tuple[list[Parser.Argument], list[DictionaryAttr]]:
    """`workgroup(%buffer : type {attributes}, ...)`, or nothing."""
    arguments: list[Parser.Argument] = []
    dictionaries: list[DictionaryAttr] = []
    if parser.parse_optional_keyword(keyword) is None:
        return arguments, dictionaries

    # Two lists are filled, so that nothing has to be taken apart again.
    def parse_entry() -> None:
        arguments.append(parser.parse_argument())
        dictionaries.append(DictionaryAttr(parser.parse_optional_attr_dict()))

    parser.parse_comma_separated_list(PAREN, parse_entry)
    return arguments, dictionaries


def print_attributions(
    printer: Printer, keyword: str, arguments: Sequence[SSAValue], attributes: Iterable[DictionaryAttr] | None = None
) -> None:
    """The inverse of `parse_attributions`, with a space before it."""
    if not arguments:
        return
    dictionaries = list(attributes) if attributes is not None else [DictionaryAttr({})] * len(arguments)
    printer.print_string(f" {keyword}(")
    for number, (argument, dictionary) in enumerate(zip(arguments, dictionaries, strict=True)):
        printer.print_string(", " if number else "")
        printer.print_ssa_value(argument)
        printer.print_string(" : ")
        printer.print_attribute(argument.type)
        if dictionary.data:
            printer.print_op_attributes(dictionary.data)
    printer.print_string(")")


def verify_attributions(buffers: Iterable[SSAValue]) -> None:
    if not all(isinstance(buffer.type, MemRefType) for buffer in buffers):
        raise VerifyException("expected memref type in attribution")


def workgroup_count(op: IRDLOperation) -> int:
    """How many of the attributions belong to blocks; the others belong to threads."""
    # An attribute and not a property in MLIR; missing in generic text, it means none.
    count = op.attributes.get(WORKGROUP_COUNT)
    return count.value.data if isinstance(count, IntegerAttr) else 0


def count_attr(count: int) -> Attribute:
    return IntegerAttr(count, i64)


def listed(dictionaries: Sequence[DictionaryAttr]) -> ArrayAttr[DictionaryAttr] | None:
    """Dictionaries in a list, or nothing where all are empty."""
    # MLIR drops a list of empty dictionaries.
    return ArrayAttr(dictionaries) if any(dictionary.data for dictionary in dictionaries) else None
