"""Turns logical tiles into tiles of the array."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from tilewright.dialects.aie.objectfifo_storage import ObjectFifoAllocateOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.design.place_tiles.placers import Placement, anneal, place_sequentially
from tilewright.rewrite.device_tiles import tile_at
from tilewright.rewrite.emitter import Emitter


class Placer(StrEnum):
    SEQUENTIAL = "sequential_placer"
    ANNEALING = "sa_placer"


@dataclass(frozen=True)
class PlaceTilesPass(Pass):
    name = "aie-place-tiles"
    anchor = "aie.device"

    placer: Placer = field(default=Placer.SEQUENTIAL, metadata={"help": "how places are found"})
    cores_per_col: int = field(default=-1, metadata={"help": "most cores to put into one column; -1: no limit"})
    merge_logical_tiles: bool = field(
        default=True, metadata={"help": "let several logical mem or shim tiles become one tile"}
    )

    sa_seed: int = field(default=1, metadata={"help": "seed of sa_placer; 0: another one each time"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        placement = self._find_places(op)
        for logical, place in placement.places.items():
            tile = tile_at(op, *place)
            if tile.location == op.location:
                tile.location = logical.location
            if logical.allocation_scheme is not None:
                tile.allocation_scheme = logical.allocation_scheme
            logical.result.replace_all_uses_with(tile.result)
            logical.detach()
            logical.erase()
        for fifo, place in placement.storage:
            allocate = ObjectFifoAllocateOp(fifo.sym_name.data, tile_at(op, *place).result)
            Emitter(InsertPoint.after(fifo), fifo.location).insert(allocate)

    def _find_places(self, device: DeviceOp) -> Placement:
        if self.placer is Placer.ANNEALING:
            return anneal(device, self.sa_seed)
        return place_sequentially(
            device, self.cores_per_col if self.cores_per_col >= 0 else None, self.merge_logical_tiles
        )
