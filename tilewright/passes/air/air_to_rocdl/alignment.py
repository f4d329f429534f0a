"""Kernels in two forms where arrays may begin anywhere: with wide copies for those that begin at multiples of that."""

from __future__ import annotations

from functools import reduce

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects import arith, memref, scf
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.array_starts import Start, passed_buffer, start_of
from tilewright.passes.air.copy_loops import vectors_of
from tilewright.passes.air.hierarchies import replace_token, wait_before
from tilewright.rewrite.emitter import Emitter


def versions(root: Hierarchy, vector_bytes: int) -> list[tuple[Hierarchy, int]]:
    """A hierarchy, and how many bytes its copies may move at a time; two of them, if only a run knows."""
    tested = _tested(root, vector_bytes)
    if not tested:
        return [(root, vector_bytes)]
    emitter = Emitter.before(root)
    wait_before(root, emitter)
    root.set_dependencies([])
    replace_token(root)
    aligned = reduce(
        lambda all, one: emitter.value(arith.AndIOp(all, one)),
        [_is_aligned(emitter, buffer, size_bytes) for buffer, size_bytes in tested],
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


def _is_aligned(emitter: Emitter, buffer: SSAValue, size_bytes: int) -> SSAValue:
    pointer = memref.ExtractAlignedPointerAsIndexOp.create(operands=[buffer], result_types=[IndexType()])
    rest = emitter.binary(arith.AndIOp, emitter.value(pointer), emitter.index(size_bytes - 1))
    return emitter.compare("eq", rest, emitter.index(0))


def _tested(root: Hierarchy, vector_bytes: int) -> list[tuple[SSAValue, int]]:
    """Arrays that wide copies read or write and that may begin anywhere, with the bytes that are moved at a time."""
    found = dict[SSAValue, int]()
    for op in ops_of(all_operations(root), DmaMemcpyNdOp):
        wide = vectors_of(op, vector_bytes)
        if wide is None:
            continue
        for side, is_wide in zip((wide.source, wide.destination), wide.wide, strict=True):
            if is_wide and start_of(side.memref, wide.alignment) is Start.TESTABLE:
                buffer = passed_buffer(side.memref)
                found[buffer] = max(found.get(buffer, 0), wide.alignment)
    return list(found.items())
