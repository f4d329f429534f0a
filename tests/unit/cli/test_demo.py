"""`tilewright demo`: several products from one build, checked, with a page about the largest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.cli.demo import _command_line
from tilewright.cli.main import main

SMALL = ["--device", "npu1", "--columns", "1", "--type", "i16"]


def test_products_of_several_sizes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    assert main(["demo", "128x64x64", "20x30x40", *SMALL, "--report", str(page)]) == 0
    out = capsys.readouterr().out
    assert out.count("yes") == 2 and "20x30x40 *" in out and "padded by the host" in out
    assert "how much of 128x64x64 each core computed" in out
    assert "<title>128x64x64 of i16" in page.read_text()


def test_the_last_line_is_one_to_paste(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It works in a fresh shell, whether or not this environment is active in it."""
    assert main(["demo", "128x32x32", *SMALL, "--report", str(tmp_path / "demo.html")]) == 0
    word, _, line = capsys.readouterr().out.splitlines()[-1].partition(": ")
    assert word == "next" and line.endswith("tilewright show")
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "vector_scale.mlir" in done.stdout, done.stderr


def test_an_environment_on_the_path_needs_no_activation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert _command_line("show") == "tilewright show"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert _command_line("show").endswith("/activate && tilewright show")


def test_numbers_for_machines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["demo", "128x32x32", *SMALL, "--json", "--report", str(tmp_path / "demo.html")]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["is_right"] and row["size"] == row["padded"] == "128x32x32"
    assert 0 < row["utilisation"] < 1 and row["words"] > 0


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["12x12"], "a size is MxKxN, such as 256x256x256, not '12x12'"),
        (["--device", "npu9"], "no device 'npu9'"),
        (["--columns", "9"], "npu2 has 8 columns; a product takes 1 to 8 of them"),
        (["--type", "f64"], "no product of 'f64'"),
    ],
)
def test_wrong_use(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", *arguments]) == 2
    assert complaint in capsys.readouterr().err
