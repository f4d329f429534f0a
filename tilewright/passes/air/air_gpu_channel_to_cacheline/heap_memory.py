"""Accesses to memory that other ranks access too, by addresses."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects import arith, memref
from tilewright.dialects._llvm_memory import NOT_ATOMIC, Ordering
from tilewright.dialects._syntax import INDEX
from tilewright.passes.air.air_gpu_channel_to_cacheline.wire_types import size_bytes
from tilewright.passes.air.descriptors import POINTER
from tilewright.rewrite.emitter import Emitter


def address_of(emitter: Emitter, buffer: SSAValue) -> SSAValue:
    return emitter.value(memref.ExtractAlignedPointerAsIndexOp.create(operands=(buffer,), result_types=[INDEX]))


@dataclass(frozen=True)
class Heap:
    """The memory of channels on one rank, from `start` on; offsets count bytes."""

    start: SSAValue

    def pointer(self, emitter: Emitter, offset: SSAValue) -> SSAValue:
        number = emitter.value(arith.IndexCastOp(emitter.folded_sum(self.start, offset), i64))
        return emitter.value(llvm.IntToPtrOp.create(operands=(number,), result_types=[POINTER]))

    def load(
        self, emitter: Emitter, offset: SSAValue, type: Attribute, ordering: Ordering = Ordering.not_atomic
    ) -> SSAValue:
        return emitter.value(
            llvm.LoadOp.create(
                operands=(self.pointer(emitter, offset),), result_types=[type], properties=_properties(type, ordering)
            )
        )

    def store(
        self, emitter: Emitter, value: SSAValue, offset: SSAValue, ordering: Ordering = Ordering.not_atomic
    ) -> None:
        pointer = self.pointer(emitter, offset)
        emitter.insert(llvm.StoreOp.create(operands=(value, pointer), properties=_properties(value.type, ordering)))


def _properties(type: Attribute, ordering: Ordering) -> dict[str, Attribute]:
    """Atomic accesses are for the whole system: no scope is written."""
    if ordering == Ordering.not_atomic:
        return {"ordering": NOT_ATOMIC}
    return {"ordering": IntegerAttr(int(ordering), i64), "alignment": IntegerAttr(size_bytes(type), i64)}
