"""docs/clock.md shows what the clock gives now."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
sys.path.append(str(DOCS))
import clock


def test_tables_are_up_to_date() -> None:
    text = clock.PAGE.read_text(encoding="utf-8")
    assert clock.updated(text) == text, "make docs"
