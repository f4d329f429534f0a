"""Functions and what stands beside them in a C++ file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._syntax import TypedOperandsOp, print_attributes, split_attributes
from tilewright.dialects.func import parse_signature
from tilewright.ir.constraints import described
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.print_operations import print_function
from tilewright.ir.shown import quoted
from tilewright.ir.symbols import lookup_symbol

from .types import ArrayType

if TYPE_CHECKING:
    from tilewright.ir.printer import Printer as OurPrinter


@op_definition
class FuncOp(IRDLOperation):
    """A function, or the declaration of one; `specifiers` go before it: `inline`, `static`."""

    name = "emitc.func"
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(described(base(FunctionType), "type attribute of function type"))
    sym_visibility = opt_prop_def(StringAttr)
    specifiers = opt_prop_def(ArrayAttr[StringAttr])
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute], specifiers: Sequence[str] = ()
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(inputs, outputs),
                "specifiers": ArrayAttr(StringAttr(word) for word in specifiers) if specifiers else None,
            },
            regions=[Region(Block(arg_types=inputs))],
        )

    @property
    def specifier_words(self) -> list[str]:
        return [word.data for word in self.specifiers or ()]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        visibility = parser.parse_optional_visibility_keyword()
        name = parser.parse_symbol_name()
        signature = parse_signature(parser)
        optional = {
            "sym_visibility": visibility,
            "arg_attrs": signature.argument_attributes,
            "res_attrs": signature.result_attributes,
        }
        properties: dict[str, Attribute] = {"sym_name": name, "function_type": signature.type}
        # An absent property is not an empty one: both print, and compare, differently.
        properties |= {key: value for key, value in optional.items() if value is not None}
        written = parser.parse_optional_attr_dict_with_keyword()
        # `specifiers` stand in the dictionary.
        known, attributes = split_attributes(cls, written.data if written is not None else {})
        body = parser.parse_optional_region(signature.arguments)
        return cls.create(properties=properties | known, attributes=attributes, regions=[body or Region()])

    def print(self, printer: Printer) -> None:
        print_function(self, cast("OurPrinter", printer))

    def verify_(self) -> None:
        outputs = self.function_type.outputs.data
        # C++ functions return one value or none.
        if len(outputs) > 1:
            raise VerifyException(f"requires zero or exactly one result, but has {len(outputs)}")
        if outputs and isinstance(outputs[0], ArrayType):
            raise VerifyException("cannot return array type")
        entry = self.body.blocks.first
        if entry is not None and tuple(entry.arg_types) != self.function_type.inputs.data:
            raise VerifyException("entry block arguments must match the types of the function signature")


@op_definition
class ReturnOp(TypedOperandsOp):
    """The result of a function."""

    name = "emitc.return"
    operand = opt_operand_def()
    traits = traits_def(IsTerminator(), ParentOp("emitc.func"))

    def __init__(self, value: SSAValue | None = None):
        super().__init__(operands=[value])

    def verify_(self) -> None:
        function = self.parent_op()
        # That the parent is a function is for another rule to say.
        if not isinstance(function, FuncOp):
            return
        name, outputs = function.sym_name.data, function.function_type.outputs.data
        if len(self.operands) != len(outputs):
            raise VerifyException(
                f"has {len(self.operands)} operands, but enclosing function (@{name}) returns {len(outputs)}"
            )
        if outputs and self.operands[0].type != outputs[0]:
            raise VerifyError(
                f"type of the return operand ({quoted(self.operands[0].type)}) doesn't match function result type "
                f"({quoted(outputs[0])}) in function @{name}",
                bare=True,
            )


class FunctionUse(SymbolUserOpInterface):
    """The name must be that of a function."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, DeclareFuncOp)
        if not isinstance(lookup_symbol(op, op.sym_name), FuncOp):
            raise VerifyException(f"'{op.sym_name.string_value()}' does not reference a valid function")


@op_definition
class DeclareFuncOp(IRDLOperation):
    """Declares a function that is defined later in the file."""

    name = "emitc.declare_func"
    sym_name = prop_def(FlatSymbolRefAttrConstr)
    traits = traits_def(FunctionUse())
    assembly_format = "$sym_name attr-dict"


@op_definition
class IncludeOp(IRDLOperation):
    """`#include "file"`, or `#include <file>` for a standard one."""

    name = "emitc.include"
    include = prop_def(StringAttr)
    is_standard_include = opt_prop_def(UnitAttr)

    def __init__(self, include: str, *, standard: bool = False):
        super().__init__(
            properties={
                "include": StringAttr(include),
                "is_standard_include": UnitAttr() if standard else None,
            }
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        standard = parser.parse_optional_punctuation("<") is not None
        # Not by a format: MLIR gives this operation no attribute dictionary in its syntax.
        include = parser.parse_optional_str_literal()
        if include is None:
            parser.raise_error("expected string attribute")
        if standard:
            parser.parse_punctuation(">")
        return cls(include, standard=standard)

    def print(self, printer: Printer) -> None:
        standard = self.is_standard_include is not None
        printer.print_string(" <" if standard else " ")
        printer.print_attribute(self.include)
        printer.print_string(">" if standard else "")


@op_definition
class FileOp(IRDLOperation):
    """One of several C++ files, written only when it is asked for by its id."""

    name = "emitc.file"
    id = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolTable(), NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        id = StringAttr(parser.parse_str_literal())
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        # A file without content has its block all the same.
        if not body.blocks:
            body.add_block(Block())
        return cls.create(properties={"id": id}, attributes=attributes.data if attributes else {}, regions=[body])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.id)
        print_attributes(printer, self, ("id",), keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)


OPS = [DeclareFuncOp, FileOp, FuncOp, IncludeOp, ReturnOp]
