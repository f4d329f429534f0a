"""The func dialect, with the syntax and the checks of upstream MLIR."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self, cast

from xdsl.dialects import func as xdsl_func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    base,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, IsTerminator, Pure, ReturnLike, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_dialect, derived_op_definition
from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._syntax import (
    PAREN,
    parse_operands,
    print_attributes,
    print_operands,
    split_attributes,
)
from tilewright.ir.constraints import described
from tilewright.ir.diagnostics import VerifyError, fail_op
from tilewright.ir.print_operations import print_function
from tilewright.ir.shown import quoted
from tilewright.ir.symbols import lookup_symbol

if TYPE_CHECKING:
    from tilewright.ir.printer import Printer as OurPrinter

PRINTS = "tilewright.print"
"""Attribute of a declaration: calls print their arguments in this text, with `{}` for each; in the simulator only."""

FUNCTION = described(base(FunctionType), "function type")


class Signature(NamedTuple):
    """What stands between a function's name and its attributes."""

    type: FunctionType
    arguments: list[Parser.Argument] | None
    """None where only types are written, as in a declaration."""
    argument_attributes: ArrayAttr[DictionaryAttr] | None
    result_attributes: ArrayAttr[DictionaryAttr] | None


def parse_signature(parser: Parser) -> Signature:
    """`(%a: i32 {x.y}, %b: f32) -> (i32 {x.z})`, or the same without names."""
    arguments: list[Parser.Argument] = []
    types: list[Attribute] = []
    dictionaries: list[DictionaryAttr] = []

    def parse_argument() -> None:
        position = parser.pos
        argument = parser.parse_optional_argument()
        if argument is None:
            # all arguments have names or none does
            if arguments:
                parser.raise_error("expected SSA identifier", position)
            types.append(parser.parse_type())
        else:
            if len(arguments) != len(types):
                parser.raise_error("expected type instead of SSA identifier", position)
            arguments.append(argument)
            types.append(argument.type)
        dictionaries.append(DictionaryAttr(parser.parse_optional_attr_dict()))
        location = parser.parse_optional_location()
        if argument is not None and location is not None:
            argument.location = location

    parser.parse_comma_separated_list(PAREN, parse_argument)
    # attributes of a result need parentheses, since `-> i32 {` begins the body
    results: list[tuple[Attribute, dict[str, Attribute]]] = []
    if parser.parse_optional_punctuation("->") is not None:
        listed = parser.parse_optional_comma_separated_list(
            PAREN, lambda: (parser.parse_type(), parser.parse_optional_attr_dict())
        )
        results = [(parser.parse_type(), {})] if listed is None else list(listed)
    return Signature(
        FunctionType.from_lists(types, [type for type, _ in results]),
        arguments if arguments or not types else None,
        _list_attributes([dictionary.data for dictionary in dictionaries]),
        _list_attributes([dictionary for _, dictionary in results]),
    )


def _list_attributes(dictionaries: Sequence[Mapping[str, Attribute]]) -> ArrayAttr[DictionaryAttr] | None:
    """Dictionaries in a list, or nothing where all are empty."""
    return ArrayAttr(DictionaryAttr(dictionary) for dictionary in dictionaries) if any(dictionaries) else None


@derived_op_definition
class FuncOp(xdsl_func.FuncOp):
    """A function, or the declaration of one."""

    function_type = prop_def(described(base(FunctionType), "type attribute of function type"))
    no_inline = opt_prop_def(UnitAttr)

    @staticmethod
    def external(name: str, input_types: Sequence[Attribute], return_types: Sequence[Attribute]) -> FuncOp:
        return FuncOp(name, (input_types, return_types), Region(), "private")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        visibility = parser.parse_optional_visibility_keyword()
        name = parser.parse_symbol_name()
        signature = parse_signature(parser)
        found: dict[str, Attribute | None] = {
            "sym_name": name,
            "function_type": signature.type,
            "sym_visibility": visibility,
            "arg_attrs": signature.argument_attributes,
            "res_attrs": signature.result_attributes,
        }
        properties = {name: attribute for name, attribute in found.items() if attribute is not None}
        attributes: dict[str, Attribute] = {}
        position = parser.pos
        if parser.parse_optional_keyword("attributes") is not None:
            written = parser.parse_optional_attr_dict()
            for inferred in ("sym_name", "sym_visibility", "function_type"):
                if inferred in written:
                    parser.raise_error(
                        f"'{inferred}' is an inferred attribute and should not be specified in the explicit "
                        "attribute dictionary",
                        position,
                    )
            known, attributes = split_attributes(cls, written)
            properties |= known
        position = parser.pos
        body = parser.parse_optional_region(signature.arguments)
        if body is not None and _is_empty(body):  # no braces make a declaration, empty ones a mistake
            parser.raise_error("expected non-empty function body", position)
        return cls.create(properties=properties, attributes=attributes, regions=[body or Region()])

    def print(self, printer: Printer) -> None:
        print_function(self, cast("OurPrinter", printer))

    def verify_(self) -> None:
        _verify_dialect_attributes("arguments", self.arg_attrs, len(self.function_type.inputs))
        _verify_dialect_attributes("results", self.res_attrs, len(self.function_type.outputs))
        entry = self.body.blocks.first
        if entry is None:
            # what is public is offered to other modules, and a declaration has nothing to offer
            if self.sym_visibility is None or self.sym_visibility.data == "public":
                raise VerifyException("symbol declaration cannot have public visibility")
            return
        inputs = self.function_type.inputs.data
        if len(entry.args) != len(inputs):
            raise VerifyException(f"entry block must have {len(inputs)} arguments to match function signature")
        for number, (argument, type) in enumerate(zip(entry.args, inputs, strict=True)):
            if argument.type != type:
                raise VerifyException(
                    f"type of entry block argument #{number}({quoted(argument.type)}) must match the type of the "
                    f"corresponding argument in function signature({quoted(type)})"
                )


def _is_empty(body: Region) -> bool:
    block = body.blocks.first
    return block is None or (block.is_empty and block.next_block is None)


def _verify_dialect_attributes(what: str, attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> None:
    """Attributes of arguments and results belong to dialects, and there is a dictionary for each."""
    if attributes is None:
        return
    if len(attributes) != count:
        raise VerifyException(
            f"expects {what[:-1]} attribute array to have the same number of elements as the number of function "
            f"{what}, got {len(attributes)}, but expected {count}"
        )
    for dictionary in attributes:
        for name in dictionary.data:
            if "." not in name:
                raise VerifyException(f"{what} may only have dialect attributes")


class CallSymbolUse(SymbolUserOpInterface):
    """The callee of a call must be a function of the call's type."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp)
        callee = lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"'{op.callee.string_value()}' does not reference a valid function")
        type = callee.function_type
        if len(type.inputs) != len(op.operands):
            raise VerifyException("incorrect number of operands for callee")
        for number, (expected, provided) in enumerate(zip(type.inputs, op.operand_types, strict=True)):
            if expected != provided:
                raise VerifyException(
                    f"operand type mismatch: expected operand type {quoted(expected)}, but provided "
                    f"{quoted(provided)} for operand number {number}"
                )
        if len(type.outputs) != len(op.results):
            raise VerifyException("incorrect number of results for callee")
        for number, (expected, provided) in enumerate(zip(type.outputs, op.result_types, strict=True)):
            if expected != provided:
                raise VerifyError(
                    f"result type mismatch at index {number}",
                    (op, f"      op result types: {_types_text(op.result_types)}"),
                    (op, f"function result types: {_types_text(type.outputs.data)}"),
                )


def _types_text(types: Sequence[Attribute]) -> str:
    return ", ".join(quoted(type) for type in types)


@derived_op_definition
class CallOp(xdsl_func.CallOp):
    """A call of a function by name."""

    no_inline = opt_prop_def(UnitAttr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    traits = traits_def(CallSymbolUse())


def callee_of(op: CallOp) -> FuncOp:
    """The function that a call names."""
    found = lookup_symbol(op, op.callee)
    if not isinstance(found, FuncOp):
        fail_op(op, f"calls @{op.callee.string_value()}, which is no function")
    return found


@derived_op_definition
class ReturnOp(xdsl_func.ReturnOp):
    """The results of a function."""

    traits = traits_def(ParentOp("func.func"), IsTerminator(), ReturnLike(), Pure())

    def verify_(self) -> None:
        function = self.parent_op()
        if not isinstance(function, FuncOp):  # the trait ParentOp says so
            return
        expected, name = function.function_type.outputs.data, function.sym_name.data
        if len(self.operands) != len(expected):
            raise VerifyException(
                f"has {len(self.operands)} operands, but enclosing function (@{name}) returns {len(expected)}"
            )
        for number, (given, wanted) in enumerate(zip(self.operand_types, expected, strict=True)):
            if given != wanted:
                raise VerifyError(
                    f"type of return operand {number} ({quoted(given)}) doesn't match function result type "
                    f"({quoted(wanted)}) in function @{name}",
                    bare=True,
                )


class ConstantSymbolUse(SymbolUserOpInterface):
    """A function constant must name a function of its type."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, ConstantOp)
        function = lookup_symbol(op, op.value)
        if not isinstance(function, FuncOp):
            raise VerifyException(f"reference to undefined function '{op.value.string_value()}'")
        if function.function_type != op.result.type:
            raise VerifyException("reference to function with mismatched type")


@op_definition
class ConstantOp(IRDLOperation):
    """A function as a value."""

    name = "func.constant"
    value = prop_def(FlatSymbolRefAttrConstr)
    result = result_def()
    traits = traits_def(Pure(), ConstantLike(), ConstantSymbolUse())
    assembly_format = "attr-dict $value `:` type($result)"

    def result_names(self) -> Sequence[str | None]:
        return ("f",)  # as upstream names them


@op_definition
class CallIndirectOp(IRDLOperation):
    """A call of a function that is a value."""

    name = "func.call_indirect"
    callee = operand_def(FUNCTION)
    callee_operands = var_operand_def()
    res = var_result_def()
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_unresolved_operand()
        position = parser.pos
        operands = parse_operands(parser, PAREN)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        type = parser.parse_function_type()  # of the callee: all other types are in it
        return cls.create(
            operands=[
                parser.resolve_operand(callee, type),
                *parser.resolve_operands(operands, type.inputs.data, position),
            ],
            result_types=type.outputs.data,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.callee)
        print_operands(printer, self.callee_operands, "()")
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.callee.type)

    def verify_(self) -> None:
        type = cast(FunctionType, self.callee.type)
        if type.inputs.data != tuple(value.type for value in self.callee_operands):
            raise VerifyException("failed to verify that callee input types match argument types")
        if type.outputs.data != tuple(self.result_types):
            raise VerifyException("failed to verify that callee result types match result types")


FUNC = derived_dialect(xdsl_func.Func, [CallIndirectOp, CallOp, ConstantOp, FuncOp, ReturnOp])
