"""Which values are the same in all lanes of a wave, and which operations all of them come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tilewright.dialects import arith, scf
from tilewright.dialects.gpu import ids
from tilewright.dialects.gpu.attributes import Dimension, DimensionAttr
from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.dialects.gpu.launches import LaunchOp
from tilewright.rewrite.effects import is_memory_effect_free
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import terminator

Kernel: TypeAlias = "LaunchOp | GPUFuncOp"

OF_BLOCK: tuple[type[Operation], ...] = (
    *(ids.BlockIdOp, ids.BlockDimOp, ids.GridDimOp, ids.ClusterIdOp, ids.ClusterDimOp, ids.ClusterBlockIdOp),
    *(ids.ClusterDimBlocksOp, ids.SubgroupIdOp, ids.NumSubgroupsOp, ids.SubgroupSizeOp),
)
"""Ids and sizes that lanes of a wave share."""
COMPUTING = "arith.", "affine.", "index.", "math.", "memref.", "vector."
"""Dialects whose operations give the same for the same, if they touch no memory."""
DIVISIONS = arith.DivUIOp, arith.DivSIOp, arith.FloorDivSIOp


def block_sizes(kernel: Kernel) -> tuple[int, int, int] | None:
    """Threads of a block in each dimension, if they are known."""
    if isinstance(kernel, GPUFuncOp):
        return kernel.known_size("block")
    x, y, z = (scalar_int(size) for size in kernel.block_sizes)
    return None if x is None or y is None or z is None else (x, y, z)


@dataclass(frozen=True)
class WaveValues:
    """Of one kernel, whose waves have so many lanes."""

    kernel: Kernel
    lanes: int

    @property
    def full_waves(self) -> int:
        """How many waves a block has, if all are known to have all of their lanes; else 0."""
        sizes = block_sizes(self.kernel)
        waves, rest = (0, 0) if sizes is None else divmod(prod(sizes), self.lanes)
        return 0 if rest else waves

    def meet(self, op: Operation) -> bool:
        """Whether all lanes of a wave come to an operation together."""
        parent = op.parent_op()
        while parent is not None and parent is not self.kernel:
            if not self._keeps_lanes(parent):
                return False
            op, parent = parent, parent.parent_op()
        return parent is not None and op.parent is parent.regions[0].first_block

    def _keeps_lanes(self, op: Operation) -> bool:
        """Whether lanes do the same with the body of an operation."""
        match op:
            case scf.ForOp():
                return self.share(op.lb, op.ub, op.step)
            case scf.IfOp():
                return self.share(op.cond)
            case _:
                return False

    def share(self, *values: SSAValue) -> bool:
        """Whether values are the same in all lanes of a wave."""
        pending, seen = list(values), set[SSAValue]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            sources = self._sources(value)
            if sources is None:
                return False
            pending += sources
        return True

    def _sources(self, value: SSAValue) -> Sequence[SSAValue] | None:
        """What lanes have to share so that they share a value; None if they may differ all the same."""
        owner = value.owner
        if isinstance(owner, Block):
            return self._sources_of_argument(cast(BlockArgument, value), owner)
        if not self.kernel.is_ancestor(owner) or isinstance(owner, OF_BLOCK):
            return ()
        if isinstance(owner, ids.ThreadIdOp):
            return () if self._has_rows and _dimension(owner) is not Dimension.X else None
        if isinstance(owner, DIVISIONS) and self._is_wave_number(owner):
            return ()
        if isinstance(owner, scf.ForOp):
            return _carried(owner, cast(OpResult, value).index)
        computes = owner.name.startswith(COMPUTING) and not owner.regions and is_memory_effect_free(owner)
        return owner.operands if computes else None

    def _sources_of_argument(self, value: BlockArgument, block: Block) -> Sequence[SSAValue] | None:
        parent = block.parent_op()
        if parent is None or not self.kernel.is_ancestor(parent):
            return ()
        if parent is self.kernel:
            return () if block is parent.regions[0].first_block and self._share_given(value) else None
        return _carried(parent, value.index - 1) if isinstance(parent, scf.ForOp) else None

    def _share_given(self, value: BlockArgument) -> bool:
        """What a kernel is given is the same for all, but the numbers of threads."""
        threads = self._thread_ids
        return value not in threads or (value is not threads[0] and self._has_rows)

    @property
    def _thread_ids(self) -> list[BlockArgument]:
        return [*self.kernel.thread_ids] if isinstance(self.kernel, LaunchOp) else []

    @property
    def _has_rows(self) -> bool:
        """Whether a wave is a part of one row of threads."""
        sizes = block_sizes(self.kernel)
        return sizes is not None and sizes[0] % self.lanes == 0

    def _is_wave_number(self, op: Operation) -> bool:
        """Whether a number of threads is divided by as many as a wave has, or a multiple."""
        thread, by = op.operands
        count = scalar_int(by)
        is_whole = count is not None and count > 0 and count % self.lanes == 0
        return is_whole and self._has_rows and self._is_thread_x(thread)

    def _is_thread_x(self, value: SSAValue) -> bool:
        if isinstance(value.owner, ids.ThreadIdOp):
            return _dimension(value.owner) is Dimension.X
        return value in self._thread_ids[:1]


def _carried(loop: scf.ForOp, number: int) -> list[SSAValue]:
    """What decides about a value that a loop carries, or with -1 about its counter."""
    sources = [loop.lb, loop.ub, loop.step]
    if number >= 0:
        sources += [loop.iter_args[number], terminator(loop.body).operands[number]]
    return sources


def _dimension(op: Operation) -> Dimension:
    return cast(DimensionAttr, op.properties["dimension"]).data
