"""docs/clock.md shows what the clock gives now."""

from __future__ import annotations

import runpy

from helpers import DOCS


def test_tables_are_up_to_date() -> None:
    text = (DOCS / "clock.md").read_text(encoding="utf-8")
    updated = runpy.run_path(str(DOCS / "clock.py"))["updated"]
    assert updated(text) == text, "make docs"
