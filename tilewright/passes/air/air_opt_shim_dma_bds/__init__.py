"""Few and legal shim descriptors for what the host side of an AIR program sends and receives in loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tilewright import device
from tilewright.device import Arch, DeviceModel, TileId
from tilewright.dialects import scf
from tilewright.dialects.aie.dma import ShimDmaOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.lookup import parent_of_type, tile_of
from tilewright.dialects.air.channels import ChannelOp
from tilewright.dialects.air.levels import LaunchOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.air_opt_shim_dma_bds.explaining import explain
from tilewright.passes.air.air_opt_shim_dma_bds.pacing import PRESERVE, coupled_channels, keep_order
from tilewright.passes.air.air_opt_shim_dma_bds.scheduling import Scheduler
from tilewright.passes.air.air_opt_shim_dma_bds.tile_sizes import (
    EmptyTile,
    check_option,
    is_given,
    launch_around,
    sizes_for,
)
from tilewright.passes.air.air_opt_shim_dma_bds.tiling import band_of, shim_loops, tile_band
from tilewright.passes.air.shim.draining import drain, hand_on_tokens
from tilewright.passes.air.shim.folding_stage import Rest, fold_region, isolate
from tilewright.passes.air.shim.host_transfers import host_transfers
from tilewright.passes.air.shim.launches import launches_in, serialize_launch
from tilewright.passes.air.shim.patterns import Limits
from tilewright.passes.air.shim.shim_channels import ShimChannels
from tilewright.passes.air.shim.wrapping import counting_of
from tilewright.rewrite.folding.regions import only_block

SHIM = Limits(dims=4, size=1023, repeats_outermost=True)
LINEAR_SHIM = Limits(dims=1, repeats_outermost=True)
"""A shim of the first generation knows one dimension."""


@dataclass(frozen=True)
class AirOptShimDmaBdsPass(Pass):
    name = "air-opt-shim-dma-bds"
    anchor = "func.func"

    device: str = field(default="xcvc1902", metadata={"help": "the device, by the name that aie.device uses"})
    shim_dma_tile_sizes: tuple[int, ...] = field(
        default=(), metadata={"help": "iterations in one tile, for each loop of a band from the outside; 0: no tiles"}
    )
    empty_tile: EmptyTile = field(
        default=EmptyTile.SKIP, metadata={"help": "what to do where no tile sizes are given: none, 1, or the best"}
    )
    explain: bool = field(default=False, metadata={"help": "say, with empty-tile=auto, what was chosen and why"})

    def apply(self, ctx: Context, op: Operation) -> None:
        if op.regions[0].first_block is None:
            return
        if self.device not in device.NAMES:
            known = f"known devices are {', '.join(device.NAMES)}"
            fail_op(op, "Invalid aie.device option", (None, known))
        model = device.model(self.device)
        if model.arch is Arch.AIE1:
            _fold(op, LINEAR_SHIM, Rest.KEEP)
            return
        for launch in launches_in(op):
            for switch in [found for found in launch.block.ops if isinstance(found, scf.IndexSwitchOp)]:
                hand_on_tokens(switch)
            serialize_launch(launch)
        tiled = self._tile(op)
        waits = waits_of_single_tiles(op) if self._is_automatic else {}
        _fold(op, SHIM, Rest.COPY_ALL if self._is_automatic else Rest.COPY)
        planned = self._plan(op, model, tiled or set(), waits) if self._is_automatic else set[Block]()
        if tiled is not None or planned:
            for block in _undrained(op, tiled or set()):
                if block not in planned:
                    drain(block)

    @property
    def _is_automatic(self) -> bool:
        return self.empty_tile is EmptyTile.AUTO and not self.shim_dma_tile_sizes

    def _tile(self, op: Operation) -> set[Operation | None] | None:
        """Tile what is to be tiled; gives the launches in which that was done, None if there is no loop at all."""
        loops = shim_loops(op)
        if not loops:
            return None
        check_option(op, self.shim_dma_tile_sizes)
        tiled = set[Operation | None]()
        for root in loops:
            sizes = sizes_for(root, self.shim_dma_tile_sizes, self.empty_tile)
            launch = launch_around(root)
            if sizes is not None and tile_band(root, sizes):
                tiled.add(launch)
        return tiled

    def _plan(
        self, function: Operation, model: DeviceModel, tiled: set[Operation | None], waits: Mapping[Block, int]
    ) -> set[Block]:
        """Plan each launch that does not say itself how it is tiled, or the function if there is none."""
        module = parent_of_type(function, ModuleOp) or function
        scheduler = Scheduler(ShimChannels.of(module, model), model, reserved_descriptors(module))
        launches = launches_in(function)
        blocks = [launch.block for launch in launches if launch not in tiled and _is_planned(launch)]
        if not launches:
            blocks = [only_block(function.regions[0])]
        for block in blocks:
            scheduler.schedule(block, ends_launch=True, most_waits=waits.get(block))
        if self.explain:
            for planned in scheduler.planned:
                explain(planned, model)
        return set(blocks)


def _is_planned(launch: LaunchOp) -> bool:
    return not is_given(launch) and PRESERVE not in launch.attributes


def waits_of_single_tiles(function: Operation) -> dict[Block, int]:
    """How often tiles of one iteration would wait, by the block around the loops: a plan need not wait more often."""
    waits: dict[Block, int] = defaultdict(int)
    for root in shim_loops(function):
        counts = [counting_of(loop) for loop in band_of(root)]
        trips = prod(count.trips for count in counts if count is not None)
        channels = {(op.name, str(getattr(op, "chan_name", op))) for op in host_transfers(root)}
        if root.parent is not None:
            waits[root.parent] += trips * len(channels)
    return waits


def reserved_descriptors(module: Operation) -> Counter[TileId]:
    """Descriptors of shim tiles that a design uses itself."""
    counts = Counter[TileId]()
    for op in module.walk():
        tile = tile_of(op.tile) if isinstance(op, ShimDmaOp) else None
        place = None if tile is None else tile.place
        if place is not None:
            counts[place] += sum(isinstance(inner, DmaBdOp) for inner in op.walk())
    return counts


def _undrained(function: Operation, tiled: set[Operation | None]) -> list[Block]:
    """Blocks that do not wait for their tiles yet: the function if nothing was tiled, launches that were not."""
    blocks = [] if tiled else [only_block(function.regions[0])]
    return [*blocks, *(launch.block for launch in launches_in(function) if _is_open(launch, tiled))]


def _is_open(launch: LaunchOp, tiled: set[Operation | None]) -> bool:
    return launch.token is not None and launch not in tiled


def _fold(function: Operation, limits: Limits, rest: Rest) -> None:
    """Fold each launch by itself, or the function if there is none."""
    launches = launches_in(function)
    ordered = [launch for launch in launches if PRESERVE in launch.attributes]
    coupled = coupled_channels(function) if ordered else set[ChannelOp]()
    for launch in ordered:
        keep_order(launch, coupled)
    for op in [launch for launch in launches if PRESERVE not in launch.attributes] if launches else [function]:
        if rest is not Rest.KEEP:
            isolate(op)
        fold_region(op, limits, rest)
