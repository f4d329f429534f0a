"""What a transfer puts into its descriptor, whether its numbers are known or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.dialects.aiex.access_pattern import DIMENSIONS, ITERATION, HardwarePattern, encode
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.passes.sequence.limit_checks import MAX_COUNT, MAX_ROW, LimitChecks, upper_bound
from tilewright.rewrite.emitter import Number
from tilewright.rewrite.exact_arithmetic import Condition, Numbers

MAX_VALUE = (1 << 63) - 1


@dataclass(frozen=True)
class Transfer:
    """One walk over a buffer: sizes and strides are in elements, innermost first. Without any it is a plain run."""

    sizes: Sequence[Number]
    strides: Sequence[Number]
    limits: DescriptorLimits
    is_shim: bool
    max_length: int
    """What the length field of the descriptor holds, in granules."""
    length: Number | None = None
    """Elements of one run of the descriptor; if none, as many as the sizes say."""
    is_four_dimensional: bool = False
    """Whether one run walks the outermost dimension, too, as mem tiles can. Else it is for repetitions of the run."""

    def fields(self, numbers: Numbers, checks: LimitChecks) -> TransferFields:
        sizes, strides = self._padded()
        is_linear = self._is_linear(numbers, sizes, strides)
        if self.sizes:
            repeats = [*sizes[:ITERATION], 1] if self.is_four_dimensional else sizes
            checks.pattern(repeats, strides, self.limits, is_linear)
        length = self._checked_length(numbers, checks, sizes)
        hardware = encode(sizes, strides, self.limits.element_bits, self.limits.granule_bits, numbers)
        fields: dict[str, Number] = {"buffer_length": length}
        for name, number in _dimension_fields(hardware).items() if is_linear is not True else ():
            fields[name] = numbers.select(is_linear, 0, number)
        if self.is_four_dimensional:
            checks.within(sizes[2], 1, self.limits.max_wrap, "d2 size")
            step = numbers.select_greater(sizes[ITERATION], 1, strides[ITERATION], 1)
            checks.within(step, 1, self.limits.largest_stride(ITERATION), "d3 stride")
            return TransferFields(fields | {"d2_size": sizes[2], "d3_stride": hardware.strides[ITERATION]}, 0)
        # A repeat without a stride is left to the queue; the descriptor then must not iterate.
        fields["iteration_size"] = numbers.select_greater(strides[ITERATION], 0, hardware.sizes[ITERATION], 0)
        fields["iteration_stride"] = hardware.strides[ITERATION]
        return TransferFields(fields, hardware.sizes[ITERATION])

    def reach(self, numbers: Numbers) -> Number:
        """How many elements lie between the first and the last that are moved."""
        total: Number = 0
        for size, stride in zip(*self._padded(), strict=True):
            total = numbers.add(total, numbers.multiply(numbers.subtract(size, 1), stride))
        return total

    def _padded(self) -> tuple[list[Number], list[Number]]:
        """The sizes and strides of all dimensions, those left out run once."""
        if not self.sizes:
            assert self.length is not None, "a plain run has a length"
            return [self.length, 1, 1, 1], [1, 0, 0, 0]
        missing = DIMENSIONS - len(self.sizes)
        return [*self.sizes, *[1] * missing], [*self.strides, *[0] * missing]

    def _is_linear(self, numbers: Numbers, sizes: Sequence[Number], strides: Sequence[Number]) -> Condition:
        """Whether a run visits consecutive elements, as `AccessPattern` tells for constants."""
        (size0, size1, size2, _), (stride0, stride1, stride2, _) = sizes, strides
        if self.is_four_dimensional:
            return False
        if not self.is_shim:
            pairs = ((size1, 1), (size2, 1), (stride0, 1), (stride1, 0), (stride2, 0))
            if any(dict(pairs)[number] != wanted for number, wanted in pairs):
                return False  # the same number cannot be both; compilers warn of code that asks
            return numbers.all_of(*(numbers.equal(number, wanted) for number, wanted in pairs))
        if (starts := numbers.equal(stride0, 1)) is False:
            return False
        rows = numbers.any_of(numbers.at_most(size1, 1), numbers.equal(stride1, size0))
        plane = numbers.multiply(size0, size1)
        planes = numbers.any_of(numbers.at_most(size2, 1), numbers.equal(stride2, plane))
        return numbers.all_of(starts, rows, planes)

    def _checked_length(self, numbers: Numbers, checks: LimitChecks, sizes: Sequence[Number]) -> Number:
        """Granules moved by one run."""
        length, bound = self.length, MAX_COUNT
        if self.sizes:
            bound = prod(upper_bound(size) for size in (sizes if self.is_four_dimensional else sizes[:ITERATION]))
            row = numbers.multiply(sizes[0], sizes[1])
            if bound > MAX_VALUE:
                checks.within(row, 1, MAX_ROW, "product of d0 and d1 size")
            product = numbers.multiply(row, sizes[2])
            if self.is_four_dimensional:
                product = numbers.multiply(product, sizes[ITERATION])
            if length is not None:
                excess = numbers.subtract(length, product)
                checks.within(excess, 0, 0, "length less the product of d0, d1 and d2 size")
            length = product
        assert length is not None
        most = self.max_length * self.limits.granule_bits // self.limits.element_bits
        if bound > most or not self.sizes:
            checks.within(length, 1, most, "length")
        checks.divisible(length, self.limits.elements_per_granule, "length")
        return numbers.scale(length, self.limits.element_bits, self.limits.granule_bits)


@dataclass(frozen=True)
class TransferFields:
    """Fields of a descriptor, named as those of `npu.writebd`, and the repeat count that goes to the queue."""

    fields: dict[str, Number]
    repeat_count: Number


def _dimension_fields(hardware: HardwarePattern[Number]) -> dict[str, Number]:
    wraps, steps = hardware.sizes, hardware.strides
    return {
        "d0_size": wraps[0],
        "d0_stride": steps[0],
        "d1_size": wraps[1],
        "d1_stride": steps[1],
        "d2_stride": steps[2],
    }
