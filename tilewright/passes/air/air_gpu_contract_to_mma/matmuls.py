"""Products of small buffers (`linalg.matmul`) as contractions of what is read before, and written behind."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from tilewright.dialects import vector
from tilewright.dialects._syntax import segments
from tilewright.dialects.memref.types import memref_type
from tilewright.dialects.vector.types import CombiningKindAttr, CombiningKindFlag, IteratorType, IteratorTypeAttr
from tilewright.rewrite.emitter import Emitter, constant_op
from tilewright.rewrite.folding.constants import INDEX, TRUE, zero_attr

MATMUL = "linalg.matmul"
MOST_PRODUCTS = 1 << 18
"""Of numbers: for the sums of larger buffers a wave has no registers."""
ITERATORS = IteratorType.PARALLEL, IteratorType.PARALLEL, IteratorType.REDUCTION


def as_contraction(op: Operation) -> list[Operation]:
    """What does the same as a product of buffers, placed before it; nothing for buffers of large or unknown sizes."""
    if not _is_small(op.operands):
        return []
    emitter = Emitter.before(op)
    zero = emitter.insert(constant_op(0, INDEX))
    made: list[Operation] = [zero]
    sides = list[SSAValue]()
    for buffer in op.operands:
        padding = emitter.insert(constant_op(zero_attr(memref_type(buffer).element_type)))
        read = emitter.insert(_read(buffer, zero.result, padding.result))
        made += [padding, read]
        sides.append(read.result)
    fields: dict[str, Attribute] = {
        "indexing_maps": op.properties["indexing_maps"],
        "iterator_types": ArrayAttr([IteratorTypeAttr(iterator) for iterator in ITERATORS]),
        "kind": CombiningKindAttr(CombiningKindFlag.ADD),
    }
    found = emitter.value(vector.ContractionOp.create(operands=sides, result_types=[sides[-1].type], properties=fields))
    write = emitter.insert(_write(found, op.operands[-1], zero.result))
    return [*made, cast(Operation, found.owner), write]


def _is_small(buffers: Sequence[SSAValue]) -> bool:
    if not all(isinstance(buffer.type, MemRefType) for buffer in buffers):
        return False
    sizes = [size for buffer in buffers for size in memref_type(buffer).get_shape()]
    if DYNAMIC_INDEX in sizes:
        return False
    # rows, columns and depth are sizes of two buffers each
    return prod(sizes) <= MOST_PRODUCTS**2


def _read(buffer: SSAValue, zero: SSAValue, padding: SSAValue) -> vector.TransferReadOp:
    type = memref_type(buffer)
    return vector.TransferReadOp.create(
        operands=[buffer, zero, zero, padding],
        result_types=[VectorType(type.element_type, type.get_shape())],
        properties={"operandSegmentSizes": segments(1, 2, 1, 0), **_whole()},
    )


def _write(value: SSAValue, buffer: SSAValue, zero: SSAValue) -> vector.TransferWriteOp:
    return vector.TransferWriteOp.create(
        operands=[value, buffer, zero, zero], properties={"operandSegmentSizes": segments(1, 1, 2, 0), **_whole()}
    )


def _whole() -> dict[str, Attribute]:
    return {"permutation_map": AffineMapAttr(AffineMap.identity(2)), "in_bounds": ArrayAttr([TRUE, TRUE])}
