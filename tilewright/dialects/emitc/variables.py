"""Constants, variables and what refers to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttrConstr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure, SymbolOpInterface, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._elements import parse_typed_elements
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import parse_operands, print_attributes, print_operands, split_attributes
from tilewright.ir.shown import quoted

from .operators import CExpression
from .types import (
    EMITC_TYPE,
    LVALUE,
    LVALUE_OR_ARRAY,
    POINTER,
    POINTER_WIDE,
    ArrayType,
    LValueType,
    OpaqueAttr,
    OpaqueType,
    PointerType,
    is_integral,
)


def opaque(text: str) -> OpaqueAttr:
    """C++ text as an attribute."""
    return OpaqueAttr(StringAttr(text))


def _verify_initial_value(value: Attribute, type: Attribute) -> None:
    given = getattr(value, "type", None)
    if isinstance(type, LValueType):
        type = type.value_type
    if not isinstance(value, OpaqueAttr) and isinstance(given, Attribute) and not _same_type(given, type):
        raise VerifyException(
            f"requires attribute to either be an #emitc.opaque attribute or it's type ({quoted(given)}) "
            f"to match the op's result type ({quoted(type)})"
        )


def _same_type(given: Attribute, type: Attribute) -> bool:
    return given == type or (isinstance(given, IndexType) and isinstance(type, POINTER_WIDE))


@op_definition
class ConstantOp(IRDLOperation):
    """A constant, which is a variable of its own in the C++ code."""

    name = "emitc.constant"
    value = prop_def()
    result = result_def(EMITC_TYPE)
    traits = traits_def(ConstantLike(), Pure(), CExpression())

    def __init__(self, value: Attribute, type: Attribute):
        super().__init__(properties={"value": value}, result_types=[type])

    def verify_(self) -> None:
        _verify_initial_value(self.value, self.result.type)
        if isinstance(self.value, OpaqueAttr) and not self.value.value.data:
            raise VerifyException("value must not be empty")


@op_definition
class VariableOp(IRDLOperation):
    """A variable that can be assigned to, with its initial value; an empty one leaves it uninitialized."""

    name = "emitc.variable"
    value = prop_def()
    result = result_def(LVALUE_OR_ARRAY)

    def __init__(self, value: Attribute, type: Attribute):
        super().__init__(properties={"value": value}, result_types=[type])

    @staticmethod
    def uninitialized(type: Attribute) -> VariableOp:
        return VariableOp(opaque(""), LValueType(type))

    def verify_(self) -> None:
        _verify_initial_value(self.value, self.result.type)


@op_definition
class LiteralOp(IRDLOperation):
    """C++ text that stands for a value, written wherever the value is used."""

    name = "emitc.literal"
    value = prop_def(StringAttr)
    result = result_def(EMITC_TYPE)
    traits = traits_def(Pure(), CExpression())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: str, type: Attribute):
        super().__init__(properties={"value": StringAttr(value)}, result_types=[type])

    def verify_(self) -> None:
        if not self.value.data:
            raise VerifyException("value must not be empty")


def parse_lvalue_type(parser: Parser) -> LValueType:
    """`<i32>`, or the same with `!emitc.lvalue` before it."""
    if parser.parse_optional_punctuation("<") is None:
        type = parser.parse_type()
        if not isinstance(type, LValueType):
            parser.raise_error("expected '<'")
        return type
    pointee = parser.parse_type()
    parser.parse_punctuation(">")
    return LValueType(pointee)


def print_lvalue_type(printer: Printer, type: Attribute) -> None:
    printer.print_string("<")
    printer.print_attribute(cast(LValueType, type).value_type)
    printer.print_string(">")


@op_definition
class LoadOp(IRDLOperation):
    """The value of a variable now."""

    name = "emitc.load"
    operand = operand_def(LVALUE)
    result = result_def()
    traits = traits_def(CExpression())

    def __init__(self, variable: SSAValue):
        super().__init__(operands=[variable], result_types=[cast(LValueType, variable.type).value_type])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parse_lvalue_type(parser)
        variable = parser.resolve_operand(operand, type)
        return cls.create(operands=[variable], result_types=[type.value_type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        print_attributes(printer, self)
        printer.print_string(" : ")
        print_lvalue_type(printer, self.operand.type)

    def verify_(self) -> None:
        if self.result.type != cast(LValueType, self.operand.type).value_type:
            raise VerifyException("failed to verify that result type matches value type of 'operand'")


@op_definition
class AssignOp(IRDLOperation):
    """`variable = value;`"""

    name = "emitc.assign"
    var = operand_def(LVALUE)
    value = operand_def(EMITC_TYPE)

    def __init__(self, variable: SSAValue, value: SSAValue):
        super().__init__(operands=[variable, value])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(value, parser.parse_type())
        parser.parse_keyword("to")
        variable = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        variable = parser.resolve_operand(variable, parse_lvalue_type(parser))
        return cls.create(operands=[variable, value], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(" to ")
        printer.print_ssa_value(self.var)
        printer.print_string(" : ")
        print_lvalue_type(printer, self.var.type)
        print_attributes(printer, self)

    def verify_(self) -> None:
        if isinstance(self.var.owner, Operation) and self.var.owner.name not in _ASSIGNABLE:
            raise VerifyException(f"cannot assign to block argument or result of {self.var.owner.name}")
        type = cast(LValueType, self.var.type).value_type
        if self.value.type != type:
            raise VerifyException(
                f"requires value's type ({quoted(self.value.type)}) to match variable's type ({quoted(type)})"
            )


_ASSIGNABLE = frozenset(
    f"emitc.{name}" for name in ("variable", "subscript", "member", "member_of_ptr", "get_global", "dereference")
)


@op_definition
class AddressOfOp(IRDLOperation):
    """`&variable`"""

    name = "emitc.address_of"
    reference = operand_def(LVALUE)
    result = result_def(POINTER)
    traits = traits_def(CExpression())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand, attributes, type = _parse_one_typed(parser)
        pointee = type.value_type if isinstance(type, LValueType) else type
        return cls.create(operands=[operand], result_types=[PointerType(pointee)], attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_one_typed(printer, self)


@op_definition
class DereferenceOp(IRDLOperation):
    """`*pointer`"""

    name = "emitc.dereference"
    pointer = operand_def(POINTER)
    result = result_def(LVALUE)
    traits = traits_def(CExpression())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand, attributes, type = _parse_one_typed(parser)
        pointee = type.pointee if isinstance(type, PointerType) else type
        return cls.create(operands=[operand], result_types=[LValueType(pointee)], attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_one_typed(printer, self)


def _parse_one_typed(parser: Parser) -> tuple[SSAValue, dict[str, Attribute], Attribute]:
    operand = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type = parser.parse_type()
    return parser.resolve_operand(operand, type), attributes, type


def _print_one_typed(printer: Printer, op: IRDLOperation) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(op.operands[0])
    print_attributes(printer, op)
    printer.print_string(" : ")
    printer.print_attribute(op.operands[0].type)


@op_definition
class SubscriptOp(IRDLOperation):
    """`value[index]...`"""

    name = "emitc.subscript"
    value = operand_def()
    indices = var_operand_def(EMITC_TYPE)
    result = result_def(LVALUE)
    traits = traits_def(CExpression())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        position = parser.pos
        indices = parse_operands(parser, parser.Delimiter.SQUARE)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, FunctionType):
            parser.raise_error("expected function type", position)
        operands = parser.resolve_operands([value, *indices], type.inputs.data, position)
        return cls.create(operands=operands, result_types=type.outputs.data, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        print_operands(printer, self.indices)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(FunctionType.from_lists(self.operand_types, self.result_types))

    def verify_(self) -> None:
        match self.value.type:
            case ArrayType() as type:
                self._verify_array(type)
            case PointerType() as type:
                self._verify_pointer(type)
            case OpaqueType():
                pass
            case _:
                raise VerifyException(
                    f"operand #0 must be array type or pointer type or opaque type, but got {quoted(self.value.type)}"
                )

    def _verify_array(self, type: ArrayType) -> None:
        where = "on array operand requires"
        if len(self.indices) != len(type.sizes):
            raise VerifyException(
                f"{where} number of indices ({len(self.indices)}) to match the rank of the array type "
                f"({len(type.sizes)})"
            )
        for number, index in enumerate(self.indices):
            if not is_integral(index.type) and not isinstance(index.type, OpaqueType):
                raise VerifyException(
                    f"{where} index operand {number} to be integer-like, but got {quoted(index.type)}"
                )
        self._verify_element(where, type.element_type)

    def _verify_pointer(self, type: PointerType) -> None:
        where = "on pointer operand requires"
        if len(self.indices) != 1:
            raise VerifyException(f"{where} one index operand, but got {len(self.indices)}")
        index = self.indices[0].type
        if not is_integral(index) and not isinstance(index, OpaqueType):
            raise VerifyException(f"{where} index operand to be integer-like, but got {quoted(index)}")
        self._verify_element(where, type.pointee, "pointee type")

    def _verify_element(self, where: str, element: Attribute, what: str = "element type") -> None:
        result = self.result.type.value_type
        if element != result:
            raise VerifyException(f"{where} {what} ({quoted(element)}) and result type ({quoted(result)}) to match")


@op_definition
class MemberOp(IRDLOperation):
    """`operand.member`"""

    name = "emitc.member"
    member = prop_def(StringAttr)
    operand = operand_def(LVALUE)
    result = result_def(LVALUE_OR_ARRAY)
    traits = traits_def(CExpression())


@op_definition
class MemberOfPtrOp(IRDLOperation):
    """`operand->member`"""

    name = "emitc.member_of_ptr"
    member = prop_def(StringAttr)
    operand = operand_def(LVALUE)
    result = result_def(LVALUE_OR_ARRAY)
    traits = traits_def(CExpression())


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
    value = parser.parse_optional_number(allow_boolean=True)
    match type:
        case _ if value is None:
            pass
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type():
            return FloatAttr(value, type)
        case IntegerType() | IndexType() if isinstance(value, int):
            return IntegerAttr(value, type)
        case _:
            parser.raise_error("floating point value not valid for specified type")
    if isinstance(type, ArrayType):
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
        if not isinstance(SymbolTable.lookup_symbol(op, op.name_), GlobalOp):
            raise VerifyException(f"'{op.name_.string_value()}' does not reference a valid emitc.global")


@op_definition
class GetGlobalOp(IRDLOperation):
    """A global variable, by name."""

    name = "emitc.get_global"
    name_ = prop_def(FlatSymbolRefAttrConstr, prop_name="name")
    result = result_def(LVALUE_OR_ARRAY)
    traits = traits_def(GlobalUse())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        symbol = SymbolRefAttr(parser.parse_symbol_name())
        parser.parse_punctuation(":")
        type = parser.parse_type()
        attributes = parser.parse_optional_attr_dict()
        return cls.create(result_types=[type], properties={"name": symbol}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.name_)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)
        print_attributes(printer, self, ("name",))


OPS = [
    AddressOfOp,
    AssignOp,
    ConstantOp,
    DereferenceOp,
    GetGlobalOp,
    GlobalOp,
    LiteralOp,
    LoadOp,
    MemberOfPtrOp,
    MemberOp,
    SubscriptOp,
    VariableOp,
]
