"""Compiles the formats of `_ods`: xDSL's language, with keyword enums, bare integers and implicit terminators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.dialects.utils import BitEnumAttribute, EnumAttribute
from xdsl.ir import Attribute
from xdsl.irdl import EqAttrConstraint, IRDLOperation, OpDef, ParamAttrConstraint, ParsePropInAttrDict
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    FormatDirective,
    ParsingState,
    PrintingState,
    RegionVariable,
    SymbolNameAttributeVariable,
    TypedAttributeVariable,
    UniqueBaseAttributeVariable,
)
from xdsl.irdl.declarative_assembly_format_parser import FormatParser
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import EnumConstraint, IntConstraint, parse_body, print_body
from tilewright.dialects._syntax import parse_enum, parse_enum_word, parse_optional_enum
from tilewright.ir.constraints import Described
from tilewright.ir.interned import wrapped_integer

if TYPE_CHECKING:
    from tilewright.ir.printer import Printer as OurPrinter


def compile_format(source: str, definition: OpDef) -> Sequence[FormatDirective]:
    # As in MLIR, properties that a format does not spell stand in its attr-dict; xDSL wants to be told.
    definition = replace(definition, options=[*definition.options, ParsePropInAttrDict()])
    return OdsFormatParser(source, definition).parse_format().stmts


@dataclass(frozen=True)
class IntVariable(AttributeVariable):
    """An integer without its type."""

    type: IntegerType

    def parse_attr(self, parser: Parser) -> Attribute | None:
        position = parser.pos
        value = parser.parse_optional_integer(allow_boolean=False)
        if value is None:
            return None if self.is_optional else parser.raise_error("expected attribute value")
        try:
            return IntegerAttr(value, self.type)
        except VerifyException:
            parser.raise_error("integer constant out of range for attribute", position)

    def print_attr(self, printer: Printer, attr: Attribute) -> None:
        assert isinstance(attr, IntegerAttr)
        printer.print_string(str(attr.value.data))


@dataclass(frozen=True)
class NumberVariable(TypedAttributeVariable):
    """An integer of any size without its type, such as an index."""

    def parse_attr(self, parser: Parser) -> Attribute | None:
        return IntegerAttr(parser.parse_integer(allow_boolean=False), cast(IndexType, self.unique_type))


@dataclass(frozen=True)
class EnumVariable(AttributeVariable):
    """A case of an enum: a keyword, or a string where the case is not an identifier. Both are read."""

    constraint: EnumConstraint

    def parse_attr(self, parser: Parser) -> Attribute | None:
        case = (parse_optional_enum if self.is_optional else parse_enum)(parser, self.constraint.cases, self.name)
        return None if case is None else wrapped_integer(int(case), self.constraint.type)

    def print_attr(self, printer: Printer, attr: Attribute) -> None:
        assert isinstance(attr, IntegerAttr)
        printer.print_identifier_or_string_literal(str(self.constraint.cases(attr.value.data)))


@dataclass(frozen=True)
class WordVariable(AttributeVariable):
    """A case of an enum that is an attribute of its own: a keyword, or the same in quotes."""

    kind: type[EnumAttribute[Any]]

    def parse_attr(self, parser: Parser) -> Attribute | None:
        # xDSL's own reader knows no quotes, and words its error differently
        return self.kind(parse_enum_word(parser, tuple(self.kind.enum_type), self.name))

    def print_attr(self, printer: Printer, attr: Attribute) -> None:
        printer.print_string(cast("EnumAttribute[Any]", attr).data)


@dataclass(frozen=True)
class FlagsVariable(UniqueBaseAttributeVariable):
    """Flags in angle brackets, in the words that they have as an attribute."""

    def print_attr(self, printer: Printer, attr: Attribute) -> None:
        # xDSL has no space behind a comma, where MLIR has one in some of them
        printer.print_string(cast("OurPrinter", printer).attribute_text(attr).removeprefix(f"#{attr.name}"))


@dataclass(frozen=True)
class BodyVariable(RegionVariable):
    """A region whose implicit terminator is shown only if it says something."""

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.set(state, parse_body(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        print_body(printer, self.get(op))


class OdsFormatParser(FormatParser):
    def parse_optional_variable(self, inside_ref: bool, *, qualified: bool = False) -> FormatDirective | None:
        variable = super().parse_optional_variable(inside_ref, qualified=qualified)
        match variable:
            case AttributeVariable(name=name) if name in self.op_def.properties:
                return self._property_variable(variable)
            # as in MLIR, the trait and not the format says that the terminator is left out
            case RegionVariable(name, index) if any(
                isinstance(trait, SingleBlockImplicitTerminator) for trait in self.op_def.traits
            ):
                return BodyVariable(name, index)
            case _:
                return variable

    def _property_variable(self, variable: AttributeVariable) -> AttributeVariable:
        shape = (variable.name, variable.is_property, variable.is_optional, variable.default_value)
        match variable, self.op_def.properties[variable.name].constr:
            case _, EnumConstraint() as constraint:
                return EnumVariable(*shape, constraint)
            case _, IntConstraint(type=type):
                return IntVariable(*shape, type)
            # A name that has a default may be left out.
            case SymbolNameAttributeVariable(name=name, default_value=default), _ if default is not None:
                return SymbolNameAttributeVariable(name, variable.is_property, True, default)
            case _, Described(constraint=ParamAttrConstraint(IntegerAttr, (_, EqAttrConstraint(type)))):
                return NumberVariable(*shape, IntegerAttr, type)
            case UniqueBaseAttributeVariable(unique_base=base), _ if issubclass(base, BitEnumAttribute):
                return FlagsVariable(*shape, cast("type[Attribute]", base))
            # Attributes that write their word in their own way, such as `<add>`, read it in their own way, too.
            case UniqueBaseAttributeVariable(unique_base=base), _ if _is_plain_enum(base):
                return WordVariable(*shape, cast("type[EnumAttribute[Any]]", base))
            case _:
                return variable


def _is_plain_enum(kind: type[Attribute]) -> bool:
    """Whether an attribute is an enumeration that is read and printed as xDSL does it."""
    bases = kind.__mro__
    own = bases[: bases.index(EnumAttribute)] if EnumAttribute in bases else ()
    return bool(own) and not any("parse_parameter" in vars(base) for base in own)
