"""Walks over buffers as fields of a descriptor, for sizes and strides that are known or are values at run time.

A loop that is longer than its field is made into two where a loop that runs once leaves room. For runtime values the
generated code decides that, and looks for the factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import TypeAlias, cast

from xdsl.ir import SSAValue

from tilewright.device import DeviceModel, TileId, TileType
from tilewright.device.bd import BD_LAYOUTS
from tilewright.dialects.aie.lookup import constant_values
from tilewright.dialects.aiex.access_pattern import DIMENSIONS, ITERATION, encode
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.passes.sequence.limit_checks import MAX_COUNT, MAX_ROW, LimitChecks, Loops, largest_value, upper_bound
from tilewright.rewrite.emitter import Emitter, Number, known
from tilewright.rewrite.exact_arithmetic import Condition, Numbers

MAX_VALUE = (1 << 63) - 1
MAX_PLANES = 1 << 28  # of the outermost dimension, so that 64 bits hold all elements of one run of any tile


def transfer_of(
    model: DeviceModel,
    place: TileId,
    limits: DescriptorLimits,
    sizes: Sequence[Number],
    strides: Sequence[Number],
    length: Number | None = None,
    *,
    keeps_loops: bool = False,
    can_repeat: bool = False,
) -> DmaTransfer:
    """A walk, innermost first, by the DMA of a tile."""
    tile_type = model.tile_type(*place)
    longest = BD_LAYOUTS[tile_type].fields["buffer_length"].limits[-1]
    return DmaTransfer(sizes, strides, limits, tile_type, longest, length, keeps_loops, can_repeat or length is None)


def padded(sizes: Sequence[Number], strides: Sequence[Number]) -> Loops:
    """Sizes and strides of all dimensions, innermost first; those left out run once."""
    missing = DIMENSIONS - len(sizes)
    return Loops([*sizes, *[1] * missing], [*strides, *[0] * missing])


@dataclass(frozen=True)
class TransferFields:
    """Fields of a descriptor, named as those of `npu.writebd`, and the repeat count that goes to the queue."""

    fields: dict[str, Number]
    repeat_count: Number
    runs: Number = 1
    """Of the descriptor, for one that the program asks for: as many as a loop has that was moved to the iteration."""


@dataclass(frozen=True)
class DescriptorWalk:
    """How a descriptor does a transfer."""

    loops: Loops
    length: Number
    """Elements of one run."""
    is_linear: Condition
    """Whether a run has a length and no loops."""
    is_whole: Condition
    """Whether one run is the whole transfer, the outermost loop included. Else that is for repetitions of the run."""
    is_split: Condition = False
    """Whether the loops are others than those of the program, which are too long."""
    runs: Number = 1
    """Runs that together do one of the program's."""


@dataclass(frozen=True)
class DmaTransfer:
    """One walk over a buffer: sizes and strides are in elements, innermost first. Without any it is a plain run."""

    sizes: Sequence[Number]
    strides: Sequence[Number]
    limits: DescriptorLimits
    tile_type: TileType
    max_length: int
    """What the length field of the descriptor holds, in granules."""
    length: Number | None = None
    """Elements of one run of the descriptor. If none, as many as the sizes say, and the push repeats it."""
    keeps_loops: bool = False
    """Whether loops are to stay what they are, such as those with zeros around them."""
    can_repeat: bool = False
    """Whether the push can be told to repeat the run, so that a loop can be moved to the iteration."""

    @property
    def is_shim(self) -> bool:
        return self.tile_type is TileType.ShimNOCTile

    @property
    def is_mem(self) -> bool:
        return self.tile_type is TileType.MemTile

    def fields(self, numbers: Numbers, checks: LimitChecks) -> TransferFields:
        walk = self.walk(numbers)
        fourth = walk.is_whole if self.is_mem else False
        if self.sizes:
            is_given = walk.is_split is False
            checks.pattern(walk.loops, self._padded(), self.limits, walk.is_linear, walk.is_whole, is_given=is_given)
            checks.fourth_dimension(walk.loops, self.limits, fourth)
        length = self._checked_length(numbers, checks, walk)
        sizes, strides = walk.loops
        hardware = encode(sizes, strides, self.limits.element_bits, self.limits.granule_bits, numbers)
        fields: dict[str, Number] = {"buffer_length": length}
        if walk.is_linear is not True:
            wraps, steps = hardware.sizes, hardware.strides
            loops = {
                "d0_size": wraps[0],
                "d0_stride": steps[0],
                "d1_size": wraps[1],
                "d1_stride": steps[1],
                "d2_stride": steps[2],
            }
            fields |= {name: numbers.select(walk.is_linear, 0, number) for name, number in loops.items()}
        if fourth is not False:
            fields["d2_size"] = numbers.select(fourth, sizes[2], 0)
            fields["d3_stride"] = numbers.select(fourth, hardware.strides[ITERATION], 0)
        # A repeat without a stride is left to the queue; the descriptor then must not iterate.
        iterations = numbers.select_greater(strides[ITERATION], 0, hardware.sizes[ITERATION], 0)
        fields["iteration_size"] = numbers.select(walk.is_whole, 0, iterations)
        fields["iteration_stride"] = numbers.select(walk.is_whole, 0, hardware.strides[ITERATION])
        return TransferFields(fields, numbers.select(walk.is_whole, 0, hardware.sizes[ITERATION]), walk.runs)

    def reach(self, numbers: Numbers) -> Number:
        """How many elements lie between the first and the last that are moved."""
        if (reach := self.known_reach) is not None:
            return reach
        total: Number = 0
        for size, stride in zip(*self._padded(), strict=True):
            total = numbers.add(total, numbers.multiply(numbers.subtract(size, 1), stride))
        return total

    @cached_property
    def known_reach(self) -> int | None:
        """`reach`, if all of it is known."""
        sizes, strides = (constant_values(values) for values in self._padded())
        if None in sizes or None in strides:
            return None
        return sum(
            (size - 1) * stride for size, stride in cast("zip[tuple[int, int]]", zip(sizes, strides, strict=True))
        )

    def walk(self, numbers: Numbers) -> DescriptorWalk:
        """The loops that do the transfer. They need not fit: that is checked afterwards."""
        given = self._padded()
        if not self.sizes:
            return DescriptorWalk(given, given.sizes[0], is_linear=True, is_whole=False)
        run = _product(numbers, given.sizes[:ITERATION])
        is_linear = self._is_linear(numbers, given)
        is_whole, elements = self._whole(numbers, given, run, is_linear)
        if self.is_mem:
            is_linear = numbers.all_of(is_linear, numbers.negated(is_whole))
        return self._split(numbers, DescriptorWalk(given, numbers.select(is_whole, elements, run), is_linear, is_whole))

    def _padded(self) -> Loops:
        """All loops; those left out run once."""
        if not self.sizes:
            assert self.length is not None, "a plain run has a length"
            return Loops([self.length, 1, 1, 1], [1, 0, 0, 0])
        return padded(self.sizes, self.strides)

    def _is_linear(self, numbers: Numbers, loops: Loops) -> Condition:
        """Whether a run visits consecutive elements, as `AccessPattern` tells for constants."""
        (size0, size1, size2, _), (stride0, stride1, stride2, _) = loops
        if not self.is_shim:
            pairs = ((size1, 1), (size2, 1), (stride0, 1), (stride1, 0), (stride2, 0))
            if any(dict(pairs)[number] != wanted for number, wanted in pairs):
                return False  # the same number cannot be both; compilers warn of code that asks
            return numbers.all_of(*(numbers.equal(number, wanted) for number, wanted in pairs))
        if (starts := numbers.equal(stride0, 1)) is False:
            return False
        # A dimension that runs once takes no step, so its stride does not matter.
        rows = numbers.any_of(numbers.at_most(size1, 1), numbers.equal(stride1, size0))
        plane = numbers.multiply(size0, size1)
        planes = numbers.any_of(numbers.at_most(size2, 1), numbers.equal(stride2, plane))
        return numbers.all_of(starts, rows, planes)

    def _whole(self, numbers: Numbers, loops: Loops, run: Number, is_linear: Condition) -> tuple[Condition, Number]:
        """Whether one run is to walk four dimensions, which its length says, and how many elements it has then.

        Mem tiles can do that. On a shim tile it is a plain run if all four lie together.
        """
        size, stride = loops.sizes[ITERATION], loops.strides[ITERATION]
        repeats = numbers.greater(size, 1)
        if self.length is None or repeats is False or not (self.is_mem or (self.is_shim and is_linear is not False)):
            return False, run
        few = numbers.select_greater(size, MAX_PLANES, 0, size)
        elements = numbers.multiply(numbers.select_greater(run, self._most, 0, run), few)
        is_whole = numbers.all_of(repeats, numbers.equal(self.length, elements))
        if self.is_shim:
            is_whole = numbers.all_of(is_whole, is_linear, numbers.equal(stride, run))
        return is_whole, elements

    @property
    def _most(self) -> int:
        """The elements that the length field holds."""
        return self.max_length * self.limits.granule_bits // self.limits.element_bits

    def _checked_length(self, numbers: Numbers, checks: LimitChecks, walk: DescriptorWalk) -> Number:
        """Granules moved by one run."""
        length, bound = walk.length, MAX_COUNT
        if self.sizes:
            sizes = self._padded().sizes
            inner = prod(upper_bound(size) for size in sizes[:ITERATION])
            bound = inner if walk.is_whole is False else inner * upper_bound(sizes[ITERATION])
            # Only then can the product of three sizes leave 64 bits; the row alone never does.
            if inner > MAX_VALUE:
                checks.within(numbers.multiply(sizes[0], sizes[1]), 1, MAX_ROW, "product of d0 and d1 size")
            if self.length is not None:
                excess = numbers.subtract(self.length, numbers.multiply(length, walk.runs))
                checks.within(excess, 0, 0, "length less the product of d0, d1 and d2 size")
        if bound > self._most or not self.sizes:
            checks.within(length, 1, self._most, "length")
        checks.divisible(length, self.limits.elements_per_granule, "length")
        return numbers.scale(length, self.limits.element_bits, self.limits.granule_bits)

    def _split(self, numbers: Numbers, walk: DescriptorWalk) -> DescriptorWalk:
        """Make a loop of d0 or d1 that is too long into one around another, where that gives loops that fit."""
        if self.keeps_loops or walk.is_linear is True:
            return walk
        sizes, most = walk.loops.sizes, [self.limits.largest_size(dimension) for dimension in range(2)]
        has_fourth = self.can_repeat or self.is_mem
        is_free = numbers.equal(sizes[2], 1), numbers.equal(sizes[ITERATION], 1) if has_fourth else False
        are_long = [largest_value(sizes[n]) > most[n] and numbers.greater(sizes[n], most[n]) for n in range(2)]
        is_long = numbers.all_of(numbers.any_of(*are_long), numbers.negated(walk.is_linear))
        if is_long is False or is_free == (False, False):
            return walk
        kind = FourLongLoops if self.is_mem else LongLoops
        split = kind(numbers, self.limits, walk, are_long, is_free)
        is_split = numbers.all_of(is_long, split.fits)
        loops = _selected(numbers, is_split, split.loops, walk.loops)
        if self.is_mem:
            is_whole = numbers.any_of(walk.is_whole, numbers.all_of(is_split, numbers.greater(sizes[2], 1)))
            return DescriptorWalk(loops, walk.length, walk.is_linear, is_whole, is_split)
        # where a loop was moved out, it is the last; else that is the program's own
        runs = numbers.select(numbers.all_of(is_split, split.moves_out), loops.sizes[ITERATION], 1)
        length = numbers.select(is_split, _product(numbers, loops.sizes[:ITERATION]), walk.length)
        return DescriptorWalk(loops, length, walk.is_linear, walk.is_whole, is_split, runs)


KnownTransfers: TypeAlias = dict[tuple[object, ...], tuple[DmaTransfer, TransferFields]]
"""Transfers that have been found to be possible, by all that this depends on: long sequences repeat few of them."""


class LongLoops:
    """Loops of which d0 or d1 are too long, as others in the same order.

    (d0, d1, d2, d3) becomes (d0 / n, n, d1, d2) if d3 runs once, or keeps its d3 if d2 does. With n = 1 this frees d1
    from its limit, since d2 has none. An n that is too long for d1 goes to d2, if there is room for d1 further out.
    """

    def __init__(
        self,
        numbers: Numbers,
        limits: DescriptorLimits,
        walk: DescriptorWalk,
        are_long: Sequence[Condition],
        is_free: tuple[Condition, Condition],
    ):
        """`are_long` is about d0 and d1, `is_free` about d2 and d3."""
        self.numbers, self.limits, self.walk, self.are_long = numbers, limits, walk, are_long
        self.is_free2, self.is_free3 = is_free
        self.most = limits.largest_size(1)
        self.inner, self.count, self.step = self._parts(0)
        self.is_high = numbers.greater(self.count, self.most)

    @property
    def loops(self) -> Loops:
        select, (sizes, strides) = self.numbers.select, self.walk.loops
        return Loops(
            [
                self.inner,
                select(self.is_high, 1, self.count),
                select(self.is_high, self.count, sizes[1]),
                self._outermost(sizes),
            ],
            [strides[0], self.step, select(self.is_high, self.step, strides[1]), self._outermost(strides)],
        )

    def _outermost(self, values: Sequence[Number]) -> Number:
        last = self.numbers.select(self._moves_d1_out, values[1], values[ITERATION])
        return self.numbers.select(self.is_free2, last, values[2])

    @property
    def _moves_d1_out(self) -> Condition:
        return self.numbers.all_of(self.is_high, self.numbers.greater(self.walk.loops.sizes[1], 1))

    @property
    def moves_out(self) -> Condition:
        """Whether the outermost of them is not that of the program."""
        return self.numbers.any_of(self.numbers.negated(self.is_free2), self._moves_d1_out)

    @property
    def fits(self) -> Condition:
        """Whether there is room for them."""
        numbers, (_, size1, size2, _) = self.numbers, self.walk.loops.sizes
        few1, few2 = (numbers.at_most(size, self.limits.max_iterations) for size in (size1, size2))
        low = numbers.any_of(self.is_free2, numbers.all_of(self.is_free3, few2))
        high = numbers.any_of(numbers.equal(size1, 1), numbers.all_of(self.is_free3, few1))
        return self._fits(low, high)

    def _fits(self, low: Condition, high: Condition) -> Condition:
        numbers = self.numbers
        return numbers.any_of(
            numbers.all_of(numbers.at_most(self.count, self.most), low),
            numbers.all_of(self.is_high, self.is_free2, high),
        )

    def _parts(self, dimension: int) -> tuple[Number, Number, Number]:
        """The longest part that divides a loop and fits its field, how many there are, and the step between them.

        All of it if it is not long.
        """
        numbers, is_long = self.numbers, self.are_long[dimension]
        size, stride = self.walk.loops.sizes[dimension], self.walk.loops.strides[dimension]
        if is_long is False:
            return size, 1, 1
        unit = self.limits.elements_per_granule if dimension == 0 else 1
        granules, most = numbers.divide(size, unit), self.limits.largest_size(dimension) // unit

        def look(inner: Numbers) -> Number:
            # the step must fit its field
            advance = inner.select(inner.equal(stride, 1), unit, inner.select_less(stride, 1, 1, stride))
            farthest = inner.divide(self.limits.largest_stride(1), advance)
            bound = inner.select_greater(farthest, most, most, farthest)
            return largest_divisor(inner, granules, inner.select_less(bound, 1, 1, bound))

        part = numbers.computed_if(is_long, look, 1)
        inner = numbers.multiply(part, unit)
        # as `DescriptorLimits.advance`
        step = numbers.select(numbers.equal(stride, 1), inner, numbers.multiply(part, stride))
        count = numbers.select(is_long, numbers.divide(granules, part), 1)
        return numbers.select(is_long, inner, size), count, step


class FourLongLoops(LongLoops):
    """As `LongLoops`, for mem tiles: one run can walk all four, and then d2 has a limit, but the outermost has none.

    Where d1 would be too long for d2, and d0 stays one loop, it is d1 that becomes two: (d0, d1 / n, n, d2).
    """

    def __init__(
        self,
        numbers: Numbers,
        limits: DescriptorLimits,
        walk: DescriptorWalk,
        are_long: Sequence[Condition],
        is_free: tuple[Condition, Condition],
    ):
        super().__init__(numbers, limits, walk, are_long, is_free)
        is_limited = numbers.any_of(walk.is_whole, numbers.greater(walk.loops.sizes[2], 1))
        self.splits_d1 = numbers.all_of(are_long[1], numbers.negated(are_long[0]), is_limited)
        self.d1_parts = (walk.loops.sizes[1], 1, 1) if self.splits_d1 is False else self._parts(1)

    @property
    def loops(self) -> Loops:
        (sizes, strides), (inner, count, step) = self.walk.loops, self.d1_parts
        d1_split = Loops(
            [sizes[0], inner, count, self._outermost(sizes)], [strides[0], strides[1], step, self._outermost(strides)]
        )
        return _selected(self.numbers, self.splits_d1, d1_split, super().loops)

    @property
    def fits(self) -> Condition:
        numbers, size1 = self.numbers, self.walk.loops.sizes[1]
        is_three = numbers.all_of(self.is_free2, numbers.negated(self.walk.is_whole))
        is_free = numbers.any_of(self.is_free2, self.is_free3)
        low = numbers.any_of(is_three, numbers.all_of(is_free, numbers.at_most(size1, self.most)))
        few_parts = numbers.at_most(self.d1_parts[1], self.most)
        return numbers.any_of(
            self._fits(low, numbers.equal(size1, 1)), numbers.all_of(self.splits_d1, is_free, few_parts)
        )


def _selected(numbers: Numbers, condition: Condition, then: Loops, otherwise: Loops) -> Loops:
    return Loops(
        [numbers.select(condition, *pair) for pair in zip(then.sizes, otherwise.sizes, strict=True)],
        [numbers.select(condition, *pair) for pair in zip(then.strides, otherwise.strides, strict=True)],
    )


def _product(numbers: Numbers, factors: Sequence[Number]) -> Number:
    return reduce(numbers.multiply, factors)


def largest_divisor(numbers: Numbers, number: Number, bound: Number) -> Number:
    """The largest divisor of a positive number up to a positive bound."""
    if (value := known(number)) is not None and (highest := known(bound)) is not None:
        return next(divisor for divisor in range(min(value, highest), 0, -1) if value % divisor == 0)

    def is_none(emit: Emitter, cofactor: SSAValue) -> SSAValue:
        inner = Numbers(emit)
        return emit.compare("ne", inner.value(inner.remainder(number, cofactor)), inner.value(0))

    def following(emit: Emitter, cofactor: SSAValue) -> SSAValue:
        inner = Numbers(emit)
        return inner.value(_ceil_divide(inner, number, inner.divide(number, cofactor)))

    # Quotients that repeat are left out, so this takes about as many turns as the root of the number.
    return numbers.divide(
        number, numbers.emit.repeat_while(numbers.value(_ceil_divide(numbers, number, bound)), is_none, following)
    )


def _ceil_divide(numbers: Numbers, number: Number, divisor: Number) -> Number:
    return numbers.divide(numbers.add(number, numbers.subtract(divisor, 1)), divisor)
