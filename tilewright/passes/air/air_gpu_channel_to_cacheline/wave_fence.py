"""Lanes of a wave wait for each other's accesses."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64

from tilewright.dialects._llvm_memory import FenceOp, Ordering
from tilewright.rewrite.emitter import Emitter

WAVE_SCOPE = "wavefront"
"""As the AMDGPU target calls it."""


def wave_fence(emitter: Emitter) -> None:
    """What lanes of this wave have written before is there for the other lanes after."""
    ordering = IntegerAttr(int(Ordering.acq_rel), i64)
    emitter.insert(FenceOp.create(properties={"ordering": ordering, "syncscope": StringAttr(WAVE_SCOPE)}))
