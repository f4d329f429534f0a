"""The predicates of `arith.cmpi` and `arith.cmpf`, by their numbers."""

from __future__ import annotations

from tilewright.rewrite.integers import integers

EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)

SWAPPED = {EQ: EQ, NE: NE, SLT: SGT, SLE: SGE, SGT: SLT, SGE: SLE, ULT: UGT, ULE: UGE, UGT: ULT, UGE: ULE}
INVERTED = {EQ: NE, NE: EQ, SLT: SGE, SLE: SGT, SGT: SLE, SGE: SLT, ULT: UGE, ULE: UGT, UGT: ULE, UGE: ULT}


def compare(predicate: int, a: int, b: int, width: int) -> bool:
    """Compare bits as `arith.cmpi` does."""
    return bool(integers(width).cmpi(predicate, a, b))


def compare_floats(predicate: int, a: float, b: float) -> bool:
    """Compare as `arith.cmpf` does: predicates 1 to 7 are false of NaN, 8 to 14 true."""
    unordered = a != a or b != b
    if predicate in (0, 15):
        return predicate == 15
    if predicate == 7:
        return not unordered
    if predicate == 14:
        return unordered
    if unordered:
        return predicate > 7
    match predicate % 7:
        case 1:
            return a == b
        case 2:
            return a > b
        case 3:
            return a >= b
        case 4:
            return a < b
        case 5:
            return a <= b
        case _:
            return a != b
