"""The predicates of `arith.cmpi` and `arith.cmpf`, by their numbers."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.dialects.arith.meaning import FLOAT_COMPARISONS
from tilewright.rewrite.integers import integers

EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)

SWAPPED = {EQ: EQ, NE: NE, SLT: SGT, SLE: SGE, SGT: SLT, SGE: SLE, ULT: UGT, ULE: UGE, UGT: ULT, UGE: ULE}
INVERTED = {EQ: NE, NE: EQ, SLT: SGE, SLE: SGT, SGT: SLE, SGE: SLT, ULT: UGE, ULE: UGT, UGT: ULE, UGE: ULT}

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": float.__eq__,
    "!=": float.__ne__,
    "<": float.__lt__,
    "<=": float.__le__,
    ">": float.__gt__,
    ">=": float.__ge__,
}


def compare(predicate: int, a: int, b: int, width: int) -> bool:
    """Compare bits as `arith.cmpi` does."""
    return bool(integers(width).cmpi(predicate, a, b))


def compare_floats(predicate: int, a: float, b: float) -> bool:
    """Compare as `arith.cmpf` does."""
    if not 1 <= predicate <= len(FLOAT_COMPARISONS):
        return predicate != 0
    operator, ordered = FLOAT_COMPARISONS[predicate - 1]
    if a != a or b != b:
        return not ordered
    # of numbers, all are ordered and none is not
    return ordered if operator in ("ord", "uno") else _COMPARE[operator](a, b)
