"""The documents show what the commands print. `make docs` brings them up to date."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tilewright.cli.main import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```console\n\$ (tilewright .*)\n((?:(?!```).*\n)*)```\n")


@pytest.mark.parametrize("path", sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")]), ids=lambda path: path.name)
def test_console_blocks(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")

    def shown(block: re.Match[str]) -> str:
        main(shlex.split(block[1])[1:])
        out, err = capsys.readouterr()
        text = "\n".join(line.rstrip() for line in (out + err).rstrip().split("\n"))
        return f"```console\n$ {block[1]}\n{text}\n```\n"

    text = path.read_text(encoding="utf-8")
    current = BLOCK.sub(shown, text)
    if "TILEWRIGHT_REFRESH_DOCS" in os.environ:
        path.write_text(current, encoding="utf-8")
        return
    assert current == text, f"{path.name} shows old output: make docs"
