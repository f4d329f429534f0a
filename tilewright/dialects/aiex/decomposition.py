"""Splitting a transfer that no single descriptor can express into several that one can each."""

from __future__ import annotations

from dataclasses import replace
from math import isqrt

from .access_pattern import ITERATION, AccessPattern
from .descriptor_checks import DescriptorLimits

MAX_PARTS = 4096
"""Transfers that need more descriptors are refused: they are mistakes, and would take forever to write down."""
MAX_DIVISOR = 1 << 16  # of two factors of a size that buffers can have, one is below


def decompose(pattern: AccessPattern, limits: DescriptorLimits) -> list[AccessPattern]:
    """Patterns that fit and, one after another, visit exactly the elements of `pattern` in its order.

    Empty where that is impossible, and also where there is nothing to do: the pattern fits as it is, or is contiguous
    and needs no wraps at all.
    """
    if pattern.is_contiguous or limits.holds(pattern):
        return []
    return _Decomposition(limits).split(pattern)


class _Decomposition:
    """The search: factor loops while a slot is free, since that costs no descriptor, then cut the outermost one."""

    def __init__(self, limits: DescriptorLimits):
        self.limits = limits
        # the same shape comes up again and again on the way down; offsets make no difference
        self.hopeless: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()

    def split(self, pattern: AccessPattern) -> list[AccessPattern]:
        if self.limits.holds(pattern):
            return [pattern]
        shape = (pattern.sizes, pattern.strides)
        if shape in self.hopeless or self.limits.has_long_stride(pattern):
            return []
        parts = self._factor(pattern) or self._cut(pattern)
        if not parts:
            self.hopeless.add(shape)
        return parts

    def _factor(self, pattern: AccessPattern) -> list[AccessPattern]:
        """Make one loop of n = a * b into a loop of a around one of b. They stay neighbours, so the order stays."""
        if pattern.sizes[ITERATION] != 1:  # no slot is free
            return []
        for dimension in range(ITERATION):
            for inner in _proper_divisors(pattern.sizes[dimension]):
                # the innermost loop counts granules
                if dimension == 0 and not self.limits.is_whole_granules(inner):
                    continue
                step = inner * pattern.strides[dimension]
                if dimension == 0:
                    step = self.limits.advance(inner, pattern.strides[0])
                if parts := self.split(_factored(pattern, dimension, inner, step)):
                    return parts
        return []

    def _cut(self, pattern: AccessPattern) -> list[AccessPattern]:
        """Run the outermost loop in pieces. Cutting any other loop would change the order."""
        outermost = max((i for i, size in enumerate(pattern.sizes) if size > 1), default=None)
        if outermost is None:
            return []
        size, chunk = pattern.sizes[outermost], self.limits.largest_size(outermost)
        if not 0 < chunk < size <= chunk * MAX_PARTS:
            return []
        parts: list[AccessPattern] = []
        for start in range(0, size, chunk):
            piece = replace(
                pattern,
                sizes=_with(pattern.sizes, outermost, min(chunk, size - start)),
                offsets=_with(pattern.offsets, outermost, pattern.offsets[outermost] + start),
            )
            piece_parts = self.split(piece)
            parts += piece_parts
            # all pieces or none: a part of the transfer is not the transfer
            if not piece_parts or len(parts) > MAX_PARTS:
                return []
        return parts


def _factored(pattern: AccessPattern, dimension: int, inner: int, step: int) -> AccessPattern:
    """`dimension` as two loops, the inner one `inner` long, the outer one by `step`; loops outside it move one out."""
    offset, size, stride = (values[dimension] for values in (pattern.offsets, pattern.sizes, pattern.strides))

    def widened(values: tuple[int, ...], inner_value: int, outer_value: int) -> tuple[int, ...]:
        return (*values[:dimension], inner_value, outer_value, *values[dimension + 1 : ITERATION])

    return AccessPattern(
        widened(pattern.offsets, offset, 0),
        widened(pattern.sizes, inner, size // inner),
        widened(pattern.strides, stride, step),
    )


def _proper_divisors(number: int) -> list[int]:
    """Largest first, without 1 and the number itself."""
    small = [n for n in range(2, min(isqrt(max(number, 0)), MAX_DIVISOR) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)}, reverse=True)


def _with(values: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    return (*values[:index], value, *values[index + 1 :])
