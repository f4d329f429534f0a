"""The operations of a sequence: when each was carried out, which words it is, where it comes from, what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.ir.diagnostics import file_position
from tilewright.report.spans import Column
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent
from tilewright.txn.encode import lay_out
from tilewright.txn.meaning import explain
from tilewright.txn.opcodes import opcode_name
from tilewright.txn.stream import layouts_of
from tilewright.txn.text import operation_text

NEVER = -1


@dataclass(frozen=True)
class Step:
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


def steps_of(record: RunRecord, most: int) -> Iterator[Step]:
    """The first operations of the sequence, up to some number."""
    starts, end = lay_out(record.stream)
    ends = np.append(starts[1:], end)
    began, ended = operation_times(record)
    layouts = layouts_of(record.stream.header)
    for number in range(min(most, len(record.stream.opcodes))):
        op = record.stream.operations[number]
        yield Step(
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
