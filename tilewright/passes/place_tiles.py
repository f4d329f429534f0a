"""Turns logical tiles into tiles of the array."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.device_tiles import tile_at
from tilewright.passes.placement import place_sequentially


class Placer(StrEnum):
    SEQUENTIAL = "sequential_placer"


@dataclass(frozen=True)
class PlaceTilesPass(Pass):
    name = "aie-place-tiles"
    anchor = "aie.device"

    placer: Placer = field(default=Placer.SEQUENTIAL, metadata={"help": "how places are found"})
    cores_per_col: int = field(default=-1, metadata={"help": "most cores to put into one column; -1: no limit"})
    merge_logical_tiles: bool = field(
        default=True, metadata={"help": "let several logical mem or shim tiles become one tile"}
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        limit = self.cores_per_col if self.cores_per_col >= 0 else None
        for logical, place in place_sequentially(op, limit, self.merge_logical_tiles).items():
            tile = tile_at(op, *place)
            if logical.allocation_scheme is not None:
                tile.allocation_scheme = logical.allocation_scheme
            logical.result.replace_all_uses_with(tile.result)
            logical.detach()
            logical.erase()
