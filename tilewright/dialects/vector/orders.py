"""Which element of a vector goes where: the meaning of operations that only move elements, in row-major order.

native/vectors.py        shuffles of LLVM
interpreter/vectors.py   lists
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir.affine import AffineDimExpr, AffineMap

from tilewright.dialects import vector
from tilewright.dialects.vector import shape
from tilewright.dialects.vector.types import vector_type


def flat(coordinates: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of an element in row-major order."""
    return reduce(lambda number, pair: number * pair[1] + pair[0], zip(coordinates, sizes, strict=True), 0)


def all_coordinates(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return list(product(*(range(size) for size in sizes)))


def broadcast_order(given: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """For each element of the result, which of the source it is."""
    # Missing dimensions are the outer ones; those of one element repeat it.
    padded = [1] * (len(wanted) - len(given)) + list(given)
    return [
        flat([0 if size == 1 else number for number, size in zip(place, padded, strict=True)], padded)
        for place in all_coordinates(wanted)
    ]


def _integers(array: ArrayAttr[IntegerAttr]) -> list[int]:
    return [entry.value.data for entry in array]


def slice_order(op: shape.ExtractStridedSliceOp) -> list[int]:
    """For each element of the result, which of the source it is."""
    sizes, offsets = vector_type(op.source).get_shape(), _integers(op.offsets)
    offsets += [0] * (len(sizes) - len(offsets))
    return [
        flat([number + offset for number, offset in zip(place, offsets, strict=True)], sizes)
        for place in all_coordinates(op.result.type.get_shape())
    ]


def inserted_places(op: shape.InsertStridedSliceOp) -> list[int]:
    """For each element that is inserted, which of the result it becomes."""
    sizes, offsets = op.result.type.get_shape(), _integers(op.offsets)
    part = vector_type(op.value_to_store).get_shape()
    padded = [1] * (len(sizes) - len(part)) + list(part)
    return [
        flat([number + offset for number, offset in zip(place, offsets, strict=True)], sizes)
        for place in all_coordinates(padded)
    ]


def shuffle_order(op: vector.ShuffleOp) -> list[int]:
    """For each element of the result, which of the two vectors it is; the second's are counted on from the first's."""
    row = prod(vector_type(op.v1).get_shape()[1:])
    # -1 stands for any row
    return [max(number, 0) * row + column for number in op.mask.get_values() for column in range(row)]


def transpose_order(op: shape.TransposeOp) -> list[int]:
    """For each element of the result, which of the source it is."""
    sizes, order = vector_type(op.vector).get_shape(), op.permutation.get_values()

    def source_of(place: tuple[int, ...]) -> int:
        coordinates = dict(zip(order, place, strict=True))
        return flat([coordinates[dimension] for dimension in range(len(sizes))], sizes)

    return [source_of(place) for place in all_coordinates(op.result.type.get_shape())]


def walked_dimensions(map: AffineMap) -> list[int | None]:
    """The dimension of a buffer that each dimension of a vector walks along; None for one that repeats."""
    return [result.position if isinstance(result, AffineDimExpr) else None for result in map.results]


def mask_order(map: AffineMap, sizes: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """For each element of a vector, which of a mask it has: that has the order of the buffer's dimensions, and none for
    those that repeat."""
    dims = walked_dimensions(map)
    walked = [dims.index(dim) for dim in sorted(dim for dim in dims if dim is not None)]
    return [flat([place[d] for d in walked], sizes) for place in all_coordinates(wanted)]
