"""The table at the end of a run."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from run_records import MEM, Row, channel, core, record_of

from tilewright.device import DmaDirection
from tilewright.report import summary
from tilewright.report.summary import duration, summarise, table
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent

CHANNELS = [channel(MEM, DmaDirection.S2MM, number) for number in range(3)]


def a_run() -> RunRecord:
    rows: list[Row] = [(0, TraceEvent.CORE, core()), (250, TraceEvent.LOCK_WAIT, core(), 80)]
    for part in CHANNELS:
        rows += [(0, TraceEvent.BD, part, 1), (0, TraceEvent.MOVE, part, 1, 500), (400, TraceEvent.FLOW, part, 1)]
        rows += [(900, TraceEvent.BD_END, part, 1, 500), (900, TraceEvent.TASK_END, part, 1)]
    return record_of(rows, 1000)


def printed(record: RunRecord) -> str:
    text = StringIO()
    Console(file=text, width=100).print(table(summarise(record)))
    return text.getvalue()


def test_each_part_has_a_line_with_its_shares_and_bytes() -> None:
    by_name = {line.name: line for line in summarise(a_run()).lines}
    assert by_name["core (0, 2)"].busy == 0.25 and by_name["core (0, 2)"].waiting == 0.75
    assert by_name["mem (0, 1) S2MM 2"].moved_bytes == 2000
    assert by_name["mem (0, 1) S2MM 2"].busy == pytest.approx(0.5)


def test_causes_are_shares_of_all_waiting() -> None:
    shares = {phase.name: share for phase, share in summarise(a_run()).causes}
    assert shares == {"WORDS": pytest.approx(1200 / 1950), "LOCK": pytest.approx(750 / 1950)}


def test_the_text_leads_with_cycles_and_time() -> None:
    text = printed(a_run())
    assert text.startswith("1,000 cycles, 1 us at 1 GHz")
    assert "core (0, 2)" in text and "a lock" in text and "2,000" in text
    assert "waits by cause: words 62%, a lock 38%" in text


def test_many_parts_become_a_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_LINES", 3)
    by_name = {line.name: line for line in summarise(a_run()).lines}
    assert by_name.keys() == {"3 x mem S2MM", "core (0, 2)"}
    assert by_name["3 x mem S2MM"].moved_bytes == 6000


@pytest.mark.parametrize("seconds, text", [(2.0, "2 s"), (3.4e-3, "3.4 ms"), (7.927e-6, "7.93 us"), (5e-9, "5 ns")])
def test_durations_have_three_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text
