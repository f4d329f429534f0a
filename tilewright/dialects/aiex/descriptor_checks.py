"""Limits of a buffer descriptor: the checks that transfers and tasks share.

A check returns the text of the first thing wrong, in upstream's order and words, or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from tilewright.device import DeviceModel, TileType

from .access_pattern import (
    ITERATION,
    AccessPattern,
    HardwarePattern,
    IntegerArithmetic,
    encode,
    encode_integers,
)

ITERATION_BITS = 6  # on all tiles


@dataclass(frozen=True)
class DescriptorLimits:
    """Widths of the wrap and step fields of one kind of tile, for elements of one width."""

    wrap_bits: int
    step_bits: int
    element_bits: int
    granule_bits: int

    @classmethod
    def of_tile(cls, device: DeviceModel, column: int, row: int, element_bits: int) -> DescriptorLimits | None:
        """None for a tile whose DMA, if it has one, knows no multi-dimensional descriptors."""
        tile_type = device.tile_type(column, row)
        if tile_type is TileType.ShimPLTile:
            return None
        tile = device.resources(tile_type)
        return cls(tile.wrap_bits, tile.step_bits, element_bits, device.granule_bits)

    @property
    def element_bytes(self) -> int:
        return self.element_bits // 8

    @property
    def granule_bytes(self) -> int:
        return self.granule_bits // 8

    @property
    def max_wrap(self) -> int:
        return (1 << self.wrap_bits) - 1

    @property
    def max_iterations(self) -> int:
        return 1 << ITERATION_BITS

    @property
    def max_step(self) -> int:
        return 1 << self.step_bits

    @property
    def elements_per_granule(self) -> int:
        """Sizes and strides come in multiples of this."""
        return self.granule_bits // gcd(self.element_bits, self.granule_bits)

    def is_whole_granules(self, elements: int) -> bool:
        return elements % self.elements_per_granule == 0

    def largest_size(self, dimension: int) -> int:
        """The most elements one loop can count."""
        if dimension == ITERATION:
            return self.max_iterations
        if dimension > 0:
            return self.max_wrap
        elements = self.max_wrap * self.granule_bits // self.element_bits
        return elements - elements % self.elements_per_granule

    def largest_stride(self, dimension: int) -> int:
        """The longest step of one loop, in elements. One of several granules is walked granule by granule."""
        if dimension == 0 and self.element_bits > self.granule_bits:
            return 1
        return self.max_step * self.granule_bits // self.element_bits

    def advance(self, elements: int, stride: int) -> int:
        """How far elements of d0 reach. A stride of small ones, unless it is 1, is that of the granules they fill."""
        return elements if stride == 1 else elements // self.elements_per_granule * stride

    def violation(self, pattern: AccessPattern, ignore_wraps: bool = False) -> str | None:
        """Why a pattern does not fit into one descriptor. A linear transfer has no use for the wraps of d0 and d1."""
        return _violation(self, pattern.sizes, pattern.strides, ignore_wraps)

    def holds(self, pattern: AccessPattern) -> bool:
        """Whether the fields have room for a pattern, where upstream's checks let one more through."""
        hardware = encode_integers(pattern, self.element_bits, self.granule_bits)
        steps_fit = all(step < self.max_step for step in hardware.strides)
        return self.violation(pattern) is None and steps_fit and hardware.sizes[ITERATION] < self.max_iterations

    def element_violation(self, sizes: Sequence[int], strides: Sequence[int]) -> str | None:
        """What is wrong with sizes and strides whatever the fields hold."""
        for dimension, size in enumerate(sizes):
            if size <= 0:
                return f"Size {dimension} must be a positive integer."
        if not self.is_whole_granules(sizes[0]):
            return (
                f"Transfer sizes must be multiples of {self.granule_bytes} bytes. "
                f"{sizes[0]} elements at {self.element_bytes} bytes each equal {sizes[0] * self.element_bits // 8} "
                f"bytes, which is not divisible by {self.granule_bytes}. "
            )
        for dimension in range(ITERATION):
            if sizes[dimension] > 1 and strides[dimension] < 1:
                return f"Stride {dimension} must be a positive integer."
        # an iteration may repeat the same data
        if sizes[ITERATION] > 1 and strides[ITERATION] < 0:
            return f"Stride {ITERATION} must be a non-negative integer."
        # elements of less than a granule that lie together fill granules, whatever their stride of 1 is in bytes
        for dimension, stride in enumerate(strides):
            if not (dimension == 0 and stride == 1) and not self.is_whole_granules(stride):
                return (
                    f"Stride {dimension} is {stride} elements * {self.element_bytes} bytes = "
                    f"{stride * self.element_bits // 8} bytes, which is not divisible by {self.granule_bytes}. "
                )
        return None

    def field_violation(self, hardware: HardwarePattern[int], ignore_wraps: bool) -> str | None:
        """Which field is too narrow."""
        # The limits are compared with biased field values, so upstream lets one more than the field holds through.
        for dimension in range(2):
            if not ignore_wraps and hardware.sizes[dimension] > self.max_wrap:
                return f"Size {dimension} exceeds the [0:{self.max_wrap}] range."
        if hardware.sizes[ITERATION] > self.max_iterations:
            return f"Size {ITERATION} exceeds the [1:{self.max_iterations}] range."
        return self._stride_violation(hardware)

    def _stride_violation(self, hardware: HardwarePattern[int]) -> str | None:
        for dimension, stride in enumerate(hardware.strides):
            if stride > self.max_step:
                return f"Stride {dimension} exceeds the [1:{self.max_step}] range."
        return None

    def has_long_stride(self, pattern: AccessPattern) -> bool:
        """Whether a stride in use is too long for its field, which no other arrangement of the loops changes."""
        return self._stride_violation(encode_integers(pattern, self.element_bits, self.granule_bits)) is not None


@lru_cache(maxsize=1024)
def _violation(
    limits: DescriptorLimits, sizes: tuple[int, ...], strides: tuple[int, ...], ignore_wraps: bool
) -> str | None:
    """Programs move many parts of the same shape, which are checked more than once on their way."""
    if text := limits.element_violation(sizes, strides):
        return text
    hardware = encode(sizes, strides, limits.element_bits, limits.granule_bits, IntegerArithmetic())
    return limits.field_violation(hardware, ignore_wraps)


def pattern_violation(
    device: DeviceModel, column: int, row: int, element_bits: int, pattern: AccessPattern
) -> str | None:
    """Why a tile's DMA cannot walk a pattern with one descriptor."""
    limits = DescriptorLimits.of_tile(device, column, row, element_bits)
    if limits is None:
        return f"Unsupported tile type at ({column}, {row}) Must be ShimNOC, Mem or Core."
    # only the shim's lowering writes a contiguous pattern as one loop
    is_linear = pattern.is_linear or (device.is_shim_noc(column, row) and pattern.is_contiguous)
    return limits.violation(pattern, ignore_wraps=is_linear)


def has_free_loop(sizes: Sequence[int | None]) -> bool:
    """Whether d2 or the iteration may run once, so that a loop inside can be made into two; None is not known."""
    return any(size is None or size == 1 for size in sizes[2:])


def realizability_violation(
    limits: DescriptorLimits, sizes: Sequence[int | None], strides: Sequence[int | None]
) -> str | None:
    """Why the constants of a partly unknown pattern, innermost first, cannot be expressed in granules."""
    size0 = sizes[0] if sizes else None
    if size0 is not None and not limits.is_whole_granules(size0):
        return (
            f"d0 size {size0} elements at {limits.element_bytes} bytes each is not a multiple of the "
            f"{limits.granule_bytes}-byte address-gen granule."
        )
    for dimension, stride in enumerate(strides):
        if stride is None or (dimension == 0 and stride == 1) or limits.is_whole_granules(stride):
            continue
        return (
            f"stride {dimension} is {stride} elements at {limits.element_bytes} bytes each, not a multiple of the "
            f"{limits.granule_bytes}-byte address-gen granule."
        )
    for dimension, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if size is None or stride is None or size <= 1:
            continue
        if dimension == ITERATION and stride < 0:
            return f"stride {dimension} must be non-negative when size > 1."
        if dimension != ITERATION and stride < 1:
            return f"stride {dimension} must be positive when size > 1."
    return None


def burst_violation(device: DeviceModel, requested_bytes: int) -> str | None:
    """Why the shim DMA has no such burst; 0 asks for the longest one."""
    if requested_bytes == 0 or requested_bytes in device.burst_lengths:
        return None
    supported = " ".join(map(str, device.burst_lengths))
    return f"Requested burst length is not supported by the target. Supported burst lengths: {supported}"
