"""Few and legal shim descriptors for what the host side of an AIR program sends and receives in loops.

Launches become loops over their points (`shim.launches`), and bands of loops are tiled where sizes are given
(`tiling`). Each chain of transfers then gets loops of its own (`isolation`), loops become wraps and strides of their
transfers, and those that remain are copied out (`shim.folding`, `shim.loops`). With `empty-tile=auto`, transfers are
cut to what descriptors can say and the waits are those of the plan that costs least (`scheduling`, `cost`); otherwise
the end of a launch waits for all that is open.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation

from tilewright import device
from tilewright.device import TASK_QUEUE_DEPTH, Arch, DeviceModel, TileId
from tilewright.device.timing import timing_of
from tilewright.dialects import scf
from tilewright.dialects.aie.dma import ShimDmaOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.lookup import parent_of_type, tile_of
from tilewright.dialects.air.channels import ChannelEnd, ChannelGetOp, ChannelOp, ChannelPutOp
from tilewright.dialects.air.levels import HerdOp, LaunchOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.ir.diagnostics import emit_remark, fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.air_opt_shim_dma_bds.cost import Policy, cost_of, in_tiles
from tilewright.passes.air.air_opt_shim_dma_bds.isolation import isolate
from tilewright.passes.air.air_opt_shim_dma_bds.scheduling import Planned, TransferScheduler
from tilewright.passes.air.air_opt_shim_dma_bds.tiling import (
    EmptyTile,
    band_of,
    check_option,
    is_given,
    shim_loops,
    sizes_for,
    tile_band,
)
from tilewright.passes.air.shim.folding import Rest, counting_of, fold_region
from tilewright.passes.air.shim.host_transfers import PRESERVE_ORDER, ShimChannels, host_transfers
from tilewright.passes.air.shim.launches import drain, hand_on_tokens, launches_in, serialize_launch
from tilewright.passes.air.shim.patterns import Limits
from tilewright.rewrite.folding.regions import only_block

SHIM = Limits(dims=4, size=1023, repeats_outermost=True)
LINEAR_SHIM = Limits(dims=1, repeats_outermost=True)
"""A shim of the first generation knows one dimension."""
FULL_QUEUES = Policy(TASK_QUEUE_DEPTH, 1)
"""A channel gets the next task when it has ended the oldest one that its queue holds."""


@dataclass(frozen=True)
class AirOptShimDmaBdsPass(Pass):
    name = "air-opt-shim-dma-bds"
    anchor = "func.func"

    device: str = field(default="xcvc1902", metadata={"help": "the device, by the name that aie.device uses"})
    shim_dma_tile_sizes: tuple[int, ...] = field(
        default=(), metadata={"help": "iterations in one tile, for each loop of a band from the outside; 0: no tiles"}
    )
    empty_tile: EmptyTile = field(
        default=EmptyTile.UPSTREAM,
        metadata={
            "help": "what to do where no tile sizes are given: none, 1, or the best; all but the default wait "
            "for all that tokens demand, and for transfers that block"
        },
    )
    explain: bool = field(default=False, metadata={"help": "say, with empty-tile=auto, what was chosen and why"})

    def apply(self, ctx: Context, op: Operation) -> None:
        if op.regions[0].first_block is None:
            return
        if self.device not in device.NAMES:
            fail_op(op, "Invalid aie.device option", (None, f"known devices are {', '.join(device.NAMES)}"))
        model = device.model(self.device)
        if model.arch is Arch.AIE1:
            # what one dimension cannot say stays a loop of the host, as upstream leaves it
            _fold(op, LINEAR_SHIM, Rest.KEEP)
            return
        for launch in launches_in(op):
            for switch in [found for found in launch.block.ops if isinstance(found, scf.IndexSwitchOp)]:
                # tokens inside of a switch would be hidden from the wait at the end of the launch
                hand_on_tokens(switch)
            serialize_launch(launch)
        tiled = self._tile(op)
        # counted while the loops are there
        waits = waits_of_single_tiles(op) if self._is_automatic else {}
        _fold(op, SHIM, Rest.COPY_ALL if self._is_automatic else Rest.COPY)
        is_upstream = self.empty_tile is EmptyTile.UPSTREAM
        planned = set[Block]() if is_upstream else self._plan(op, model, tiled or set(), waits)
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
            launch = parent_of_type(root, LaunchOp)
            if sizes is not None and tile_band(root, sizes):
                tiled.add(launch)
        return tiled

    def _plan(
        self, function: Operation, model: DeviceModel, tiled: set[Operation | None], waits: Mapping[Block, int]
    ) -> set[Block]:
        """Plan each launch, and what is outside of them."""
        module = parent_of_type(function, ModuleOp) or function
        channels, reserved = ShimChannels.of(module, model), reserved_descriptors(module)
        best = TransferScheduler(channels, model, reserved)
        # tiles that a program asks for are its plan, and only queues and tokens call for more waits
        stated = TransferScheduler(channels, model, reserved, [FULL_QUEUES])
        body, launches = only_block(function.regions[0]), launches_in(function)
        blocks: dict[Block, LaunchOp | None] = {
            launch.block: launch for launch in launches if PRESERVE_ORDER not in launch.attributes
        }
        blocks[body] = None
        for block, launch in blocks.items():
            is_free = self._is_automatic and launch not in tiled and not (launch and is_given(launch))
            # tiles have marked their ends; and a function with launches is none
            is_launch = launch not in tiled and not (block is body and launches)
            scheduler = best if is_free else stated
            scheduler.schedule(block, ends_launch=is_launch, most_waits=waits.get(block))
        if self.explain:
            for plan in best.planned:
                explain(plan, model)
        return set(blocks)


def waits_of_single_tiles(function: Operation) -> dict[Block, int]:
    """How often tiles of one iteration would wait, by the block around the loops: a plan need not wait more often."""
    waits: dict[Block, int] = defaultdict(int)
    for root in shim_loops(function):
        counts = [counting_of(loop) for loop in band_of(root)]
        trips = prod(count.trips for count in counts if count is not None)
        channels = {(op.name, op.channel_name if isinstance(op, ChannelEnd) else op) for op in host_transfers(root)}
        # loops of one block wait one after the other
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
    launches = [launch for launch in launches_in(function) if launch.token is not None and launch not in tiled]
    return [*([] if tiled else [only_block(function.regions[0])]), *(launch.block for launch in launches)]


def _fold(function: Operation, limits: Limits, rest: Rest) -> None:
    """Fold each launch by itself, or the function if there is none."""
    launches = launches_in(function)
    ordered = [launch for launch in launches if PRESERVE_ORDER in launch.attributes]
    coupled = coupled_channels(function) if ordered else set[ChannelOp]()
    for launch in ordered:
        keep_order(launch, coupled)
    for op in [launch for launch in launches if PRESERVE_ORDER not in launch.attributes] if launches else [function]:
        if rest is not Rest.KEEP:
            isolate(op)
        fold_region(op, limits, rest)


def keep_order(launch: LaunchOp, coupled: set[ChannelOp]) -> None:
    """Mark the transfers of a launch, but not what the host sends to herds that no broadcast reaches."""
    for op in launch.walk():
        if isinstance(op, ChannelEnd) and not _is_free(op, coupled):
            op.attributes[PRESERVE_ORDER] = UnitAttr()


def _is_free(op: ChannelEnd, coupled: set[ChannelOp]) -> bool:
    is_feed = isinstance(op, ChannelPutOp) and memory_space(op.buffer("src").type) == MemorySpace.L3
    return is_feed and op.channel is not None and op.channel not in coupled


def coupled_channels(function: Operation) -> set[ChannelOp]:
    """Channels whose data gets, directly or from channel to channel, into a herd that gets from a broadcast too."""
    gets = [(op, channel) for op in function.walk() if isinstance(op, ChannelGetOp) and (channel := op.channel)]
    in_step = {parent_of_type(op, HerdOp) for op, channel in gets if channel.broadcast_shape is not None} - {None}
    feeders: dict[ChannelOp, set[ChannelOp]] = defaultdict(set)
    for op, channel in gets:
        for use in op.buffer("dst").uses:
            onward = use.operation.channel if isinstance(use.operation, ChannelPutOp) else None
            if onward is not None:
                feeders[onward].add(channel)
    pending = [channel for op, channel in gets if parent_of_type(op, HerdOp) in in_step]
    found = set[ChannelOp]()
    while pending:
        channel = pending.pop()
        if channel not in found:
            found.add(channel)
            pending += feeders[channel]
    return found


def explain(planned: Planned, model: DeviceModel) -> None:
    """A remark at the first transfer, with a note for each channel."""
    first, moves, choice = planned.transfers[0], planned.moves, planned.choice
    cost, policy = choice.cost, choice.policy
    how = (
        f"at most {policy.window} under way on a channel, the oldest {policy.group} waited for at a time"
        if choice.waits_are_needed
        else "all fit into queues and descriptors at once"
    )
    remark = emit_remark(
        first,
        f"{cost.descriptors} descriptors, {how}: {cost.operations} host operations, {cost.waits} waits, "
        f"{cost.cycles} modelled cycles",
    )
    for channel, count in Counter(move.channel for move in moves).items():
        remark.note(first, f"{channel} runs {count}")
    one = cost_of(moves, in_tiles(moves, range(1, len(moves) + 1)), timing_of(model.arch))
    remark.note(first, f"one at a time would take {one.operations} host operations and {one.cycles} modelled cycles")
