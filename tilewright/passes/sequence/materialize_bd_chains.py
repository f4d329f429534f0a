"""Starts of descriptor chains become tasks with the chain's descriptors, configured and started in place."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import lookup_symbol, parent_of_type, tile_of
from tilewright.dialects.aie.sequence import BdChainOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.bd_chains import DmaStartBdChainForOp, DmaStartBdChainOp, StartedChain
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp, DmaStartTaskOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.rewrite.driver import Config, rewrite
from tilewright.rewrite.folding.aiex import DropEmptyBlocks


class StartChainToTask(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaStartBdChainOp, rewriter: PatternRewriter) -> None:
        start_task(op, op.args, op.tile, op.dma_direction, op.channel.value.data, None, rewriter)


class StartChainForToTask(RewritePattern):
    """Like other tasks for an allocation, this one sends packets if the allocation says so."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaStartBdChainForOp, rewriter: PatternRewriter) -> None:
        device = parent_of_type(op, DeviceOp)
        allocation = lookup_symbol(device, op.alloc) if device is not None else None
        if not isinstance(allocation, ShimDmaAllocationOp):
            fail_op(op, "no shim DMA allocation found for symbol")
        tile = tile_of(allocation.tile)
        if tile is None or not tile.is_placed:
            fail_op(op, "shim DMA allocation must reference a valid TileOp")
        start_task(op, op.args, allocation.tile, allocation.direction, allocation.channel, allocation.packet, rewriter)


def start_task(
    op: StartedChain,
    args: Sequence[SSAValue],
    tile: SSAValue,
    direction: DmaDirection,
    channel: int,
    packet: PacketInfoAttr | None,
    rewriter: PatternRewriter,
) -> None:
    """Configure a task with the descriptors of a chain, and start it."""
    try:
        chain = op.find_chain(args)
    except VerifyException as error:
        fail_op(op, str(error))
    task = DmaConfigureTaskOp(
        tile,
        direction,
        channel,
        with_arguments(chain, args),
        issue_token=op.issues_token,
        repeat_count=op.repeat_count.value.data,
        packet=packet,
    )
    rewriter.replace(op, [task, DmaStartTaskOp(task.result)], task.results)


def with_arguments(chain: BdChainOp, arguments: Sequence[SSAValue]) -> Region:
    """A copy of a chain in which values take the place of its arguments."""
    # A chain may be started many times: each start is a task with descriptors of its own.
    copy = chain.body.clone()
    first = copy.first_block
    if first is not None:
        # A list, as arguments are erased while they are replaced.
        for argument, value in zip(list(first.args), arguments, strict=True):
            argument.replace_all_uses_with(value)
            first.erase_arg(argument)
    return copy


# mlir-aie runs its greedy driver here, which also folds and drops what is dead around the pattern.
AS_UPSTREAM = Config(top_down=False, fold=True, remove_dead=True)


class MaterializeBdChainsPass(Pass):
    name = "aie-materialize-bd-chains"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        with unchanging_symbols():
            rewrite(op, StartChainForToTask(), StartChainToTask(), DropEmptyBlocks(), config=AS_UPSTREAM)
