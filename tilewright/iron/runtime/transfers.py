"""Transfers between the host's buffers and ObjectFifos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.iron.builders.location import refuse
from tilewright.iron.placed.dma import bds, dma_bd, pattern_of
from tilewright.iron.placed.tasks import dma_configure_task_for, dma_start_task, shim_dma_single_bd_task
from tilewright.iron.placed.tiles import EndOp
from tilewright.iron.runtime._context import active_sequence
from tilewright.iron.runtime.data import RuntimeData
from tilewright.iron.runtime.dmataskhandle import Task
from tilewright.iron.runtime.endpoint import RuntimeEndpoint

if TYPE_CHECKING:
    from tilewright.iron.dataflow.handle import ObjectFifoHandle
    from tilewright.iron.runtime.taskgroup import TaskGroup


@dataclass
class Access:
    """Which elements of a buffer, in which order: a tensor access pattern, or its numbers one by one.

    Numbers may be values of the program. Without sizes, `transfer_len` elements from `offset` on; without any number,
    all of the buffer.
    """

    tap: Any = None
    sizes: Sequence[Any] | None = None
    strides: Sequence[Any] | None = None
    offset: Any = None
    transfer_len: Any = None
    dynamic_sizes: InitVar[Sequence[Any] | None] = None

    def __post_init__(self, dynamic_sizes: Sequence[Any] | None) -> None:
        numbers = (self.sizes, self.strides, self.offset, self.transfer_len)
        if self.tap is not None and any(number is not None for number in numbers):
            refuse("Pass either tap or sizes/strides/offset/transfer_len, not both.")
        if dynamic_sizes is not None:
            pattern = pattern_of("a transfer", self.tap, self.offset, self.sizes, self.strides, dynamic_sizes)
            self.tap, self.offset, self.sizes, self.strides = None, pattern.offset, pattern.sizes, pattern.strides

    @property
    def is_run(self) -> bool:
        """Whether it is elements that follow each other."""
        return self.tap is None and self.sizes is None

    def length(self, data: RuntimeData) -> Any:
        """How many elements a run has."""
        if self.transfer_len is not None:
            return self.transfer_len
        return data.size if self.offset is None else data.size - self.offset

    def count(self, data: RuntimeData) -> int | None:
        """How many elements are moved, if it is known now."""
        if self.is_run:
            return _known([self.length(data)])
        sizes = self.tap.sizes if self.sizes is None else self.sizes
        # a length is that of one run of the descriptor, which has three dimensions; the outer one repeats it
        return _known(sizes if self.transfer_len is None else [*sizes[:-3], self.transfer_len])

    def task(self, fifo: str, data: RuntimeData, issue_token: bool, **options: Any) -> Any:
        """The transfer as a task of one descriptor."""
        if not self.is_run:
            numbers = {"sizes": self.sizes, "strides": self.strides, "transfer_len": self.transfer_len}
            pattern: dict[str, Any] = {"tap": self.tap, "offset": self.offset, **numbers}
            return shim_dma_single_bd_task(fifo, data.op, **pattern, issue_token=issue_token, **options)
        # without dimensions, so that the length may be more than their sizes can be
        task = dma_configure_task_for(fifo, issue_token=issue_token)
        with bds(task) as bd, bd[0]:
            offset = 0 if self.offset is None else self.offset
            dma_bd(data.op, offset=offset, transfer_len=self.length(data), **options)
            EndOp()
        return task


def _known(sizes: Sequence[Any]) -> int | None:
    return prod(map(int, sizes)) if all(isinstance(size, int | np.integer) for size in sizes) else None


@dataclass
class Transfer:
    """One `fill` or `drain`."""

    handle: ObjectFifoHandle
    data: Any
    access: Access
    wait: bool
    packet: tuple[int, int] | None
    offset_parameter: Any
    group: TaskGroup | None
    managed: bool
    burst_length: int

    def emit(self) -> Task:
        """Build the transfer, and start it."""
        sequence = active_sequence()
        self._check(sequence.data)
        if self.handle.endpoint is None:
            self.handle.endpoint = RuntimeEndpoint(self.handle.shim_tile)
        sequence.fifos[self.handle] = None  # a set that keeps the order
        parameter = self._parameter()
        options = {"packet": self.packet, "offset_parameter": parameter, "burst_length": self.burst_length}
        task = self.access.task(self.handle.name, self.data, self.wait, **options)
        dma_start_task(task)
        elements = self.access.count(self.data)
        size_bytes = None if elements is None else elements * element_bytes(self.data.memref_type)
        sequence.count(self.handle.fifo, self.data, size_bytes)
        if self.managed:
            sequence.enroll(task, self.wait, self.group)
        return Task(task.result)

    def _parameter(self) -> str | None:
        from tilewright.iron.scratchpad_parameter import ScratchpadParameter

        if isinstance(self.offset_parameter, ScratchpadParameter):
            active_sequence().parameters[self.offset_parameter] = None
            return self.offset_parameter.name
        return self.offset_parameter

    def _check(self, known: Sequence[RuntimeData]) -> None:
        if not any(self.data is data for data in known):  # an argument of another sequence looks the same
            verb = "fill" if self.handle.is_producer else "drain"
            refuse(
                f"{verb}() moves a buffer of this sequence, not {self.data!r}",
                (None, "give array types among the arguments of the sequence, and use what the body gets for them"),
            )
        if not self.managed and self.group is not None:
            refuse("a transfer with managed=False is in no group", (None, "leave out one of managed and group"))
