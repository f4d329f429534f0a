"""Buffers, the parts of them that memrefs are, and the operations that read, write and view them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import memref
from tilewright.dialects._strides import strided_form
from tilewright.dialects.aie.data_layout import INDEX_BITS, element_bytes, element_count
from tilewright.dialects.memref.access import AtomicKind, AtomicRMWOp
from tilewright.dialects.memref.meaning import VIEWS, Viewed, ViewNumbers
from tilewright.dialects.memref.types import memref_type
from tilewright.interpreter.numbers import combining, kind_of
from tilewright.ir.diagnostics import fail_op
from tilewright.native.traps import BEGINS_OUTSIDE, FAR, FARTHEST, LARGEST_BYTES, LOST, OUTSIDE, Trap, Untranslatable
from tilewright.rewrite.integers import fits_signed, signed

if TYPE_CHECKING:
    from tilewright.interpreter.body import BodyBuilder

Frame = list[Any]
"""What a body computes with: the run that it belongs to, then a place for each value."""
Step = Callable[[Frame], None]
Handler = Callable[["BodyBuilder", Any], Step]
RUN = 0
"""Where a frame has its run."""


class Trapped(Exception):
    """The program did something that it must not."""

    def __init__(self, op: Operation, text: str, *details: int):
        super().__init__(text.format(*details))
        self.trap, self.details = Trap(op, text), details


def trap(op: Operation, text: str) -> Step:
    """A step that must not be taken."""

    def step(f: Frame) -> None:
        raise Trapped(op, text)

    return step


class Buffer:
    """Memory that the program knows by its first byte."""

    def __init__(self, memory: npt.NDArray[np.uint8]):
        self.memory, self.view = memory, memory.data

    @cached_property
    def address(self) -> int:
        return self.memory.ctypes.data


class MemRef(NamedTuple):
    """A part of a buffer: offset and strides count elements; `start` and `limit` are bytes of the whole buffer."""

    buffer: Buffer
    start: int
    limit: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def whole_buffer(buffer: Buffer, type: MemRefType) -> MemRef:
    """All of a buffer whose size is static."""
    form = strided_form(type)
    if form is None:
        raise Untranslatable(f"{type} has no strides")
    strides = tuple(stride or 0 for stride in form.strides)
    size = (element_count(type) or 0) * element_bytes(type)
    return MemRef(buffer, 0, size, form.offset or 0, tuple(type.get_shape()), strides)


def position(op: Operation, source: Viewed[int], indices: Iterable[int]) -> int:
    """Which element of the whole buffer an element of the memref is."""
    found = source.offset
    for number, stride in zip(indices, source.strides, strict=True):
        found += number * stride
    if not fits_signed(found, INDEX_BITS):
        raise Trapped(op, LOST)
    return found


def check_near(op: Operation, where: int, limit: int, farthest: int = FARTHEST) -> None:
    """Elements further away have no bytes that could be counted."""
    if abs(where) > farthest:
        raise Trapped(op, FAR, where, limit)


def place(op: Operation, source: MemRef, where: int, count: int, size: int) -> int:
    """The first byte of `count` elements from `where` on, which have to be inside of the buffer."""
    start = where * size
    if where < 0 or start + count * size > source.limit:
        check_near(op, where, source.limit)
        raise Trapped(op, OUTSIDE, start, start + count * size, source.limit)
    return source.start + start


class PythonViews(ViewNumbers[int]):
    """Views of what a frame has; `op` is what a trap is about."""

    def __init__(self, builder: BodyBuilder, op: Operation):
        self.slots, self.op = {value: builder.slot(value) for value in op.operands[1:]}, op
        self.frame: Frame = []

    def of(self, frame: Frame) -> PythonViews:
        found = PythonViews.__new__(PythonViews)
        found.slots, found.op, found.frame = self.slots, self.op, frame
        return found

    def constant(self, number: int) -> int:
        return number

    def value(self, value: SSAValue) -> int:
        return self.frame[self.slots[value]]

    def known(self, number: int) -> int | None:
        return number

    def times(self, a: int, b: int) -> int:
        return signed(a * b, INDEX_BITS)

    def scaled(self, steps: Sequence[int], strides: Sequence[int]) -> list[int]:
        products = [step * stride for step, stride in zip(steps, strides, strict=True)]
        if not all(fits_signed(number, INDEX_BITS) for number in products):
            raise Trapped(self.op, LOST)
        return products

    def position(self, source: Viewed[int], indices: Sequence[int]) -> int:
        return position(self.op, source, indices)

    def refuse(self, text: str) -> NoReturn:
        fail_op(self.op, f"has no native translation: {text}")


def _view(b: BodyBuilder, op: Operation) -> Step:
    source, numbers = b.slot(op.operands[0]), PythonViews(b, op)
    results = [b.slot(result) for result in op.results]
    view = VIEWS[op.name]

    def step(f: Frame) -> None:
        # Some of these operations have no result in older programs.
        for result in results:
            f[result] = f[source]._replace(**view(numbers.of(f), op, f[source])._asdict())

    return step


def _shifted_view(b: BodyBuilder, op: memref.ViewOp) -> Step:
    """Other elements in the same bytes: a buffer of their own, which ends where the other does."""
    source, shift, result, numbers = b.slot(op.source), b.slot(op.byte_shift), b.slot(op.result), PythonViews(b, op)

    def step(f: Frame) -> None:
        whole: MemRef = f[source]
        by = whole.offset + f[shift]
        if not 0 <= by <= whole.limit:
            raise Trapped(op, BEGINS_OUTSIDE, by, whole.limit)
        view = VIEWS[op.name](numbers.of(f), op, whole)
        f[result] = MemRef(whole.buffer, whole.start + by, whole.limit - by, view.offset, view.sizes, view.strides)

    return step


def _distinct(b: BodyBuilder, op: Operation) -> Step:
    pairs = [(b.slot(value), b.slot(result)) for value, result in zip(op.operands, op.results, strict=True)]

    def step(f: Frame) -> None:
        for source, result in pairs:
            f[result] = f[source]

    return step


def _metadata(b: BodyBuilder, op: memref.ExtractStridedMetaDataOp) -> Step:
    source, base = b.slot(op.source), b.slot(op.base_buffer)
    results = [b.slot(value) for value in (op.offset, *op.sizes, *op.strides)]

    def step(f: Frame) -> None:
        whole: MemRef = f[source]
        f[base] = whole._replace(offset=0, sizes=(), strides=())
        for result, number in zip(results, (whole.offset, *whole.sizes, *whole.strides), strict=True):
            f[result] = number

    return step


# Elements


def _load(b: BodyBuilder, op: memref.LoadOp) -> Step:
    source, indices, result, kind = b.slot(op.memref), b.slots(op.indices), b.slot(op.res), kind_of(op.res.type)

    def step(f: Frame) -> None:
        whole: MemRef = f[source]
        where = position(op, whole, [f[index] for index in indices])
        f[result] = kind.read(whole.buffer.view, place(op, whole, where, 1, kind.size))

    return step


def _store(b: BodyBuilder, op: memref.StoreOp) -> Step:
    value, target, indices, kind = b.slot(op.value), b.slot(op.memref), b.slots(op.indices), kind_of(op.value.type)

    def step(f: Frame) -> None:
        whole: MemRef = f[target]
        where = position(op, whole, [f[index] for index in indices])
        kind.write(whole.buffer.view, place(op, whole, where, 1, kind.size), f[value])

    return step


_NAMES = {
    AtomicKind.MAXS: "maxsi",
    AtomicKind.MAXU: "maxui",
    AtomicKind.MINS: "minsi",
    AtomicKind.MINU: "minui",
}
"""Where `arith` has another name for it."""


def _atomic_rmw(b: BodyBuilder, op: AtomicRMWOp) -> Step:
    value, target, indices, result = b.slot(op.value), b.slot(op.memref), b.slots(op.indices), b.slot(op.result)
    kind = kind_of(op.value.type)
    combine = (
        None if op.update is AtomicKind.ASSIGN else combining(f"arith.{_NAMES.get(op.update, op.update)}", kind.type)
    )

    def step(f: Frame) -> None:
        whole: MemRef = f[target]
        at = place(op, whole, position(op, whole, [f[index] for index in indices]), 1, kind.size)
        f[result] = old = kind.read(whole.buffer.view, at)
        kind.write(whole.buffer.view, at, f[value] if combine is None else combine(old, f[value]))

    return step


def _dim(b: BodyBuilder, op: memref.DimOp) -> Step:
    source, which, result = b.slot(op.source), b.slot(op.index), b.slot(op.result)
    known, rank = b.known(op.index), len(memref_type(op.source).get_shape())
    if known is not None and not 0 <= known < rank:
        fail_op(op, f"asks for dimension {known} of a memref that has {rank}")

    def step(f: Frame) -> None:
        # A dimension that there is not is undefined in MLIR; 0 makes loops over it do nothing.
        f[result] = f[source].sizes[f[which]] if 0 <= f[which] < rank else 0

    return step


def _rank(b: BodyBuilder, op: memref.RankOp) -> Step:
    source, result = b.slot(op.source), b.slot(op.rank)

    def step(f: Frame) -> None:
        f[result] = len(f[source].sizes)

    return step


def _allocate(b: BodyBuilder, op: Operation) -> Step:
    """A buffer of its own for each time that it is asked for, cleared."""
    type, result = cast(MemRefType, op.results[0].type), b.slot(op.results[0])
    elements = element_count(type)
    if elements is None:
        fail_op(op, "has no native translation: the size of the buffer is not known before the program runs")
    size = elements * element_bytes(type)
    if size > LARGEST_BYTES:
        fail_op(op, f"has no native translation: {size} bytes are more than any core has")

    def step(f: Frame) -> None:
        buffer = Buffer(np.zeros(size, np.uint8))
        f[result] = whole_buffer(buffer, type)
        f[RUN].allocated[buffer.address] = buffer.memory

    return step


def copy_elements(op: memref.CopyOp, source: MemRef, target: MemRef) -> None:
    """Element by element, the last dimension innermost."""
    kind = kind_of(memref_type(op.source).element_type)
    for indices in product(*map(range, source.sizes)):
        at, to = (place(op, side, position(op, side, indices), 1, kind.size) for side in (source, target))
        kind.write(target.buffer.view, to, kind.read(source.buffer.view, at))


def _nothing(b: BodyBuilder, op: Operation) -> Step:
    """Says something about memory that does not change what a program does."""
    return lambda f: None


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(VIEWS, _view),
    "memref.view": _shifted_view,
    "memref.distinct_objects": _distinct,
    "memref.extract_strided_metadata": _metadata,
    "memref.load": _load,
    "memref.store": _store,
    "memref.atomic_rmw": _atomic_rmw,
    "memref.dim": _dim,
    "memref.rank": _rank,
    "memref.alloca": _allocate,
    "memref.alloc": _allocate,
    "memref.dealloc": _nothing,
    "memref.prefetch": _nothing,
}
