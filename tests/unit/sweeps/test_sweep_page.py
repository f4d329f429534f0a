"""The page, the table and the files of a sweep."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import find_browser, open_browser

from tilewright.sweeps import Status, Sweep, SweepResult, SweepRow
from tilewright.sweeps.page import Axis, sweep_html

HOSTILE = '<script>alert("x")</script>'


def result(count: int = 40, **settings: Any) -> SweepResult:
    sweep = Sweep(HOSTILE + "\n{", {"m": range(count), "kind": ["i8", HOSTILE]}, ["time", "l1_bytes"], **settings)
    rows = list[SweepRow]()
    for number in range(len(sweep.space)):
        point = sweep.space[number]
        m = int(str(point.values["m"]))
        if number % 7 == 3:
            rows.append(SweepRow(number, point.values, Status.HANG, reason=f"=waits for {HOSTILE}"))
        else:
            fields = {"cycles": 1000 + m * m, "time": 1e-6 * (1000 + m * m), "l1_bytes": 40_000 - 7 * m}
            rows.append(SweepRow(number, point.values, Status.OK, fields, report=f"reports/{number}.html"))
    return SweepResult.of(sweep, rows, None)


class Seen(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.tags, self.links, self.points = list[str](), list[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.links += [given["href"]] if tag == "a" else []
        self.points |= {given["data-point"]} if "data-point" in given else set()


def test_every_point_is_drawn_and_linked_to_its_report() -> None:
    found = result()
    page = Seen(sweep_html(found))
    ok = [row for row in found if row.is_ok]
    assert {row.report for row in ok} <= set(page.links)
    assert page.tags.count("circle") >= len(ok) and page.points == {str(row.number) for row in found}
    assert page.tags.count("polyline") > len(ok)  # a line each, and fronts


def test_what_comes_from_outside_is_text() -> None:
    assert sweep_html(result()).count("<script>alert") == 0


def test_a_page_without_a_good_point_says_why() -> None:
    found = result(1)
    bad = SweepResult.of(found.sweep, [SweepRow(0, found.sweep.space[0].values, Status.ERROR, reason="no room")], None)
    page = sweep_html(bad)
    assert "no room" in page and "<circle" not in page and bad.best is None and bad.command is None


def test_tables(tmp_path: Path) -> None:
    found = result()
    rows = list(csv.DictReader(found.to_csv(tmp_path / "t.csv").splitlines()))
    assert len(rows) == 80 and rows[0]["cycles"] == "1000" and rows[3]["status"] == "hang"
    assert rows[3]["reason"].startswith("'=")  # sheets would take it for a formula
    data = json.loads(found.to_json(tmp_path / "t.json"))
    assert data["best"]["point"] == 0 and data["counts"]["hang"] == sum(not row.is_ok for row in found)
    assert (tmp_path / "t.csv").read_text() == found.to_csv() and json.loads((tmp_path / "t.json").read_text()) == data


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: no Parquet")
    found = result()
    found.to_parquet(tmp_path / "t.parquet")
    table = parquet.read_table(tmp_path / "t.parquet").to_pydict()
    assert list(table) == list(found.headings) and table["cycles"][0] == 1000 and table["cycles"][3] is None


@pytest.mark.parametrize(
    "values, ticks",
    [
        ([1, 2, 4], ["1", "2", "4"]),
        (["b", "a", "b"], ["b", "a"]),
        ([5], ["5"]),
        ([0.0, 0.25], ["0", "0.25"]),
        (range(0, 1000, 7), ["0", "200", "400", "600", "800", "1,000"]),
    ],
)
def test_axes_have_round_numbers(values: Any, ticks: list[str]) -> None:
    axis = Axis("x", list(values))
    assert [said for _, said in axis.ticks] == ticks
    assert all(0 <= place <= 1 for place, _ in axis.ticks) and all(0 <= axis.place(value) <= 1 for value in values)


def test_a_result_is_short_in_a_terminal_and_a_notebook() -> None:
    found = result()
    assert len(repr(found)) < 300 and "<script" not in found._repr_html_() and len(found._repr_html_()) < 30_000


def test_the_page_works_in_a_browser(tmp_path: Path) -> None:
    if find_browser() is None:
        pytest.skip("there is no Chromium")
    path = result().page(tmp_path / "index.html")
    with open_browser() as page:
        page.open(path)
        assert page.evaluate("document.querySelectorAll('figure.plot:not([hidden])').length") == 1
        page.evaluate("(() => { const a = document.getElementById('across'); a.value = 1; "
                      "a.dispatchEvent(new Event('change')); })()")  # fmt: skip
        assert page.evaluate("document.querySelectorAll('figure.plot')[1].hidden") is False
        page.evaluate("document.querySelector('[data-point=\"5\"]').dispatchEvent(new Event('mouseenter'))")
        assert page.evaluate("document.querySelectorAll('.lit').length") > 3
        assert not page.complaints
    assert not re.search(r'(src|href)="https?:', path.read_text())
