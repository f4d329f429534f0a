"""Copies between two buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import i64_attr, op_definition
from tilewright.dialects._parents import parent_of_type
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.accesses import Transfer, access_format
from tilewright.dialects.air.asynchronous import ASYNC
from tilewright.dialects.air.levels import RankOp
from tilewright.dialects.air.types import ANY_TOKEN, is_symmetric
from tilewright.dialects.memref.types import ANY_MEMREF
from tilewright.ir.diagnostics import VerifyError

INDICES = DenseArrayBase.constr(i64)
SYMMETRIC = "air.symmetric"
"""The older way to say that an allocation is on the symmetric heap: an attribute of `memref.alloc`."""


class DmaMemcpyEffects(MemoryEffect):
    """Reads the source and writes the destination."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, DmaMemcpyNdOp)
        return {EffectInstance(MemoryEffectKind.WRITE, op.dst), EffectInstance(MemoryEffectKind.READ, op.src)}


@op_definition
class DmaMemcpyNdOp(Transfer):
    """Copy a part of one buffer to a part of another.

    `src_rank` and `dst_rank` say that a buffer is meant on the symmetric heap of another rank.
    """

    name = "air.dma_memcpy_nd"

    async_dependencies = var_operand_def(ANY_TOKEN)
    dst = operand_def(ANY_MEMREF)
    dynamic_dst_offsets = var_operand_def(INDEX)
    dynamic_dst_sizes = var_operand_def(INDEX)
    dynamic_dst_strides = var_operand_def(INDEX)
    src = operand_def(ANY_MEMREF)
    dynamic_src_offsets = var_operand_def(INDEX)
    dynamic_src_sizes = var_operand_def(INDEX)
    dynamic_src_strides = var_operand_def(INDEX)
    static_dst_offsets = prop_def(INDICES)
    static_dst_sizes = prop_def(INDICES)
    static_dst_strides = prop_def(INDICES)
    static_src_offsets = prop_def(INDICES)
    static_src_sizes = prop_def(INDICES)
    static_src_strides = prop_def(INDICES)
    src_rank = opt_prop_def(i64_attr())
    dst_rank = opt_prop_def(i64_attr())

    traits = traits_def(DmaMemcpyEffects())
    assembly_format = (
        f"{ASYNC} ` ` `(` {access_format('dst')} `,` {access_format('src')} `)` "
        "attr-dict `:` `(` type($dst) `,` type($src) `)`"
    )

    SIDES: ClassVar[dict[str, int]] = {"dst": 1, "src": 5}  # the destination comes first, as in memcpy

    def verify_(self) -> None:
        self.verify_access("src")
        self.verify_access("dst")
        self.verify_padding()
        if self.src_rank is not None or self.dst_rank is not None:
            self._verify_ranks()

    def _verify_ranks(self) -> None:
        if parent_of_type(self, RankOp) is None:
            raise VerifyException("src_rank/dst_rank attributes require an enclosing air.rank scope")
        # both numbers before either buffer, as upstream checks them
        ranks = {"src": self.src_rank, "dst": self.dst_rank}
        for side, rank in ranks.items():
            if rank is not None and rank.value.data < 0:
                raise VerifyException(f"{side}_rank must be >= 0, got {rank.value.data}")
        for side, rank in ranks.items():
            if rank is not None:
                _verify_symmetric(self.src if side == "src" else self.dst, side)


def _verify_symmetric(buffer: SSAValue, side: str) -> None:
    """What is allocated here must be on the symmetric heap; buffers from elsewhere are trusted."""
    maker = buffer.owner
    if not isinstance(maker, Operation) or maker.name != "memref.alloc":
        return
    # the type says it today, the attribute did before
    if SYMMETRIC not in maker.attributes and not is_symmetric(buffer.type):
        raise VerifyError(
            f'{side} memref is referenced cross-rank but its memref.alloc lacks the "{SYMMETRIC}" attribute',
            (maker, "give the buffer the memory space #air.symmetric_heap"),
        )


OPS: Sequence[type[IRDLOperation]] = [DmaMemcpyNdOp]
