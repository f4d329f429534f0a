"""Kernels in two forms where arrays may begin anywhere: with wide copies for those that begin at multiples of that."""

from __future__ import annotations

from functools import reduce

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from tilewright.dialects import arith, memref, scf
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.gpu.memory import AllocOp
from tilewright.passes.air.copy_loops import vectors_of
from tilewright.passes.air.hierarchies import replace_token, wait_before
from tilewright.rewrite.emitter import Emitter

NEAR = MemorySpace.L1, MemorySpace.L2
"""Memory of threads and blocks, which the compiler places as vectors want it."""


def versions(root: Hierarchy, vector_bytes: int) -> list[tuple[Hierarchy, int]]:
    """A hierarchy, and how many bytes its copies may move at a time; two of them, if only a run knows."""
    buffers = _unproven(root, vector_bytes)
    if buffers is None or not buffers:
        return [(root, vector_bytes if buffers is not None else 0)]
    emitter = Emitter.before(root)
    wait_before(root, emitter)
    root.set_dependencies([])
    replace_token(root)
    aligned = reduce(
        lambda all, one: emitter.value(arith.AndIOp(all, one)),
        [_is_aligned(emitter, buffer, vector_bytes) for buffer in buffers],
    )
    other = root.clone()
    choice = scf.IfOp(aligned, [], Region(Block()), Region(Block()))
    emitter.insert(choice)
    root.detach()
    for region, form in ((choice.true_region, root), (choice.false_region, other)):
        inner = Emitter.at_end(region.block, root.location)
        inner.insert(form)
        inner.insert(scf.YieldOp())
    return [(root, vector_bytes), (other, 0)]


def _is_aligned(emitter: Emitter, buffer: SSAValue, vector_bytes: int) -> SSAValue:
    pointer = memref.ExtractAlignedPointerAsIndexOp.create(operands=[buffer], result_types=[IndexType()])
    rest = emitter.binary(arith.AndIOp, emitter.value(pointer), emitter.index(vector_bytes - 1))
    return emitter.compare("eq", rest, emitter.index(0))


def _unproven(root: Hierarchy, vector_bytes: int) -> list[SSAValue] | None:
    """Buffers that wide copies read or write and that may begin anywhere; None if a kernel itself makes such."""
    found = dict[SSAValue, None]()
    for op in root.walk():
        if not isinstance(op, DmaMemcpyNdOp) or vectors_of(op, vector_bytes) is None:
            continue
        for side in (op.src, op.dst):
            if memory_space(side.type) in NEAR:
                continue
            buffer = _passed(side)
            # what a GPU allocates begins at multiples of 256 bytes
            if isinstance(buffer.owner, AllocOp):
                continue
            if _is_inside(buffer, root):
                return None
            found[buffer] = None
    return list(found)


def _passed(buffer: SSAValue) -> SSAValue:
    """The value that hierarchies were given under the name of a buffer; views have pointers of their own."""
    while isinstance(buffer, BlockArgument) and isinstance(level := buffer.block.parent_op(), Hierarchy):
        outer = level.tied_operand(buffer)
        if outer is None:
            break
        buffer = outer
    return buffer


def _is_inside(value: SSAValue, root: Hierarchy) -> bool:
    op: Operation | None = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while op is not None and op is not root:
        op = op.parent_op()
    return op is root
