"""What is left of a trace when a new run begins: how things stand, and nothing that is over."""

from __future__ import annotations

import numpy as np

from tilewright.sim.trace import TraceEvent, standing

CHANNEL, CORE = 8, 30


def left(*rows: tuple[int, ...]) -> list[tuple[int, ...]]:
    padded = np.array([(*row, 0, 0)[:5] for row in rows], dtype=np.int64).reshape(-1, 5)
    return [(TraceEvent(event), *rest) for _, event, *rest in standing(padded).tolist()]


def test_a_lock_has_its_last_value() -> None:
    assert left((0, TraceEvent.LOCK, 0, 5, 1), (1, TraceEvent.LOCK, 0, 6, 2), (2, TraceEvent.LOCK, 0, 5, 0)) == [
        (TraceEvent.LOCK, 0, 6, 2),
        (TraceEvent.LOCK, 0, 5, 0),
    ]


def test_a_task_that_is_done_is_forgotten() -> None:
    done = ((0, TraceEvent.PUSH, CHANNEL, 1), (0, TraceEvent.TASK, CHANNEL, 1), (1, TraceEvent.BD, CHANNEL, 1))
    assert left(*done, (5, TraceEvent.BD_END, CHANNEL, 1, 64), (5, TraceEvent.TASK_END, CHANNEL, 1)) == []


def test_a_channel_in_the_middle_of_a_chain_keeps_its_task_its_descriptor_and_its_wait() -> None:
    rows = [
        (0, TraceEvent.TASK, CHANNEL, 1),
        (0, TraceEvent.BD, CHANNEL, 1),
        (4, TraceEvent.BD_END, CHANNEL, 1, 64),
        (4, TraceEvent.BD, CHANNEL, 2),
        (9, TraceEvent.LOCK_WAIT, CHANNEL, 17),
    ]
    assert left(*rows) == [
        (TraceEvent.TASK, CHANNEL, 1, 0),
        (TraceEvent.BD, CHANNEL, 2, 0),
        (TraceEvent.LOCK_WAIT, CHANNEL, 17, 0),
    ]


def test_pushes_that_wait_in_a_queue_stay() -> None:
    rows = [(0, TraceEvent.PUSH, CHANNEL, 1), (0, TraceEvent.TASK, CHANNEL, 1), (3, TraceEvent.PUSH, CHANNEL, 2)]
    assert (TraceEvent.PUSH, CHANNEL, 2, 0) in left(*rows) and (TraceEvent.PUSH, CHANNEL, 1, 0) not in left(*rows)


def test_a_core_keeps_what_it_is_at() -> None:
    assert left((0, TraceEvent.CORE, CORE), (2, TraceEvent.LOCK_WAIT, CORE, 80)) == [
        (TraceEvent.LOCK_WAIT, CORE, 80, 0)
    ]
