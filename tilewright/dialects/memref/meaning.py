"""The meaning of views, written once over an abstract system of numbers: the part of a buffer that a memref is.

`ViewNumbers` is such a system: it says what an operand is and how it multiplies. The systems live with their users:

    native/views.py                LLVM instructions, which trap where a stride does not fit into 64 bits
    interpreter/memory.py          Python's integers
    gpu/emulator/lower_views.py    instructions of the emulator, where such a stride leads nowhere
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue

from tilewright.dialects._strides import Strided, strided_form
from tilewright.dialects.memref.reshape import CollapseShapeOp, ExpandShapeOp, TransposeOp
from tilewright.dialects.memref.types import is_ranked, kept_dimensions, static_sizes
from tilewright.dialects.memref.views import ReinterpretCastOp, SubviewOp, ViewOp

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class StridedView(NamedTuple, Generic[V]):
    """Which elements of a buffer, all counted in elements."""

    offset: V
    sizes: tuple[V, ...]
    strides: tuple[V, ...]


class Viewed(Protocol[V_co]):
    """A memref in some system; it knows its buffer as well."""

    @property
    def offset(self) -> V_co: ...

    @property
    def sizes(self) -> tuple[V_co, ...]: ...

    @property
    def strides(self) -> tuple[V_co, ...]: ...


class ViewNumbers(ABC, Generic[V]):
    """Indices: 64 bits with a sign."""

    @abstractmethod
    def constant(self, number: int) -> V: ...

    @abstractmethod
    def value(self, value: SSAValue) -> V:
        """The number that an operand is."""

    @abstractmethod
    def known(self, number: V) -> int | None: ...

    @abstractmethod
    def times(self, a: V, b: V) -> V: ...

    @abstractmethod
    def scaled(self, steps: Sequence[V], strides: Sequence[V]) -> list[V]:
        """Products of which programs can make any number, unlike those of sizes: they must not wrap around."""

    @abstractmethod
    def position(self, source: Viewed[V], indices: Sequence[V]) -> V:
        """Which element of the buffer some indices name."""

    @abstractmethod
    def refuse(self, text: str) -> NoReturn: ...

    def mixed(self, values: Sequence[SSAValue], static: Sequence[int]) -> list[V]:
        """Numbers of which some are written and the others values."""
        dynamic = iter(values)
        return [self.value(next(dynamic)) if number == DYNAMIC_INDEX else self.constant(number) for number in static]

    def known_or(self, known: Sequence[int | None], values: Sequence[V]) -> tuple[V, ...]:
        """Numbers that a type has, and values where it has none."""
        pairs = zip(known, values, strict=True)
        return tuple(value if number is None else self.constant(number) for number, value in pairs)

    def form(self, type: MemRefType) -> Strided:
        found = strided_form(type)
        return self.refuse(f"{type} has no strides") if found is None else found


def _subview(n: ViewNumbers[V], op: SubviewOp, source: Viewed[V]) -> StridedView[V]:
    sizes = n.mixed(op.sizes, op.static_sizes.get_values())
    strides = n.scaled(n.mixed(op.strides, op.static_strides.get_values()), source.strides)
    type = op.result.type
    # Dimensions of one element may be left out; only the strides tell which, where several could be.
    known = [n.known(stride) for stride in strides]
    kept = kept_dimensions(op.static_sizes.get_values(), known, type.get_shape(), n.form(type).strides)
    if kept is None:
        n.refuse(f"{type} is no part of the source")
    offset = n.position(source, n.mixed(op.offsets, op.static_offsets.get_values()))
    return StridedView(offset, tuple(sizes[d] for d in kept), tuple(strides[d] for d in kept))


def _reinterpret_cast(n: ViewNumbers[V], op: ReinterpretCastOp, source: Viewed[V]) -> StridedView[V]:
    (offset,) = n.mixed(op.offsets, op.static_offsets.get_values())
    sizes = n.mixed(op.sizes, op.static_sizes.get_values())
    return StridedView(offset, tuple(sizes), tuple(n.mixed(op.strides, op.static_strides.get_values())))


def _groups(op: CollapseShapeOp | ExpandShapeOp) -> list[list[int]]:
    return [[number.value.data for number in group] for group in op.reassociation]


def _collapse_shape(n: ViewNumbers[V], op: CollapseShapeOp, source: Viewed[V]) -> StridedView[V]:
    sizes, strides = list[V](), list[V]()
    for group in _groups(op):
        sizes.append(reduce(n.times, [source.sizes[d] for d in group], n.constant(1)))
        # The stride of a dimension that has one element may be anything.
        inner = next((d for d in reversed(group) if n.known(source.sizes[d]) != 1), group[0])
        strides.append(source.strides[inner])
    return StridedView(source.offset, tuple(sizes), tuple(strides))


def _expand_shape(n: ViewNumbers[V], op: ExpandShapeOp, source: Viewed[V]) -> StridedView[V]:
    sizes = n.mixed(op.output_shape, op.static_output_shape.get_values())
    strides = [n.constant(1)] * len(sizes)
    for group, stride in zip(_groups(op), source.strides, strict=True):
        for dimension in reversed(group):
            # The innermost of the new dimensions keeps the stride.
            strides[dimension] = stride
            stride = n.times(stride, sizes[dimension])
    return StridedView(source.offset, tuple(sizes), tuple(strides))


def _same(n: ViewNumbers[V], op: Operation, source: Viewed[V]) -> StridedView[V]:
    """The same memory under another type; what either type knows is known."""
    type = op.results[0].type
    if not is_ranked(type):
        n.refuse("its result has no rank")
    form = n.form(type)
    # A cast to a type that says more is a promise of the program.
    (offset,) = n.known_or([form.offset], [source.offset])
    sizes = n.known_or(static_sizes(type.get_shape()), source.sizes)
    return StridedView(offset, sizes, n.known_or(form.strides, source.strides))


def _transpose(n: ViewNumbers[V], op: TransposeOp, source: Viewed[V]) -> StridedView[V]:
    sizes, strides = (tuple(values[d] for d in op.order) for values in (source.sizes, source.strides))
    return StridedView(source.offset, sizes, strides)


def _view(n: ViewNumbers[V], op: ViewOp, source: Viewed[V]) -> StridedView[V]:
    """Other elements, from the byte on that the operation names."""
    sizes = n.mixed(op.sizes, op.result.type.get_shape())
    return StridedView(n.constant(0), tuple(sizes), row_major(n, sizes))


def row_major(n: ViewNumbers[V], sizes: Sequence[V]) -> tuple[V, ...]:
    """The strides of elements that lie one after the other."""
    strides, step = list[V](), n.constant(1)
    for size in reversed(sizes):
        strides.insert(0, step)
        step = n.times(step, size)
    return tuple(strides)


View = Callable[[ViewNumbers[Any], Any, Viewed[Any]], StridedView[Any]]
VIEWS: dict[str, View] = {
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.collapse_shape": _collapse_shape,
    "memref.expand_shape": _expand_shape,
    "memref.cast": _same,
    "memref.memory_space_cast": _same,
    "memref.assume_alignment": _same,
    "memref.transpose": _transpose,
    "memref.view": _view,
}
"""By operation: the elements that its result has, of those that its operand has."""
