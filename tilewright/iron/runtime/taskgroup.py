"""Groups of transfers that end together."""

from __future__ import annotations

from typing import Any, NamedTuple

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block

from tilewright.dialects.aiex.tasks import DmaConfigureTaskForOp
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import at, refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint, is_inside
from tilewright.iron.placed.sequence import dma_wait
from tilewright.iron.placed.tasks import dma_await_task, dma_free_task
from tilewright.iron.runtime._context import active_sequence
from tilewright.support.tracebacks import user_facing


class _Started(NamedTuple):
    """A transfer, where it was started, and by which line."""

    task: Any
    wait: bool
    block: Block
    where: LocationAttr


@user_facing
class TaskGroup:
    """Transfers that are given `group=`; `finish` waits for those with `wait=True`, then frees all of them."""

    def __init__(self, id: int | None = None):
        """A group; `id` is a number of your own for it."""
        self.where: LocationAttr = user_location()
        self._group_id = active_sequence().open_group(self) if id is None else id
        self._started = list[_Started]()

    @property
    def group_id(self) -> int:
        """A number that no other group of the sequence has."""
        return self._group_id

    def add(self, task: Any, wait: bool) -> None:
        """Take a transfer in: its `task`, and whether to `wait` for it."""
        self._started.append(_Started(task, wait, InsertionPoint.current.block, user_location()))

    def finish(self) -> None:
        """Wait for the group's transfers, and free their descriptors.

        Of a transfer that was started in a loop or a choice, a group that is finished outside of it knows the channel
        only: it waits for one token of that, as `dma_wait` does.
        """
        active_sequence().close_group(self)
        reached = [started for started in self._started if _is_reached(started)]
        for started in self._started:
            if started.wait and started not in reached:
                dma_wait(_channel_name(started))
        self._started = reached
        self.emit_end()

    def emit_end(self, at_transfers: bool = False) -> None:
        """Build the waits, then the frees: on the line that asks for it, or with `at_transfers` on the transfers'."""
        waited = [started for started in self._started if started.wait]
        # all waits first: those that are not waited for are freed once the others are done
        for build, transfers in ((dma_await_task, waited), (dma_free_task, self._started)):
            for started in transfers:
                if not _is_reached(started):
                    refuse(
                        "this transfer is started in a loop or a choice, but waited for and freed outside of it",
                        (None, "give it group=TaskGroup() of the same body, and finish() that there"),
                        at=started.where,
                    )
                with at(started.where if at_transfers else None):
                    build(started.task)
        self._started = []

    def __str__(self) -> str:
        return f"TaskGroup({self.group_id})"


def _is_reached(started: _Started) -> bool:
    """Whether the task is known here: one that is started in a loop or a choice is not, outside of it."""
    return is_inside(InsertionPoint.current.block, started.block)


def _channel_name(started: _Started) -> str:
    task = ssa_of(started.task).owner
    assert isinstance(task, DmaConfigureTaskForOp), "transfers are tasks of shim channels"
    return task.alloc.root_reference.data
