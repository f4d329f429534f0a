"""The Python in the documents runs as it stands there, from the top of a page to its end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tilewright.iron as iron
from tilewright.iron.utils.compile.jit import design_cache

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", ["jit", "kernels", "patterns"])
def test_python_blocks(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(design_cache, "statistics", design_cache.Statistics())
    iron.set_current_device(None)
    program = tmp_path / f"{page}.py"
    program.write_text("\n".join(BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))), encoding="utf-8")
    names: dict[str, Any] = {"__name__": page}
    exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), names)
    iron.set_current_device(None)
    if page == "jit":
        assert design_cache.statistics.compiled == 1
    if page == "patterns":
        drawn, shown = tmp_path / "tiles.svg", DOCS / "images" / "pattern-tiles.svg"
        assert drawn.read_text() == shown.read_text(), "the picture in the document is an old one"
