"""Copies as loops over elements, and where the elements of an access are in a buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import arith, memref, vector
from tilewright.dialects._strides import strided_form
from tilewright.dialects.affine.meaning import AffineNumbers
from tilewright.dialects.air.accesses import Access
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.array_starts import Start, start_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.divisors import divisor
from tilewright.rewrite.folding.strided_views import Mixed, known_int

Indices: TypeAlias = "list[SSAValue]"


@dataclass(frozen=True)
class Workers:
    """Threads that share a copy: the number of each, and how many they are."""

    number: Callable[[Emitter], SSAValue]
    count: Callable[[Emitter], SSAValue]
    known: int | None = None
    """How many, if the program says so."""


MOST_UNROLLED = 8
"""Vectors that a thread copies one after the other; more are copied in a loop."""
MOST_COPIED = 64
"""Elements that a thread copies for itself without a loop."""


def lower_copy(op: DmaMemcpyNdOp, workers: Workers | None, vector_bytes: int = 0) -> None:
    """Put loops before a copy; with `workers`, each does its share.

    Elements are moved so many bytes at a time where they lie next to each other and begin at multiples of as many.
    """
    _check(op)
    source, destination = op.access("src"), op.access("dst")
    emitter = Emitter.before(op)
    sizes = _transfer_sizes(emitter, source, destination)
    wide = vectors_of(op, vector_bytes)
    extents = [size for size in map(known_int, sizes) if size is not None]
    if wide is not None and (workers is not None or prod(extents) <= MOST_COPIED):
        vectors = [*extents[:-1], extents[-1] // wide.width]
        if workers is None:
            _unrolled(emitter, vectors, lambda at: wide.copy(op, emitter, at, extents))
        else:
            _shared(emitter, vectors, workers, lambda inner, at: wide.copy(op, inner, at, extents))
        return

    def copy(inner: Emitter, position: Indices) -> None:
        value = inner.load(source.memref, indices_of(op, inner, source, position, sizes))
        inner.store(value, destination.memref, indices_of(op, inner, destination, position, sizes))

    if workers is None:
        _nested(emitter, [value_of(emitter, size) for size in sizes], [], copy)
    else:
        _shared(emitter, sizes, workers, copy)


@dataclass(frozen=True)
class VectorCopy:
    """A copy of neighbouring elements at a time: at once on the sides where they are neighbours in memory."""

    source: Access
    destination: Access
    width: int
    wide: tuple[bool, bool]
    alignment: int

    def copy(self, op: Operation, emitter: Emitter, position: Indices, sizes: Sequence[Mixed]) -> None:
        """The vector at a position, counted in vectors in the last dimension."""
        first = emitter.folded_product(position[-1], emitter.index(self.width))
        places = [[*position[:-1], first]]
        if not all(self.wide):
            more = [emitter.folded_sum(first, emitter.index(number)) for number in range(1, self.width)]
            places += [[*position[:-1], place] for place in more]
        element = cast(MemRefType, self.source.memref.type).element_type
        type = VectorType(element, [self.width])
        if self.wide[0]:
            indices = indices_of(op, emitter, self.source, places[0], sizes)
            load = vector.LoadOp.create(
                operands=[self.source.memref, *indices], result_types=[type], properties=self._promise(self.source)
            )
            value = emitter.value(load)
        else:
            elements = [
                emitter.load(self.source.memref, indices_of(op, emitter, self.source, place, sizes)) for place in places
            ]
            value = emitter.value(vector.FromElementsOp.create(operands=elements, result_types=[type]))
        if self.wide[1]:
            indices = indices_of(op, emitter, self.destination, places[0], sizes)
            promise = self._promise(self.destination)
            store = vector.StoreOp.create(operands=[value, self.destination.memref, *indices], properties=promise)
            emitter.insert(store)
            return
        for number, place in enumerate(places):
            at = DenseArrayBase.from_list(i64, [number])
            extract = vector.ExtractOp.create(
                operands=[value], result_types=[element], properties={"static_position": at}
            )
            indices = indices_of(op, emitter, self.destination, place, sizes)
            emitter.store(emitter.value(extract), self.destination.memref, indices)

    def _promise(self, side: Access) -> dict[str, Attribute]:
        """That addresses are multiples of a vector's size; memory of a thread becomes registers anyway."""
        is_private = memory_space(side.memref.type) == MemorySpace.L1
        return {} if is_private else {"alignment": IntegerAttr(self.alignment, i64)}


def vectors_of(op: DmaMemcpyNdOp, vector_bytes: int) -> VectorCopy | None:
    """The widest vectors that a copy can be made of; None if it goes element by element, or sizes are not known."""
    source, destination = op.access("src"), op.access("dst")
    sizes = source.sizes or destination.sizes or _smaller_shape(source, destination)[1]
    extents = [size for size in map(known_int, sizes) if size is not None]
    if len(extents) < len(sizes) or DYNAMIC_INDEX in extents:
        return None
    return find_vectors(source, destination, extents, vector_bytes)


def find_vectors(source: Access, destination: Access, sizes: Sequence[int], vector_bytes: int) -> VectorCopy | None:
    """The widest vectors that a copy can be made of; None if it goes element by element."""
    element = cast(MemRefType, source.memref.type).element_type
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 0
    if not vector_bytes or not sizes or bits % 8 or not bits:
        return None
    width = vector_bytes * 8 // bits
    while width > 1:
        size_bytes = width * bits // 8
        wide = _is_wide(source, sizes, width, size_bytes), _is_wide(destination, sizes, width, size_bytes)
        if sizes[-1] % width == 0 and any(wide):
            return VectorCopy(source, destination, width, wide, size_bytes)
        width //= 2
    return None


def _is_wide(access: Access, sizes: Sequence[int], width: int, size_bytes: int) -> bool:
    """Whether vectors of a copy lie next to each other in a buffer, at multiples of their size."""
    if start_of(access.memref, size_bytes) is Start.UNKNOWN:
        return False
    type = cast(MemRefType, access.memref.type)
    shape = list(type.get_shape())
    # of other layouts it is not known where rows begin
    if DYNAMIC_INDEX in shape or not isinstance(type.layout, NoneAttr) or not shape:
        return False
    rows = [prod(shape[dimension + 1 :]) for dimension in range(len(shape))]
    known = [known_int(stride) for stride in access.strides]
    strides = known if known else [prod(sizes[place + 1 :]) for place in range(len(sizes))]
    if len(strides) != len(sizes) or strides[-1] != 1:
        return False
    if any(stride is None or stride % width for stride in strides[:-1]):
        return False
    offsets = access.offsets
    return len(offsets) <= len(shape) and all(
        divisor(offset) * row % width == 0
        for offset, row in zip(offsets, rows[-len(offsets) :] if offsets else [], strict=True)
    )


def _unrolled(emitter: Emitter, sizes: Sequence[int], body: Callable[[Indices], None]) -> None:
    """All positions, one after the other."""
    for flat in range(prod(sizes)):
        place, rest = list[SSAValue](), flat
        for size in reversed(sizes):
            place.insert(0, emitter.index(rest % size))
            rest //= size
        body(place)


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


def _transfer_sizes(emitter: Emitter, source: Access, destination: Access) -> list[Mixed]:
    """How many elements are copied in each dimension."""
    sizes = source.sizes or destination.sizes
    if sizes:
        return sizes
    return shape_of(emitter, _smaller_shape(source, destination)[0].memref)


def _smaller_shape(source: Access, destination: Access) -> tuple[Access, list[Mixed]]:
    """The side with fewer dimensions, of two with as many one whose sizes are known, and its shape."""
    sides = [(side, list[Mixed](cast(MemRefType, side.memref.type).get_shape())) for side in (source, destination)]
    return min(sides, key=lambda side: (len(side[1]), DYNAMIC_INDEX in side[1]))


def shape_of(emitter: Emitter, buffer: SSAValue) -> list[Mixed]:
    """The sizes of a buffer, asked for where its type does not say them."""
    return [
        emitter.value(memref.DimOp.create(operands=(buffer, emitter.index(number)), result_types=[IndexType()]))
        if size == DYNAMIC_INDEX
        else size
        for number, size in enumerate(cast(MemRefType, buffer.type).get_shape())
    ]


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
    # neighbouring threads take neighbouring elements, which memory serves at once
    start, step = workers.number(emitter), workers.count(emitter)
    known = known_int(total)
    if workers.known and known is not None and known % workers.known == 0 and known <= MOST_UNROLLED * workers.known:
        # without a loop, so that all are on their way at once
        for first in range(0, known, workers.known):
            flat = emitter.folded_sum(start, emitter.index(first))
            body(emitter, delinearized(emitter, flat, values))
        return
    emitter.loop(start, total, step, lambda inner, flat: body(inner, delinearized(inner, flat, values)))


def value_of(emitter: Emitter, entry: Mixed) -> SSAValue:
    return emitter.index(entry) if isinstance(entry, int) else entry


class _Counts(AffineNumbers[SSAValue]):
    """Numbers of elements: none is negative, so that GPUs divide them without asking for signs."""

    dims = 0

    def __init__(self, emitter: Emitter):
        self._emitter = emitter

    def constant(self, number: int) -> SSAValue:
        return self._emitter.index(number)

    def operand(self, number: int) -> SSAValue:
        raise TypeError("no map is applied to counts")

    def compute(self, name: str, a: SSAValue, b: SSAValue) -> SSAValue:
        kinds = {"arith.floordivsi": arith.DivUIOp, "arith.addi": arith.AddiOp, "arith.muli": arith.MuliOp}
        return self._emitter.binary(kinds[name], a, b)

    def modulo(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._emitter.binary(arith.RemUIOp, a, b)


def delinearized(emitter: Emitter, flat: SSAValue, sizes: Sequence[Mixed]) -> Indices:
    """The place of the `flat`-th element, the last dimension counting fastest."""
    # The outermost size is not looked at.
    basis = [flat, *reversed([value_of(emitter, size) for size in reversed(sizes[1:])])]
    return _Counts(emitter).delinearize(flat, basis, len(sizes)) if sizes else []


def _linearized(emitter: Emitter, position: Sequence[SSAValue], strides: Sequence[Mixed]) -> SSAValue:
    """Where in memory a position is, in elements."""
    terms = [
        index if known_int(stride) == 1 else emitter.folded_product(index, value_of(emitter, stride))
        for index, stride in zip(position, strides, strict=True)
    ]
    return reduce(emitter.folded_sum, terms) if terms else emitter.index(0)


def indices_of(op: Operation, emitter: Emitter, access: Access, position: Indices, sizes: Sequence[Mixed]) -> Indices:
    """The element of a buffer that is at `position` of the copy.

    Offsets count in the buffer's own dimensions; strides count elements of the buffer in row-major order.
    """
    type = cast(MemRefType, access.memref.type)
    # without a division for each dimension, which GPUs do slowly
    if _is_direct(access, type, len(position), sizes):
        return _direct(emitter, access, position)
    if _stays_in_row(access, type, sizes):
        offsets = [value_of(emitter, offset) for offset in access.offsets]
        return [*offsets[:-1], emitter.folded_sum(offsets[-1], position[0])]
    permuted = _permutation(access, type, len(position))
    if permuted is not None:
        return _direct(emitter, access, [position[place] for place in permuted])
    shape = shape_of(emitter, access.memref)
    strides = _strides(op, emitter, access, len(position), sizes)
    flat = _linearized(emitter, position, strides)
    if len(access.offsets) > len(shape):
        fail_op(op, f"has {len(access.offsets)} offsets into a buffer of {len(shape)} dimensions")
    if access.offsets:
        offsets = [value_of(emitter, offset) for offset in access.offsets]
        # fewer offsets than dimensions are for the innermost ones
        flat = emitter.folded_sum(flat, _linearized(emitter, offsets, _row_major(emitter, shape)[-len(offsets) :]))
    return delinearized(emitter, flat, shape)


def _strides(op: Operation, emitter: Emitter, access: Access, rank: int, sizes: Sequence[Mixed]) -> list[Mixed]:
    """How far apart the elements of the copy are in the buffer."""
    if access.strides:
        if len(access.strides) != rank:
            fail_op(op, f"has {len(access.strides)} strides on one side and copies {rank} dimensions")
        return access.strides
    return _row_major(emitter, sizes)


def _row_major(emitter: Emitter, sizes: Sequence[Mixed]) -> list[Mixed]:
    """How far apart elements are that are neighbours in each dimension."""
    strides: list[Mixed] = [1]
    for size in reversed(sizes[1:]):
        inner, known = strides[0], known_int(size)
        if isinstance(inner, int) and known is not None:
            strides.insert(0, known * inner)
        else:
            strides.insert(0, emitter.folded_product(value_of(emitter, size), value_of(emitter, inner)))
    return strides[: len(sizes)]


def _is_direct(access: Access, type: MemRefType, rank: int, sizes: Sequence[Mixed]) -> bool:
    """Whether the dimensions of the copy are those of the buffer."""
    if type.get_num_dims() != rank or len(access.offsets) not in (0, rank):
        return False
    if not access.strides:
        shape = type.get_shape()
        return bool(access.offsets) or all(known_int(size) == extent for size, extent in zip(sizes, shape, strict=True))
    form = strided_form(type)
    return form is not None and [known_int(stride) for stride in access.strides] == list(form.strides)


def _stays_in_row(access: Access, type: MemRefType, sizes: Sequence[Mixed]) -> bool:
    """Whether a copy of neighbours is of one row of the buffer, since rows and its start are multiples of its size."""
    shape = type.get_shape()
    if len(sizes) != 1 or len(shape) < 2 or len(access.offsets) != len(shape) or shape[-1] == DYNAMIC_INDEX:
        return False
    size = known_int(sizes[0])
    if not size or [known_int(stride) for stride in access.strides] not in ([], [1]):
        return False
    return shape[-1] % size == 0 and divisor(access.offsets[-1]) % size == 0 and isinstance(type.layout, NoneAttr)


def _permutation(access: Access, type: MemRefType, rank: int) -> list[int] | None:
    """Which dimension of the copy each dimension of the buffer is, if it is another order of them."""
    form = strided_form(type)
    strides = [known_int(stride) for stride in access.strides]
    if form is None or type.get_num_dims() != rank or len(access.offsets) not in (0, rank) or None in form.strides:
        return None
    if len(set(strides)) != rank or sorted(map(str, strides)) != sorted(map(str, form.strides)):
        return None
    return [strides.index(stride) for stride in form.strides]


def _direct(emitter: Emitter, access: Access, position: Indices) -> Indices:
    if not access.offsets:
        return position
    offsets = [value_of(emitter, offset) for offset in access.offsets]
    return [emitter.folded_sum(offset, index) for offset, index in zip(offsets, position, strict=True)]
