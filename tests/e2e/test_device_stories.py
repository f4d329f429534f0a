"""One loaded device, run again and again: whatever happened before, both models give the same, and every run ends.

What a hang or a stop leaves in flight goes on in the next run; after a fault or an interrupt the device is loaded
afresh. 12 stories by default, more with
TILEWRIGHT_STORIES=5000; TILEWRIGHT_STORY=1234 tells that one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device_stories import story_of, ways

import tilewright as tw
from tilewright.driver.loaded_device import LoadedDevice

BATCHES = 4
STORIES = int(os.environ.get("TILEWRIGHT_STORIES", "12"))
MODELS = ["fast", "plain"]
TOLD_APART = {
    2153: "a part that native code had let act had a second turn in that cycle, once words in blocks were put back",
    2500: "a word that had come before its stream became part of a tree was taken back when the tree was dissolved",
}
"""Stories that once differed, and why."""


@pytest.mark.filterwarnings("ignore:.*results of argument.* are missing")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_both_models_tell_the_same_story(batch: int) -> None:
    chosen = os.environ.get("TILEWRIGHT_STORY")
    for number in [int(chosen)] if chosen else range(batch, STORIES, BATCHES):
        story = story_of(number)
        assert story.outcomes("fast") == story.outcomes("plain"), f"story {number}"


@pytest.mark.filterwarnings("ignore:.*results of argument.* are missing")
@pytest.mark.parametrize("number", TOLD_APART)
def test_what_once_differed_is_the_same(number: int) -> None:
    story = story_of(number)
    assert story.outcomes("fast") == story.outcomes("plain"), TOLD_APART[number]


def work(given: Any, result: Any) -> None:
    result[:] = given + 1


def interrupt(given: Any, result: Any) -> None:
    raise KeyboardInterrupt


def mistake(given: Any, result: Any) -> None:
    raise ZeroDivisionError


def arrays(words: int = 512) -> tuple[Any, Any]:
    return np.arange(words, dtype=np.int32), np.zeros(words, np.int32)


def copy(device: LoadedDevice, n: int, **options: Any) -> tw.RunResult:
    a, b = arrays()
    result = device.run(a, b, n, n, sequence="link", **options)
    assert np.array_equal(a[:n], b[:n])
    return result


def fault(device: LoadedDevice) -> None:
    with pytest.raises(tw.Fault):
        device.run(*arrays(64), 256, 256, sequence="link")


def interrupted(device: LoadedDevice) -> None:
    with pytest.raises(tw.Interrupted):
        device.run(*arrays(), 16, 16, sequence="one_core")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("end", [fault, interrupted])
def test_a_device_is_loaded_afresh_after_a_fault_or_an_interrupt(
    end: Callable[[LoadedDevice], None], model: str
) -> None:
    fresh = copy(ways().load(kernels={"work": interrupt}, model=model), 64).cycles
    device = ways().load(kernels={"work": interrupt}, model=model)
    for _ in range(3):
        end(device)
    assert copy(device, 64).cycles == fresh


@pytest.mark.parametrize("model", MODELS)
def test_what_a_hang_left_in_flight_goes_on(model: str) -> None:
    """48 of 64 words were sent; the rest comes with the next run, which waits for all of them."""
    device, (a, b) = ways().load(kernels={"work": work}, model=model), arrays()
    for sequence in ("link", "send"):
        with pytest.raises(tw.Hang):
            device.run(a, b, 24, 64, sequence=sequence)
    device.run(a, b, 16, 64, sequence="send")
    assert np.array_equal(b[:64], np.concatenate([a[:24], a[:24], a[:16]]))


@pytest.mark.parametrize("model", MODELS)
def test_what_a_stop_left_in_flight_goes_on(model: str) -> None:
    device, (a, b) = ways().load(kernels={"work": work}, model=model), arrays()
    with pytest.raises(tw.Stopped):
        device.run(a, b, 64, 64, sequence="link", max_cycles=1800)
    device.run(a, b, 64, 64, sequence="wait")
    assert np.array_equal(a[:64], b[:64])


@pytest.mark.parametrize("model", MODELS)
def test_an_error_in_a_kernel_is_raised_and_the_device_goes_on(model: str) -> None:
    device = ways().load(kernels={"work": mistake}, model=model)
    with pytest.raises(ZeroDivisionError):
        device.run(*arrays(), 16, 16, sequence="one_core")
    copy(device, 64)


@pytest.mark.parametrize("model", MODELS)
def test_a_run_is_stopped_after_exactly_so_many_cycles(model: str) -> None:
    device = ways().load(kernels={"work": work}, model=model)
    cycles = copy(device, 256).cycles
    assert copy(ways().load(kernels={"work": work}, model=model), 256, max_cycles=cycles).cycles == cycles
    for limit in (1, 1800, cycles - 1):
        with pytest.raises(tw.Stopped, match=f"stopped in cycle {limit}") as stopped:
            ways().load(kernels={"work": work}, model=model).run(*arrays(), 256, 256, sequence="link", max_cycles=limit)
        assert stopped.value.record.cycles == limit


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("limit", [1 << 62, 1 << 63, 1 << 64, 10**30, np.int64(1 << 40)])
def test_no_limit_is_too_high(limit: int, model: str) -> None:
    copy(ways().load(kernels={"work": work}, model=model), 64, max_cycles=limit)


@pytest.mark.parametrize("limit", [0, -1, -(1 << 70), 1.5, float("nan"), "900", True])
def test_what_is_no_limit_is_refused_by_name(limit: Any) -> None:
    device = ways().load(kernels={"work": work})
    with pytest.raises(ValueError, match="max_cycles") as refused:
        copy(device, 64, max_cycles=limit)
    assert isinstance(refused.value, tw.Error)
    copy(device, 64)
