"""Says what was chosen for the transfers of a launch, and what else was to choose from."""

from __future__ import annotations

from collections import Counter

from tilewright.device import DeviceModel
from tilewright.device.timing import timing_of
from tilewright.ir.diagnostics import emit_remark
from tilewright.passes.air.air_opt_shim_dma_bds.cost import cost_of, in_tiles
from tilewright.passes.air.air_opt_shim_dma_bds.scheduling import Planned
from tilewright.passes.air.shim.host_transfers import ShimChannel


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
        remark.note(first, f"{channel_text(channel)} runs {count}")
    one = cost_of(moves, in_tiles(moves, range(1, len(moves) + 1)), timing_of(model.arch))
    remark.note(first, f"one at a time would take {one.operations} host operations and {one.cycles} modelled cycles")


def channel_text(channel: ShimChannel) -> str:
    return f"{channel.direction.name} {channel.number} of shim tile ({channel.tile.column}, {channel.tile.row})"
