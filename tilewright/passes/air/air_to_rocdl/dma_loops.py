"""Copies as loops over elements: by every thread for itself, or by all threads of a block together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from tilewright.dialects.air.accesses import Access
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.access_indices import Indices, delinearized, indices_of, value_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.strided_views import Mixed


@dataclass(frozen=True)
class Workers:
    """Threads that share a copy: the number of each, and how many they are."""

    number: Callable[[Emitter], SSAValue]
    count: Callable[[Emitter], SSAValue]


def lower_copy(op: DmaMemcpyNdOp, workers: Workers | None) -> None:
    """Put loops before a copy; with `workers`, each does its share."""
    _check(op)
    source, destination = op.access("src"), op.access("dst")
    sizes = _transfer_sizes(op, source, destination)
    emitter = Emitter.before(op)

    def copy(inner: Emitter, position: Indices) -> None:
        value = inner.load(source.memref, indices_of(op, inner, source, position, sizes))
        inner.store(value, destination.memref, indices_of(op, inner, destination, position, sizes))

    if workers is None:
        _nested(emitter, [value_of(emitter, size) for size in sizes], [], copy)
    else:
        _shared(emitter, sizes, workers, copy)


def _check(op: DmaMemcpyNdOp) -> None:
    if op.pad_before is not None:
        fail_op(op, "pads what it copies; copies on GPUs do not pad", (op, "write the padding with stores"))
    if op.src_rank is not None or op.dst_rank is not None:
        fail_op(op, "copies between ranks", (op, "use air.translate, or a channel of type gpu_symmetric_heap"))
    types = [side.type for side in (op.src, op.dst)]
    if not all(isinstance(type, MemRefType) for type in types):
        fail_op(op, "copies a buffer of unknown rank")
    elements = [cast(MemRefType, type).element_type for type in types]
    if elements[0] != elements[1]:
        fail_op(op, f"copies from {elements[0]} to {elements[1]}; both sides must have one element type")


def _transfer_sizes(op: DmaMemcpyNdOp, source: Access, destination: Access) -> list[Mixed]:
    """How many elements are copied in each dimension."""
    sizes = source.sizes or destination.sizes
    if sizes:
        return sizes
    shapes = [cast(MemRefType, side.memref.type).get_shape() for side in (source, destination)]
    shape = min(shapes, key=len)
    if DYNAMIC_INDEX in shape:
        fail_op(op, "copies all of a buffer whose size is not known", (op, "give the sizes: `[] [%n] [1]`"))
    return list(shape)


def _nested(
    emitter: Emitter, sizes: Sequence[SSAValue], position: Indices, body: Callable[[Emitter, Indices], None]
) -> None:
    """A loop for each dimension."""
    if not sizes:
        body(emitter, position)
        return
    zero, one = emitter.index(0), emitter.index(1)
    emitter.loop(zero, sizes[0], one, lambda inner, i: _nested(inner, sizes[1:], [*position, i], body))


def _shared(
    emitter: Emitter, sizes: Sequence[Mixed], workers: Workers, body: Callable[[Emitter, Indices], None]
) -> None:
    """One loop over all elements, in which each worker takes every n-th."""
    values = [value_of(emitter, size) for size in sizes]
    total = reduce(emitter.folded_product, values) if values else emitter.index(1)
    start, step = workers.number(emitter), workers.count(emitter)
    emitter.loop(start, total, step, lambda inner, flat: body(inner, delinearized(inner, flat, values)))
