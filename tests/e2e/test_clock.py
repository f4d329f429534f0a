"""The clock against what was measured on devices: docs/clock.md, row by row, and what is claimed of groups of rows."""

from __future__ import annotations

import runpy
from statistics import median
from typing import Any

import pytest
from helpers import DOCS

import tilewright as tw
from tilewright.device.timing import TIME_ERROR_PERCENT

CLOCK: dict[str, Any] = runpy.run_path(str(DOCS / "clock.py"))
POINTS: list[Any] = CLOCK["points"]()
WITHIN: dict[str, float] = {
    "df-bw, 4 columns": 3,
    "tokens, 1 column": 15,
    "tokens, 4 columns": 15,
    "copy, 8 columns": 5,
    "copy, 8 columns, AxCache 0": 5,
    "span of 8 reads": 20,
    "span of 8 writes": 20,
}
"""Per cent."""


def bound(point: Any) -> float:
    """How far off a row may be: products 12 %, chains a third; short transfers vary by as much themselves."""
    if point.name in WITHIN:
        return WITHIN[point.name]
    if point.unit == "MAC/cycle":
        return 1 if point.fitted else 12
    return 75 if point.name.startswith(("read", "write")) and words_of(point) < 2048 else 35


def words_of(point: Any) -> int:
    """The words of a single transfer; those of chains are short."""
    return int(point.name.split()[2].replace(",", "")) if point.name.endswith(" words") else CLOCK["CHAIN_WORDS"]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_row(point: Any) -> None:
    assert abs(point.error) <= bound(point)


def errors(prefixes: tuple[str, ...], least_words: int) -> list[float]:
    found = [point for point in POINTS if point.name.startswith(prefixes) and point.name.endswith(" words")]
    return [abs(point.error) for point in found if words_of(point) >= least_words]


def test_long_transfers() -> None:
    assert median(errors(("read of", "write of"), 512)) < 15


def test_tiles_that_were_not_fitted() -> None:
    found = [abs(point.error) for point in POINTS if point.unit == "MAC/cycle" and not point.fitted]
    assert len(found) == 8 and median(found) <= 3


def test_half_of_the_rows_are_predictions() -> None:
    assert 2 * len(CLOCK["predictions"]()) >= len(POINTS)


def test_error_of_times() -> None:
    assert CLOCK["time_error_percent"](point.error for point in CLOCK["predictions"]()) == TIME_ERROR_PERCENT
    result = tw.RunResult(CLOCK["run_stream"](CLOCK["DeviceName"].npu2_4col, [tw.txn.write(0x1D000, 1)], 16).record)
    assert result.time_error == pytest.approx(result.time * TIME_ERROR_PERCENT / 100)
