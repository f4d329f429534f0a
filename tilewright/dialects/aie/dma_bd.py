"""Buffer descriptors: which part of a buffer a DMA moves, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    MemRefType,
    UnrankedMemRefType,
    i32,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    eq,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from tilewright.device.layout import WORD_MASK
from tilewright.dialects._mixed_indices import join_mixed, split_mixed
from tilewright.dialects._ods import i32_attr, op_definition, unsigned_attr
from tilewright.dialects._syntax import Integers
from tilewright.dialects.aie.attributes import BDIterationAttr, BDPadLayoutArrayAttr, PacketInfoAttr
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.lookup import constant_value, constant_values
from tilewright.ir.constraints import described

ANY_MEMREF = described(base(MemRefType) | base(UnrankedMemRefType), "ranked or unranked memref of any type values")
COUNT = described(eq(i32) | eq(i64), "32-bit signless integer")  # older programs have wider ones
I64_ARRAY = described(DenseArrayBase.constr(i64), "i64 dense array attribute")


class BdDimLayout(NamedTuple):
    """One dimension of an access pattern, in elements."""

    size: int
    stride: int


@op_definition
class DmaBdOp(IRDLOperation):
    """A descriptor. Offset, length, sizes and strides count elements; each is a constant or a value known at run time.

    Without an offset it starts at the beginning, without a length it moves the whole buffer. Sizes and strides list
    the outermost dimension first.
    """

    name = "aie.dma_bd"

    buffer = operand_def(ANY_MEMREF)
    offset = opt_operand_def(COUNT)
    len = opt_operand_def(COUNT)
    sizes = var_operand_def(i64)  # those known at run time; the lists below have markers in their places
    strides = var_operand_def(i64)
    static_offset = opt_prop_def(i32_attr())
    static_len = opt_prop_def(i32_attr())
    static_sizes = opt_prop_def(I64_ARRAY)
    static_strides = opt_prop_def(I64_ARRAY)
    pad_dimensions = opt_prop_def(BDPadLayoutArrayAttr)
    bd_id = opt_prop_def(i32_attr())
    packet = opt_prop_def(PacketInfoAttr)
    burst_length = opt_prop_def(i32_attr(), default_value=IntegerAttr(0, i32))  # bytes; 0 is the longest
    iteration = opt_prop_def(BDIterationAttr)
    offset_parameter = opt_prop_def(FlatSymbolRefAttrConstr)  # a scratchpad parameter added to the address
    offset_state_table_idx = opt_prop_def(unsigned_attr(8))
    next_bd_id = opt_prop_def(i32_attr())  # set by the pass that numbers descriptors, from the blocks

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        buffer: SSAValue,
        offset: SSAValue | int | None = None,
        len: SSAValue | int | None = None,
        dimensions: Sequence[tuple[SSAValue | int, SSAValue | int]] = (),
        pad: BDPadLayoutArrayAttr | None = None,
        packet: PacketInfoAttr | None = None,
    ):
        sizes, static_sizes = split_optional_mixed([size for size, _ in dimensions])
        strides, static_strides = split_optional_mixed([stride for _, stride in dimensions])
        super().__init__(
            operands=[
                buffer,
                offset if isinstance(offset, SSAValue) else None,
                len if isinstance(len, SSAValue) else None,
                sizes,
                strides,
            ],
            properties={
                "static_offset": IntegerAttr(offset, i32) if isinstance(offset, int) else None,
                "static_len": IntegerAttr(len, i32) if isinstance(len, int) else None,
                "static_sizes": static_sizes,
                "static_strides": static_strides,
                "pad_dimensions": pad,
                "packet": packet,
            },
        )

    @property
    def buffer_op(self) -> BufferOp | None:
        owner = self.buffer.owner
        return owner if isinstance(owner, BufferOp) else None

    @property
    def element_bytes(self) -> int:
        return element_bytes(self._operands[0].type)  # the buffer, found without counting operands

    @property
    def has_values(self) -> bool:
        """Whether any of its numbers is an operand, as its buffer is."""
        return len(self._operands) > 1

    @property
    def has_len(self) -> bool:
        return self.len is not None or self.static_len is not None

    @property
    def constant_offset(self) -> int | None:
        """The offset where it is a constant; none also if there is no offset."""
        return _constant(self.static_offset, self.offset if self.has_values else None)

    @property
    def constant_len(self) -> int | None:
        """The length where it is a constant; none also if there is no length."""
        return _constant(self.static_len, self.len if self.has_values else None)

    @property
    def offset_bytes(self) -> int:
        return (self.constant_offset or 0) * self.element_bytes

    @property
    def len_bytes(self) -> int:
        """The length, or the size of the whole buffer where the length is not a constant; 0 if that is not known."""
        length = self.constant_len
        if length is not None:
            return (length & WORD_MASK) * self.element_bytes
        return (element_count(self.buffer.type) or 0) * self.element_bytes

    @property
    def mixed_sizes(self) -> list[SSAValue | int]:
        static = self.static_sizes
        return [] if static is None else join_mixed(self.sizes if self.has_values else (), static, "size")

    @property
    def mixed_strides(self) -> list[SSAValue | int]:
        static = self.static_strides
        return [] if static is None else join_mixed(self.strides if self.has_values else (), static, "stride")

    @property
    def constant_dimensions(self) -> list[BdDimLayout] | None:
        """The access pattern, none if some of it is only known at run time; empty for a plain run of elements."""
        return known_dimensions(self.mixed_sizes, self.mixed_strides)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        # both of these know this class, and are read when the first descriptor is
        from tilewright.dialects.aie.dma_bd_syntax import parse_dma_bd

        return parse_dma_bd(parser, cls)

    def print(self, printer: Printer) -> None:
        from tilewright.dialects.aie.dma_bd_syntax import print_dma_bd

        print_dma_bd(printer, self)

    def verify_(self) -> None:
        from tilewright.dialects.aie.dma_bd_checks import verify_dma_bd

        verify_dma_bd(self)


def known_dimensions(
    mixed_sizes: Sequence[SSAValue | int], mixed_strides: Sequence[SSAValue | int]
) -> list[BdDimLayout] | None:
    """Loops of which all is known; none if some of it is not."""
    sizes, strides = constant_values(mixed_sizes), constant_values(mixed_strides)
    if None in sizes or None in strides:
        return None
    # upstream keeps both as unsigned 32 bits, so a negative number is a large one
    pairs = cast("zip[tuple[int, int]]", zip(sizes, strides, strict=True))
    return [BdDimLayout(size & WORD_MASK, stride & WORD_MASK) for size, stride in pairs]


def split_optional_mixed(entries: Sequence[SSAValue | int]) -> tuple[list[SSAValue], Integers | None]:
    """As `split_mixed`, but an empty list has no property."""
    return split_mixed(entries) if entries else ([], None)


def is_contiguous(dimensions: Sequence[BdDimLayout]) -> bool:
    """Whether an access pattern visits consecutive elements; the stride of a dimension of size 1 is never taken."""
    if not dimensions:
        return True
    run, stride = dimensions[-1]  # elements that lie together so far
    if stride != 1:
        return False
    for size, stride in reversed(dimensions[:-1]):
        if size > 1 and stride != run:
            return False
        run *= size
    return True


def _constant(attr: IntegerAttr | None, value: SSAValue | None) -> int | None:
    if attr is not None:
        return attr.value.data
    return None if value is None else constant_value(value)


OPS: Sequence[type[IRDLOperation]] = [DmaBdOp]
