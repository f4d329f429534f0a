"""Types and attributes of the `gpu` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DictionaryAttr, NoneAttr, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, base, irdl_attr_definition
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects._syntax import SQUARE, parse_optional_operands, print_operands, resolve_all
from tilewright.ir.constraints import described


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """Stands for the end of work on a device."""

    name = "gpu.async.token"


class Dimension(StrEnum):
    """The dimensions of grids and blocks."""

    X = "x"
    Y = "y"
    Z = "z"


class ShuffleMode(StrEnum):
    """How a lane finds the lane that it reads from."""

    XOR = "xor"
    UP = "up"
    DOWN = "down"
    IDX = "idx"


class Reduction(StrEnum):
    """How values of threads are combined."""

    ADD = "add"
    MUL = "mul"
    MINUI = "minui"
    MINSI = "minsi"
    MINNUMF = "minnumf"
    MAXUI = "maxui"
    MAXSI = "maxsi"
    MAXNUMF = "maxnumf"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MINIMUMF = "minimumf"
    MAXIMUMF = "maximumf"


class AddressSpace(StrEnum):
    """Who shares a buffer."""

    GLOBAL = "global"
    WORKGROUP = "workgroup"
    PRIVATE = "private"
    CONSTANT = "constant"


# Spaced: `#gpu<dim x>` with its dialect, the bare word inside an operation.
@irdl_attr_definition
class DimensionAttr(EnumAttribute[Dimension], SpacedOpaqueSyntaxAttribute):
    name = "gpu.dim"


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    name = "gpu.shuffle_mode"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    name = "gpu.all_reduce_op"


@irdl_attr_definition
class AddressSpaceAttr(EnumAttribute[AddressSpace]):
    name = "gpu.address_space"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AddressSpace:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(AddressSpace)


@irdl_attr_definition
class SelectObjectAttr(ParametrizedAttribute):
    """Which object of a binary is loaded: by number, by target, or the first."""

    name = "gpu.select_object"
    target: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        # Without a target the first object is loaded.
        if parser.parse_optional_punctuation("<") is None:
            return [NoneAttr()]
        target = parser.parse_attribute()
        parser.parse_punctuation(">")
        return [target]

    def print_parameters(self, printer: Printer) -> None:
        if not isinstance(self.target, NoneAttr):
            with printer.in_angle_brackets():
                printer.print_attribute(self.target)


@irdl_attr_definition
class KernelMetadataAttr(ParametrizedAttribute):
    """What is known of a compiled kernel."""

    name = "gpu.kernel_metadata"
    kernel_name: StringAttr
    function_type: Attribute
    arg_attrs: Attribute
    metadata: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        # In the order of the parameters; the text may have them in another.
        found: dict[str, Attribute] = {"arg_attrs": NoneAttr(), "metadata": NoneAttr()}
        with parser.in_angle_brackets():
            name = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            type = parser.parse_type()
            while parser.parse_optional_punctuation(",") is not None:
                word = parser.parse_optional_keyword_in(list(found))
                if word is None:
                    parser.raise_error("expected 'arg_attrs' or 'metadata'")
                parser.parse_punctuation("=")
                found[word] = parser.parse_attribute()
        return [name, type, *found.values()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.kernel_name)
            printer.print_string(", ")
            printer.print_attribute(self.function_type)
            for word, value in (("arg_attrs", self.arg_attrs), ("metadata", self.metadata)):
                if not isinstance(value, NoneAttr):
                    printer.print_string(f", {word} = ")
                    printer.print_attribute(value)


@irdl_attr_definition
class KernelTableAttr(ParametrizedAttribute):
    """The kernels of a compiled module."""

    name = "gpu.kernel_table"
    kernels: ArrayAttr[Attribute]


OBJECT_FORMATS = "offload", "assembly", "bin", "fatbin"
FATBIN = "fatbin"
"""The format that is not written."""


@irdl_attr_definition
class ObjectAttr(ParametrizedAttribute):
    """A compiled kernel module."""

    name = "gpu.object"
    target: Attribute
    format: StringAttr
    object: StringAttr | BytesAttr
    properties: DictionaryAttr | NoneAttr
    kernels: KernelTableAttr | NoneAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        properties: Attribute = NoneAttr()
        kernels: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            target = parser.parse_attribute()
            parser.parse_punctuation(",")
            if parser.parse_optional_keyword("properties") is not None:
                parser.parse_punctuation("=")
                properties = parser.parse_attribute()
                parser.parse_punctuation(",")
            if parser.parse_optional_keyword("kernels") is not None:
                parser.parse_punctuation("=")
                # Without `#gpu.kernel_table` before it, as the keyword says it.
                kernels = KernelTableAttr.new(KernelTableAttr.parse_parameters(parser))
                parser.parse_punctuation(",")
            # No word is `fatbin`, which MLIR does not print either.
            format = parser.parse_optional_keyword_in(OBJECT_FORMATS)
            if format is not None:
                parser.parse_punctuation("=")
            contents = parser.parse_attribute()
        return [target, StringAttr(format or FATBIN), contents, properties, kernels]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.target)
            if isinstance(self.properties, DictionaryAttr):
                printer.print_string(", properties = ")
                printer.print_attribute(self.properties)
            if isinstance(self.kernels, KernelTableAttr):
                printer.print_string(", kernels = ")
                self.kernels.print_parameters(printer)
            printer.print_string(", " if self.format.data == FATBIN else f", {self.format.data} = ")
            printer.print_attribute(self.object)


TOKEN = AsyncTokenType()
ANY_TOKEN = described(base(AsyncTokenType), "async token type")

ATTRS: list[type[Attribute]] = [
    AsyncTokenType,
    DimensionAttr,
    ShuffleModeAttr,
    ReductionAttr,
    AddressSpaceAttr,
    SelectObjectAttr,
    KernelMetadataAttr,
    KernelTableAttr,
    ObjectAttr,
]


def parse_dependencies(parser: Parser) -> tuple[bool, list[SSAValue]]:
    """`async [%token, ...]`, either part optional."""
    is_async = parser.parse_optional_keyword("async") is not None
    return is_async, resolve_all(parser, parse_optional_operands(parser, SQUARE), TOKEN)


def print_dependencies(printer: Printer, is_async: bool, tokens: Sequence[SSAValue]) -> None:
    """The inverse of `parse_dependencies`, with a space between the parts."""
    # `async` says that there is a result, the list what has to be over before it starts.
    printer.print_string("async" if is_async else "")
    if tokens:
        printer.print_string(" " if is_async else "")
        print_operands(printer, tokens)


@irdl_custom_directive
class AsyncDependencies(CustomDirective):
    """The same in a format."""

    token: TypeDirective
    tokens: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.token.set(state, () if parser.parse_optional_keyword("async") is None else (TOKEN,))
        self.tokens.set(state, parse_optional_operands(parser, SQUARE))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        print_dependencies(printer, bool(self.token.get(op)), self.tokens.get(op))


ASYNC = "custom<AsyncDependencies>(type($async_token), $async_dependencies)"
