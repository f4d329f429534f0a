"""Tasks of DMA channels from push to completion, and the token that tells the controller."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.device import DmaDirection, TileId
from tilewright.ir.diagnostics import file_position
from tilewright.report.spans import Column
from tilewright.sim.parts import PartKind, part_ids_of
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent
from tilewright.txn.codec import lay_out
from tilewright.txn.opcodes import Opcode, opcode_name
from tilewright.txn.stream import Operation, layouts_of
from tilewright.txn.text import explain, operation_text

TASK_EVENTS = (
    TraceEvent.OPERATION,
    TraceEvent.OPERATION_END,
    TraceEvent.PUSH,
    TraceEvent.TASK,
    TraceEvent.TASK_END,
    TraceEvent.TOKEN,
)
NEVER = -1


@dataclass
class TaskSpan:
    """What one push asked for. Cycles are None where it has not come to that, or came before the run."""

    part: int
    bd: int
    pushed: int | None = None
    operation: int | None = None
    """The operation that pushed it, if it was the controller."""
    start: int | None = None
    end: int | None = None
    sends_token: bool = False
    token: int | None = None
    """When the controller took in its token."""
    awaited_by: int | None = None
    """The operation that waited for the token."""


def tasks_of(record: RunRecord) -> list[TaskSpan]:
    """All tasks of a run, in the order of their pushes."""
    found = list(_Reader().read(record.trace[np.isin(record.trace[:, 1], TASK_EVENTS)]))
    _find_waits(record, found)
    return found


class _Reader:
    """Follows the rows: channels take pushes in order, tokens arrive in the order of their tasks."""

    def __init__(self) -> None:
        self.queued = defaultdict[int, deque[TaskSpan]](deque)
        self.running: dict[int, TaskSpan] = {}
        self.untold = defaultdict[int, deque[TaskSpan]](deque)
        self.operation: int | None = None

    def read(self, rows: Column) -> Iterator[TaskSpan]:
        numbers: list[list[int]] = rows.tolist()
        for cycle, event, part, a, b in numbers:
            match event:
                case TraceEvent.OPERATION:
                    self.operation = a
                case TraceEvent.OPERATION_END:
                    self.operation = None
                case TraceEvent.PUSH:
                    self.queued[part].append(TaskSpan(part, a, cycle, self.operation))
                    yield self.queued[part][-1]
                # pushed before the run: the trace has only its start
                case TraceEvent.TASK if not self.queued[part] or self.queued[part][0].bd != a:
                    self.running[part] = TaskSpan(part, a, start=cycle)
                    yield self.running[part]
                case TraceEvent.TASK:
                    self.running[part] = self.queued[part].popleft()
                    self.running[part].start = cycle
                case TraceEvent.TASK_END if part in self.running:
                    self._end(self.running.pop(part), cycle, bool(b))
                # tokens of tasks from before the run have none here
                case TraceEvent.TOKEN if self.untold[a]:
                    self.untold[a].popleft().token = cycle
                case _:
                    pass

    def _end(self, task: TaskSpan, cycle: int, sends_token: bool) -> None:
        task.end, task.sends_token = cycle, sends_token
        if sends_token:
            self.untold[task.part].append(task)


def _find_waits(record: RunRecord, tasks: list[TaskSpan]) -> None:
    """Each wait for a channel takes the next of its tokens."""
    told = defaultdict[int, deque[TaskSpan]](deque)
    for task in sorted((task for task in tasks if task.token is not None), key=lambda task: task.token or 0):
        told[task.part].append(task)
    for number in np.flatnonzero(record.stream.opcodes == Opcode.TCT).tolist():
        for part in awaited_parts(record, record.stream.operations[number]):
            if told[part]:
                told[part].popleft().awaited_by = number


def awaited_parts(record: RunRecord, op: Operation) -> Iterator[int]:
    """The channels that a wait for tokens is about."""
    if op.direction not in tuple(DmaDirection):
        return  # a stream that was made elsewhere may say anything
    part_ids = part_ids_of(record.model.name)
    for column in range(op.column, op.column + max(op.column_count, 1)):
        for row in range(op.row, op.row + max(op.row_count, 1)):
            part = part_ids.find(PartKind.CHANNEL, TileId(column, row), (DmaDirection(op.direction), op.channel))
            if part is not None:
                yield part


@dataclass(frozen=True)
class OperationStep:
    """One operation as a person reads it."""

    number: int
    opcode: str
    text: str
    meaning: str
    """The fields that it sets, where they are known."""
    first_word: int
    last_word: int
    position: tuple[str, int, int] | None
    """File, line and column of what it comes from."""
    start: int | None
    end: int | None

    @property
    def line(self) -> tuple[str, int] | None:
        return self.position[:2] if self.position else None


def operation_times(record: RunRecord) -> tuple[Column, Column]:
    """The cycles in which each operation began and ended, `NEVER` where it did not."""
    rows, count = record.trace, len(record.stream.opcodes)
    times = np.full((2, count), NEVER, dtype=np.int64)
    for index, event in enumerate((TraceEvent.OPERATION, TraceEvent.OPERATION_END)):
        found = rows[rows[:, 1] == event]
        times[index, found[:, 3]] = found[:, 0]
    return times[0], times[1]


def steps_of(record: RunRecord, most: int) -> Iterator[OperationStep]:
    """The first operations of the sequence, up to some number."""
    starts, end = lay_out(record.stream)
    ends = np.append(starts[1:], end)
    began, ended = operation_times(record)
    layouts = layouts_of(record.stream.header)
    for number in range(min(most, len(record.stream.opcodes))):
        op = record.stream.operations[number]
        yield OperationStep(
            number=number,
            opcode=opcode_name(op.opcode),
            text=operation_text(op, layouts[op.opcode], record.model),
            meaning=explain(op, record.model),
            first_word=int(starts[number]),
            last_word=int(ends[number]) - 1,
            position=file_position(record.locations[number]) if number < len(record.locations) else None,
            start=_cycle(int(began[number])),
            end=_cycle(int(ended[number])),
        )


def _cycle(cycle: int) -> int | None:
    return None if cycle == NEVER else cycle
