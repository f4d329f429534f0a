"""Designs, results and errors travel between processes, and are the same there."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import COPY, WRITES

import tilewright as tw

TRANSFERS = """
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, %n][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
"""  # noqa: E501
SIZED = COPY.replace("BODY", TRANSFERS).replace("%b: memref<64xi32>)", "%b: memref<64xi32>, %n: i64)")


def copied(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def run(design: tw.Design, n: int = 64, **options: Any) -> tw.RunResult:
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    result = design.run(a, b, n, **options)
    assert np.array_equal(a, b)
    return result


def interrupted_run(design: tw.Design) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tilewright.sim.runs.SECONDS_BETWEEN_REPORTS", 0)
        design.run(np.zeros(64, np.int32), np.zeros(64, np.int32), 64, progress=interrupt)


ENDINGS: dict[type[tw.Hang | tw.Stopped | tw.Fault | tw.Interrupted], Callable[[tw.Design], object]] = {
    tw.Hang: lambda design: run(design, 16),
    tw.Stopped: lambda design: run(design, max_cycles=200),
    tw.Fault: lambda design: design.run(np.zeros(8, np.int32), np.zeros(64, np.int32), 64),
    tw.Interrupted: interrupted_run,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_how_a_run_ended_is_told_elsewhere(ending: type[tw.Hang | tw.Stopped | tw.Fault | tw.Interrupted]) -> None:
    with pytest.raises(ending) as raised:
        ENDINGS[ending](tw.compile(SIZED))
    there, here = copied(raised.value), raised.value
    assert type(there) is ending and str(there) == str(here)
    assert there.record is not None and here.record is not None
    assert there.record.cycles == here.record.cycles and np.array_equal(there.record.trace, here.record.trace)
    assert tw.RunResult(there.record).summary() == tw.RunResult(here.record).summary()


def test_a_result_is_reported_elsewhere(tmp_path: Any) -> None:
    here = run(tw.compile(SIZED))
    there = copied(here)
    assert (there.cycles, there.notes, there.summary()) == (here.cycles, here.notes, here.summary())
    assert np.array_equal(there.trace, here.trace)
    there.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_a_design_runs_elsewhere() -> None:
    """With the lines of its source; also one that has run, and has native code."""
    here = tw.compile(SIZED)
    cycles = run(here).cycles
    there = copied(here)
    assert there.sequences == here.sequences and np.array_equal(there.txn(n=32), here.txn(n=32))
    assert run(there).cycles == cycles
    messages = list[str]()
    for design in (here, there):
        with pytest.raises(tw.Hang) as hang:
            run(design, 16)
        messages.append(str(hang.value))
    assert messages[0] == messages[1] and "<text>:" in messages[0]


def words(n: int) -> int:
    return tw.compile(WRITES).txn(n=n).size


def test_errors_come_back_from_a_pool() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        with pytest.raises(tw.RangeError, match="does not fit"):
            pool.apply_async(words, (1 << 64,)).get(120)
        with pytest.raises(tw.CompileError, match="error"):
            pool.apply_async(tw.compile, ("aie.device(npu2) { %0 = }",)).get(120)
        assert pool.apply_async(words, (4,)).get(120) == 28
