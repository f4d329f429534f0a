"""Starting kernels whose bodies stand in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from xdsl.dialects.builtin import SymbolRefAttr, i32
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._syntax import INDEX, PAREN, segments, split_attributes
from tilewright.dialects.gpu.attributes import ANY_TOKEN, TOKEN, parse_dependencies, print_dependencies
from tilewright.dialects.gpu.attributions import (
    KEYWORDS,
    WORKGROUP_COUNT,
    count_attr,
    parse_attributions,
    print_attributions,
    verify_attributions,
    workgroup_count,
)
from tilewright.dialects.scf.bindings import parse_bindings, print_bindings

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
    def of(cls, grid: Sequence[SSAValue], block: Sequence[SSAValue], cluster: Sequence[SSAValue] = ()) -> LaunchOp:
        """A launch of an empty body; `grid`, `block` and, if there are clusters, `cluster` have three sizes each."""
        # Ids and sizes, of blocks, threads and clusters, in three dimensions each.
        body = Region(Block([TerminatorOp.create()], arg_types=[INDEX] * (12 + 2 * len(cluster))))
        return cls.create(
            operands=[*grid, *block, *cluster],
            properties={"operandSegmentSizes": segments(0, *[1] * 6, *[int(bool(cluster))] * 3, 0)},
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
        # Behind ids and sizes, and those of clusters if there are any.
        return 4 * DIMENSIONS + 2 * len(self.cluster_sizes)

    @property
    def ids_and_sizes(self) -> Sequence[BlockArgument]:
        """All arguments of the body before buffers."""
        return self.block.args[: self._first_buffer]

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
        # Behind the other buffers of blocks, before those of threads.
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
        # Clusters are first in text and last in memory.
        operands += [parser.resolve_operand(extent, INDEX) for extent in written]
        counts += [1] * 6 + [int(bool(clusters.extents))] * DIMENSIONS
        shared = parse_shared_size(parser)
        properties = _parse_names(parser)
        # The order of the body's arguments, which is not that of the text.
        unresolved = [*grid.ids, *block.ids, *grid.sizes, *block.sizes, *clusters.ids, *clusters.sizes]
        arguments = [argument.resolve(INDEX) for argument in unresolved]
        buffers = [parse_attributions(parser, keyword)[0] for keyword in KEYWORDS]
        body = parser.parse_region([*arguments, *(argument for group in buffers for argument in group)])
        # Behind the body, as MLIR reads it.
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
        # Else no space is due, unlike in `gpu.launch_func`.
        if self.async_token is not None or self.async_dependencies:
            printer.print_string(" ")
            print_dependencies(printer, self.async_token is not None, self.async_dependencies)
        if self.cluster_sizes:
            first = 4 * DIMENSIONS
            ids, sizes = self.block.args[first : first + 3], self.block.args[first + 3 : first + 6]
            _print_space(printer, "clusters", ids, sizes, self.cluster_sizes)
        _print_space(printer, "blocks", self.block_ids, self.grid_dims, self.grid_sizes)
        _print_space(printer, "threads", self.thread_ids, self.block_dims, self.block_sizes)
        print_shared_size(printer, self.dynamic_shared_memory_size)
        for word, name in (("module", self.module), ("function", self.function)):
            if name is not None:
                printer.print_string(f" {word}(")
                printer.print_attribute(name)
                printer.print_string(")")
        print_attributions(printer, "workgroup", self.workgroup_buffers)
        print_attributions(printer, "private", self.private_buffers)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        # The count follows from the attributions.
        shown = {key: value for key, value in self.attributes.items() if key != WORKGROUP_COUNT}
        if shown:
            printer.print_op_attributes(shown)

    def verify_(self) -> None:
        if self.body.first_block is not None and len(self.block.args) < self._first_buffer + workgroup_count(self):
            raise VerifyException("unexpected number of region arguments")
        if self.body.first_block is not None:
            verify_attributions(self.block.args[self._first_buffer :])


def _parse_space(parser: Parser) -> _Space:
    ids = parser.parse_comma_separated_list(PAREN, lambda: parser.parse_argument(expect_type=False))
    parser.parse_keyword("in")
    position = parser.pos
    sizes, extents = parse_bindings(parser)
    # MLIR's grammar knows three dimensions and no others.
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


def parse_shared_size(parser: Parser) -> list[SSAValue]:
    if parser.parse_optional_keyword("dynamic_shared_memory_size") is None:
        return []
    return [parser.resolve_operand(parser.parse_unresolved_operand(), i32)]


def print_shared_size(printer: Printer, size: SSAValue | None) -> None:
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


OPS: Sequence[type[IRDLOperation]] = [LaunchOp, TerminatorOp]
