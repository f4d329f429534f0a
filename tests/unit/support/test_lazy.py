"""Things made at their first use: once for all threads; locks by key, of which nothing is left when they are let go."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.support.lazy import KeyedLocks, once


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


def test_threads_that_ask_first_at_the_same_time_get_one_object() -> None:
    start, made = threading.Barrier(4), list[object]()

    @once
    def thing() -> object:
        time.sleep(0.02)  # long enough for all to ask
        made.append(object())
        return made[-1]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: (start.wait(), thing())[1], range(4)))
    assert len(made) == 1 and all(each is made[0] for each in found)
