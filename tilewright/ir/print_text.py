"""Pieces of text, collected and written out at once: the lowest layer of the printer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Protocol, TypeVar

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.printer import Printer as XDSLPrinter

from tilewright.ir.print_attributes import (
    bytes_text,
    dimensions_text,
    integer_text,
    keyword_text,
    string_text,
    symbol_text,
)
from tilewright.ir.print_floats import float_text

T = TypeVar("T")


class Sink(Protocol):
    def append(self, text: str, /) -> None: ...


class _StreamSink:
    """Where text goes that is printed outside of any operation: directly to the stream."""

    def __init__(self, stream: IO[str] | None):
        self._stream = stream

    def append(self, text: str, /) -> None:
        (self._stream or sys.stdout).write(text)


class _Delimited:
    """Text printed on entering and on leaving; cheaper than a generator."""

    __slots__ = ("_end", "_printer", "_start")

    def __init__(self, printer: TextPrinter, start: str, end: str):
        self._printer, self._start, self._end = printer, start, end

    def __enter__(self) -> None:
        self._printer._out.append(self._start)

    def __exit__(self, *exception: object) -> None:
        self._printer._out.append(self._end)


@dataclass(eq=False, repr=False)
class TextPrinter(XDSLPrinter):
    """Prints strings, numbers and lists."""

    def __post_init__(self) -> None:
        self._out: Sink = _StreamSink(self.stream)

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            indent = self._indent if indent is None else indent
            text = text.replace("\n", "\n" + " " * (indent * self.indent_num_spaces))
        self._out.append(text)

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        indent = self._indent if indent is None else indent
        self._out.append("\n" + " " * (indent * self.indent_num_spaces))

    def print_list(self, elems: Iterable[T], print_fn: Callable[[T], Any], delimiter: str = ", ") -> None:
        out = self._out
        first = True
        for element in elems:
            if first:
                first = False
            else:
                out.append(delimiter)
            print_fn(element)

    def delimited(self, start: str, end: str) -> Any:
        return _Delimited(self, start, end)

    def in_angle_brackets(self) -> Any:
        return _Delimited(self, "<", ">")

    def in_braces(self) -> Any:
        return _Delimited(self, "{", "}")

    def in_parens(self) -> Any:
        return _Delimited(self, "(", ")")

    def in_square_brackets(self) -> Any:
        return _Delimited(self, "[", "]")

    def print_string_literal(self, string: str) -> None:
        self._out.append(string_text(string))

    def print_bytes_literal(self, bytestring: bytes) -> None:
        self._out.append(bytes_text(bytestring))

    def print_identifier_or_string_literal(self, string: str) -> None:
        self._out.append(keyword_text(string))

    def print_symbol_name(self, sym_name: str) -> None:
        self._out.append(symbol_text(sym_name))

    def print_float(self, value: float, type: AnyFloat) -> None:
        self._out.append(float_text(value, type))

    def print_int(self, value: int, type: IntegerType | IndexType | None = None) -> None:
        self._out.append(str(value) if type is None else integer_text(value, type))

    def print_dimension_list(self, dims: Sequence[int]) -> None:
        self._out.append(dimensions_text(dims)[:-1])

    @contextmanager
    def _captured(self) -> Generator[list[str]]:
        """Collect what is printed in a list instead."""
        outer, pieces = self._out, list[str]()
        self._out = pieces
        try:
            yield pieces
        finally:
            self._out = outer
