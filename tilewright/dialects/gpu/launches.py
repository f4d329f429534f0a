"""Starting kernels: with the body in place, or by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self, cast

from xdsl.dialects.builtin import SymbolRefAttr, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._syntax import INDEX, PAREN, parse_operands, print_attributes, segments, split_attributes
from tilewright.dialects.gpu.asynchronous import parse_dependencies, print_dependencies
from tilewright.dialects.gpu.attributes import ANY_TOKEN, TOKEN
from tilewright.dialects.gpu.attributions import (
    KEYWORDS,
    WORKGROUP_COUNT,
    count_attr,
    parse_attributions,
    print_attributions,
    workgroup_count,
)
from tilewright.dialects.gpu.kernels import CONTAINER, BinaryOp, GPUFuncOp, GPUModuleOp
from tilewright.dialects.scf.bindings import LOOP_TYPE, parse_bindings, print_bindings
from tilewright.ir.symbols import symbol_in

SEGMENTS = (AttrSizedOperandSegments(as_property=True),)
DIMENSIONS = 3


@op_definition
class TerminatorOp(IRDLOperation):
    """The end of a kernel that stands in place."""

    name = "gpu.terminator"
    traits = traits_def(ParentOp("gpu.launch"), IsTerminator(), Pure())
    assembly_format = "attr-dict"


class _Space(NamedTuple):
    """`blocks(%x, %y, %z) in (%sx = %a, ...)`."""

    ids: list[Parser.UnresolvedArgument]
    sizes: list[Parser.UnresolvedArgument]
    extents: list[UnresolvedOperand]


@op_definition
class LaunchOp(IRDLOperation):
    """Run the body once for each thread of each block.

    Its arguments are block ids, thread ids, grid sizes, block sizes (three of each), then cluster ids and cluster sizes
    if there are clusters, then the buffers of the block and those of the thread.
    """

    name = "gpu.launch"

    async_dependencies = var_operand_def(ANY_TOKEN)
    grid_size_x = operand_def(INDEX)
    grid_size_y = operand_def(INDEX)
    grid_size_z = operand_def(INDEX)
    block_size_x = operand_def(INDEX)
    block_size_y = operand_def(INDEX)
    block_size_z = operand_def(INDEX)
    cluster_size_x = opt_operand_def(INDEX)
    cluster_size_y = opt_operand_def(INDEX)
    cluster_size_z = opt_operand_def(INDEX)
    dynamic_shared_memory_size = opt_operand_def(i32)
    module = opt_prop_def(SymbolRefAttr)
    function = opt_prop_def(SymbolRefAttr)
    body = region_def()
    async_token = opt_result_def(ANY_TOKEN)

    irdl_options = SEGMENTS
    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def of(cls, grid: Sequence[SSAValue], block: Sequence[SSAValue]) -> LaunchOp:
        """A launch of an empty body; `grid` and `block` have three sizes each."""
        body = Region(Block([TerminatorOp.create()], arg_types=[INDEX] * 12))
        return cls.create(
            operands=[*grid, *block],
            properties={"operandSegmentSizes": segments(0, *[1] * 6, *[0] * 4)},
            attributes={WORKGROUP_COUNT: count_attr(0)},
            regions=[body],
        )

    @property
    def grid_sizes(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        return self.grid_size_x, self.grid_size_y, self.grid_size_z

    @property
    def block_sizes(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        return self.block_size_x, self.block_size_y, self.block_size_z

    @property
    def cluster_sizes(self) -> list[SSAValue]:
        sizes = (self.cluster_size_x, self.cluster_size_y, self.cluster_size_z)
        return [size for size in sizes if size is not None]

    @property
    def block(self) -> Block:
        return self.body.blocks[0]

    @property
    def _first_buffer(self) -> int:
        return 4 * DIMENSIONS + 2 * len(self.cluster_sizes)

    def _ids(self, group: int) -> Sequence[BlockArgument]:
        return self.block.args[group * DIMENSIONS : (group + 1) * DIMENSIONS]

    @property
    def block_ids(self) -> Sequence[BlockArgument]:
        return self._ids(0)

    @property
    def thread_ids(self) -> Sequence[BlockArgument]:
        return self._ids(1)

    @property
    def grid_dims(self) -> Sequence[BlockArgument]:
        return self._ids(2)

    @property
    def block_dims(self) -> Sequence[BlockArgument]:
        return self._ids(3)

    @property
    def workgroup_buffers(self) -> Sequence[BlockArgument]:
        return self.block.args[self._first_buffer : self._first_buffer + workgroup_count(self)]

    @property
    def private_buffers(self) -> Sequence[BlockArgument]:
        return self.block.args[self._first_buffer + workgroup_count(self) :]

    def add_workgroup_buffer(self, type: Attribute) -> BlockArgument:
        """Memory for each block."""
        count = workgroup_count(self)
        self.attributes[WORKGROUP_COUNT] = count_attr(count + 1)
        return self.block.insert_arg(type, self._first_buffer + count)

    def add_private_buffer(self, type: Attribute) -> BlockArgument:
        """Memory for each thread."""
        return self.block.insert_arg(type, len(self.block.args))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, operands = parse_dependencies(parser)
        counts = [len(operands)]
        none = _Space([], [], [])
        clusters = _parse_space(parser) if parser.parse_optional_keyword("clusters") is not None else none
        parser.parse_keyword("blocks")
        grid = _parse_space(parser)
        parser.parse_keyword("threads")
        block = _parse_space(parser)
        written = [*grid.extents, *block.extents, *clusters.extents]
        operands += [parser.resolve_operand(extent, INDEX) for extent in written]
        counts += [1] * 6 + [int(bool(clusters.extents))] * DIMENSIONS
        shared = _parse_shared_size(parser)
        properties = _parse_names(parser)
        unresolved = [*grid.ids, *block.ids, *grid.sizes, *block.sizes, *clusters.ids, *clusters.sizes]
        arguments = [argument.resolve(INDEX) for argument in unresolved]
        buffers = [parse_attributions(parser, keyword)[0] for keyword in KEYWORDS]
        body = parser.parse_region([*arguments, *(argument for group in buffers for argument in group)])
        known, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        properties["operandSegmentSizes"] = segments(*counts, len(shared))
        return cls.create(
            operands=operands + shared,
            result_types=[TOKEN] if is_async else [],
            properties=properties | known,
            attributes={**attributes, WORKGROUP_COUNT: count_attr(len(buffers[0]))},
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        if self.async_token is not None or self.async_dependencies:
            printer.print_string(" ")
            print_dependencies(printer, self.async_token is not None, self.async_dependencies)
        if self.cluster_sizes:
            first = 4 * DIMENSIONS
            ids, sizes = self.block.args[first : first + 3], self.block.args[first + 3 : first + 6]
            _print_space(printer, "clusters", ids, sizes, self.cluster_sizes)
        _print_space(printer, "blocks", self.block_ids, self.grid_dims, self.grid_sizes)
        _print_space(printer, "threads", self.thread_ids, self.block_dims, self.block_sizes)
        _print_shared_size(printer, self.dynamic_shared_memory_size)
        for word, name in (("module", self.module), ("function", self.function)):
            if name is not None:
                printer.print_string(f" {word}(")
                printer.print_attribute(name)
                printer.print_string(")")
        print_attributions(printer, "workgroup", self.workgroup_buffers)
        print_attributions(printer, "private", self.private_buffers)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        shown = {key: value for key, value in self.attributes.items() if key != WORKGROUP_COUNT}
        if shown:
            printer.print_op_attributes(shown)

    def verify_(self) -> None:
        if self.body.first_block is not None and len(self.block.args) < self._first_buffer + workgroup_count(self):
            raise VerifyException("unexpected number of region arguments")


def _parse_space(parser: Parser) -> _Space:
    ids = parser.parse_comma_separated_list(PAREN, lambda: parser.parse_argument(expect_type=False))
    parser.parse_keyword("in")
    position = parser.pos
    sizes, extents = parse_bindings(parser)
    if not len(ids) == len(sizes) == DIMENSIONS:
        parser.raise_error("expects three ids and three sizes", position)
    return _Space(ids, sizes, extents)


def _print_space(
    printer: Printer, word: str, ids: Sequence[SSAValue], sizes: Sequence[SSAValue], extents: Sequence[SSAValue]
) -> None:
    printer.print_string(f" {word}(")
    printer.print_list(ids, printer.print_ssa_value)
    printer.print_string(") in ")
    print_bindings(printer, sizes, extents)


def _parse_shared_size(parser: Parser) -> list[SSAValue]:
    if parser.parse_optional_keyword("dynamic_shared_memory_size") is None:
        return []
    return [parser.resolve_operand(parser.parse_unresolved_operand(), i32)]


def _print_shared_size(printer: Printer, size: SSAValue | None) -> None:
    if size is not None:
        printer.print_string(" dynamic_shared_memory_size ")
        printer.print_ssa_value(size)


def _parse_names(parser: Parser) -> dict[str, Attribute]:
    """`module(@m) function(@f)`: what the kernel is to be called once it is outlined."""
    properties: dict[str, Attribute] = {}
    for word in ("module", "function"):
        if parser.parse_optional_keyword(word) is not None:
            with parser.in_parens():
                properties[word] = parser.parse_attribute()
    return properties


class KernelUse(SymbolUserOpInterface):
    """The kernel of a launch must be there and take what it is given."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, LaunchFuncOp)
        table: Operation | None = op.parent_op()
        while table is not None and not table.has_trait(SymbolTable, value_if_unregistered=False):
            table = table.parent_op()
        if table is None:
            return
        if CONTAINER not in table.attributes:
            raise VerifyException(f"expected the closest surrounding module to have the '{CONTAINER}' attribute")
        module_name = op.kernel.root_reference.data
        module = symbol_in(table, module_name)
        if isinstance(module, BinaryOp):
            return
        if not isinstance(module, GPUModuleOp):
            raise VerifyException(f"kernel module '{module_name}' is undefined")
        kernel = symbol_in(module, op.kernel_name)
        if kernel is None:
            raise VerifyException(f"kernel function '{op.kernel}' is undefined")
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

    irdl_options = SEGMENTS
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
        written += _parse_sizes(parser) + clusters
        type = parser.parse_type() if parser.parse_optional_punctuation(":") is not None else INDEX
        sizes = [parser.resolve_operand(size, type) for size in written]
        shared = _parse_shared_size(parser)
        operands = _parse_kernel_operands(parser)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
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
        _print_shared_size(printer, self.dynamic_shared_memory_size)
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


OPS: Sequence[type[IRDLOperation]] = [LaunchOp, TerminatorOp, LaunchFuncOp]
