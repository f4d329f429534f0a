"""Tasks: transfers under way."""

from __future__ import annotations

from typing import Any

from tilewright.iron.placed.tasks import dma_await_task, dma_free_task


class Task:
    """A transfer that was started; loops can carry it from turn to turn, see `range_`."""

    def __init__(self, handle: Any):
        self.handle = handle
        """The task as a value of the program."""

    def free(self) -> None:
        """Let others have the descriptor; only for a transfer with `managed=False`."""
        dma_free_task(self.handle)

    def await_(self) -> None:
        """Wait until it is done; only for one that was started with `wait=True`."""
        dma_await_task(self.handle)
