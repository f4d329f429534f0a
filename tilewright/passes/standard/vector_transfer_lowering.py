"""Lowers reads and writes of parts of buffers as vectors to loads and stores, where elements lie side by side.

Upstream MLIR's patterns: transfers in another order of dimensions, out of bounds or between other element types stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.dialects import vector
from tilewright.dialects.vector import BroadcastOp, LoadOp, MaskedLoadOp, MaskedStoreOp, StoreOp
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.driver import GREEDY, rewrite


@dataclass(frozen=True)
class VectorTransferLoweringPass(Pass):
    name = "aie-vector-transfer-lowering"
    anchor = "aie.device"

    max_transfer_rank: int = field(default=-1, metadata={"help": "lower vectors of at most so many dimensions"})

    def apply(self, ctx: Context, op: Operation) -> None:
        rank = self.max_transfer_rank
        rewrite(op, TransferReadToLoad(rank), TransferWriteToStore(rank), config=GREEDY)


class TransferReadToLoad(RewritePattern):
    def __init__(self, max_rank: int):
        self._max_rank = max_rank

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferReadOp, rewriter: PatternRewriter) -> None:
        type = op.result.type
        repeated = _repeated_dimensions(op.permutation_map.data)
        if repeated is None or not _is_loadable(op.source, type, op.in_bounds, self._max_rank):
            return
        if op.mask is not None and len(type.get_shape()) != 1:
            return
        # one element in each dimension that repeats, spread afterwards
        shape = [1 if number in repeated else size for number, size in enumerate(type.get_shape())]
        value = self._read(op, VectorType(type.element_type, shape), rewriter)
        if repeated:
            value = rewriter.insert(BroadcastOp.create(operands=[value], result_types=[type])).results[0]
        rewriter.replace(op, (), [value])

    def _read(self, op: vector.TransferReadOp, type: VectorType[Attribute], rewriter: PatternRewriter) -> SSAValue:
        if op.mask is None:
            return rewriter.insert(LoadOp.create(operands=[op.source, *op.indices], result_types=[type])).results[0]
        fill = rewriter.insert(BroadcastOp.create(operands=[op.padding], result_types=[type])).results[0]
        operands = [op.source, *op.indices, op.mask, fill]
        return rewriter.insert(MaskedLoadOp.create(operands=operands, result_types=[type])).results[0]


class TransferWriteToStore(RewritePattern):
    def __init__(self, max_rank: int):
        self._max_rank = max_rank

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferWriteOp, rewriter: PatternRewriter) -> None:
        type = cast("VectorType[Attribute]", op.vector.type)
        if _repeated_dimensions(op.permutation_map.data) != set() or op.results:
            return
        if not _is_loadable(op.source, type, op.in_bounds, self._max_rank):
            return
        if op.mask is None:
            rewriter.replace(op, StoreOp.create(operands=[op.vector, op.source, *op.indices]))
        elif len(type.get_shape()) == 1:
            rewriter.replace(op, MaskedStoreOp.create(operands=[op.source, *op.indices, op.mask, op.vector]))


def _repeated_dimensions(map: AffineMap) -> set[int] | None:
    """The results that are the same for all indices; None if the others are not the last dimensions, in order."""
    repeated: set[int] = set()
    first = map.num_dims - len(map.results)
    for number, result in enumerate(map.results):
        if isinstance(result, AffineConstantExpr) and result.value == 0:
            repeated.add(number)
        elif not isinstance(result, AffineDimExpr) or result.position != first + number:
            return None
    return repeated


def _is_loadable(source: SSAValue, type: VectorType[Attribute], in_bounds: ArrayAttr[BoolAttr], max_rank: int) -> bool:
    """Whether a load or store can do it: of a buffer, of its own elements, side by side and inside the buffer."""
    given: Attribute = source.type
    # tensors have no address to load from
    if not isinstance(given, MemRefType) or (max_rank >= 0 and len(type.get_shape()) > max_rank):
        return False
    memref = cast("MemRefType[Any]", given)
    strides: Sequence[int | None] | None = memref.get_strides()
    is_dense = strides is not None and (not strides or strides[-1] == 1)
    # out of bounds a transfer reads its padding and writes nothing, which no load or store does
    if not is_dense or not all(bool(flag.value.data) for flag in in_bounds):
        return False
    element: Attribute = memref.element_type
    return element == type if isinstance(element, VectorType) else element == type.element_type
