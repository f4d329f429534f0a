"""How often loops run."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import SSAValue

from tilewright.dialects import arith
from tilewright.rewrite.folding.constants import constant_bits, scalar_int
from tilewright.rewrite.folding.matching import defining

Bound: TypeAlias = "int | SSAValue"


def trip_count(lower: Bound, upper: Bound, step: Bound, *, is_unsigned: bool = False) -> int | None:
    """How often a loop over these bounds runs, where that is known."""
    if lower is upper:
        return 0
    stride = _number(step, is_unsigned)
    distance = _distance(lower, upper, is_unsigned)
    if (stride is not None and stride <= 0) or (distance is not None and distance <= 0):
        return 0
    return -(-distance // stride) if distance is not None and stride is not None else None


def _number(value: Bound, is_unsigned: bool) -> int | None:
    if isinstance(value, int):
        return value
    return constant_bits(value) if is_unsigned else scalar_int(value)


def _distance(lower: Bound, upper: Bound, is_unsigned: bool) -> int | None:
    low, high = _number(lower, is_unsigned), _number(upper, is_unsigned)
    if low is not None and high is not None:
        return high - low
    add = defining(upper, arith.AddiOp) if isinstance(upper, SSAValue) else None
    promise = arith.IntegerOverflowFlag.NUW if is_unsigned else arith.IntegerOverflowFlag.NSW
    if add is None or promise not in add.overflow_flags.data:
        return None
    for this, other in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
        distance = _number(other, is_unsigned)
        if this is lower and distance is not None:
            return distance
    return None
