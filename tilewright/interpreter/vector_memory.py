"""Vectors to and from buffers: rows that lie one after the other, and elements one by one, where a mask lets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, BoolAttr, MemRefType, VectorType
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import vector
from tilewright.dialects.aie.data_layout import INDEX_BITS
from tilewright.dialects.memref.types import memref_type
from tilewright.dialects.vector.memory import GatherOp, ScatterOp
from tilewright.dialects.vector.orders import mask_order, walked_dimensions
from tilewright.dialects.vector.types import shape_of, vector_type
from tilewright.interpreter.memory import Frame, Handler, MemRef, Step, check_near, place, position
from tilewright.interpreter.numbers import VectorKind, kind_of
from tilewright.ir.diagnostics import fail_op
from tilewright.native.traps import FARTHEST
from tilewright.rewrite.integers import mask

if TYPE_CHECKING:
    from tilewright.interpreter.body import BodyBuilder


class Lanes(NamedTuple):
    """Which elements of a buffer a vector is made of, and which of them are meant."""

    whole: MemRef
    places: list[int]
    mask: list[int]


def _checked(op: Operation, lanes: Lanes, size: int) -> list[int | None]:
    """The bytes where elements begin; none for those that are not meant. All of them are looked at before one is."""
    elements = lanes.whole.limit // size
    wrong = [
        where for where, meant in zip(lanes.places, lanes.mask, strict=True) if meant and not 0 <= where < elements
    ]
    if wrong:
        place(op, lanes.whole, max(wrong, key=lambda where: where & mask(INDEX_BITS)), 1, size)
    return [
        lanes.whole.start + where * size if meant else None
        for where, meant in zip(lanes.places, lanes.mask, strict=True)
    ]


def gather(op: Operation, lanes: Lanes, kind: VectorKind, other: Sequence[Any]) -> list[Any]:
    """Elements from memory; those that are not meant come from `other`."""
    element, view = kind.element, lanes.whole.buffer.view
    places = _checked(op, lanes, element.size)
    return [rest if at is None else element.read(view, at) for at, rest in zip(places, other, strict=True)]


def scatter(op: Operation, lanes: Lanes, kind: VectorKind, value: Sequence[Any]) -> None:
    """Elements to memory, in order: of two for the same place the later one stays."""
    element, view = kind.element, lanes.whole.buffer.view
    for at, number in zip(_checked(op, lanes, element.size), value, strict=True):
        if at is not None:
            element.write(view, at, number)


def _box(
    op: Operation,
    whole: MemRef,
    indices: Sequence[int],
    shape: Sequence[int],
    dims: Sequence[int | None],
    mask: Sequence[int] | None,
    masked: Sequence[int] = (),
) -> Lanes:
    """Elements of a box in the buffer that begins at some indices and extends in some of its dimensions."""
    # Any number does in lanes that are masked out, but the sum of all terms must not wrap around.
    near = [0 if d in masked and abs(number) > FARTHEST else number for d, number in enumerate(indices)]
    start = position(op, whole, near)
    check_near(op, start, whole.limit)
    # A dimension that repeats stays where it is.
    strides = [0 if d is None else whole.strides[d] for d in dims]
    for stride in strides:
        check_near(op, stride, whole.limit, FARTHEST // max(prod(shape), 1))
    places = [
        start + sum(n * stride for n, stride in zip(at, strides, strict=True)) for at in product(*map(range, shape))
    ]
    return Lanes(whole, places, list(mask) if mask is not None else [-1] * len(places))


def _last_dims(rank: int, shape: Sequence[int]) -> list[int | None]:
    return list(range(rank - len(shape), rank))


def _rows(
    b: BodyBuilder, op: Operation, base: SSAValue, indices: Sequence[SSAValue], type: VectorType
) -> Callable[[Frame], Lanes | tuple[MemRef, int]]:
    """Neighbouring elements along the last dimensions, or one element of a buffer of vectors."""
    source, slots, shape = b.slot(base), b.slots(indices), type.get_shape()
    is_element, kind = memref_type(base).element_type == type, cast(VectorKind, kind_of(type))

    def find(f: Frame) -> Lanes | tuple[MemRef, int]:
        whole: MemRef = f[source]
        numbers = [f[slot] for slot in slots]
        if is_element:
            return whole, place(op, whole, position(op, whole, numbers), 1, kind.size)
        step = 1
        for size, stride in zip(reversed(shape), reversed(whole.strides), strict=False):
            # Where there is one element the stride is not taken.
            if size != 1 and stride != step:
                return _box(op, whole, numbers, shape, _last_dims(len(whole.sizes), shape), None)
            step *= size
        return whole, place(op, whole, position(op, whole, numbers), kind.count, kind.element.size)

    return find


def _load_rows(b: BodyBuilder, op: Operation, result: SSAValue, base: SSAValue, indices: Sequence[SSAValue]) -> Step:
    find, to = _rows(b, op, base, indices, cast(VectorType, result.type)), b.slot(result)
    kind = cast(VectorKind, kind_of(result.type))

    def step(f: Frame) -> None:
        found = find(f)
        if isinstance(found, Lanes):
            f[to] = gather(op, found, kind, [None] * kind.count)
        else:
            f[to] = kind.read(found[0].buffer.view, found[1])

    return step


def _store_rows(b: BodyBuilder, op: Operation, value: SSAValue, base: SSAValue, indices: Sequence[SSAValue]) -> Step:
    find, source = _rows(b, op, base, indices, vector_type(value)), b.slot(value)
    kind = cast(VectorKind, kind_of(value.type))

    def step(f: Frame) -> None:
        found = find(f)
        if isinstance(found, Lanes):
            scatter(op, found, kind, f[source])
        else:
            kind.write(found[0].buffer.view, found[1], f[source])

    return step


def _want_buffer(op: Operation, base: SSAValue) -> None:
    if not isinstance(base.type, MemRefType):
        fail_op(op, "has no native translation: it is on no memref")


def _transfer(
    b: BodyBuilder, op: Operation, base: SSAValue, indices: Sequence[SSAValue], type: VectorType, mask: SSAValue | None
) -> Callable[[Frame], Lanes]:
    """What `vector.transfer_read` and `vector.transfer_write` have in common."""
    _want_buffer(op, base)
    map = cast(AffineMapAttr, op.properties["permutation_map"]).data
    dims = walked_dimensions(map)
    bounds = cast("ArrayAttr[BoolAttr]", op.properties["in_bounds"])
    unsure = [
        (number, dim)
        for number, (inside, dim) in enumerate(zip(bounds, dims, strict=True))
        if not inside.value.data and dim is not None
    ]
    source, slots, shape = b.slot(base), b.slots(indices), type.get_shape()
    given = None if mask is None else (b.slot(mask), mask_order(map, shape_of(mask.type), shape))

    def find(f: Frame) -> Lanes:
        whole: MemRef = f[source]
        numbers = [f[slot] for slot in slots]
        meant = [-1] * prod(shape) if given is None else [f[given[0]][number] for number in given[1]]
        for lane, at in enumerate(product(*_ranges(shape))):
            if not all(0 <= numbers[dim] + at[number] < whole.sizes[dim] for number, dim in unsure):
                meant[lane] = 0
        return _box(op, whole, numbers, shape, dims, meant, [dim for _, dim in unsure])

    return find


def _ranges(shape: Sequence[int]) -> list[range]:
    return [range(size) for size in shape]


def _transfer_read(b: BodyBuilder, op: vector.TransferReadOp) -> Step:
    find = _transfer(b, op, op.source, op.indices, op.result.type, op.mask)
    result, padding, kind = b.slot(op.result), b.slot(op.padding), cast(VectorKind, kind_of(op.result.type))

    def step(f: Frame) -> None:
        f[result] = gather(op, find(f), kind, [f[padding]] * kind.count)

    return step


def _transfer_write(b: BodyBuilder, op: vector.TransferWriteOp) -> Step:
    find = _transfer(b, op, op.source, op.indices, vector_type(op.vector), op.mask)
    value, kind = b.slot(op.vector), cast(VectorKind, kind_of(op.vector.type))

    def step(f: Frame) -> None:
        scatter(op, find(f), kind, f[value])

    return step


def _masked(b: BodyBuilder, op: Operation, type: VectorType) -> Callable[[Frame], Lanes]:
    base, *indices, mask, _ = op.operands
    source, slots, meant, shape = b.slot(base), b.slots(indices), b.slot(mask), type.get_shape()

    def find(f: Frame) -> Lanes:
        whole: MemRef = f[source]
        return _box(op, whole, [f[slot] for slot in slots], shape, _last_dims(len(whole.sizes), shape), f[meant])

    return find


def _masked_load(b: BodyBuilder, op: Operation) -> Step:
    type = cast(VectorType, op.results[0].type)
    find, other, result = _masked(b, op, type), b.slot(op.operands[-1]), b.slot(op.results[0])
    kind = cast(VectorKind, kind_of(type))

    def step(f: Frame) -> None:
        f[result] = gather(op, find(f), kind, f[other])

    return step


def _masked_store(b: BodyBuilder, op: Operation) -> Step:
    type = vector_type(op.operands[-1])
    find, value, kind = _masked(b, op, type), b.slot(op.operands[-1]), cast(VectorKind, kind_of(type))

    def step(f: Frame) -> None:
        scatter(op, find(f), kind, f[value])

    return step


def _indexed(b: BodyBuilder, op: GatherOp | ScatterOp) -> Callable[[Frame], Lanes]:
    """Elements at the distances from a first one that a vector gives."""
    base, offsets, numbers, mask = b.slot(op.base), b.slots(op.offsets), b.slot(op.indices), b.slot(op.mask)

    def find(f: Frame) -> Lanes:
        whole: MemRef = f[base]
        start = position(op, whole, [f[slot] for slot in offsets])
        check_near(op, start, whole.limit)
        last = whole.strides[-1] if whole.strides else 1
        # Where that would not fit into 64 bits, a number that no buffer reaches.
        steps = [n * last if abs(n * last) <= FARTHEST else 1 << 62 for n in f[numbers]]
        return Lanes(whole, [start + step for step in steps], f[mask])

    return find


def _gather(b: BodyBuilder, op: GatherOp) -> Step:
    _want_buffer(op, op.base)
    find, other, result, kind = _indexed(b, op), b.slot(op.pass_thru), b.slot(op.result), kind_of(op.result.type)

    def step(f: Frame) -> None:
        f[result] = gather(op, find(f), cast(VectorKind, kind), f[other])

    return step


def _scatter(b: BodyBuilder, op: ScatterOp) -> Step:
    find, value, kind = _indexed(b, op), b.slot(op.value_to_store), kind_of(op.value_to_store.type)

    def step(f: Frame) -> None:
        scatter(op, find(f), cast(VectorKind, kind), f[value])

    return step


HANDLERS: dict[str, Handler] = {
    "vector.load": lambda b, op: _load_rows(b, op, op.result, op.base, op.indices),
    "vector.store": lambda b, op: _store_rows(b, op, op.vector, op.base, op.indices),
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.gather": _gather,
    "vector.scatter": _scatter,
}
