"""MLIR text -> operations with locations, or a located diagnostic.

The reader is xDSL's parser with its hot methods replaced, in three layers: tokens (`token_parser`, over `lexer`),
attributes and types (`attribute_parser`), operations (`operation_parser`). Custom syntax written against
`xdsl.parser.Parser` works unchanged; custom syntax declared as an `assembly_format` is read by `format_parser`.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, PyRDLError, VerifyException

from tilewright.ir.diagnostics import CompileError, Diagnostic, Severity, VerifyError, fail, location_of
from tilewright.ir.limits import MAX_NESTING, MOST_SOURCE_BYTES
from tilewright.ir.operation_parser import OperationParser
from tilewright.ir.token_parser import SyntaxFault
from tilewright.support.collector import unhurried_collector

T = TypeVar("T")


def parse_source(ctx: Context, text: str | bytes, filename: str) -> ModuleOp:
    """The module that a text holds, or is the body of; raises `DiagnosedError` if it holds none."""
    return _parse(ctx, text, filename, OperationParser.parse_module)


def parse_attribute(ctx: Context, text: str) -> Attribute:
    """The attribute or type that a text describes; raises `DiagnosedError` if it is none."""
    return _parse(ctx, text, "<text>", OperationParser.parse_attribute)


def _parse(ctx: Context, text: str | bytes, filename: str, read: Callable[[OperationParser], T]) -> T:
    with unhurried_collector(), _deep_stack():
        parser = _parser(ctx, text, filename)
        try:
            return read(parser)
        except ParseError as error:
            raise CompileError([_parse_diagnostic(parser, error)]) from error
        except _FROM_WRONG_INPUT as error:
            raise CompileError([_stray_diagnostic(parser, error)]) from error


def _parser(ctx: Context, text: str | bytes, filename: str) -> OperationParser:
    """A reader of a text that is short enough."""
    if len(text) > MOST_SOURCE_BYTES:
        # Without a `SourceFile`: making one would read the whole text.
        start = FileLineColLoc(StringAttr(filename), IntAttr(1), IntAttr(1))
        fail(start, f"the program has {len(text)} characters, and may have {MOST_SOURCE_BYTES}")
    try:
        return OperationParser(ctx, text, filename)
    except ParseError as error:  # too many tokens
        start = FileLineColLoc(StringAttr(filename), IntAttr(line_of(text, error.span.start)), IntAttr(1))
        raise CompileError([Diagnostic(Severity.ERROR, error.msg, start)]) from error


def line_of(text: str | bytes, offset: int) -> int:
    """The line of an offset, found without making all lines."""
    return 1 + (text.count("\n", 0, offset) if isinstance(text, str) else text.count(b"\n", 0, offset))


_FROM_WRONG_INPUT = (
    VerifyException,
    PyRDLError,
    ValueError,
    ArithmeticError,
    LookupError,
    AssertionError,
    NotImplementedError,
    RecursionError,
    MemoryError,
    struct.error,
)
"""What xDSL raises, besides parse errors, when it is given attributes and operations that cannot be."""


def _parse_diagnostic(parser: OperationParser, error: ParseError) -> Diagnostic:
    diagnostic = parser._error(error.span.start, error.msg)
    if isinstance(error, SyntaxFault):
        for offset, note in error.notes:
            diagnostic.note(parser.source.location(offset), note)
    # xDSL's own errors about two places, such as a symbol defined twice.
    elif isinstance(error, MultipleSpansParseError):
        for span, note in error.refs:
            diagnostic.note(parser.source.location(span.start), note or error.ref_text or "see here")
    return diagnostic


def _stray_diagnostic(parser: OperationParser, error: Exception) -> Diagnostic:
    # Errors of xDSL may have several lines; a diagnostic has one.
    text, place = " ".join(str(error).split("\n")) or type(error).__name__, parser.source.location(parser.pos)
    if isinstance(error, RecursionError):
        text = "nesting too deep"
    elif parser.custom_op and not (isinstance(error, VerifyError) and error.bare):
        text, place = f"'{parser.custom_op}' op {text}", parser.source.location(parser.custom_op_offset)
    if not isinstance(error, VerifyError):
        return Diagnostic(Severity.ERROR, text, place)
    diagnostic = Diagnostic(Severity.ERROR, text, place if error.at is None else location_of(error.at))
    for at, note in error.notes:
        diagnostic.note(at, note)
    return diagnostic


@contextmanager
def _deep_stack() -> Generator[None]:
    """Room for `MAX_NESTING` levels, each of which takes several Python frames."""
    limit = sys.getrecursionlimit()
    # Never lowered: a caller may have raised it further.
    sys.setrecursionlimit(max(limit, 40 * MAX_NESTING))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
