"""Tasks from push to token: channels take pushes in order, waits take tokens in order."""

from __future__ import annotations

from run_records import MEM, SHIM, Row, channel, record_of

from tilewright.device import DmaDirection
from tilewright.report.tasks import tasks_of
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import sync, write

PART = channel(SHIM, DmaDirection.S2MM)
OPERATIONS = [write(0x1D204, 1), write(0x1D204, 2), sync(0, 0, 0, 0), sync(0, 0, 0, 0)]


def operation(number: int, start: int, end: int, *inside: Row) -> list[Row]:
    opcode = Opcode.TCT if number >= 2 else Opcode.WRITE
    return [(start, TraceEvent.OPERATION, 0, number, opcode), *inside, (end, TraceEvent.OPERATION_END, 0, number)]


def test_two_tasks_of_a_channel_and_the_waits_for_them() -> None:
    rows: list[Row] = [
        *operation(0, 0, 10, (10, TraceEvent.PUSH, PART, 1, 1)),
        (10, TraceEvent.TASK, PART, 1),
        *operation(1, 10, 20, (20, TraceEvent.PUSH, PART, 2, 1)),
        (30, TraceEvent.TASK_END, PART, 1, 1),
        (30, TraceEvent.TASK, PART, 2),
        *operation(2, 20, 34, (34, TraceEvent.TOKEN, 0, PART)),
        (50, TraceEvent.TASK_END, PART, 2, 1),
        *operation(3, 34, 54, (54, TraceEvent.TOKEN, 0, PART)),
    ]
    first, second = tasks_of(record_of(rows, 54, OPERATIONS))
    assert (first.pushed, first.start, first.end, first.token) == (10, 10, 30, 34)
    assert (second.pushed, second.start, second.end, second.token) == (20, 30, 50, 54)
    assert [(task.operation, task.awaited_by) for task in (first, second)] == [(0, 2), (1, 3)]


def test_a_task_that_ran_before_has_no_push() -> None:
    part = channel(MEM, DmaDirection.MM2S)
    (task,) = tasks_of(record_of([(0, TraceEvent.TASK, part, 4), (9, TraceEvent.TASK_END, part, 4)], 20))
    assert (task.pushed, task.operation, task.start, task.end) == (None, None, 0, 9)


def test_a_push_that_waits_in_the_queue_has_not_begun() -> None:
    rows: list[Row] = [
        (10, TraceEvent.PUSH, PART, 1),
        (10, TraceEvent.TASK, PART, 1),
        (20, TraceEvent.PUSH, PART, 2),
    ]
    assert [task.start for task in tasks_of(record_of(rows, 40))] == [10, None]
