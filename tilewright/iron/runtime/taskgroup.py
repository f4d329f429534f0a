"""Groups of transfers that end together."""

from __future__ import annotations

from typing import Any, NamedTuple

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block

from tilewright.iron.builders.location import at, refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint, is_inside
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
        """Wait for the group's transfers, and free their descriptors."""
        active_sequence().close_group(self)
        self.emit_end()

    def emit_end(self, at_transfers: bool = False) -> None:
        """Build the waits, then the frees: on the line that asks for it, or with `at_transfers` on the transfers'."""
        waited = [started for started in self._started if started.wait]
        # all waits first: those that are not waited for are freed once the others are done
        for build, transfers in ((dma_await_task, waited), (dma_free_task, self._started)):
            for started in transfers:
                _check_reach(started)
                with at(started.where if at_transfers else None):
                    build(started.task)
        self._started = []

    def __str__(self) -> str:
        return f"TaskGroup({self.group_id})"


def _check_reach(started: _Started) -> None:
    """A task that is started in a loop or a choice is not known outside of it."""
    if not is_inside(InsertionPoint.current.block, started.block):
        refuse(
            "this transfer is started in a loop or a choice, but waited for and freed outside of it",
            (None, "give it group=TaskGroup() of the same body, and finish() that there"),
            at=started.where,
        )
