"""Locks: who waits, who gets on, and what is a fault."""

from __future__ import annotations

import pytest

from tilewright.device import TileId
from tilewright.ir.run_errors import Fault
from tilewright.sim.engine import Engine, Process
from tilewright.sim.faults import FaultKind, FaultLevel, FaultPolicy
from tilewright.sim.locks import Lock, lock_wait
from tilewright.sim.trace import Trace


@pytest.fixture
def lock() -> Lock:
    return Lock(TileId(0, 2), 3, 3, FaultPolicy(), Trace(Engine()))


def run(*processes: Process[None]) -> Engine:
    engine = Engine()
    for number, process in enumerate(processes):
        engine.start(f"p{number}", process)
    engine.run(lambda: False)
    return engine


def test_acquire_takes_what_it_waited_for(lock: Lock) -> None:
    def giver() -> Process[None]:
        yield 5
        lock.release(2, "giver")

    engine = run(lock.acquire(2, "taker"), giver())
    assert (engine.now, lock.value, engine.waiting) == (5, 0, [])


def test_acquire_equal_takes_nothing(lock: Lock) -> None:
    lock.set(4)
    assert run(lock_wait(lock, 4, "reader")).waiting == [] and lock.value == 4


def test_a_wait_says_who_needs_what(lock: Lock) -> None:
    lock.set(1)
    (actor,) = run(lock_wait(lock, -2, "BD 1 on MM2S 0 of tile (0, 2)")).waiting
    assert actor.wait is not None
    assert actor.wait.reason() == "BD 1 on MM2S 0 of tile (0, 2) needs lock 3 of tile (0, 2) >= 2, it is 1"


def test_too_much_is_a_fault(lock: Lock) -> None:
    lock.set(63)
    with pytest.raises(Fault, match=r"the core adds 1 to lock 3 of tile \(0, 2\), which is 63") as fault:
        lock.release(1, "the core")
    assert fault.value.kind is FaultKind.LOCK_OVERFLOW


def test_faults_can_be_lowered_to_notes() -> None:
    policy = FaultPolicy({FaultKind.LOCK_OVERFLOW: FaultLevel.NOTE})
    lock = Lock(TileId(0, 2), 0, 0, policy, Trace(Engine()))
    lock.set(63)
    lock.release(1, "the core")
    assert (lock.value, len(policy.notes)) == (0, 1)


def test_a_request_by_address_answers_at_once(lock: Lock) -> None:
    assert not lock.try_change(-1, "the controller")
    assert lock.try_change(1, "the controller") and lock.try_change(-1, "the controller")
