"""Offsets, sizes and strides of a slice, some known when compiling: how operations keep, read and print them."""

from __future__ import annotations

from typing import Protocol

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import VarOperand
from xdsl.parser import Parser
from xdsl.printer import Printer

from tilewright.dialects._mixed_indices import parse_mixed_indices, print_mixed_indices, verify_mixed
from tilewright.dialects._syntax import Integers, segments

STATIC_NAMES = ("static_offsets", "static_sizes", "static_strides")
PLAIN = ("", " ", " ")
"""What stands before each list."""


class Slice(Protocol):
    """An operation that has the lists as its last operands."""

    @property
    def offsets(self) -> VarOperand: ...
    @property
    def sizes(self) -> VarOperand: ...
    @property
    def strides(self) -> VarOperand: ...
    @property
    def static_offsets(self) -> Integers: ...
    @property
    def static_sizes(self) -> Integers: ...
    @property
    def static_strides(self) -> Integers: ...


def parse_slice(parser: Parser, leading: int, *words: str) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """Operands and properties of an operation that has so many operands before them; `words` label the lists."""
    # three lists in a row, or `offset: [..], sizes: [..], strides: [..]`
    lists: list[tuple[list[SSAValue], Integers]] = []
    for number in range(len(STATIC_NAMES)):
        if words:
            _parse_label(parser, words[number], is_first=not lists)
        lists.append(parse_mixed_indices(parser))
    properties: dict[str, Attribute] = {name: static for name, (_, static) in zip(STATIC_NAMES, lists, strict=True)}
    # what comes before the lists is one operand each in all operations that have them
    properties["operandSegmentSizes"] = segments(*[1] * leading, *(len(values) for values, _ in lists))
    return [value for values, _ in lists for value in values], properties


def _parse_label(parser: Parser, word: str, is_first: bool) -> None:
    if not is_first:
        parser.parse_punctuation(",")
    parser.parse_keyword(word)
    parser.parse_punctuation(":")


def print_slice(printer: Printer, op: Slice, before: tuple[str, str, str] = PLAIN) -> None:
    """The inverse of `parse_slice`."""
    for text, (values, integers) in zip(before, _lists(op), strict=True):
        printer.print_string(text)
        print_mixed_indices(printer, values, integers)


def verify_slice(op: Slice) -> None:
    """Each marker in the lists has its value."""
    for name, (values, integers) in zip(("offset", "size", "stride"), _lists(op), strict=True):
        verify_mixed(values, integers, name)


def _lists(op: Slice) -> tuple[tuple[VarOperand, Integers], ...]:
    return (op.offsets, op.static_offsets), (op.sizes, op.static_sizes), (op.strides, op.static_strides)
