"""Gives the descriptors of a runtime sequence's tasks their numbers, each free again once its task is done."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Operation

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.bd_chains import DmaStartBdChainOp
from tilewright.dialects.aiex.tasks import (
    DmaAwaitTaskOp,
    DmaBdPoolPopOp,
    DmaConfigureTaskForOp,
    DmaConfigureTaskOp,
    DmaFreeTaskOp,
    DmaStartTaskOp,
)
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass

CONTROL_FLOW = (scf.ForOp, scf.IfOp, scf.WhileOp)
Channel: TypeAlias = tuple[TileId, DmaDirection, int]


class AssignRuntimeSequenceBdIdsPass(Pass):
    name = "aie-assign-runtime-sequence-bd-ids"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in op.walk():
            if isinstance(sequence, RuntimeSequenceOp) and not _draws_from_pool(sequence):
                _refuse_control_flow(sequence)
                _check_tokens(sequence)
                _Allocation(op.model).run(sequence)


def _draws_from_pool(sequence: RuntimeSequenceOp) -> bool:
    """Whether the sequence takes its descriptors at run time."""
    return any(isinstance(op, DmaBdPoolPopOp) for op in sequence.walk())


def _refuse_control_flow(sequence: RuntimeSequenceOp) -> None:
    for op in sequence.walk():
        if isinstance(op, CONTROL_FLOW):
            fail_op(
                op,
                "Runtime-valued control flow in a runtime sequence is not supported by this static BD-ID allocation "
                "pass. Either pass only constant-valued predicates to scf.for and scf.if so "
                "`aie-unroll-runtime-sequence-loops` can unroll/fold them, or use the dynamic EmitC path instead.",
            )


def channel_of(task: DmaConfigureTaskOp) -> Channel:
    return _place(task), task.dma_direction, task.channel.value.data


def _place(task: DmaConfigureTaskOp) -> TileId:
    tile = task.tile_like
    if tile is None or not tile.is_placed or tile.place is None:
        fail_op(task, "Cannot assign buffer descriptors of a DMA task whose tile is not placed; run placement first.")
    return tile.place


def _check_tokens(sequence: RuntimeSequenceOp) -> None:
    """Every wait must have a token to come. More tokens than waits are fine."""
    outstanding: Counter[Channel] = Counter()
    for op in sequence.walk():
        if not isinstance(op, DmaStartTaskOp | DmaAwaitTaskOp):
            continue
        task = op.configuration
        if task is None or not task.issues_token:
            continue
        channel = channel_of(task)
        outstanding[channel] += 1 if isinstance(op, DmaStartTaskOp) else -1
        if outstanding[channel] < 0:
            fail_op(
                op,
                "awaits a task-completion token on a channel where no outstanding token is guaranteed to have been "
                "produced; the runtime sequence would block here forever. Ensure a prior issue_token dma_start_task on "
                "the same tile, direction and channel reaches this await",
            )


class _Allocation:
    """Which descriptors are in use while a sequence is walked from start to end."""

    def __init__(self, model: DeviceModel):
        self.model = model
        self.in_use: dict[TileId, set[int]] = {}
        self.awaited: set[DmaConfigureTaskOp] = set()

    def run(self, sequence: RuntimeSequenceOp) -> None:
        frees: list[DmaFreeTaskOp] = []
        for op in sequence.walk():
            match op:
                case DmaConfigureTaskOp():
                    self.allocate(op)
                case DmaAwaitTaskOp():
                    task = _configuration(op)
                    self.release(task, op)
                    self.awaited.add(task)
                case DmaFreeTaskOp():
                    self.release(_configuration(op), op)
                    frees.append(op)
                case _:
                    pass
        for op in frees:
            op.detach()
            op.erase()

    def allocate(self, task: DmaConfigureTaskOp) -> None:
        """Numbers that the program gives come first, then the lowest free ones."""
        place = _place(task)
        taken = self.in_use.setdefault(place, set())
        for bd in task.descriptors:
            if bd.bd_id is None:
                continue
            number = bd.bd_id.value.data
            if number in taken:
                fail_op(
                    task,
                    f"Specified buffer descriptor ID {number} is already in use. "
                    "Emit an aiex.dma_free_task operation to reuse BDs.",
                )
            taken.add(number)
        for bd in task.descriptors:
            if bd.bd_id is None:
                bd.bd_id = IntegerAttr(self.lowest_free(task, place, taken), i32)
                taken.add(bd.bd_id.value.data)

    def lowest_free(self, task: DmaConfigureTaskOp, place: TileId, taken: set[int]) -> int:
        # Upstream asks for channel 0, whichever it is: on a mem tile, odd channels get numbers that they cannot reach.
        free = (number for number in self.model.accessible_bds(*place, 0) if number not in taken)
        number = next(free, None)
        if number is None:
            column, row = place
            fail_op(
                task,
                f"Too many simultaneously active buffer descriptors on tile ({column},{row}), which supports up to "
                f"{self.model.num_bds(*place)}. Emit an aiex.dma_free_task / aiex.dma_await_task to reuse BDs.",
            )
        return number

    def release(self, task: DmaConfigureTaskOp, by: Operation) -> None:
        """Give the descriptors of a task back; to free what has been awaited is harmless."""
        taken = self.in_use.setdefault(_place(task), set())
        for bd in task.descriptors:
            if bd.bd_id is None:
                fail_op(bd, "Free called on BD chain with unassigned IDs.")
            number = bd.bd_id.value.data
            if number in taken:
                taken.remove(number)
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


def _configuration(op: DmaAwaitTaskOp | DmaFreeTaskOp) -> DmaConfigureTaskOp:
    task = op.configuration
    if task is None:
        owner = op.task.owner
        flag = next((flag for kind, flag in FIRST_LOWER_WITH.items() if isinstance(owner, kind)), None)
        notes = ((op.task, f"Lower this operation first using the {flag} pass."),) if flag is not None else ()
        fail_op(op, "does not reference a valid configure_task operation.", *notes)
    return task
