"""Pieces of custom syntax that several standard dialects share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Self, TypeAlias, TypeVar, cast

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from tilewright.ir.interned import integer_array, wrapped_integer

CaseT = TypeVar("CaseT", bound=IntEnum)
EnumT = TypeVar("EnumT", bound=str)
Integers: TypeAlias = DenseArrayBase[IntegerType]

INDEX = IndexType()

PAREN = Parser.Delimiter.PAREN
SQUARE = Parser.Delimiter.SQUARE
NO_DELIMITER = Parser.Delimiter.NONE


def split_attributes(
    op: type[IRDLOperation], attributes: Mapping[str, Attribute]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Sort the entries of an attribute dictionary into the op's properties and everything else."""
    known = op.get_irdl_definition().properties
    properties: dict[str, Attribute] = {}
    others: dict[str, Attribute] = {}
    for name, value in attributes.items():
        (properties if name in known else others)[name] = value
    return properties, others


def print_attributes(printer: Printer, op: IRDLOperation, elided: Iterable[str] = (), keyword: bool = False) -> None:
    """The attribute dictionary of a custom form: other attributes, and properties that the form does not spell out.

    Elided are the names given, segment sizes, and properties that hold their default.
    """
    shown = dict(op.attributes)
    if op.properties:  # many have none: their definition is not asked for
        hidden = {"operandSegmentSizes", "resultSegmentSizes", *elided}
        definitions = op.get_irdl_definition().properties
        for name, value in op.properties.items():
            if name not in hidden and definitions[name].default_value != value:
                shown[name] = value
    if shown:
        printer.print_op_attributes(shown, print_keyword=keyword)


def segments(*sizes: int) -> Integers:
    """The value of `operandSegmentSizes`."""
    return integer_array(i32, sizes)


def parse_i32(parser: Parser) -> IntegerAttr[IntegerType]:
    """A number that stands for its 32 bits, as MLIR reads it where the type is known."""
    number = parse_optional_i32(parser)
    return parser.raise_error("expected integer value") if number is None else number


def parse_optional_i32(parser: Parser) -> IntegerAttr[IntegerType] | None:
    start = parser.pos
    value = parser.parse_optional_integer(allow_boolean=False)
    if value is None:
        return None
    if not -(1 << 31) <= value < 1 << 32:  # as MLIR, with a sign or without one
        parser.raise_error("integer constant out of range for attribute", start)
    return wrapped_integer(value, i32)


def parse_operands(parser: Parser, delimiter: Parser.Delimiter) -> list[UnresolvedOperand]:
    """A delimited list of operands, possibly empty."""
    return parser.parse_comma_separated_list(delimiter, parser.parse_unresolved_operand)


def parse_optional_operands(parser: Parser, delimiter: Parser.Delimiter) -> list[UnresolvedOperand]:
    """A delimited list of operands; nothing at all reads as the empty list."""
    return parser.parse_optional_comma_separated_list(delimiter, parser.parse_unresolved_operand) or []


def parse_bare_operands(parser: Parser) -> list[UnresolvedOperand]:
    """Operands separated by commas with nothing around them, possibly none."""
    return (
        parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        or []
    )


def parse_indices(parser: Parser, delimiter: Parser.Delimiter = SQUARE) -> list[SSAValue]:
    """Operands of type `index` in brackets."""
    return resolve_all(parser, parse_operands(parser, delimiter), INDEX)


def resolve_all(parser: Parser, operands: Sequence[UnresolvedOperand], type: Attribute) -> list[SSAValue]:
    return [parser.resolve_operand(operand, type) for operand in operands]


def parse_types(parser: Parser) -> list[Attribute]:
    """Types separated by commas."""
    return parser.parse_comma_separated_list(NO_DELIMITER, parser.parse_type)


def parse_optional_arrow_types(parser: Parser) -> list[Attribute]:
    """`-> type` or `-> (types)`; no arrow reads as no types."""
    if parser.parse_optional_punctuation("->") is None:
        return []
    types = parser.parse_optional_comma_separated_list(PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)


def print_optional_arrow_types(printer: Printer, types: Sequence[Attribute]) -> None:
    """` -> (types)`, or nothing where there are none."""
    if types:
        printer.print_string(" -> (")
        printer.print_list(types, printer.print_attribute)
        printer.print_string(")")


def print_operands(printer: Printer, operands: Iterable[SSAValue], brackets: str = "[]") -> None:
    """Operands separated by commas inside `brackets`."""
    printer.print_string(brackets[0])
    printer.print_list(operands, printer.print_ssa_value)
    printer.print_string(brackets[1])


def print_types(printer: Printer, types: Iterable[Attribute]) -> None:
    printer.print_list(types, printer.print_attribute)


def ensure_terminated(region: Region, make_terminator: Callable[[], Operation]) -> Region:
    """Give every region its block, and that block its terminator where the text left it out."""
    block = region.blocks.last
    if block is None:
        block = Block()
        region.add_block(block)
    last = block.last_op
    # an operation that is not registered is taken for none
    if last is None or not last.has_trait(IsTerminator, value_if_unregistered=False):
        block.add_op(make_terminator())
    return region


def parse_optional_enum(parser: Parser, cases: type[CaseT], attribute: str) -> CaseT | None:
    """A case of an enum, as a keyword or in quotes; a case that is no identifier has to be in quotes."""
    texts = {str(case): case for case in cases}
    position = parser.pos
    text = parser.parse_optional_keyword_in(texts) or parser.parse_optional_str_literal()
    if text is None:
        return None
    if text not in texts:
        parser.raise_error(f'invalid {attribute} attribute specification: "{text}"', position)
    return texts[text]


def parse_enum(parser: Parser, cases: type[CaseT], attribute: str) -> CaseT:
    """A case of an enum; `attribute` is what the errors call it."""
    case = parse_optional_enum(parser, cases, attribute)
    if case is None:
        parser.raise_error(
            "expected string or keyword containing one of the following enum values for attribute "
            f"'{attribute}' [{', '.join(map(str, cases))}]"
        )
    return case


def parse_enum_word(parser: Parser, cases: Sequence[EnumT], attribute: str) -> EnumT:
    """A keyword, or the same in quotes, that stands for a value of an enumeration."""
    position = parser.pos
    # any identifier: the error for a word that is no case is the same as for none
    word = parser.parse_optional_str_literal() or parser.parse_optional_identifier()
    found = next((case for case in cases if case == word), None)
    if found is None:
        parser.raise_error(
            "expected string or keyword containing one of the following enum values for attribute "
            f"'{attribute}' [{', '.join(cases)}]",
            position,
        )
    return found


def parse_typed_operands(parser: Parser) -> Sequence[SSAValue]:
    """`%a, %b : type, type`, or nothing."""
    position = parser.pos
    operands = parse_bare_operands(parser)
    if not operands:
        return ()
    parser.parse_punctuation(":")
    return parser.resolve_operands(operands, parse_types(parser), position)


def print_typed_operands(printer: Printer, operands: Sequence[SSAValue]) -> None:
    """The inverse of `parse_typed_operands`, with a space before it."""
    if operands:
        printer.print_string(" ")
        print_values_and_types(printer, operands)


def print_values_and_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    """`%a, %b : type, type`."""
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(" : ")
    print_types(printer, [value.type for value in values])


class TypedOperandsOp(IRDLOperation):
    """Syntax of an operation that is a list of values, as terminators are: `%a, %b : type, type`, or nothing."""

    # attributes come first, as upstream has it for its terminators
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=parse_typed_operands(parser), attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self)
        print_typed_operands(printer, self.operands)


def is_plain_terminator(op: Operation | None) -> bool:
    """Whether an implicit terminator says nothing, so that a custom form may leave it out."""
    return op is not None and not (op.operands or op.attributes or op.properties)


def parse_typed_elements(parser: Parser, type: TensorType) -> Attribute:
    """An elements attribute of a known type."""
    # the type is not written again behind the elements, which our reader else expects
    if parser.parse_optional_keyword("dense") is not None:
        return parser.parse_dense_int_or_fp_elements_attr(cast(Any, type))
    if parser.parse_optional_keyword("dense_resource") is not None:
        # a handle: the contents stand at the end of the file, or nowhere
        resources = parser.ctx.get_dialect("builtin").get_interface(OpAsmDialectInterface)
        if resources is None:
            parser.raise_error("the builtin dialect has no resources")
        with parser.in_angle_brackets():
            handle = parser._parse_dialect_resource_handle("builtin", resources)
        return DenseResourceAttr.from_params(handle, type)
    return parser.parse_attribute()


def print_typed_elements(printer: Printer, elements: Attribute) -> None:
    """The inverse of `parse_typed_elements`."""
    if isinstance(elements, DenseIntOrFPElementsAttr | DenseResourceAttr):
        elements.print_without_type(printer)
    else:
        printer.print_attribute(elements)
