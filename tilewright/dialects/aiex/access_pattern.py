"""The order in which a DMA walks a buffer, and the register values that make it do so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

DIMENSIONS = 4  # d0 innermost .. d2, then d3: the iteration, advanced between runs of a descriptor
ITERATION = 3

V = TypeVar("V")


@dataclass(frozen=True)
class AccessPattern:
    """Four nested loops over a buffer, innermost first; everything counts elements."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def from_outermost(cls, sizes: Sequence[int], strides: Sequence[int], offsets: Sequence[int] = ()) -> AccessPattern:
        """From lists as programs write them; dimensions left out run once."""
        return cls(_innermost_first(offsets, 0), _innermost_first(sizes, 1), _innermost_first(strides, 0))

    @property
    def outermost_offsets(self) -> tuple[int, ...]:
        return self.offsets[::-1]

    @property
    def outermost_sizes(self) -> tuple[int, ...]:
        return self.sizes[::-1]

    @property
    def outermost_strides(self) -> tuple[int, ...]:
        return self.strides[::-1]

    @property
    def offset(self) -> int:
        """Where the walk starts."""
        return sum(offset * stride for offset, stride in zip(self.offsets, self.strides, strict=True))

    @property
    def length(self) -> int:
        """Elements moved by one run of the descriptor, that is without the iteration."""
        return self.sizes[0] * self.sizes[1] * self.sizes[2]

    @property
    def is_contiguous(self) -> bool:
        """Whether a run is one row-major scan without gaps; the stride of a loop that runs once does not matter."""
        (size0, size1, size2, _), (stride0, stride1, stride2, _) = self.sizes, self.strides
        return stride0 == 1 and (size1 <= 1 or stride1 == size0) and (size2 <= 1 or stride2 == size0 * size1)

    @property
    def is_linear(self) -> bool:
        """Whether a run is one loop of stride 1 and is written as such."""
        return self.sizes[1:ITERATION] == (1, 1) and self.strides[:ITERATION] == (1, 0, 0)

    def linearized(self) -> AccessPattern:
        """The same walk as one loop, for a contiguous pattern. Offsets of the merged loops become one."""
        inner = replace(self, offsets=(*self.offsets[:ITERATION], 0))
        return AccessPattern(
            (inner.offset, 0, 0, self.offsets[ITERATION]),
            (self.length, 1, 1, self.sizes[ITERATION]),
            (1, 0, 0, self.strides[ITERATION]),
        )


def _innermost_first(values: Sequence[int], missing: int) -> tuple[int, ...]:
    return (*reversed(values), *(missing,) * (DIMENSIONS - len(values)))


class Arithmetic(Protocol[V]):
    """How the encoder computes: on integers, or by emitting operations on SSA values."""

    def constant(self, value: int) -> V: ...

    def multiply(self, value: V, factor: int) -> V: ...

    def scale(self, value: V, factor: int, divisor: int) -> V: ...

    def subtract(self, value: V, amount: int) -> V: ...

    def select_less(self, value: V, bound: int, then: V, otherwise: V) -> V: ...

    def select_greater(self, value: V, bound: int, then: V, otherwise: V) -> V: ...


class IntegerArithmetic:
    """`Arithmetic` on Python integers."""

    def constant(self, value: int) -> int:
        return value

    def multiply(self, value: int, factor: int) -> int:
        return value * factor

    def scale(self, value: int, factor: int, divisor: int) -> int:
        return value * factor // divisor

    def subtract(self, value: int, amount: int) -> int:
        return value - amount

    def select_less(self, value: int, bound: int, then: int, otherwise: int) -> int:
        return then if value < bound else otherwise

    def select_greater(self, value: int, bound: int, then: int, otherwise: int) -> int:
        return then if value > bound else otherwise


@dataclass(frozen=True)
class HardwarePattern(Generic[V]):
    """Values of the wrap and step fields, innermost first: sizes in granules, strides in granules less one.

    The iteration's size is stored less one as well. The size of d2 has no field: the descriptor's length ends it.
    """

    sizes: tuple[V, V, V, V]
    strides: tuple[V, V, V, V]


def encode(
    sizes: Sequence[V], strides: Sequence[V], element_bits: int, granule_bits: int, arithmetic: Arithmetic[V]
) -> HardwarePattern[V]:
    """The one place where elements become field values, for constants and for values known at run time alike."""
    zero = arithmetic.constant(0)

    def step(stride: V) -> V:
        return arithmetic.subtract(arithmetic.scale(stride, element_bits, granule_bits), 1)

    def step_if_repeated(size: V, stride: V) -> V:
        return arithmetic.select_greater(size, 1, step(stride), zero)

    if element_bits > granule_bits:  # one element is several granules, walked one by one
        step0 = zero
    else:  # stride 1 of a small element stays inside the granule
        stride0_bits = arithmetic.multiply(strides[0], element_bits)
        step0 = arithmetic.select_less(stride0_bits, granule_bits, zero, step(strides[0]))
    iterations = arithmetic.select_greater(sizes[3], 1, arithmetic.subtract(sizes[3], 1), zero)
    # an iteration of stride 0 repeats: its field would be -1
    iteration_step = arithmetic.select_greater(strides[3], 0, step(strides[3]), zero)
    return HardwarePattern(
        (arithmetic.scale(sizes[0], element_bits, granule_bits), sizes[1], sizes[2], iterations),
        (
            step0,
            step_if_repeated(sizes[1], strides[1]),
            step_if_repeated(sizes[2], strides[2]),
            arithmetic.select_greater(sizes[3], 1, iteration_step, zero),
        ),
    )


def encode_integers(pattern: AccessPattern, element_bits: int, granule_bits: int) -> HardwarePattern[int]:
    return _encoded(pattern.sizes, pattern.strides, element_bits, granule_bits)


@lru_cache(maxsize=1024)
def _encoded(
    sizes: tuple[int, ...], strides: tuple[int, ...], element_bits: int, granule_bits: int
) -> HardwarePattern[int]:
    """Programs move many parts of the same shape, which are encoded more than once on their way."""
    return encode(sizes, strides, element_bits, granule_bits, IntegerArithmetic())
