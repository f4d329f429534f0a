"""The collector looks less often inside, and as before afterwards, whatever happens there."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tilewright.support.collector import LOOKS_BETWEEN, MADE_BETWEEN, unhurried_collector


@pytest.fixture(autouse=True)
def threshold() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 11, 12)
    yield gc.get_threshold()
    gc.set_threshold(*before)


def test_it_is_as_before_after_an_error(threshold: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="stop"), unhurried_collector(), unhurried_collector():
        assert gc.get_threshold() == (MADE_BETWEEN, LOOKS_BETWEEN, 12)
        raise ValueError("stop")
    assert gc.get_threshold() == threshold


@pytest.mark.parametrize("asked", [0, 2 * MADE_BETWEEN], ids=["never", "less often still"])
def test_what_the_program_asked_for_stays(asked: int) -> None:
    gc.set_threshold(asked)
    with unhurried_collector():
        assert gc.get_threshold()[0] == asked


def test_threads_do_not_undo_each_other(threshold: tuple[int, int, int]) -> None:
    first_left, second_checked = Barrier(2), Barrier(2)

    def leave_first() -> None:
        with unhurried_collector():
            pass
        first_left.wait()
        second_checked.wait()

    with ThreadPoolExecutor(1) as pool, unhurried_collector():
        pool.submit(leave_first)
        first_left.wait()
        assert gc.get_threshold()[0] == MADE_BETWEEN
        second_checked.wait()
    assert gc.get_threshold() == threshold
