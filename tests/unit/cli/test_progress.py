"""Progress of a run: how much of it is done and how long the rest takes, where a person looks at it."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from programs import COPY

import tilewright as tw
from tilewright.cli.run_report import progress_line
from tilewright.sim import runs
from tilewright.sim.runs import Progress

WORDS = 64


def move(buffer: str, fifo: str, bd: int) -> str:
    place = f"%{buffer}[0, 0, 0, 0][1, 1, 1, {WORDS}][0, 0, 0, 1]"
    return f"aiex.npu.dma_memcpy_nd({place}) {{id = {bd} : i64, metadata = @{fifo}}} : memref<{WORDS}xi32>"


@pytest.mark.parametrize("model", ["fast", "plain"])
def test_what_comes_back_tells_how_much_is_done(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve transfers, and one wait at the end for each: operations are nearly all done from the beginning."""
    monkeypatch.setattr(runs, "SECONDS_BETWEEN_REPORTS", 0.0)
    body = "\n".join([move("b", "out", 0), move("a", "in", 1), "aiex.npu.dma_wait {symbol = @out}"] * 12)
    seen = list[Progress]()
    arrays = np.zeros((2, WORDS), np.int32)
    tw.compile(COPY.replace("BODY", body)).load(model=model).run(*arrays, progress=seen.append)
    assert {now.expected for now in seen} == {12 * WORDS}
    shares = [now.share for now in seen]
    assert shares == sorted(shares) and shares[0] < 0.1 and max(shares) > 0.8
    assert any(0.3 < share < 0.7 for share in shares)


def test_operations_tell_it_where_nothing_comes_back() -> None:
    assert Progress(100, 3, 4).share == 0.75
    assert Progress(100, 3, 4, received=1, expected=10).share == 0.1
    assert Progress(0, 0, 0).share == 0.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_has_percent_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_line() as show:
        assert show is not None
        for received in (10, 20, 40):
            show(Progress(1000 * received, 5, 8, received, 100))
    text = terminal.getvalue()
    assert "40%" in text and "left" in text and "cycle 40,000, operation 5 of 8" in text


def test_there_is_no_line_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_line() as show:
        assert show is None
