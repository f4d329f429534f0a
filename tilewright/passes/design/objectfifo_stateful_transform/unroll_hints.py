"""Tells the loops of cores by what factor to unroll them, so that each copy of the body has buffers of its own."""

from __future__ import annotations

from math import lcm

from xdsl.dialects.builtin import IntegerAttr, i64

from tilewright.dialects import scf
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.passes.design.objectfifo_stateful_transform.access_checks import CoreAccesses

UNROLL_HINT = "aie.unroll_hint"


def add_unroll_hints(accesses: CoreAccesses) -> None:
    """A loop goes round all FIFOs that it uses itself, at once: their depths' least common multiple."""
    factors: dict[scf.ForOp, int] = {}
    for op, (end, _) in accesses.keys.items():
        loop = parent_of_type(op, scf.ForOp)
        if loop is not None:
            factors[loop] = lcm(factors.get(loop, 1), end.ring)
    for loop, factor in factors.items():
        loop.attributes[UNROLL_HINT] = IntegerAttr(factor, i64)
