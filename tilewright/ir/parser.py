"""MLIR text -> operations with locations, or a located diagnostic.

The reader is xDSL's parser with its hot methods replaced, in layers: tokens, types, numbers, attributes and, here,
operations. Custom syntax written against `xdsl.parser.Parser` works unchanged; custom syntax declared as an
`assembly_format` is read by `ir.format_parser`.
"""

from __future__ import annotations

import gc
import struct
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, NoReturn, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, PyRDLError, VerifyException

from tilewright.ir.create import create_operation
from tilewright.ir.diagnostics import CompileError, Diagnostic, Severity, VerifyError, fail, location_of
from tilewright.ir.lexer import DIGITS, END, IDENTIFIER_STARTS, integer_value
from tilewright.ir.limits import MAX_NESTING, MOST_ALIAS_TOKENS, MOST_SOURCE_BYTES
from tilewright.ir.locations import SourceLocation
from tilewright.ir.region_parser import ForwardReference, Operand, RegionParser
from tilewright.ir.token_parser import SyntaxFault

_CustomSyntax: TypeAlias = "tuple[str, str, Callable[[Parser], Operation]]"
"""The name of an operation, its dialect and what reads it in its own syntax."""


class _ResultName(NamedTuple):
    name: str
    size: int
    offset: int


class Parser(RegionParser):
    """The part of the reader that knows operations and files."""

    inferred_types: dict[tuple[int | None, ...], tuple[Sequence[Attribute], object]]
    """Types that followed from others, by the identity of a rule and of those others, which are kept alive here."""

    literals: dict[tuple[int, str, str], Attribute]
    """What a number or keyword stood for in a format, by the identity of the place in the format."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self.inferred_types = {}
        self.literals = {}
        self._generic_classes: dict[str, type[Operation]] = {}
        self._op_classes: dict[str, _CustomSyntax] = {}

    # Files

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        block = Block()
        texts, tokens = self.tokens.texts, self.tokens
        while (text := texts[tokens.index]) is not END:
            if text[0] in "#!":
                self._parse_alias_def()
            elif text == "{-#":
                self._parse_file_metadata_dictionary()
            else:
                self._parse_operation_into(block)
        self._check_all_defined()
        first = block.first_op
        if isinstance(first, ModuleOp) and first.next_op is None:
            block.detach_op(first)
            module = first
        elif allow_implicit_module:
            module_class = cast(type[ModuleOp], self.ctx.get_op("builtin.module"))
            module = module_class(Region(block))
            module.location = self.source.location(0)
        else:
            self._fail(0, "expected a single 'builtin.module' operation")
        self._resolve_pending_locations(module)
        return module

    def _check_all_defined(self) -> None:
        uses = [value for values in self.forward_ssa_references.values() for value in values.values()]
        # An operation whose own body defines what it uses did not exist yet when that was resolved.
        stale = [reference for reference in self.resolved_references if reference.first_use is not None]
        offsets = sorted(use.offset for use in (*uses, *stale) if isinstance(use, ForwardReference))
        if offsets:
            raise CompileError([self._error(offset, "use of undeclared SSA value name") for offset in offsets])
        self._check_all_blocks_defined()

    def _error(self, offset: int, text: str) -> Diagnostic:
        return Diagnostic(Severity.ERROR, text, self.source.location(offset))

    def _resolve_pending_locations(self, module: ModuleOp) -> None:
        if not self.pending_locations:
            return
        found: dict[int, LocationAttr] = {}
        for key, (_, alias, offset) in self.pending_locations.items():
            attribute = self.attribute_aliases.get(alias)
            if attribute is None:
                self._fail(offset, "operation location alias was never defined")
            found[key] = self.check_location(offset, attribute)
        for op in module.walk():
            op.location = found.get(id(op.location), op.location)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        argument.location = found.get(id(argument.location), argument.location)

    def _parse_alias_def(self) -> None:
        tokens = self.tokens
        name, start = tokens.texts[tokens.index], self.pos
        kind = "type" if name[0] == "!" else "attribute"
        if name in self.attribute_aliases:
            self._fail(start, f"redefinition of {kind} alias id '{name[1:]}'")
        if "." in name:
            self._fail(start, f"{kind} names with a '.' are reserved for dialect-defined names")
        tokens.index += 1
        self.parse_characters("=", f" in {kind} alias definition")
        first, before, self.counts_all_aliases = tokens.index, self.expanded_tokens, True
        self.attribute_aliases[name] = self.parse_type() if kind == "type" else self.parse_attribute()
        size, self.counts_all_aliases = tokens.index - first + self.expanded_tokens - before, False
        if size > MOST_ALIAS_TOKENS and size > tokens.index - first:
            self._fail(start, f"'{name}' stands for more than {MOST_ALIAS_TOKENS} tokens when it is written out")
        self.alias_tokens[name], self.expanded_tokens = size, before

    def _parse_metadata_element(self) -> None:
        start = self.pos
        key = self.parse_optional_identifier()
        if key is None:
            self._fail_expecting("expected identifier key in file metadata dictionary")
        self.parse_characters(":")
        if key == "dialect_resources":
            self._parse_dialect_resources()
        elif key == "external_resources":
            self.parse_list(self.Delimiter.BRACES, self._skip_resource)
        else:
            self._fail(start, f"unknown key '{key}' in file metadata dictionary")

    def _skip_resource(self) -> None:
        """A key and what it stands for: resources of other tools mean nothing here."""
        self.parse_identifier_or_str_literal()
        self.parse_characters(":")
        if self.tokens.texts[self.tokens.index] == "{":
            self.parse_list(self.Delimiter.BRACES, self._skip_resource)
        elif self.parse_optional_str_literal() is None:
            self.parse_boolean()

    # Operations

    def parse_optional_operation(self) -> Operation | None:
        first = self.tokens.texts[self.tokens.index][0]
        return self.parse_operation() if first in IDENTIFIER_STARTS or first in '%"' else None

    def parse_operation(self) -> Operation:
        tokens = self.tokens
        texts, first = tokens.texts, tokens.index
        names: Sequence[_ResultName] = ()
        if texts[first][0] == "%":
            if texts[first + 1] == "=":
                tokens.index = first + 2
                names = (_ResultName(texts[first][1:], 1, tokens.starts[first]),)
            else:
                names = self._parse_result_names()
        name = texts[tokens.index]
        location = self.source.location(tokens.starts[tokens.index])
        if name[0] in IDENTIFIER_STARTS:
            op = self._parse_custom_operation(name)
            op.location = location
            if op.regions:
                _locate_terminators(op)
            if texts[tokens.index] == "loc":
                op.location = self.parse_optional_location() or location
        elif name[0] == '"':
            op = self._parse_quoted_operation(location)
        else:
            self._fail_expecting("expected operation name in quotes")
        if names:
            self._define_results(op, names, tokens.starts[first])
        return op

    def _parse_result_names(self) -> list[_ResultName]:
        tokens = self.tokens
        texts = tokens.texts
        names: list[_ResultName] = []
        while True:
            index = tokens.index
            text = texts[index]
            if text[0] != "%":
                self._fail_expecting("expected valid ssa identifier")
            tokens.index = index + 1
            count = self._parse_result_count() if texts[index + 1] == ":" else 1
            names.append(_ResultName(text[1:], count, tokens.starts[index]))
            if texts[tokens.index] != ",":
                break
            tokens.index += 1
        self.parse_characters("=", " after SSA name")
        return names

    def _parse_result_count(self) -> int:
        tokens = self.tokens
        text = tokens.texts[tokens.index + 1]
        tokens.index += 1
        if text[0] not in DIGITS or "." in text:
            self._fail_expecting("expected integer number of results")
        count = integer_value(text)
        if count < 1:
            self._fail_expecting("expected named operation to have at least 1 result")
        tokens.index += 1
        return count

    def _define_results(self, op: Operation, names: Sequence[_ResultName], offset: int) -> None:
        results = op.results
        if len(names) == 1:
            name, size, start = names[0]
            if size == len(results):
                self.define_values(name, results, start)
                return
        if not results:
            self._fail(offset, "cannot name an operation with no results")
        given = sum(name.size for name in names)
        if given != len(results):
            self._fail(offset, f"operation defines {len(results)} results but was provided {given} to bind")
        first = 0
        for name, size, start in names:
            self.define_values(name, results[first : first + size], start)
            first += size

    # Operations in their own syntax

    def _parse_custom_operation(self, name: str) -> Operation:
        stack = self._parser_state.dialect_stack
        found = self._op_classes.get(name)
        if found is None:
            found = self._find_custom_operation(name)
        full_name, dialect, parse = found
        tokens = self.tokens
        outer = self.custom_op, self.custom_op_offset
        self.custom_op, self.custom_op_offset = full_name, tokens.starts[tokens.index]
        tokens.index += 1
        stack.append(dialect)
        op = parse(self)
        stack.pop()
        self.custom_op, self.custom_op_offset = outer
        return op

    def _find_custom_operation(self, name: str) -> _CustomSyntax:
        from tilewright.ir.format_parser import custom_parser

        stack = self._parser_state.dialect_stack
        op_class = self.ctx.get_optional_op(name, dialect_stack=stack)
        if op_class is None or issubclass(op_class, UnregisteredOp):
            self._fail_unknown_operation(name)
        found = op_class.name, op_class.dialect_name(), custom_parser(op_class)
        if op_class.name == name:
            self._op_classes[name] = found
        return found

    def _fail_unknown_operation(self, name: str) -> NoReturn:
        dialect, dot, _ = name.partition(".")
        if not dot:
            tried = f"{self._parser_state.dialect_stack[-1]}.{name}"
            self._fail(self.pos, f"custom op '{name}' is unknown (tried '{tried}' as well)")
        if self.ctx.get_optional_dialect(dialect) is not None:
            self._fail(self.pos, f"custom op '{name}' is unknown")
        self._fail(self.pos, f"Dialect `{dialect}' not found for custom op '{name}' ", self._known_dialects())

    # Operations in generic syntax

    def _parse_quoted_operation(self, location: SourceLocation) -> Operation:
        name = self.parse_str_literal()
        if not name:
            self._fail(location.offset, "empty operation name is invalid")
        op_class = self._generic_classes.get(name)
        if op_class is None:
            op_class = self._generic_classes[name] = self._get_op_by_name(name)
        stack = self._parser_state.dialect_stack
        outer, self.custom_op = self.custom_op, None
        stack.append(name.partition(".")[0])
        op = self._parse_generic_operation(op_class, location)
        stack.pop()
        self.custom_op = outer
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        dialect, dot, _ = name.partition(".")
        known = dot and self.ctx.get_optional_dialect(dialect) is not None
        op_class = self.ctx.get_optional_op(name) if "." in name or self.ctx.allow_unregistered else None
        if known and (op_class is None or issubclass(op_class, UnregisteredOp)):
            self._fail(
                self.tokens.starts[self.tokens.index - 1],
                f"unregistered operation '{name}' found in dialect ('{dialect}') "
                "that does not allow unknown operations",
            )
        if op_class is None:
            self._fail(
                self.pos,
                "operation being parsed with an unregistered dialect. If this is intended, please use "
                "-allow-unregistered-dialect with the MLIR tool used",
                self._known_dialects(),
            )
        return op_class

    def _parse_generic_operation(self, op_type: type[Operation], location: LocationAttr | None = None) -> Operation:
        tokens = self.tokens
        texts = tokens.texts
        operands = self._parse_generic_operands()
        successors = self._parse_generic_successors() if texts[tokens.index] == "[" else ()
        properties = self.parse_optional_properties_dict() if texts[tokens.index] == "<" else {}
        regions = self.parse_region_list() if texts[tokens.index] == "(" else ()
        attributes = self._parse_entries() if texts[tokens.index] == "{" else {}
        if texts[tokens.index] != ":":
            self._fail_expecting("expected ':' followed by operation type")
        tokens.index += 1
        start = self.pos
        if texts[tokens.index] != "(":
            self.parse_type()
            self._fail(start, "expected function type")
        inputs, outputs = self._parse_signature()
        if attributes and issubclass(op_type, IRDLOperation):
            for name in op_type.get_irdl_definition().properties:
                if name in attributes and name not in properties:
                    properties[name] = attributes.pop(name)
        values = self.resolve_operands(operands, inputs, start)
        location = self.parse_optional_location() or location or self.source.location(start)
        return create_operation(op_type, values, outputs, properties, attributes, successors, regions, location)

    def _parse_generic_operands(self) -> list[Operand]:
        tokens = self.tokens
        texts = tokens.texts
        self.parse_characters("(", " to start operand list")
        operands: list[Operand] = []
        if texts[tokens.index][0] == "%":
            operands.append(self.parse_unresolved_operand())
            while texts[tokens.index] == ",":
                tokens.index += 1
                operands.append(self.parse_unresolved_operand())
        self.parse_characters(")", " to end operand list")
        return operands

    def _parse_generic_successors(self) -> list[Block]:
        return self.parse_list(self.Delimiter.SQUARE, self.parse_successor)

    def parse_optional_properties_dict(self) -> dict[str, Attribute]:
        if self.parse_optional_characters("<") is None:
            return {}
        if self.tokens.texts[self.tokens.index] != "{":
            self._fail_expecting("expected attribute value")
        properties = self._parse_entries()
        self.parse_characters(">", " to close properties")
        return properties


def _locate_terminators(op: Operation) -> None:
    """Terminators that the text leaves out are where their operation is, whatever location is written behind it."""
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if last is not None and last.location is UNKNOWN_LOC:
                last.location = op.location


def parse_source(ctx: Context, text: str | bytes, filename: str) -> ModuleOp:
    """The module that a text holds, or is the body of; raises `DiagnosedError` if it holds none."""
    with _unhurried_collector(), _deep_stack():
        parser = _parser(ctx, text, filename)
        try:
            return parser.parse_module()
        except ParseError as error:
            raise CompileError([_parse_diagnostic(parser, error)]) from error
        except _FROM_WRONG_INPUT as error:
            raise CompileError([_stray_diagnostic(parser, error)]) from error


def _parser(ctx: Context, text: str | bytes, filename: str) -> Parser:
    """A reader of a text that is short enough."""
    if len(text) > MOST_SOURCE_BYTES:
        start = FileLineColLoc(StringAttr(filename), IntAttr(1), IntAttr(1))
        fail(start, f"the program has {len(text)} characters, and may have {MOST_SOURCE_BYTES}")
    try:
        return Parser(ctx, text, filename)
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


def _parse_diagnostic(parser: Parser, error: ParseError) -> Diagnostic:
    diagnostic = parser._error(error.span.start, error.msg)
    if isinstance(error, SyntaxFault):
        for offset, note in error.notes:
            diagnostic.note(parser.source.location(offset), note)
    elif isinstance(error, MultipleSpansParseError):
        for span, note in error.refs:
            diagnostic.note(parser.source.location(span.start), note or error.ref_text or "see here")
    return diagnostic


def _stray_diagnostic(parser: Parser, error: Exception) -> Diagnostic:
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
def _unhurried_collector() -> Generator[None]:
    """Reading makes many objects and no garbage: looking for it again and again only costs."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _deep_stack() -> Generator[None]:
    """Room for `MAX_NESTING` levels, each of which takes several Python frames."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 40 * MAX_NESTING))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
