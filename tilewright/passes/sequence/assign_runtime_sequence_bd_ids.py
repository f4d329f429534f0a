"""Gives the descriptors of a runtime sequence's tasks their numbers, each free again once its task is done."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.dialects import scf
from tilewright.dialects.aie.dma import DmaBody
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import lookup_symbol, tile_of
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.bd_chains import DmaStartBdChainOp
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp
from tilewright.dialects.aiex.tasks import (
    DmaAwaitTaskOp,
    DmaBdPoolPopOp,
    DmaConfigureTaskForOp,
    DmaConfigureTaskOp,
    DmaFreeTaskOp,
    DmaStartTaskOp,
)
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.interned import i32_number
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import ops_of

CONTROL_FLOW = (scf.ForOp, scf.IfOp, scf.WhileOp)
Channel: TypeAlias = tuple[TileId, DmaDirection, int]


@dataclass(frozen=True)
class AssignRuntimeSequenceBdIdsPass(Pass):
    name = "aie-assign-runtime-sequence-bd-ids"
    anchor = "aie.device"

    skip_without_tasks: bool = False
    """Leave sequences alone that have no task to assign descriptors to, whatever control flow they have."""
    avoid_used: bool = False
    """Give no task a descriptor that its tile uses otherwise."""

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in ops_of(op.body.ops, RuntimeSequenceOp):
            inside = all_operations(sequence)
            kinds = {nested.__class__ for nested in inside}
            # one that draws from a pool takes its descriptors at run time
            if DmaBdPoolPopOp in kinds:
                continue
            if not self.skip_without_tasks or kinds & {DmaConfigureTaskOp, DmaConfigureTaskForOp}:
                _refuse_control_flow(inside)
                channels = _Channels()
                _check_tokens(inside, channels)
                _Allocation(op.model, used_descriptors(op) if self.avoid_used else {}, channels).run(inside)


def used_descriptors(device: DeviceOp) -> Mapping[TileId, set[int]]:
    """Numbers of descriptors by tile."""
    used: defaultdict[TileId, set[int]] = defaultdict(set)
    for op in ops_of(all_operations(device), DmaBody, NpuDmaMemcpyNdOp):
        if isinstance(op, NpuDmaMemcpyNdOp):
            if (place := _shim_place(device, op)) is not None:
                used[place].add(op.id.value.data)
        elif op.place is not None:
            bds = ops_of(all_operations(op), DmaBdOp)
            used[op.place] |= {bd.bd_id.value.data for bd in bds if bd.bd_id is not None}
    return used


def _shim_place(device: DeviceOp, op: NpuDmaMemcpyNdOp) -> TileId | None:
    allocation = lookup_symbol(device, op.metadata)
    tile = tile_of(allocation.tile) if isinstance(allocation, ShimDmaAllocationOp) else None
    return None if tile is None else tile.place


def _refuse_control_flow(inside: Sequence[Operation]) -> None:
    for op in ops_of(inside, *CONTROL_FLOW):
        fail_op(
            op,
            "Runtime-valued control flow in a runtime sequence is not supported by this static BD-ID allocation "
            "pass. Either pass only constant-valued predicates to scf.for and scf.if so "
            "`aie-unroll-runtime-sequence-loops` can unroll/fold them, or use the dynamic EmitC path instead.",
        )


def channel_of(task: DmaConfigureTaskOp) -> Channel:
    return _place(task), task.dma_direction, task.channel.value.data


class _Channels:
    """The channels of tasks, each worked out once for all tasks that name it."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Channel, object]] = {}

    def of(self, task: DmaConfigureTaskOp) -> Channel:
        named = task._operands[0], task.direction, task.channel
        found = self._known.get(key := tuple(map(id, named)))
        if found is None:
            # with what it is named by, lest something else comes to lie in its place
            found = self._known[key] = channel_of(task), named
        return found[0]


def _place(task: DmaConfigureTaskOp) -> TileId:
    tile = task.tile_like
    if tile is None or not tile.is_placed or (place := tile.place) is None:
        fail_op(task, "Cannot assign buffer descriptors of a DMA task whose tile is not placed; run placement first.")
    return place


def _check_tokens(inside: Sequence[Operation], channels: _Channels) -> None:
    """Every wait must have a token to come. More tokens than waits are fine."""
    outstanding: Counter[Channel] = Counter()
    for op in ops_of(inside, DmaStartTaskOp, DmaAwaitTaskOp):
        task = op.configuration
        if task is None or not task.issues_token:
            continue
        channel = channels.of(task)
        outstanding[channel] += 1 if isinstance(op, DmaStartTaskOp) else -1
        if outstanding[channel] < 0:
            fail_op(
                op,
                "awaits a task-completion token on a channel where no outstanding token is guaranteed to have been "
                "produced; the runtime sequence would block here forever. Ensure a prior issue_token dma_start_task on "
                "the same tile, direction and channel reaches this await",
            )


class _Allocation:
    """Which task has which descriptors while a sequence is walked from start to end."""

    def __init__(self, model: DeviceModel, used: Mapping[TileId, set[int]], channels: _Channels):
        self.model, self.used, self.channels = model, used, channels
        self.reached: dict[Channel, list[int]] = {}
        self.owners: dict[TileId, dict[int, DmaConfigureTaskOp]] = {}
        self.awaited: set[DmaConfigureTaskOp] = set()

    def run(self, inside: Sequence[Operation]) -> None:
        for op in ops_of(inside, DmaConfigureTaskOp, DmaAwaitTaskOp, DmaFreeTaskOp):
            match op:
                case DmaConfigureTaskOp():
                    self.allocate(op)
                case DmaAwaitTaskOp():
                    task = _configuration(op)
                    self.release(task, op)
                    # A task is done once it is awaited, so its descriptors are free without a dma_free_task.
                    self.awaited.add(task)
                case DmaFreeTaskOp():
                    self.release(_configuration(op), op)
                    Rewriter.erase_op(op)

    def allocate(self, task: DmaConfigureTaskOp) -> None:
        """Numbers that the program gives come first, then the lowest free ones that the task's channel reaches."""
        place, _, channel = of = self.channels.of(task)
        if of not in self.reached:
            self.reached[of] = self.model.accessible_bds(*place, channel)
        owners, reached = self.owners.setdefault(place, {}), self.reached[of]
        descriptors = task.descriptors
        for bd in descriptors:
            if bd.bd_id is None:
                continue
            number = bd.bd_id.value.data
            # Mem tiles divide their descriptors between even and odd channels.
            if not self.model.is_bd_channel_accessible(*place, number, channel):
                fail_op(
                    bd, f"has the ID {number}, but its channel {channel} reaches only {reached[0]} to {reached[-1]}"
                )
            if number in owners:
                fail_op(
                    task,
                    f"Specified buffer descriptor ID {number} is already in use. "
                    "Emit an aiex.dma_free_task operation to reuse BDs.",
                    (owners[number], "it is in use for this task"),
                )
            owners[number] = task
        used = self.used.get(place, ())
        # The lowest first, as upstream, so that the same program gets the same numbers.
        free = (number for number in reached if number not in owners and number not in used)
        for bd in descriptors:
            if bd.bd_id is None:
                number = next(free, None)
                if number is None:
                    self.refuse(task, place, len(reached))
                owners[number] = task
                bd.bd_id = i32_number(number)

    def refuse(self, task: DmaConfigureTaskOp, place: TileId, reached: int) -> NoReturn:
        (column, row), count = place, self.model.num_bds(*place)
        note = (task, f"its channel {task.channel.value.data} reaches {reached} of them")
        fail_op(
            task,
            f"Too many simultaneously active buffer descriptors on tile ({column},{row}), which supports up to "
            f"{count}. Emit an aiex.dma_free_task / aiex.dma_await_task to reuse BDs.",
            *([note] if reached < count else ()),
        )

    def release(self, task: DmaConfigureTaskOp, by: Operation) -> None:
        """Give the descriptors of a task back. To free an awaited task is harmless, even if another has them now."""
        owners = self.owners.setdefault(self.channels.of(task)[0], {})
        for bd in task.descriptors:
            if bd.bd_id is None:
                fail_op(bd, "Free called on BD chain with unassigned IDs.")
            number = bd.bd_id.value.data
            if owners.get(number) is task:
                del owners[number]
            elif task not in self.awaited:
                fail_op(
                    by,
                    f"frees buffer descriptor ID {number}, which is not currently in use; it was already completed by "
                    "an earlier aiex.dma_free_task or aiex.dma_await_task",
                )


FIRST_LOWER_WITH = {
    DmaStartBdChainOp: "--aie-materialize-bd-chains",
    DmaConfigureTaskForOp: "--aie-substitute-shim-dma-allocations",
}


def lower_first(task: SSAValue) -> Sequence[tuple[SSAValue, str]]:
    """A note, where a pass has yet to make the task that a value stands for."""
    flag = next((flag for kind, flag in FIRST_LOWER_WITH.items() if isinstance(task.owner, kind)), None)
    return () if flag is None else ((task, f"Lower this operation first using the {flag} pass."),)


def _configuration(op: DmaAwaitTaskOp | DmaFreeTaskOp) -> DmaConfigureTaskOp:
    task = op.configuration
    if task is None:
        fail_op(op, "does not reference a valid configure_task operation.", *lower_first(op.task))
    return task
