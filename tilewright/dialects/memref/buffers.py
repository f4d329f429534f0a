"""Operations on whole buffers: making, naming, freeing and copying them, and asking about them."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects import memref as xdsl_memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    UnitAttr,
    UnrankedMemRefType,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    MemoryAllocEffect,
    MemoryFreeEffect,
    NoMemoryEffect,
    Pure,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects._regions import NoRegionArguments, verify_flow
from tilewright.dialects._strides import compatible
from tilewright.dialects._syntax import (
    INDEX,
    NO_DELIMITER,
    PAREN,
    SQUARE,
    ensure_terminated,
    parse_indices,
    parse_optional_arrow_types,
    parse_optional_operands,
    parse_typed_elements,
    parse_types,
    print_attributes,
    print_operands,
    print_optional_arrow_types,
    print_typed_elements,
    print_types,
    resolve_all,
    segments,
    split_attributes,
)
from tilewright.dialects.memref.types import (
    ALIGNMENT,
    ANY_MEMREF,
    LINE,
    POSITIVE_I32,
    any_memref,
    is_power_of_two,
    is_ranked,
    memref_type,
    parse_memref_type,
    static_sizes,
    verify_dynamic_size_count,
)
from tilewright.ir.constraints import described
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted
from tilewright.ir.symbols import lookup_symbol


class _Allocation(IRDLOperation):
    """What `memref.alloc` and `memref.alloca` have in common."""

    dynamic_sizes = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    memref = result_def(MemRefType)
    alignment = opt_prop_def(ALIGNMENT)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        sizes = parse_indices(parser, PAREN)
        # Values for the symbols of the layout map, in square brackets.
        symbols = resolve_all(parser, parse_optional_operands(parser, SQUARE), INDEX)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        properties["operandSegmentSizes"] = segments(len(sizes), len(symbols))
        return cls.create(
            operands=[*sizes, *symbols],
            result_types=[parse_memref_type(parser)],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        print_operands(printer, self.dynamic_sizes, "()")
        if self.symbol_operands:
            print_operands(printer, self.symbol_operands)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    def verify_(self) -> None:
        type = self.memref.type
        verify_dynamic_size_count(len(self.dynamic_sizes), type)
        # Without a layout there are no symbols to be given.
        symbols = 0 if isinstance(type.layout, NoneAttr) else type.layout.get_affine_map().num_symbols
        if len(self.symbol_operands) != symbols:
            raise VerifyException(
                "symbol operand count does not equal memref symbol count: "
                f"expected {symbols}, got {len(self.symbol_operands)}"
            )


@derived_op_definition
class AllocOp(_Allocation, xdsl_memref.AllocOp):
    """Allocate a buffer."""


@derived_op_definition
class AllocaOp(_Allocation, xdsl_memref.AllocaOp):
    """Allocate a buffer that is freed when the enclosing scope ends."""


@op_definition
class ReallocOp(IRDLOperation):
    """Change the size of a one-dimensional buffer."""

    name = "memref.realloc"
    source = operand_def(LINE)
    dynamic_result_size = opt_operand_def(IndexType)
    result = result_def(LINE)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryAllocEffect(), MemoryFreeEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source (`` `(` $dynamic_result_size^ `)`)? attr-dict `:` type($source) `to` type($result)"

    def verify_(self) -> None:
        source, result = memref_type(self.source), self.result.type
        for what, first, second in (
            ("memory spaces", source.memory_space, result.memory_space),
            ("element types", source.element_type, result.element_type),
        ):
            if first != second:
                raise VerifyError(
                    f"different {what} specified for source memref type {quoted(source)} "
                    f"and result memref type {quoted(result)}",
                    bare=True,
                )
        # Both buffers have one dimension.
        dynamic = result.get_shape()[0] == DYNAMIC_INDEX
        if dynamic and self.dynamic_result_size is None:
            raise VerifyError(f"missing dimension operand for result type {quoted(result)}", bare=True)
        if not dynamic and self.dynamic_result_size is not None:
            raise VerifyError(f"unnecessary dimension operand for result type {quoted(result)}", bare=True)


@derived_op_definition
class DeallocOp(xdsl_memref.DeallocOp):
    """Free a buffer."""

    memref = operand_def(ANY_MEMREF)


@derived_op_definition
class GlobalOp(xdsl_memref.GlobalOp):
    """A named buffer that lives as long as the program."""

    sym_name = prop_def(SymbolNameConstraint())
    sym_visibility = opt_prop_def(StringAttr)
    type = prop_def(MemRefType)
    initial_value = opt_prop_def()
    constant = opt_prop_def(UnitAttr)
    alignment = opt_prop_def(ALIGNMENT)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        visibility = parser.parse_optional_str_literal()
        constant = parser.parse_optional_keyword("constant")
        name = parser.parse_symbol_name()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_type()
        # The linker has to know the size.
        if not is_ranked(type) or not type.has_static_shape():
            parser.raise_error(f"type should be static shaped memref, but got {quoted(type)}", position)
        initial_value: Attribute | None = None
        if parser.parse_optional_punctuation("=") is not None:
            if parser.parse_optional_keyword("uninitialized") is not None:
                # MLIR's mark for a definition without a value; no value at all is a declaration.
                initial_value = UnitAttr()
            else:
                # Elements are those of a tensor: their type follows from the buffer's and is not written.
                initial_value = parse_typed_elements(parser, TensorType(type.element_type, type.shape))
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        properties |= {"sym_name": name, "type": type}
        if visibility is not None:
            properties["sym_visibility"] = StringAttr(visibility)
        if constant is not None:
            properties["constant"] = UnitAttr()
        if initial_value is not None:
            properties["initial_value"] = initial_value
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(" ")
            printer.print_attribute(self.sym_visibility)
        if self.constant is not None:
            printer.print_string(" constant")
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        match self.initial_value:
            case None:
                pass
            case UnitAttr():
                printer.print_string(" = uninitialized")
            case value:
                printer.print_string(" = ")
                print_typed_elements(printer, value)
        print_attributes(printer, self, ("sym_name", "sym_visibility", "constant", "type", "initial_value"))

    def verify_(self) -> None:
        if not self.type.has_static_shape():
            raise VerifyException(f"type should be static shaped memref, but got {quoted(self.type)}")
        match self.initial_value:
            case None | UnitAttr():
                return
            case DenseIntOrFPElementsAttr() | DenseResourceAttr():
                given = cast(TensorType, self.initial_value.type)
            case value:
                raise VerifyException(f"initial value should be a unit or elements attribute, but got {value}")
        element_type = given.get_element_type()
        if element_type != self.type.element_type:
            raise VerifyException(
                f"initial value element expected to be of type {quoted(self.type.element_type)}, "
                f"but was of type {quoted(element_type)}"
            )
        if given.get_shape() != self.type.get_shape():
            raise VerifyException(
                f"initial value shape expected to be {', '.join(map(str, self.type.get_shape()))} "
                f"but was {', '.join(map(str, given.get_shape()))}"
            )


class GlobalSymbolUse(SymbolUserOpInterface):
    """The symbol of `memref.get_global` must be a global of the same type."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, GetGlobalOp)
        name, type = op.name_.string_value(), op.memref.type
        found = lookup_symbol(op, op.name_)
        if not isinstance(found, GlobalOp):
            raise VerifyException(f"'{name}' does not reference a valid global memref")
        if found.type != type:
            raise VerifyException(
                f"result type {quoted(type)} does not match type {quoted(found.type)} of the global memref @{name}"
            )


@derived_op_definition
class GetGlobalOp(xdsl_memref.GetGlobalOp):
    """The buffer that a `memref.global` names."""

    traits = traits_def(NoMemoryEffect(), GlobalSymbolUse())


@derived_op_definition
class AllocaScopeOp(xdsl_memref.AllocaScopeOp):
    """A scope at whose end `memref.alloca` buffers are freed."""

    traits = lazy_traits_def(
        lambda: (
            RecursiveMemoryEffect(),
            NoRegionArguments(),
            SingleBlockImplicitTerminator(AllocaScopeReturnOp),
        )
    )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        result_types = parse_optional_arrow_types(parser)
        # Without results the terminator goes without saying.
        scope = ensure_terminated(parser.parse_region(), AllocaScopeReturnOp.create)
        return cls.create(result_types=result_types, regions=[scope], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_optional_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.scope, print_empty_block=False, print_block_terminators=bool(self.results))
        print_attributes(printer, self)

    def verify_regions(self) -> None:
        block = self.scope.blocks.last
        if block is not None and block.last_op is not None:
            verify_flow(block.last_op, "parent", block.last_op.operand_types, self.result_types)


@derived_op_definition
class AllocaScopeReturnOp(xdsl_memref.AllocaScopeReturnOp):
    """The results of a `memref.alloca_scope`."""

    assembly_format = "attr-dict ($ops^ `:` type($ops))?"


@derived_op_definition
class CopyOp(xdsl_memref.CopyOp):
    """Copy one buffer to another."""

    source = operand_def(ANY_MEMREF)
    destination = operand_def(ANY_MEMREF)
    assembly_format = "$source `,` $destination attr-dict `:` type($source) `to` type($destination)"

    def verify_(self) -> None:
        source, target = any_memref(self.source), any_memref(self.destination)
        if source.element_type != target.element_type:
            raise VerifyException("requires the same element type for all operands")
        if (
            # Unranked buffers may have any shape when the program runs.
            is_ranked(source)
            and is_ranked(target)
            and not compatible(static_sizes(source.get_shape()), static_sizes(target.get_shape()))
        ):
            raise VerifyException("requires the same shape for all operands")


@derived_op_definition
class RankOp(xdsl_memref.RankOp):
    """The number of dimensions of a buffer."""

    source = operand_def(ANY_MEMREF)
    assembly_format = "$source attr-dict `:` type($source)"


@derived_op_definition
class DimOp(xdsl_memref.DimOp):
    """The size of a buffer along one dimension."""

    source = operand_def(
        described(
            base(MemRefType) | base(UnrankedMemRefType),
            "unranked.memref of any type values or non-0-ranked.memref of any type values",
            # A scalar buffer has no dimension to ask for.
            lambda type: isinstance(type, UnrankedMemRefType) or type.get_num_dims() > 0,
        )
    )


@derived_op_definition
class AssumeAlignmentOp(xdsl_memref.AssumeAlignmentOp):
    """A buffer, known to begin at a multiple of so many bytes."""

    alignment = prop_def(POSITIVE_I32)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        alignment = IntegerAttr(parser.parse_integer(allow_boolean=False), i32)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parse_memref_type(parser)
        return cls.create(
            operands=[parser.resolve_operand(buffer, type)],
            result_types=[type],
            properties={"alignment": alignment},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        printer.print_string(f", {self.alignment.value.data}")
        print_attributes(printer, self, ("alignment",))
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    def verify_(self) -> None:
        # Not in the constraint: MLIR has an error of its own for this.
        if not is_power_of_two(self.alignment.value.data):
            raise VerifyException("alignment must be power of 2")


@op_definition
class DistinctObjectsOp(IRDLOperation):
    """Buffers, known not to overlap."""

    name = "memref.distinct_objects"
    buffers = var_operand_def(MemRefType)
    distinct = var_result_def(MemRefType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        operands = parser.parse_comma_separated_list(NO_DELIMITER, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parse_types(parser)
        buffers = parser.resolve_operands(operands, types, position)
        return cls.create(operands=buffers, result_types=types, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.buffers, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        print_types(printer, self.operand_types)

    def verify_(self) -> None:
        if not self.buffers:
            raise VerifyException("expected at least one operand")
        # The types are written once for both.
        if self.operand_types != self.result_types:
            raise VerifyException("operand types and result types must match")


@derived_op_definition
class ExtractAlignedPointerAsIndexOp(xdsl_memref.ExtractAlignedPointerAsIndexOp):
    """The address of a buffer's first element."""

    source = operand_def(ANY_MEMREF)
    assembly_format = "$source `:` type($source) `->` type(results) attr-dict"
