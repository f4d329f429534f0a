"""Parts that ranks, launches, segments and herds share: an iteration space, and a body that is passed values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, opt_prop_def, opt_result_def, region_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import BlockOp
from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    Integers,
    is_plain_terminator,
    parse_types,
    print_attributes,
    print_types,
    resolve_all,
    segments,
    split_attributes,
)
from tilewright.dialects.air.asynchronous import SEGMENT_SIZES, AsyncOp, parse_dependencies, print_dependencies
from tilewright.dialects.air.types import ANY_TOKEN, TOKEN


class _Space(NamedTuple):
    """The iteration space as it is written: `(%id, ...) in (%size = %extent, ...)`."""

    ids: list[Parser.UnresolvedArgument]
    sizes: list[Parser.UnresolvedArgument]
    extents: list[UnresolvedOperand]


class Hierarchy(BlockOp, AsyncOp):
    """A body that runs once for each point of an iteration space.

    The body sees what is passed to it: arguments are the ids, the sizes, then one for each kernel operand.
    """

    async_dependencies = var_operand_def(ANY_TOKEN)
    sizes = var_operand_def(INDEX)
    kernel_operands = var_operand_def()
    sym_name = opt_prop_def(StringAttr)
    body = region_def()
    async_token = opt_result_def(ANY_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SPACE_KEYWORD: ClassVar[str | None] = None
    """What stands before the iteration space."""
    SPACE_GAP: ClassVar[str] = " "
    SPACE_IS_OPTIONAL: ClassVar[bool] = False

    @property
    def extents(self) -> Sequence[SSAValue]:
        """How many points the iteration space has in each dimension."""
        return self.sizes

    @property
    def kernel_values(self) -> Sequence[SSAValue]:
        """What is passed to the body."""
        return self.kernel_operands

    @property
    def block(self) -> Block:
        return self.regions[0].block

    @property
    def ids(self) -> Sequence[BlockArgument]:
        """Where in the iteration space the body runs."""
        return self.block.args[: len(self.extents)]

    @property
    def size_arguments(self) -> Sequence[BlockArgument]:
        return self.block.args[len(self.extents) : 2 * len(self.extents)]

    @property
    def kernel_arguments(self) -> Sequence[BlockArgument]:
        return self.block.args[2 * len(self.extents) :]

    @property
    def symbol(self) -> str | None:
        return None if self.sym_name is None else self.sym_name.data

    def tied_operand(self, argument: BlockArgument) -> SSAValue | None:
        """What is passed to the body as `argument`; None for ids."""
        dims = len(self.extents)
        if argument.index < dims:
            return None
        return [*self.extents, *self.kernel_values][argument.index - dims]

    def set_kernel_operands(self, values: Sequence[SSAValue]) -> None:
        """Pass these values to the body, whose arguments the caller brings in line."""
        # they are the last operands of all levels
        sizes = cast(Integers, self.properties[SEGMENT_SIZES]).get_values()
        self.operands = [*self.operands[: sum(sizes[:-1])], *values]
        self.properties[SEGMENT_SIZES] = segments(*sizes[:-1], len(values))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_optional_symbol_name()
        is_async, operands = parse_dependencies(parser)
        counts = [len(operands)]
        extra = cls._parse_extra_operands(parser)  # None has no group of its own, an empty list has
        if extra is not None:
            operands += extra
            counts.append(len(extra))
        ids, sizes, extents = cls._parse_space(parser)
        arguments, values, types = _parse_kernel_arguments(parser)
        operands += [*resolve_all(parser, extents, INDEX), *parser.resolve_operands(values, types, parser.pos)]
        written = parser.parse_optional_attr_dict_with_keyword()
        properties, attributes = split_attributes(cls, {} if written is None else written.data)
        body = _parse_body(parser, [*ids, *sizes, *arguments], [INDEX] * (2 * len(ids)) + types, name is not None)
        properties |= {} if name is None else {"sym_name": name}
        properties[SEGMENT_SIZES] = segments(*counts, len(extents), len(values))
        return cls.create(
            operands=operands,
            result_types=[TOKEN] if is_async else [],
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    @classmethod
    def _parse_extra_operands(cls, parser: Parser) -> list[SSAValue] | None:
        """Operands between the dependencies and the iteration space, for those that have any."""
        return None

    @classmethod
    def _parse_space(cls, parser: Parser) -> _Space:
        if cls.SPACE_KEYWORD is not None:
            if cls.SPACE_IS_OPTIONAL and parser.parse_optional_keyword(cls.SPACE_KEYWORD) is None:
                return _Space([], [], [])
            if not cls.SPACE_IS_OPTIONAL:
                parser.parse_keyword(cls.SPACE_KEYWORD)
        ids = parser.parse_comma_separated_list(PAREN, lambda: parser.parse_argument(expect_type=False))
        parser.parse_keyword("in")
        sizes: list[Parser.UnresolvedArgument] = []
        extents: list[UnresolvedOperand] = []
        parser.parse_punctuation("(")
        for _ in ids:
            sizes.append(parser.parse_argument(expect_type=False))
            parser.parse_punctuation("=")
            extents.append(parser.parse_unresolved_operand())
            parser.parse_optional_punctuation(",")  # upstream asks for none, so programs may lack them
        parser.parse_punctuation(")")
        return _Space(ids, sizes, extents)

    def print(self, printer: Printer) -> None:
        if self.symbol is not None:
            printer.print_string(" ")
            printer.print_symbol_name(self.symbol)
        print_dependencies(printer, self)
        self._print_extra_operands(printer)
        self._print_space(printer)
        self._print_kernel_arguments(printer)
        print_attributes(printer, self, ("sym_name",), keyword=True)
        last = self.block.last_op
        is_bare = is_plain_terminator(last)
        # a body that says nothing may be left out where there is a name for what is meant
        if self.symbol is None or not is_bare or self.block.first_op is not last:
            printer.print_string(" ")
            printer.print_region(self.regions[0], print_entry_block_args=False, print_block_terminators=not is_bare)

    def _print_extra_operands(self, printer: Printer) -> None:
        pass

    def _print_space(self, printer: Printer) -> None:
        if self.SPACE_IS_OPTIONAL and not self.extents:
            return
        printer.print_string(" (" if self.SPACE_KEYWORD is None else f" {self.SPACE_KEYWORD}{self.SPACE_GAP}(")
        printer.print_list(self.ids, printer.print_ssa_value)
        printer.print_string(") in ")
        _print_pairs(printer, self.size_arguments, self.extents)

    def _print_kernel_arguments(self, printer: Printer) -> None:
        if self.kernel_values:
            printer.print_string(" args")
            _print_pairs(printer, self.kernel_arguments, self.kernel_values)
            printer.print_string(" : ")
            print_types(printer, [value.type for value in self.kernel_values])

    def verify_body(self) -> None:
        """The body takes an id and a size for each dimension, and what is passed to it."""
        expected = [INDEX] * (2 * len(self.extents)) + [value.type for value in self.kernel_values]
        if not self.regions[0].blocks or list(self.block.arg_types) != expected:
            raise VerifyException(
                "expects body arguments to be an id and a size for each dimension, then one for each kernel operand"
            )


def _parse_kernel_arguments(
    parser: Parser,
) -> tuple[list[Parser.UnresolvedArgument], list[UnresolvedOperand], list[Attribute]]:
    """`args(%argument = %value, ...) : types`, or nothing."""
    if parser.parse_optional_keyword("args") is None:
        return [], [], []

    def parse_pair() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        return argument, parser.parse_unresolved_operand()

    pairs = parser.parse_comma_separated_list(PAREN, parse_pair)
    if not pairs:
        return [], [], []
    parser.parse_punctuation(":")
    return [argument for argument, _ in pairs], [value for _, value in pairs], parse_types(parser)


def _parse_body(
    parser: Parser, arguments: Sequence[Parser.UnresolvedArgument], types: Sequence[Attribute], is_named: bool
) -> Region:
    """The body; one with a name may be left out, as what it names is found elsewhere."""
    position = parser.pos
    resolved = [argument.resolve(type) for argument, type in zip(arguments, types, strict=True)]
    body = parser.parse_optional_region(resolved)
    if body is not None:
        if body.first_block is None:  # `{}`, for which the reader makes no block
            body.add_block(Block(arg_types=types))
        return body
    if not is_named:
        parser.raise_error("expects a body, or the name of one that is elsewhere", position)
    return Region(Block(arg_types=types))


def _print_pairs(printer: Printer, arguments: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    printer.print_string("(")
    for number, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        printer.print_string(", " if number else "")
        printer.print_ssa_value(argument)
        printer.print_string("=")
        printer.print_ssa_value(value)
    printer.print_string(")")
