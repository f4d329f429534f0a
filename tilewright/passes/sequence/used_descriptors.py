"""Descriptors that tasks must leave alone: those of the DMAs' own programs, and of transfers that name theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tilewright.device import TileId
from tilewright.dialects.aie.dma import DmaBody
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import lookup_symbol, tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp


def used_descriptors(device: DeviceOp) -> Mapping[TileId, set[int]]:
    """Numbers of descriptors by tile."""
    used: defaultdict[TileId, set[int]] = defaultdict(set)
    for op in device.walk():
        match op:
            case DmaBody() if op.place is not None:
                bds = (bd for bd in op.walk() if isinstance(bd, DmaBdOp))
                used[op.place] |= {bd.bd_id.value.data for bd in bds if bd.bd_id is not None}
            case NpuDmaMemcpyNdOp() if (place := _shim_place(device, op)) is not None:
                used[place].add(op.id.value.data)
            case _:
                pass
    return used


def _shim_place(device: DeviceOp, op: NpuDmaMemcpyNdOp) -> TileId | None:
    allocation = lookup_symbol(device, op.metadata)
    tile = tile_of(allocation.tile) if isinstance(allocation, ShimDmaAllocationOp) else None
    return None if tile is None else tile.place
