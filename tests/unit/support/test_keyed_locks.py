"""Locks by key: one thread at a time for each, others go on, and nothing is left of keys that are done with."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.support.lazy import KeyedLocks


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=12))
def test_one_thread_at_a_time_for_each_key_and_no_entry_afterwards(keys: list[str]) -> None:
    locks, inside, most = KeyedLocks(), Counter[str](), Counter[str]()
    start = threading.Barrier(len(keys))

    def work(key: str) -> None:
        start.wait()
        with locks.holding(key):
            inside[key] += 1
            most[key] = max(most[key], inside[key])
            time.sleep(0.0005)  # lets the others run, which would come in here without a lock
            inside[key] -= 1

    with ThreadPoolExecutor(len(keys)) as pool:
        list(pool.map(work, keys))
    assert dict(most) == dict.fromkeys(keys, 1)
    assert len(locks) == 0


def test_other_keys_do_not_wait() -> None:
    locks = KeyedLocks()

    def count_inside(key: str) -> int:
        with locks.holding(key):
            return len(locks)

    with locks.holding("a"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(count_inside, "b").result(timeout=5) == 2
    assert len(locks) == 0


def test_an_error_inside_lets_go_of_the_lock() -> None:
    locks = KeyedLocks()
    with suppress(KeyError), locks.holding("a"):
        raise KeyError
    assert len(locks) == 0
    with ThreadPoolExecutor(1) as pool:
        pool.submit(locks.holding("a").__enter__).result(timeout=5)
