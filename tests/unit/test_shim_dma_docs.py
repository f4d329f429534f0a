"""docs/shim_dma.md shows what the simulator gives now: of its ten programs one is run here, all by `make docs`."""

from __future__ import annotations

import runpy

from helpers import DOCS


def test_a_row_is_up_to_date() -> None:
    text = (DOCS / "shim_dma.md").read_text(encoding="utf-8")
    row = runpy.run_path(str(DOCS / "shim_dma.py"))["row"]
    assert row(1) in text, "make docs"
