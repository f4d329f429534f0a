"""What is done with a buffer inside of a hierarchy, and which part of it that touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr, VectorType
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr

from tilewright.dialects import memref
from tilewright.dialects.air.channels import ChannelEnd, ChannelPutOp
from tilewright.dialects.air.execution import ExecuteOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.rewrite.effects import Effect, effects_of
from tilewright.rewrite.folding.air_views import VIEWS
from tilewright.rewrite.folding.regions import is_inside
from tilewright.rewrite.folding.strided_views import Mixed, mixed_lists

Part: TypeAlias = "tuple[Sequence[Mixed], Sequence[Mixed]]"
"""Offsets and sizes."""


class Use(NamedTuple):
    op: Operation
    buffer: SSAValue


def uses_of(argument: SSAValue, body: Region) -> list[Use]:
    """Where a buffer is touched in a body; views and inner hierarchies are looked through."""
    found: list[Use] = []
    seen = set[Operation]()
    pending = [argument]
    while pending:
        value = pending.pop()
        for use in value.uses:
            op = use.operation
            if op in seen or not is_inside(op, body):
                continue
            seen.add(op)
            if isinstance(op, Hierarchy):
                kernel = zip(op.kernel_values, op.kernel_arguments, strict=True)
                pending += [inner for passed, inner in kernel if passed is value]
            elif isinstance(op, ExecuteOp) or (op.name in VIEWS and not isinstance(op, memref.SubviewOp)):
                pending += op.results
            else:
                found.append(Use(op, value))
    return found


def only_reads(use: Use) -> bool:
    """Whether any number of points may do this at once."""
    op = use.op
    if isinstance(op, ChannelPutOp):
        return True
    if isinstance(op, DmaMemcpyNdOp):
        return op.src is use.buffer
    effects = effects_of(op)
    return Effect.READ in effects and not effects & (Effect.WRITE | Effect.FREE | Effect.UNKNOWN)


def part_of(use: Use) -> Part | None:
    """Which part of the buffer is touched; None if that cannot be told."""
    op = use.op
    if isinstance(op, ChannelEnd):
        access = op.access(op.SIDE)
        return access.offsets, access.sizes
    if isinstance(op, DmaMemcpyNdOp):
        access = op.access("dst" if op.dst is use.buffer else "src")
        return access.offsets, access.sizes
    if isinstance(op, memref.SubviewOp):
        offsets, sizes, _ = mixed_lists(op)
        return offsets, sizes
    if isinstance(op, memref.StoreOp | memref.LoadOp) and op.memref is use.buffer:
        return list(op.indices), [1] * len(op.indices)
    if op.name in ("vector.transfer_read", "vector.transfer_write"):
        return _vector_part(op)
    return None


def _vector_part(op: Operation) -> Part:
    transfer = cast(Any, op)
    map = cast(AffineMapAttr, transfer.permutation_map).data
    type = transfer.result.type if op.name == "vector.transfer_read" else transfer.vector.type
    shape = cast(VectorType, type).get_shape()
    sizes = [1] * map.num_dims
    for size, result in zip(shape, map.results, strict=True):
        if isinstance(result, AffineDimExpr):
            sizes[result.position] = size
    return list(transfer.indices), sizes
