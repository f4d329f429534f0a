"""Which operations move data between host memory and the array, seen from the host."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tilewright.dialects.air.accesses import Access, Transfer
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.levels import HerdOp, SegmentOp
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import MemorySpace, memory_space


def host_transfers(op: Operation) -> Iterator[Transfer]:
    """The transfers of host memory in an operation, in program order; what segments and herds do is not the host's."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if isinstance(inner, SegmentOp | HerdOp):
                    continue
                if isinstance(inner, ChannelEnd | DmaMemcpyNdOp) and host_side(inner) is not None:
                    yield inner
                yield from host_transfers(inner)


def host_side(op: Transfer) -> str | None:
    """Which side of a transfer is in host memory: `src` sends, `dst` receives."""
    return next((side for side in op.SIDES if memory_space(op.buffer(side).type) == MemorySpace.L3), None)


def host_access(op: Transfer) -> Access:
    """What a transfer moves in host memory."""
    side = host_side(op)
    assert side is not None
    return op.access(side)
