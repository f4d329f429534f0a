"""Starting kernels by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import SymbolRefAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import INDEX, PAREN, parse_operands, print_attributes, segments, split_attributes
from tilewright.dialects.gpu.attributes import ANY_TOKEN, TOKEN, parse_dependencies, print_dependencies
from tilewright.dialects.gpu.kernels import CONTAINER, BinaryOp, GPUFuncOp, GPUModuleOp
from tilewright.dialects.gpu.launches import DIMENSIONS, parse_shared_size, print_shared_size
from tilewright.dialects.scf.bindings import LOOP_TYPE
from tilewright.ir.symbols import symbol_in


class KernelUse(SymbolUserOpInterface):
    """The kernel of a launch must be there and take what it is given."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, LaunchFuncOp)
        table: Operation | None = op.parent_op()
        while table is not None and not table.has_trait(SymbolTable, value_if_unregistered=False):
            table = table.parent_op()
        # Outside of any module there is nothing to look up: the operation is being built.
        if table is None:
            return
        if CONTAINER not in table.attributes:
            raise VerifyException(f"expected the closest surrounding module to have the '{CONTAINER}' attribute")
        module_name = op.kernel.root_reference.data
        module = symbol_in(table, module_name)
        # Compiled already: its kernels cannot be looked at.
        if isinstance(module, BinaryOp):
            return
        if not isinstance(module, GPUModuleOp):
            raise VerifyException(f"kernel module '{module_name}' is undefined")
        kernel = symbol_in(module, op.kernel_name)
        if kernel is None:
            raise VerifyException(f"kernel function '{op.kernel}' is undefined")
        # It may have been lowered to a function of another dialect.
        if isinstance(kernel, GPUFuncOp):
            _verify_kernel(op, kernel)


def _verify_kernel(op: LaunchFuncOp, kernel: GPUFuncOp) -> None:
    if not kernel.is_kernel:
        raise VerifyException("kernel function is missing the 'gpu.kernel' attribute")
    expected = kernel.function_type.inputs.data
    if len(expected) != len(op.kernel_operands):
        raise VerifyException(f"got {len(op.kernel_operands)} kernel operands but expected {len(expected)}")
    for number, (type, value) in enumerate(zip(expected, op.kernel_operands, strict=True)):
        if type != value.type:
            raise VerifyException(f"type of function argument {number} does not match")


@op_definition
class LaunchFuncOp(IRDLOperation):
    """Start a kernel for each thread of each block."""

    name = "gpu.launch_func"

    async_dependencies = var_operand_def(ANY_TOKEN)
    grid_size_x = operand_def(LOOP_TYPE)
    grid_size_y = operand_def(LOOP_TYPE)
    grid_size_z = operand_def(LOOP_TYPE)
    block_size_x = operand_def(LOOP_TYPE)
    block_size_y = operand_def(LOOP_TYPE)
    block_size_z = operand_def(LOOP_TYPE)
    cluster_size_x = opt_operand_def(LOOP_TYPE)
    cluster_size_y = opt_operand_def(LOOP_TYPE)
    cluster_size_z = opt_operand_def(LOOP_TYPE)
    dynamic_shared_memory_size = opt_operand_def(i32)
    kernel_operands = var_operand_def()
    async_object = opt_operand_def()
    kernel = prop_def(SymbolRefAttr)
    async_token = opt_result_def(ANY_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(KernelUse())

    @classmethod
    def of(
        cls, kernel: SymbolRefAttr, grid: Sequence[SSAValue], block: Sequence[SSAValue], operands: Sequence[SSAValue]
    ) -> LaunchFuncOp:
        """A launch that blocks; `grid` and `block` have three sizes each."""
        return cls.create(
            operands=[*grid, *block, *operands],
            properties={"kernel": kernel, "operandSegmentSizes": segments(0, *[1] * 6, *[0] * 4, len(operands), 0)},
        )

    @property
    def kernel_name(self) -> str:
        nested = self.kernel.nested_references.data
        # `@module::@kernel`.
        return nested[-1].data if nested else self.kernel.root_reference.data

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_dependencies(parser)
        stream = _parse_stream(parser)
        kernel = parser.parse_attribute()
        clusters = _parse_sizes(parser) if parser.parse_optional_keyword("clusters") is not None else []
        parser.parse_keyword("blocks")
        written = _parse_sizes(parser)
        parser.parse_keyword("threads")
        # In memory clusters come last, in text first.
        written += _parse_sizes(parser) + clusters
        # All sizes have one type; `index` is not written.
        type = parser.parse_type() if parser.parse_optional_punctuation(":") is not None else INDEX
        sizes = [parser.resolve_operand(size, type) for size in written]
        shared = parse_shared_size(parser)
        operands = _parse_kernel_operands(parser)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        # A segment for each of thirteen operands, in the order of the definition.
        counts = (len(tokens), *[1] * 6, *[int(bool(clusters))] * 3, len(shared), len(operands), len(stream))
        properties |= {"kernel": kernel, "operandSegmentSizes": segments(*counts)}
        return cls.create(
            operands=[*tokens, *sizes, *shared, *operands, *stream],
            result_types=[TOKEN] if is_async else [],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_dependencies(printer, self.async_token is not None, self.async_dependencies)
        if self.async_object is not None:
            printer.print_string("<")
            _print_typed(printer, self.async_object)
            printer.print_string(">")
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        first = len(self.async_dependencies)
        sizes = self.operands[first : first + 2 * DIMENSIONS]
        clusters = [self.cluster_size_x, self.cluster_size_y, self.cluster_size_z]
        if None not in clusters:
            _print_sizes(printer, "clusters", cast("list[SSAValue]", clusters))
        _print_sizes(printer, "blocks", sizes[:DIMENSIONS])
        _print_sizes(printer, "threads", sizes[DIMENSIONS:])
        printer.print_string(" ")
        if sizes[0].type != INDEX:
            printer.print_string(": ")
            printer.print_attribute(sizes[0].type)
        print_shared_size(printer, self.dynamic_shared_memory_size)
        printer.print_string(" ")
        if self.kernel_operands:
            printer.print_string("args(")
            printer.print_list(self.kernel_operands, lambda value: _print_typed(printer, value))
            printer.print_string(")")
        print_attributes(printer, self, ("kernel",))


def _parse_stream(parser: Parser) -> list[SSAValue]:
    """`<%stream : type>`, or nothing."""
    if parser.parse_optional_punctuation("<") is None:
        return []
    stream = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    value = parser.resolve_operand(stream, parser.parse_type())
    parser.parse_punctuation(">")
    return [value]


def _parse_sizes(parser: Parser) -> list[UnresolvedOperand]:
    parser.parse_keyword("in")
    position = parser.pos
    sizes = parse_operands(parser, PAREN)
    if len(sizes) != DIMENSIONS:
        parser.raise_error("expects three sizes", position)
    return sizes


def _print_sizes(printer: Printer, word: str, sizes: Sequence[SSAValue]) -> None:
    printer.print_string(f" {word} in (")
    printer.print_list(sizes, printer.print_ssa_value)
    printer.print_string(")")


def _parse_kernel_operands(parser: Parser) -> list[SSAValue]:
    if parser.parse_optional_keyword("args") is None:
        return []

    def parse_operand() -> SSAValue:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        return parser.resolve_operand(value, parser.parse_type())

    return parser.parse_comma_separated_list(PAREN, parse_operand)


def _print_typed(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


OPS: Sequence[type[IRDLOperation]] = [LaunchFuncOp]
