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
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    UnitAttr,
    UnrankedMemRefType,
)
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
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
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
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
    ensure_terminated,
    parse_optional_arrow_types,
    parse_typed_elements,
    parse_types,
    print_attributes,
    print_optional_arrow_types,
    print_typed_elements,
)
from tilewright.dialects._type_directives import RankedMemRef
from tilewright.dialects.memref.types import (
    ALIGNMENT,
    ANY_MEMREF,
    LINE,
    POSITIVE_I32,
    any_memref,
    is_power_of_two,
    is_ranked,
    memref_type,
    static_sizes,
    verify_dynamic_size_count,
)
from tilewright.ir.constraints import described
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.print_operations import PartDirective
from tilewright.ir.shown import quoted
from tilewright.ir.symbols import lookup_symbol


class _Allocation(IRDLOperation):
    """What `memref.alloc` and `memref.alloca` have in common."""

    dynamic_sizes = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    memref = result_def(MemRefType)
    alignment = opt_prop_def(ALIGNMENT)
    custom_directives = (RankedMemRef,)
    assembly_format = (
        "`(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict `:` custom<RankedMemRef>(type($memref))"
    )

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


@irdl_custom_directive
class OptionalText(CustomDirective):
    """A string, which an optional attribute in a format would not be: that reads a symbol's name, too."""

    text: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        text = parser.parse_optional_str_literal()
        if text is not None:
            self.text.set(state, StringAttr(text))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.text.print(printer, state, op)


@irdl_custom_directive
class TypeAndValue(PartDirective):
    """`memref<2xf32> = dense<1.0>`: elements are those of a tensor, whose type follows and is not written."""

    type: AttributeVariable
    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        type = parser.parse_type()
        # The linker has to know the size.
        if not is_ranked(type) or not type.has_static_shape():
            parser.raise_error(f"type should be static shaped memref, but got {quoted(type)}", position)
        self.type.set(state, type)
        if parser.parse_optional_punctuation("=") is None:
            return
        # MLIR's mark for a definition without a value; no value at all is a declaration.
        uninitialized = parser.parse_optional_keyword("uninitialized") is not None
        elements = TensorType(type.element_type, type.shape)
        self.value.set(state, UnitAttr() if uninitialized else parse_typed_elements(parser, elements))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        global_op = cast(GlobalOp, op)
        state.print_whitespace(printer)
        printer.print_attribute(global_op.type)
        match global_op.initial_value:
            case None:
                pass
            case UnitAttr():
                printer.print_string(" = uninitialized")
            case value:
                printer.print_string(" = ")
                print_typed_elements(printer, value)


@derived_op_definition
class GlobalOp(xdsl_memref.GlobalOp):
    """A named buffer that lives as long as the program."""

    sym_name = prop_def(SymbolNameConstraint())
    sym_visibility = opt_prop_def(StringAttr)
    type = prop_def(MemRefType)
    initial_value = opt_prop_def()
    constant = opt_prop_def(UnitAttr)
    alignment = opt_prop_def(ALIGNMENT)
    custom_directives = (OptionalText, TypeAndValue)
    assembly_format = (
        "custom<OptionalText>($sym_visibility) (`constant` $constant^)? $sym_name "
        "`:` custom<TypeAndValue>($type, $initial_value) attr-dict"
    )

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
        type, found = op.memref.type, lookup_symbol(op, op.name_)
        name = op.name_.string_value()
        if not isinstance(found, GlobalOp):
            raise VerifyException(f"'{name}' does not reference a valid global memref")
        if found.type is not type and found.type != type:
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
    custom_directives = (RankedMemRef,)
    assembly_format = "$memref `,` $alignment attr-dict `:` custom<RankedMemRef>(type($memref))"

    def verify_(self) -> None:
        # Not in the constraint: MLIR has an error of its own for this.
        if not is_power_of_two(self.alignment.value.data):
            raise VerifyException("alignment must be power of 2")


@irdl_custom_directive
class TypesOnce(CustomDirective):
    """Types of operands that are those of the results, too."""

    written: TypeDirective
    told: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        types = parse_types(parser)
        self.written.set(state, types)
        self.told.set(state, types)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.written.print(printer, state, op)


@op_definition
class DistinctObjectsOp(IRDLOperation):
    """Buffers, known not to overlap."""

    name = "memref.distinct_objects"
    buffers = var_operand_def(MemRefType)
    distinct = var_result_def(MemRefType)
    traits = traits_def(Pure())
    custom_directives = (TypesOnce,)
    assembly_format = "$buffers attr-dict `:` custom<TypesOnce>(type($buffers), type($distinct))"

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
