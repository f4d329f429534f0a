"""docs/gemm.md shows products that are planned as they are now, near their bounds, and right."""

from __future__ import annotations

import re
import runpy
from typing import Any

import pytest
from helpers import DOCS

GEMM: dict[str, Any] = runpy.run_path(str(DOCS / "gemm.py"))
LINES = GEMM["TABLE"].search((DOCS / "gemm.md").read_text(encoding="utf-8"))[0].splitlines()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES[3:-1]]


@pytest.mark.parametrize("number, product", [*enumerate(GEMM["ALL"])], ids=lambda given: str(given))
def test_a_row_is_of_the_plan(number: int, product: tuple[str, str]) -> None:
    """What takes minutes, the run itself, is not repeated: `python docs/gemm.py` does that."""
    row, planned = ROWS[number], GEMM["planned"](*product, GEMM["SIZE"])
    shown = GEMM["plan_cells"](*product, planned)
    assert row[: len(shown)] == shown
    time, over_bound, prediction = (float(re.sub("[,%]", "", cell)) for cell in row[7:10])
    assert over_bound <= 6 and abs(prediction) <= 5 and row[-1] == "yes"
    bound = float(row[5].replace(",", ""))
    assert time / bound - 1 == pytest.approx(over_bound / 100, abs=1e-3)
    assert planned.seconds * 1e6 / time - 1 == pytest.approx(prediction / 100, abs=1e-3)


def test_every_product_has_a_row() -> None:
    assert len(ROWS) == len(GEMM["ALL"])
