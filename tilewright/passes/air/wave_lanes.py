"""Lanes of a wave, for passes that write kernels: their numbers, and what lets them see what others have stored."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue

from tilewright.dialects._llvm_memory import FenceOp, Ordering
from tilewright.dialects.gpu.ids import LaneIdOp
from tilewright.rewrite.emitter import Emitter

WAVE_SCOPE = "wavefront"
"""As the AMDGPU target calls it."""


def lane_id(emitter: Emitter) -> SSAValue:
    return emitter.value(LaneIdOp.create(result_types=[IndexType()]))


def wave_fence(emitter: Emitter) -> FenceOp:
    """What lanes of this wave have written before is there for the other lanes after."""
    ordering = IntegerAttr(int(Ordering.acq_rel), i64)
    return emitter.insert(FenceOp.create(properties={"ordering": ordering, "syncscope": StringAttr(WAVE_SCOPE)}))


def is_wave_fence(fence: FenceOp) -> bool:
    """Whether it lets lanes of this wave see what others have written, and no one else."""
    return fence.syncscope == StringAttr(WAVE_SCOPE) and fence.ordering.value.data == Ordering.acq_rel
