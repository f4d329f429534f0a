"""Turns buffers of a block round that waves read by columns, so that what a lane reads lies together.

A column of a buffer whose rows are short is spread over few banks of the block's memory: lanes that read different rows
meet in one. In the turned buffer a lane reads neighbours, several at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects import memref, scf
from tilewright.dialects.air.accesses import Access, Entries
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.rewrite.folding.strided_views import Mixed, known_int


class AirGpuL2LayoutPass(Pass):
    name = "air-gpu-l2-layout"

    def apply(self, ctx: Context, op: Operation) -> None:
        for found in ops_of(all_operations(op), memref.AllocOp):
            if memory_space(found.memref.type) == MemorySpace.L2:
                uses = _uses(found.memref)
                if uses is not None and uses.are_by_columns:
                    uses.turn()


@dataclass
class BufferUses:
    """A buffer under all its names, and the copies from and to it."""

    type: MemRefType
    names: list[SSAValue]
    reads: list[DmaMemcpyNdOp]
    writes: list[DmaMemcpyNdOp]

    @property
    def are_by_columns(self) -> bool:
        """Whether all reads go down a column, and all writes can be turned round."""
        rows, columns = self.type.get_shape()
        return bool(
            self.reads
            and all(_is_column(op.access("src"), columns) for op in self.reads)
            and all(_is_block(op.access("dst"), op.access("src"), rows, columns) for op in self.writes)
        )

    def turn(self) -> None:
        rows, columns = self.type.get_shape()
        turned = MemRefType(self.type.element_type, [columns, rows], NoneAttr(), self.type.memory_space)
        for op in self.reads:
            access = op.access("src")
            op.set_access("src", Access(access.memref, [*reversed(access.offsets)], access.sizes, [1]))
        for op in self.writes:
            access, source = op.access("dst"), op.access("src")
            sizes: Entries = access.sizes or source.sizes or [rows, columns]
            op.set_access("dst", Access(access.memref, [*reversed(access.offsets)] or [0, 0], sizes, [1, rows]))
        for name in self.names:
            name._type = turned  # xDSL has no setter


def _uses(buffer: SSAValue) -> BufferUses | None:
    """All uses of a buffer of two known dimensions, if they are copies."""
    type = buffer.type
    if not isinstance(type, MemRefType) or type.get_num_dims() != 2 or DYNAMIC_INDEX in type.get_shape():
        return None
    if not isinstance(type.layout, NoneAttr):
        return None
    found = BufferUses(cast("MemRefType", type), [], [], [])
    names = [buffer]
    while names:
        name = names.pop()
        found.names.append(name)
        for use in name.uses:
            match use.operation:
                case DmaMemcpyNdOp() as op if op.src is name and op.dst is not name:
                    found.reads.append(op)
                case DmaMemcpyNdOp() as op if op.dst is name and op.src is not name:
                    found.writes.append(op)
                case Hierarchy() as level:
                    names += [arg for arg in level.kernel_arguments if level.tied_operand(arg) is name]
                case memref.DeallocOp():
                    pass
                case _:
                    return None
    return found


def _is_column(access: Access, columns: int) -> bool:
    return (
        len(access.offsets) == 2
        and len(access.sizes) == 1
        and known_int(access.sizes[0]) is not None
        and [known_int(stride) for stride in access.strides] == [columns]
        and columns > 1
        and _is_below(access.offsets[1], columns)
    )


def _is_below(number: Mixed, limit: int) -> bool:
    """Whether a number is known to be one of a column: one beyond the row would be of the next row."""
    known = known_int(number)
    if known is not None or isinstance(number, int):
        return known is not None and 0 <= known < limit
    loop = number.owner.parent_op() if isinstance(number, BlockArgument) else None
    if isinstance(loop, Hierarchy):
        passed = loop.tied_operand(cast("BlockArgument", number))
        return passed is not None and _is_below(passed, limit)
    if not isinstance(loop, scf.ForOp) or number is not loop.body.block.args[0]:
        return False
    first, end = known_int(loop.lb), known_int(loop.ub)
    return first is not None and end is not None and first >= 0 and end <= limit


def _is_block(access: Access, other: Access, rows: int, columns: int) -> bool:
    """Whether a copy fills a block of the buffer, row by row."""
    sizes = [known_int(size) for size in access.sizes or other.sizes]
    if access.is_whole:
        return sizes == [rows, columns] or (not sizes and _elements(other) == rows * columns)
    return len(sizes) == 2 and len(access.offsets) == 2 and [known_int(s) for s in access.strides] == [columns, 1]


def _elements(access: Access) -> int | None:
    """How many a whole buffer has, if its type says it."""
    shape = cast("MemRefType", access.memref.type).get_shape()
    return None if DYNAMIC_INDEX in shape or not access.is_whole else prod(shape)
