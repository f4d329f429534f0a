"""The predicates of `arith.cmpi`, by their numbers."""

from __future__ import annotations

from tilewright.rewrite.integers import integers

EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)

SWAPPED = {EQ: EQ, NE: NE, SLT: SGT, SLE: SGE, SGT: SLT, SGE: SLE, ULT: UGT, ULE: UGE, UGT: ULT, UGE: ULE}
INVERTED = {EQ: NE, NE: EQ, SLT: SGE, SLE: SGT, SGT: SLE, SGE: SLT, ULT: UGE, ULE: UGT, UGT: ULE, UGE: ULT}


def compare(predicate: int, a: int, b: int, width: int) -> bool:
    """Compare bits as `arith.cmpi` does."""
    return bool(integers(width).cmpi(predicate, a, b))
