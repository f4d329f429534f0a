"""Limits of the hardware, checked: now where a number is known, otherwise in the generated code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.dialects.aiex.access_pattern import ITERATION
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.dialects.aiex.guards import NpuAssertBdDivisibleOp, NpuAssertRangeOp, range_requirement, value_limits
from tilewright.dialects.aiex.tasks import DmaBdPoolPopOp
from tilewright.dialects.aiex.write_bd import field_violation
from tilewright.ir.diagnostics import emit_warning, fail_op
from tilewright.rewrite.emitter import Number, known
from tilewright.rewrite.exact_arithmetic import Condition, Numbers

MAX_COUNT = (1 << 31) - 1  # what sizes are held to where no field limits them
MAX_ROW = (1 << 32) - 1  # the same for the product of two, so that 64 bits hold that of three
MAX_OFFSET_STRIDE = 1 << 30  # likewise for strides that are only multiplied with an offset


class Guards(StrEnum):
    """Which limits a lowering checks."""

    UPSTREAM = "upstream"
    """Those that mlir-aie checks, in its words. Other runtime values are cut to their fields."""
    FULL = "full"
    """All of them; and no word of a descriptor that is chosen at run time is left as it was."""


@dataclass(frozen=True)
class LimitChecks:
    """Checks the numbers of one operation; does nothing unless all limits are to be checked."""

    op: Operation
    numbers: Numbers
    guards: Guards

    @property
    def enabled(self) -> bool:
        return self.guards is Guards.FULL

    def within(self, number: Number, low: int, high: int, subject: str) -> None:
        if not self.enabled:
            return
        value = known(number)
        if value is None:
            assert isinstance(number, SSAValue)
            lowest, highest = value_limits(number)
            # A check that no value of the type can fail would only cost time, and compilers warn of it.
            if low > lowest or high < highest:
                self.numbers.emit.insert(NpuAssertRangeOp(number, max(low, lowest), min(high, highest), subject))
        elif not low <= value <= high:
            fail_op(self.op, f"{subject} is {value} but {range_requirement(low, high)}")

    def divisible(self, number: Number, divisor: int, subject: str, *, allow_unit: bool = False) -> None:
        if not self.enabled or divisor == 1:
            return
        value = known(number)
        if value is None:
            # The divisors are powers of two: the low 32 bits decide.
            low_bits = self.numbers.value(number, i32)
            self.numbers.emit.insert(NpuAssertBdDivisibleOp(low_bits, divisor, allow_unit=allow_unit, subject=subject))
        elif value % divisor != 0 and not (allow_unit and value == 1):
            fail_op(self.op, f"{subject} is {value} but must be divisible by {divisor}")

    def descriptor_number(
        self, number: Number, reached: Sequence[int], subject: str = "number of the buffer descriptor"
    ) -> None:
        """A number from the pool is one of those anyway."""
        if not (isinstance(number, SSAValue) and isinstance(number.owner, DmaBdPoolPopOp)):
            self.within(number, reached[0], reached[-1], subject)

    def descriptor_fields(self, model: DeviceModel, place: TileId, fields: Mapping[str, int]) -> None:
        """Whether a descriptor has room for what is known of its fields, named as those of `npu.writebd`."""
        if self.enabled and (text := field_violation(model, {**place._asdict(), **fields})):
            fail_op(self.op, text)

    def channel(self, model: DeviceModel, place: TileId, direction: DmaDirection, channel: Number) -> None:
        """Whether there is such a channel: a queue beyond the last one is some other register."""
        if not self.enabled:
            return
        if not model.is_valid_tile(*place) or not model.num_dma_channels(*place, direction):
            fail_op(self.op, f"is for a DMA of tile ({place.column}, {place.row}), and {model} has none there")
        self.within(channel, 0, model.num_dma_channels(*place, direction) - 1, f"{direction.name} channel")

    def pattern(
        self, sizes: Sequence[Number], strides: Sequence[Number], limits: DescriptorLimits, is_linear: Condition
    ) -> None:
        """Whether a descriptor can hold these sizes and strides, innermost first, in elements."""
        if self.enabled:
            self._sizes(sizes, limits, is_linear)
            self._strides(sizes, strides, limits, is_linear)

    def _sizes(self, sizes: Sequence[Number], limits: DescriptorLimits, is_linear: Condition) -> None:
        for dimension, size in enumerate(sizes):
            name, has_wrap = f"{_name(dimension)} size", dimension < 2
            largest = limits.largest_size(dimension)
            # A linear run is one length without wraps, so d0 and d1 may be larger than their wrap fields.
            always_limited = dimension == ITERATION or (has_wrap and is_linear is False)
            self.within(size, 1, largest if always_limited else MAX_COUNT, name)
            if has_wrap and not isinstance(is_linear, bool) and upper_bound(size) > largest:
                self.within(self.numbers.select(is_linear, 1, size), 1, largest, name)
        if limits.elements_per_granule > 1:
            self.divisible(self.numbers.select(is_linear, 0, sizes[0]), limits.elements_per_granule, "d0 size")

    def _strides(
        self, sizes: Sequence[Number], strides: Sequence[Number], limits: DescriptorLimits, is_linear: Condition
    ) -> None:
        """A loop that runs once takes no step, so its stride may be anything; but d0's is put into its field anyway.

        A plain run has no rows, which could end within a granule or lie too far apart.
        """
        numbers = self.numbers
        for dimension, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            name, lowest = f"{_name(dimension)} stride", 0 if dimension == ITERATION else 1
            unused: Number = lowest
            if dimension == 0:
                unused = numbers.select_less(stride, 1, 1, stride)
            taken = numbers.select_greater(size, 1, stride, unused)
            if dimension != ITERATION:
                taken = numbers.select(is_linear, 1, taken)
            self.within(taken, lowest, limits.largest_stride(dimension), name)
            if dimension != ITERATION and limits.elements_per_granule > 1:
                stride = numbers.select(is_linear, 1 if dimension == 0 else 0, stride)
            self.divisible(stride, limits.elements_per_granule, name, allow_unit=dimension == 0)

    def offset_terms(self, offsets: Sequence[Number], strides: Sequence[Number]) -> None:
        """Whether 64 bits hold the sum of offset * stride."""
        for dimension, (offset, stride) in enumerate(zip(offsets, strides, strict=True)):
            if known(offset) != 0:
                self.within(offset, -MAX_COUNT, MAX_COUNT, f"{_name(dimension)} offset")
                self.within(stride, -MAX_OFFSET_STRIDE, MAX_OFFSET_STRIDE, f"{_name(dimension)} stride")

    def bounds(self, end_bytes: Number, buffer_bytes: int | None, *, is_exact: bool) -> None:
        """Whether a transfer ends inside its buffer.

        Programs do declare the host's buffers too small, so a known end may not; those in the array are what they are.
        """
        if not self.enabled or buffer_bytes is None:
            return
        end = known(end_bytes)
        if end is None or is_exact:
            self.within(end_bytes, 0, buffer_bytes, "end of the transfer, in bytes from the start of its buffer,")
        elif end > buffer_bytes:
            text = f"moves data up to byte {end} of a buffer of {buffer_bytes} bytes"
            emit_warning(self.op, text).note(
                self.op, "leave the size of the buffer open (memref<?x...>) if it is larger than its type says"
            )


def upper_bound(size: Number) -> int:
    """The largest that a size can be once it is checked."""
    value = known(size)
    return MAX_COUNT if value is None else value


def _name(dimension: int) -> str:
    return "iteration" if dimension == ITERATION else f"d{dimension}"
