"""Operations that wait for tokens before they start and may give one that stands for their end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from tilewright.dialects._syntax import SQUARE, Integers, parse_optional_operands, resolve_all, segments
from tilewright.dialects.air.types import TOKEN, AsyncTokenType
from tilewright.ir.token_parser import TokenParser

SEGMENT_SIZES = AttrSizedOperandSegments.attribute_name


class AsyncOp(IRDLOperation):
    """Has tokens as its first operands, and a token as its first result if it does not block."""

    @property
    def dependencies(self) -> Sequence[SSAValue]:
        """The tokens that hold back the start."""
        sizes = self.properties.get(SEGMENT_SIZES)
        if sizes is None:  # operations that take nothing but tokens have no segments
            return self.operands
        return self.operands[: cast(Integers, sizes).get_values()[0]]

    @property
    def token(self) -> SSAValue | None:
        """What stands for the end, if the operation does not block."""
        first = self.results[0] if self.results else None
        return first if first is not None and isinstance(first.type, AsyncTokenType) else None

    def set_dependencies(self, tokens: Sequence[SSAValue]) -> None:
        """Wait for these tokens instead."""
        sizes = self.properties.get(SEGMENT_SIZES)
        self.operands = [*tokens, *self.operands[len(self.dependencies) :]]
        if sizes is not None:
            self.properties[SEGMENT_SIZES] = segments(len(tokens), *cast(Integers, sizes).get_values()[1:])


def parse_dependencies(parser: Parser) -> tuple[bool, list[SSAValue]]:
    """`async [%token, ...]`, either part optional."""
    is_async, tokens = _parse_unresolved(parser)
    return is_async, resolve_all(parser, tokens, TOKEN)


def _parse_unresolved(parser: Parser) -> tuple[bool, list[UnresolvedOperand]]:
    position = parser.pos
    is_async = parser.parse_optional_keyword("async") is not None
    # a token that has no name cannot be waited for, so upstream takes it for a mistake
    if is_async and not _is_named(parser):
        parser.raise_error("needs to be named when marked 'async'", position)
    return is_async, parse_optional_operands(parser, SQUARE)


def _is_named(parser: Parser) -> bool:
    """Whether results are named before the operation that is being read."""
    if not isinstance(parser, TokenParser):  # xDSL's own reader does not tell
        return True
    tokens = parser.tokens
    return tokens.texts[tokens.index_at(parser.custom_op_offset) - 1] == "="


def print_dependencies(printer: Printer, op: AsyncOp) -> None:
    """The inverse of `parse_dependencies`, with a space before each part."""
    if op.token is not None:
        printer.print_string(" async")
    if op.dependencies:
        printer.print_string(" [")
        # passes collect tokens in any order; texts should not depend on it
        printer.print_list(in_program_order(op.dependencies), printer.print_ssa_value)
        printer.print_string("]")


@irdl_custom_directive
class AsyncDependencies(CustomDirective):
    """The same in a format."""

    token: TypeDirective
    tokens: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        is_async, tokens = _parse_unresolved(parser)
        self.token.set(state, (TOKEN,) if is_async else ())
        self.tokens.set(state, tokens)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        print_dependencies(printer, cast(AsyncOp, op))


ASYNC = "custom<AsyncDependencies>(type($async_token), $async_dependencies)"


def in_program_order(tokens: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The tokens sorted by where they are made, if that is in one block."""
    if len(tokens) < 2:
        return tokens
    makers = [token.owner for token in tokens]
    if not all(isinstance(maker, Operation) for maker in makers) or len({_block(maker) for maker in makers}) > 1:
        return tokens
    places = _places(cast("Sequence[Operation]", makers))
    return sorted(tokens, key=lambda token: places[token.owner])


def _block(maker: object) -> object:
    return maker.parent if isinstance(maker, Operation) else maker


def _places(makers: Sequence[Operation]) -> dict[object, int]:
    """How far from the first of them each operation stands; the search goes both ways until it has met them all."""
    before: Operation | None = makers[0]
    after: Operation | None = makers[0]
    places: dict[object, int] = {makers[0]: 0}
    missing = len(set(makers)) - 1
    wanted = set(makers)
    distance = 0
    while missing:  # tokens are made close to where they are used, in blocks that may be long
        distance += 1
        before = before.prev_op if before is not None else None
        after = after.next_op if after is not None else None
        for op, place in ((before, -distance), (after, distance)):
            if op in wanted:
                places[op] = place
                missing -= 1
    return places
