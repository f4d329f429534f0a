"""Numbers that an index can be, as far as constants and the bounds of loops tell.

An access that is known to stay inside its buffer needs no check while the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tilewright.dialects import affine, scf
from tilewright.dialects.affine.meaning import AffineNumbers
from tilewright.dialects.aie.data_layout import INDEX_BITS
from tilewright.dialects.arith.meaning import MEANING, SAME_IN_INDEX, Integers


@dataclass(frozen=True)
class Range:
    """Both ends belong to it."""

    low: int
    high: int

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Range) -> Range:
        return Range(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Range) -> Range:
        corners = [left * right for left in (self.low, self.high) for right in (other.low, other.high)]
        return Range(min(corners), max(corners))


def exactly(number: int) -> Range:
    return Range(number, number)


MaybeRange: TypeAlias = Range | None
"""None stands for any number."""


class RangeIntegers(Integers[MaybeRange]):
    """Ranges as a system of numbers. What is below 0 is not divided."""

    def constant(self, number: int, like: MaybeRange) -> MaybeRange:
        return exactly(number)

    def combine(self, operator: str, a: MaybeRange, b: MaybeRange) -> MaybeRange:
        return _COMBINED[operator](a, b) if a is not None and b is not None and operator in _COMBINED else None

    def divide(self, operator: str, a: MaybeRange, b: MaybeRange, signed: bool) -> MaybeRange:
        assert a is not None and b is not None, "only what is known is divided"
        if operator == "%":
            return Range(0, min(a.high, b.high - 1))
        return Range(a.low // b.high, a.high // b.low)

    def shift(self, operator: str, a: MaybeRange, b: MaybeRange, signed: bool) -> MaybeRange:
        return None

    def compare(self, operator: str, a: MaybeRange, b: MaybeRange, signed: bool | None) -> MaybeRange:
        return None

    def select(self, condition: MaybeRange, a: MaybeRange, b: MaybeRange) -> MaybeRange:
        return a if a == b else None

    def where_divisible(
        self,
        a: MaybeRange,
        b: MaybeRange,
        signed: bool,
        compute: Callable[[MaybeRange, MaybeRange], MaybeRange],
    ) -> MaybeRange:
        return compute(a, b) if a is not None and b is not None and a.low >= 0 and b.low > 0 else None

    def where_shiftable(
        self,
        a: MaybeRange,
        b: MaybeRange,
        signed: bool,
        compute: Callable[[MaybeRange, MaybeRange], MaybeRange],
    ) -> MaybeRange:
        return None

    def both(self, a: MaybeRange, b: MaybeRange) -> MaybeRange:
        return b if b == NEVER else None

    def compare_signs(self, a: MaybeRange, b: MaybeRange, zero: MaybeRange, same: bool) -> MaybeRange:
        # Only of numbers that have been divided, and of these none is below 0.
        return None if same else NEVER

    def step_if(self, condition: MaybeRange, number: MaybeRange, operator: str) -> MaybeRange:
        return number if condition == NEVER else None

    def extreme(self, operator: str, a: MaybeRange, b: MaybeRange, signed: bool) -> MaybeRange:
        if a is None or b is None or not signed:
            return None
        pick = min if operator == "<" else max
        return Range(pick(a.low, b.low), pick(a.high, b.high))


_COMBINED: dict[str, Callable[[Range, Range], Range]] = {
    "+": Range.__add__,
    "-": Range.__sub__,
    "*": Range.__mul__,
}
NEVER = exactly(0)
"""A condition that is known not to hold."""
_INTEGERS = RangeIntegers()
_NAMES = dict(zip(MEANING, MEANING, strict=True)) | {f"index.{name}": same for name, same in SAME_IN_INDEX.items()}
_KEEPING = frozenset({"arith.index_cast", "arith.extsi", "index.casts"})
_THREADS, _BLOCKS = Range(0, (1 << 16) - 1), Range(0, (1 << 31) - 1)
"""What the threads of a block and the blocks of a grid are counted with, on every GPU."""
_IDS = {
    **dict.fromkeys(("gpu.thread_id", "gpu.lane_id", "gpu.subgroup_id"), _THREADS),
    **dict.fromkeys(("gpu.block_dim", "gpu.subgroup_size", "gpu.num_subgroups"), _THREADS),
    **dict.fromkeys(("gpu.block_id", "gpu.grid_dim"), _BLOCKS),
    "gpu.global_id": _BLOCKS * _THREADS + _THREADS,
}


class Ranges:
    """Remembers what it has found out. None stands for any number."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Range | None] = {}

    def of(self, value: SSAValue) -> Range | None:
        if value not in self._known:
            # Nothing, while it is looked for: what a loop carries round leads back to itself.
            self._known[value] = None
            found = self._of_argument(value) if isinstance(value, BlockArgument) else self._of_result(value)
            self._known[value] = found if found is not None and _fits(found, value) else None
        return self._known[value]

    def _of_result(self, value: SSAValue) -> Range | None:
        op = cast(Operation, value.owner)
        if op.name in ("arith.constant", "index.constant"):
            attribute = op.properties["value"]
            return exactly(attribute.value.data) if isinstance(attribute, IntegerAttr) else None
        if op.name in _IDS:
            return _IDS[op.name]
        if op.name in _KEEPING:
            return self.of(op.operands[0])
        if op.name in _NAMES:
            return MEANING[_NAMES[op.name]](_INTEGERS, *(self.of(operand) for operand in op.operands))
        if isinstance(op, affine.ApplyOp):
            return self.of_expression(op.map.data.results[0], op.map.data, list(op.operands))
        return None

    def trips(self, loop: Operation) -> int | None:
        """How often a loop goes round at most."""
        bounds = self._bounds(loop)
        if bounds is None:
            return None
        low, high, step = bounds
        return max(0, -(-(high.high - low.low) // step.low))

    def _bounds(self, loop: Operation | None) -> tuple[Range, Range, Range] | None:
        """Where a loop begins, where it ends, and its steps, which go up."""
        if isinstance(loop, scf.ForOp):
            low, high, step = self.of(loop.lb), self.of(loop.ub), self.of(loop.step)
        elif isinstance(loop, affine.ForOp):
            low = self._of_bound(loop.lowerBoundMap.data, list(loop.lowerBoundOperands))
            high = self._of_bound(loop.upperBoundMap.data, list(loop.upperBoundOperands))
            step = exactly(loop.step.value.data)
        else:
            return None
        if low is None or high is None or step is None or step.low <= 0:
            return None
        if "unsignedCmp" in loop.properties and min(low.low, high.low) < 0:
            return None
        return low, high, step

    def _of_argument(self, value: BlockArgument) -> Range | None:
        """A loop's variable lies between its bounds."""
        bounds = self._bounds(value.owner.parent_op()) if value.index == 0 else None
        if bounds is None:
            return None
        low, high, step = bounds
        last = max(low.low, high.high - 1)
        if not _fits(Range(low.low, last + step.high), value):
            return None  # the variable may go round
        if low.low == low.high and step.low == step.high:
            last = low.low + (last - low.low) // step.low * step.low
        return Range(low.low, last)

    def _of_bound(self, map: AffineMap, operands: list[SSAValue]) -> Range | None:
        return self.of_expression(map.results[0], map, operands) if len(map.results) == 1 else None

    def of_expression(self, expression: AffineExpr, map: AffineMap, operands: list[SSAValue]) -> Range | None:
        return RangeAffine(self, map.num_dims, operands).evaluate(expression)


class RangeAffine(AffineNumbers[MaybeRange]):
    """What affine expressions of values can be."""

    def __init__(self, ranges: Ranges, dims: int, operands: list[SSAValue]):
        self.ranges, self.dims, self.operands = ranges, dims, operands

    def constant(self, number: int) -> Range | None:
        return exactly(number)

    def operand(self, number: int) -> Range | None:
        return self.ranges.of(self.operands[number])

    def compute(self, name: str, a: Range | None, b: Range | None) -> Range | None:
        return MEANING[name](_INTEGERS, a, b)

    def modulo(self, a: Range | None, b: Range | None) -> Range | None:
        # The same for numbers that are not below 0, and of others nothing is known.
        return self.compute("arith.remsi", a, b)


def _fits(range: Range, value: SSAValue) -> bool:
    """Whether the numbers are what the value's type holds, so that nothing wrapped on the way."""
    match value.type:
        case IntegerType() as type:
            half = 1 << max(type.width.data, 1) - 1
        case IndexType():
            half = 1 << INDEX_BITS - 1
        case _:
            return False
    return -half <= range.low and range.high < half
