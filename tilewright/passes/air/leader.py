"""What one wave of a herd does for all of them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from tilewright.dialects.air.levels import HerdOp
from tilewright.dialects.gpu.lanes import BarrierOp
from tilewright.passes.air.emitter import Emitter
from tilewright.passes.folding.constants import scalar_int


def as_leader(at: Operation, herd: HerdOp, act: Callable[[Emitter], None]) -> None:
    """Before `at`, have the first wave of the herd act; the others get there before it and go on after it."""
    emitter = Emitter.before(at)
    several = [identity for identity, size in zip(herd.ids, herd.extents, strict=True) if scalar_int(size) != 1]
    if not several:
        act(emitter)
        return
    emitter.insert(BarrierOp.create())
    zero = emitter.constant(0)
    first, *others = [emitter.compare("eq", identity, zero) for identity in several]
    for other in others:
        first = emitter.arith("andi", first, other)
    emitter.when(first, act)
    emitter.insert(BarrierOp.create())
