"""Numbers that an index can be, as far as constants and the bounds of loops tell.

An access that is known to stay inside its buffer needs no check while the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from tilewright.dialects import affine, scf
from tilewright.dialects.arith.meaning import SAME_IN_INDEX
from tilewright.native.types import INDEX_BITS


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


Rule = Callable[[Range, Range], Range | None]


def _remainder(left: Range, right: Range) -> Range | None:
    if left.low < 0 or right.low <= 0:
        return None
    return Range(0, min(left.high, right.high - 1))


def _quotient(left: Range, right: Range) -> Range | None:
    return Range(left.low // right.high, left.high // right.low) if left.low >= 0 and right.low > 0 else None


_RULES: dict[str, Rule] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    **dict.fromkeys(("arith.remsi", "arith.remui"), _remainder),
    **dict.fromkeys(("arith.divsi", "arith.divui", "arith.floordivsi"), _quotient),
    "arith.minsi": lambda left, right: Range(min(left.low, right.low), min(left.high, right.high)),
    "arith.maxsi": lambda left, right: Range(max(left.low, right.low), max(left.high, right.high)),
}
"""Operations of which something is known; what they compute is in `dialects.arith.meaning`."""
_RULES.update({f"index.{name}": _RULES[same] for name, same in SAME_IN_INDEX.items() if same in _RULES})
_AFFINE = {
    AffineBinaryOpKind.Add: "arith.addi",
    AffineBinaryOpKind.Mul: "arith.muli",
    AffineBinaryOpKind.Mod: "arith.remsi",
    AffineBinaryOpKind.FloorDiv: "arith.floordivsi",
}
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
        if op.name in _RULES:
            left, right = (self.of(operand) for operand in op.operands)
            return None if left is None or right is None else _RULES[op.name](left, right)
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
        match expression:
            case AffineConstantExpr():
                return exactly(expression.value)
            case AffineBinaryOpExpr():
                left = self.of_expression(expression.lhs, map, operands)
                right = self.of_expression(expression.rhs, map, operands)
                rule = _AFFINE.get(expression.kind)
                return None if rule is None or left is None or right is None else _RULES[rule](left, right)
            case _:
                return self.of(operands[leaf_number(expression, map)])


def leaf_number(leaf: AffineExpr, map: AffineMap) -> int:
    """Which operand of a map a dimension or a symbol is."""
    if isinstance(leaf, AffineSymExpr):
        return map.num_dims + leaf.position
    return cast(AffineDimExpr, leaf).position


def _all_of(value: SSAValue) -> Range | None:
    """All numbers that the type of a value holds."""
    match value.type:
        case IntegerType():
            half = 1 << max(value.type.width.data, 1) - 1
        case IndexType():
            half = 1 << INDEX_BITS - 1
        case _:
            return None
    return Range(-half, half - 1)


def _fits(range: Range, value: SSAValue) -> bool:
    """Whether the numbers are what the value's type holds, so that nothing wrapped on the way."""
    whole = _all_of(value)
    return whole is not None and whole.low <= range.low and range.high <= whole.high
