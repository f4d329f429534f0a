"""What each lane holds of a matrix in memory: where its elements are, and how they are loaded and stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Self, TypeAlias, cast

from xdsl.dialects.builtin import FixedBitwidthType, IntegerAttr, MemRefType, VectorType, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.device.gpu_matrices import Fragment, LanePart
from tilewright.dialects import arith, vector
from tilewright.dialects._strides import strided_form
from tilewright.dialects.vector.orders import walked_dimensions
from tilewright.passes.air.array_starts import divisor_bytes
from tilewright.passes.air.wave_lanes import lane_id
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.divisors import divisor
from tilewright.rewrite.matrix_instructions import element, gathered

MOST_BYTES = 16
"""Of one access of a lane."""
Transfer: TypeAlias = "vector.TransferReadOp | vector.TransferWriteOp"
Axes: TypeAlias = "tuple[int | None, int | None]"
"""The dimensions of a buffer that rows and columns of a matrix follow each other along; None for one that repeats."""


def axes_of(transfer: Transfer) -> Axes:
    """Those of the two dimensions of its vector."""
    first, second = walked_dimensions(transfer.permutation_map.data)
    return first, second


class LanePlaces:
    """Places of the lanes of a wave in fragments, computed once for a kernel."""

    def __init__(self, start: Emitter):
        self._start = start
        self._parts = dict[LanePart, SSAValue | None]()
        self._lane: SSAValue | None = None

    def part(self, part: LanePart) -> SSAValue | None:
        """What a lane's number adds; None for nothing."""
        if part not in self._parts:
            self._parts[part] = None if part.modulus == 1 else self._computed(part)
        return self._parts[part]

    def _computed(self, part: LanePart) -> SSAValue:
        if self._lane is None:
            self._lane = lane_id(self._start)
        found = self._lane
        if part.divide > 1:
            found = self._start.binary(arith.DivUIOp, found, self._start.index(part.divide))
        found = self._start.binary(arith.RemUIOp, found, self._start.index(part.modulus))
        return self._start.folded_product(found, self._start.index(part.step))


class MatrixInMemory:
    """A matrix that begins at some indices of a buffer, whose elements lanes load and store as a fragment says."""

    def __init__(self, emitter: Emitter, buffer: SSAValue, indices: Sequence[SSAValue], axes: Axes, fragment: Fragment):
        self._emitter, self._buffer, self._indices = emitter, buffer, indices
        self._axes, self._fragment = axes, fragment
        self._type = cast(MemRefType, buffer.type)
        self._layout = strided_form(self._type)
        self._moved = dict[tuple[int, int], SSAValue]()

    @classmethod
    def of(cls, emitter: Emitter, transfer: Transfer, axes: Axes, fragment: Fragment, lanes: LanePlaces) -> Self:
        """What a transfer reads or writes, from each lane's first row and column on."""
        indices = list(transfer.indices)
        for axis, part in zip(axes, (fragment.row, fragment.column), strict=True):
            own = lanes.part(part)
            if axis is not None and own is not None:
                indices[axis] = emitter.folded_sum(indices[axis], own)
        return cls(emitter, transfer.source, indices, axes, fragment)

    def load(self, first: tuple[int, int]) -> SSAValue:
        """What a lane has of a part that begins at this row and column."""
        found = list[SSAValue]()
        for _, run, indices in self._places(first):
            if run == 1:
                found.append(self._emitter.load(self._buffer, indices))
                continue
            type, promise = VectorType(self._type.element_type, [run]), self._promise(indices, run)
            loaded = self._emitter.value(
                vector.LoadOp.create(operands=[self._buffer, *indices], result_types=[type], properties=promise)
            )
            if run == len(self._fragment.places):
                return loaded
            found += [element(self._emitter, loaded, number) for number in range(run)]
        return gathered(self._emitter, found)

    def store(self, first: tuple[int, int], value: SSAValue) -> None:
        """Each lane puts there what it has."""
        for start, run, indices in self._places(first):
            if run == 1:
                self._emitter.store(element(self._emitter, value, start), self._buffer, indices)
                continue
            part, promise = self._part(value, start, run), self._promise(indices, run)
            self._emitter.insert(vector.StoreOp.create(operands=[part, self._buffer, *indices], properties=promise))

    def _places(self, first: tuple[int, int]) -> Iterator[tuple[int, int, list[SSAValue]]]:
        """Neighbours in memory: the number of the first, how many they are, and its indices."""
        number = 0
        for run in self._runs():
            indices = list(self._indices)
            for axis, start, own in zip(self._axes, first, self._fragment.places[number], strict=True):
                if axis is not None:
                    indices[axis] = self._index(axis, start + own)
            yield number, run, indices
            number += run

    def _index(self, axis: int, further: int) -> SSAValue:
        """The index in one dimension, so many elements further."""
        if not further:
            return self._indices[axis]
        if (axis, further) not in self._moved:
            emitter = self._emitter
            self._moved[axis, further] = emitter.folded_sum(self._indices[axis], emitter.index(further))
        return self._moved[axis, further]

    def _runs(self) -> list[int]:
        last = self._type.get_num_dims() - 1
        if self._layout is None or self._layout.strides[last] != 1 or last not in self._axes:
            return [1] * len(self._fragment.places)
        return self._fragment.runs((1, 0) if self._axes[0] == last else (0, 1))

    def _promise(self, indices: Sequence[SSAValue], run: int) -> dict[str, Attribute]:
        """The alignment of a place as far as it is known, if that is more than that of an element."""
        assert self._layout is not None
        size = cast(FixedBitwidthType, self._type.element_type).size
        steps = [divisor(at) * (stride or 1) for at, stride in zip(indices, self._layout.strides, strict=True)]
        steps += [run, 1 if self._layout.offset is None else self._layout.offset]
        known = gcd(MOST_BYTES, divisor_bytes(self._buffer), *(step * size for step in steps))
        return {"alignment": IntegerAttr(known, i64)} if known > size else {}

    def _part(self, value: SSAValue, start: int, run: int) -> SSAValue:
        if run == len(self._fragment.places):
            return value
        return gathered(self._emitter, [element(self._emitter, value, start + number) for number in range(run)])
