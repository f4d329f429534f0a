"""Variables outside of functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttrConstr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    SymbolNameConstraint,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import parse_typed_elements, print_attributes, split_attributes
from tilewright.ir.symbols import lookup_symbol

from .types import LVALUE_OR_ARRAY, ArrayType

SPECIFIERS = ("extern", "static", "const")


@op_definition
class GlobalOp(IRDLOperation):
    """A variable outside of functions."""

    name = "emitc.global"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(TypeAttribute)
    initial_value = opt_prop_def()
    extern_specifier = opt_prop_def(UnitAttr)
    static_specifier = opt_prop_def(UnitAttr)
    const_specifier = opt_prop_def(UnitAttr)
    traits = traits_def(SymbolOpInterface())

    @property
    def specifiers(self) -> Sequence[str]:
        return [word for word in SPECIFIERS if f"{word}_specifier" in self.properties]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        # In this order only, as MLIR reads them.
        for word in SPECIFIERS:
            if parser.parse_optional_keyword(word) is not None:
                properties[f"{word}_specifier"] = UnitAttr()
        properties["sym_name"] = parser.parse_symbol_name()
        parser.parse_punctuation(":")
        type = properties["type"] = parser.parse_type()
        if parser.parse_optional_punctuation("=") is not None:
            properties["initial_value"] = _parse_initial_value(parser, type)
        known, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        return cls.create(properties=properties | known, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string("".join(f" {word}" for word in self.specifiers) + " ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        if self.initial_value is not None:
            printer.print_string(" = ")
            _print_initial_value(printer, self.initial_value)
        hidden = ("sym_name", "type", "initial_value", *(f"{word}_specifier" for word in SPECIFIERS))
        print_attributes(printer, self, hidden)

    def verify_(self) -> None:
        if self.static_specifier is not None and self.extern_specifier is not None:
            raise VerifyException("cannot have both static and extern specifiers")


def _parse_initial_value(parser: Parser, type: Attribute) -> Attribute:
    """A number, whose type is that of the variable, elements of an array, or C++ text."""
    # A number is written without its type, which stands before it.
    value = parser.parse_optional_number(allow_boolean=True)
    match type:
        case _ if value is None:
            pass
        # An integer literal initializes a float too.
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type():
            return FloatAttr(value, type)
        case IntegerType() | IndexType() if isinstance(value, int):
            return IntegerAttr(value, type)
        case _:
            parser.raise_error("floating point value not valid for specified type")
    if isinstance(type, ArrayType):
        # Elements are kept as those of a tensor: attributes know no C arrays.
        return parse_typed_elements(parser, TensorType(type.element_type, type.sizes))
    return parser.parse_attribute()


def _print_initial_value(printer: Printer, value: Attribute) -> None:
    match value:
        case DenseIntOrFPElementsAttr():
            value.print_without_type(printer)
        case IntegerAttr() | FloatAttr():
            value.print_without_type(printer)
        case _:
            printer.print_attribute(value)


class GlobalUse(SymbolUserOpInterface):
    """The name must be that of a global variable."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, GetGlobalOp)
        if not isinstance(lookup_symbol(op, op.name_), GlobalOp):
            raise VerifyException(f"'{op.name_.string_value()}' does not reference a valid emitc.global")


@op_definition
class GetGlobalOp(IRDLOperation):
    """A global variable, by name."""

    name = "emitc.get_global"
    name_ = prop_def(FlatSymbolRefAttrConstr, prop_name="name")
    result = result_def(LVALUE_OR_ARRAY)
    traits = traits_def(GlobalUse())
    assembly_format = "$name `:` type($result) attr-dict"


OPS = [GetGlobalOp, GlobalOp]
