"""Limits of the hardware, checked: now where a number is known, otherwise in the generated code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, cast

from xdsl.dialects.builtin import IndexType, IntegerType, i32
from xdsl.ir import Operation, SSAValue

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.dialects import arith
from tilewright.dialects.aiex.access_pattern import ITERATION
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.dialects.aiex.guards import NpuAssertBdDivisibleOp, NpuAssertRangeOp, range_requirement, value_limits
from tilewright.dialects.aiex.tasks import DmaBdPoolPopOp
from tilewright.dialects.aiex.write_bd import field_violation
from tilewright.ir.diagnostics import emit_warning, fail_op
from tilewright.rewrite.emitter import Number, known
from tilewright.rewrite.exact_arithmetic import Condition, Numbers

INTEGER_TYPES = (IntegerType, IndexType)
MAX_COUNT = (1 << 31) - 1  # what sizes are held to where no field limits them
MAX_ROW = (1 << 32) - 1  # the same for the product of two, so that 64 bits hold that of three
MAX_OFFSET_STRIDE = 1 << 30  # likewise for strides that are only multiplied with an offset
NO_ROOM = "which the other dimensions leave no room to split"


class Loops(NamedTuple):
    """Four nested loops, innermost first."""

    sizes: Sequence[Number]
    strides: Sequence[Number]


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
        self,
        loops: Loops,
        given: Loops,
        limits: DescriptorLimits,
        is_linear: Condition,
        is_whole: Condition,
        *,
        is_given: bool,
    ) -> None:
        """Whether a descriptor can hold loops in elements, which need not be those given by the program.

        Where one run walks all of them, the iteration field and its limit do not count.
        """
        if not self.enabled:
            return
        repeated = self.numbers.select(is_whole, 1, loops.sizes[ITERATION])
        self._sizes([*loops.sizes[:ITERATION], repeated], given, limits, is_linear, can_be_split=not is_given)
        self._strides(loops, given, limits, is_linear)

    def _sizes(
        self,
        sizes: Sequence[Number],
        given: Loops,
        limits: DescriptorLimits,
        is_linear: Condition,
        *,
        can_be_split: bool,
    ) -> None:
        for dimension, (size, written) in enumerate(zip(sizes, given.sizes, strict=True)):
            name, has_wrap = f"{_name(dimension)} size", dimension < 2
            largest = limits.largest_size(dimension)
            # A linear run is one length without wraps, so d0 and d1 may be larger than their wrap fields.
            always_limited = dimension == ITERATION or (has_wrap and is_linear is False and not can_be_split)
            checked = size if dimension == ITERATION else written
            self.within(checked, 1, largest if always_limited else MAX_COUNT, name)
            if has_wrap and not always_limited and upper_bound(size) > largest:
                used = self.numbers.select(is_linear, 1, size)
                self.within(used, 1, largest, f"{name}, {NO_ROOM}," if can_be_split else name)
        if limits.elements_per_granule > 1:
            self.divisible(self.numbers.select(is_linear, 0, given.sizes[0]), limits.elements_per_granule, "d0 size")

    def _strides(self, loops: Loops, given: Loops, limits: DescriptorLimits, is_linear: Condition) -> None:
        """A loop that runs once takes no step, so its stride may be anything; but d0's is put into its field anyway.

        A plain run has no rows, which could end within a granule or lie too far apart.
        """
        numbers = self.numbers
        for dimension, (size, stride) in enumerate(zip(*loops, strict=True)):
            name, lowest = f"{_name(dimension)} stride", 0 if dimension == ITERATION else 1
            unused: Number = lowest
            if dimension == 0:
                unused = numbers.select_less(stride, 1, 1, stride)
            taken = numbers.select_greater(size, 1, stride, unused)
            if dimension != ITERATION:
                taken = numbers.select(is_linear, 1, taken)
            self.within(taken, lowest, limits.largest_stride(dimension), name)
            stride = given.strides[dimension]
            if dimension != ITERATION and limits.elements_per_granule > 1:
                stride = numbers.select(is_linear, 1 if dimension == 0 else 0, stride)
            self.divisible(stride, limits.elements_per_granule, name, allow_unit=dimension == 0)

    def fourth_dimension(self, loops: Loops, limits: DescriptorLimits, is_used: Condition) -> None:
        """Whether one run of a mem tile's descriptor can walk four loops; d2 has a limit then, and d3 goes forward."""
        if not self.enabled or is_used is False:
            return
        numbers, (sizes, strides) = self.numbers, loops
        self.within(numbers.select(is_used, sizes[2], 1), 1, limits.max_wrap, "d2 size")
        step = numbers.select_greater(sizes[ITERATION], 1, strides[ITERATION], 1)
        self.within(numbers.select(is_used, step, 1), 1, limits.largest_stride(ITERATION), "d3 stride")

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
    return min(largest_value(size), MAX_COUNT)


def largest_value(number: Number, depth: int = 8) -> int:
    """A number that a value is not above, as far as the operations that it comes from tell."""
    if (value := known(number)) is not None:
        return value
    assert isinstance(number, SSAValue)
    limit, op = value_limits(number)[1], number.owner
    if not isinstance(op, Operation) or depth == 0:
        return limit

    def of(*values: SSAValue) -> list[int]:
        return [largest_value(value, depth - 1) for value in values]

    match op:
        case arith.MinSIOp():
            return min(of(op.lhs, op.rhs))
        case arith.MaxSIOp():
            return max(of(op.lhs, op.rhs))
        case arith.SelectOp():
            return max(of(op.lhs, op.rhs))
        case arith.ExtSIOp() | arith.IndexCastOp():
            return min(*of(op.operands[0]), limit)
        case arith.ExtUIOp():
            return (1 << cast(IntegerType, op.operands[0].type).bitwidth) - 1
        case arith.RemUIOp() | arith.RemSIOp() | arith.AndIOp() if (value := known(op.operands[1])) is not None:
            return value - (0 if isinstance(op, arith.AndIOp) else 1) if value > 0 else limit
        case _:
            return limit


def _name(dimension: int) -> str:
    return "iteration" if dimension == ITERATION else f"d{dimension}"
