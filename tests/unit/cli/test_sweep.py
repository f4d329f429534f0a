"""`tilewright sweep`: files in, a table, a page and a command line out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import EXAMPLES

from tilewright.cli.main import main

TOML = """
design = "program.py"
objective = ["time", "l1_bytes"]
constraints = ["l1_bytes <= 65536"]

[parameters]
tile = [64, 256, 8192]
depth = 2
columns = 1
count = 8192
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def program(folder: Path) -> Path:
    text = (EXAMPLES / "add_tiles.py").read_text(encoding="utf-8")
    path = folder / "program.py"
    path.write_text(text[: text.index("def check(")], encoding="utf-8")
    return path


def test_toml(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(folder)
    (folder / "tiles.toml").write_text(TOML)
    assert main(["sweep", "tiles.toml", "--jobs", "0", "--reports", "front"]) == 0
    out = capsys.readouterr().out
    assert "3 points in" in out and "2 ok, 1 pruned" in out and "1 x pruned: constraint: l1_bytes <= 65536" in out
    found = json.loads((folder / "tiles.sweep" / "table.json").read_text())
    best = found["best"]
    assert best["command"] in out and found["counts"] == {"ok": 2, "pruned": 1}
    page = (folder / "tiles.sweep" / "index.html").read_text()
    assert all((folder / "tiles.sweep" / row["report"]).exists() for row in found["rows"] if "report" in row)
    assert f'href="{best["report"]}"' in page
    # nothing is computed again, and the command line of the best point runs that one alone
    assert main(["sweep", "tiles.toml", "--jobs", "0"]) == 0
    assert "3 of them known from the journal" in capsys.readouterr().out
    assert main([*best["command"].split()[1:], "--jobs", "0", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["points"] == 1 and again["best"]["fields"] == best["fields"]


def test_python_with_parameters_of_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = program(folder)
    flags = ["--set", "tile=64:193:64", "--set", "depth=2", "--set", "columns=1", "--set", "count=384"]
    chosen = ["--search", "random", "--samples", "2", "--seed", "3", "--column", "rate=count/time", "--field", "busy"]
    assert main(["sweep", str(path), *flags, *chosen, "--objective=-rate", "--json", "--jobs", "0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["points"] == 2 and all({"rate", "busy"} <= row["fields"].keys() for row in found["rows"])


def test_mlir_runs_as_a_program_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo = Path(__file__).parents[3] / "tilewright" / "demos" / "vector_scale.mlir"
    assert main(["sweep", str(demo), "--set", "factor=2,3", "--arg", "a=arange", "--json", "--jobs", "0"]) == 0
    command = json.loads(capsys.readouterr().out)["best"]["command"]
    assert command == f"tilewright run {demo} --set factor=2 --arg a=arange --report point-0.html"
    assert main(command.split()[1:]) == 0 and (folder / "point-0.html").exists()


@pytest.mark.parametrize(
    "text, message",
    [
        ("x =", "error: Invalid value"),
        ('desing = "a"', "nothing is called 'desing' in a sweep, did you mean 'design'?"),
        ("design = 3", "design is a text, not 3"),
        ('design = "a.mlir"', "a sweep says its parameters"),
        ('design = "a.mlir"\n[parameters]\nn = 1', "cannot open"),
        ('design = "os:nothing"\n[parameters]\nn = 1', "there is no os:nothing"),
        ('design = "no_such_module:x"\n[parameters]\nn = 1', "no_such_module"),
        (TOML.replace("time", "time +"), "'time +' is no expression"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_message(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    program(folder)
    (folder / "s.toml").write_text(text)
    assert main(["sweep", "s.toml", "--jobs", "0"]) in (1, 2)
    err = capsys.readouterr().err
    assert message in err and "Traceback" not in err and "internal error" not in err


def test_wrong_flags(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(program(folder))
    for words, message in (
        (["missing.toml"], "cannot open input file"),
        ([path], "has parameters"),
        ([path, "--set", "tile"], "--set takes NAME=VALUE"),
        ([path, "--set", "tile=5:1"], "there is nothing in 5:1"),
        ([path, "--set", "tile=1", "--set", "tyle=1", "--set", "depth=1", "--set", "columns=1"], "the parameter tyle"),
        ([path, "--set", "tile=1", "--field", "bussy"], "did you mean 'busy'"),
    ):
        assert main(["sweep", *words, "--jobs", "0"]) in (1, 2)
        assert message in capsys.readouterr().err


def test_a_sweep_without_a_good_point_has_status_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(EXAMPLES / "rows.mlir"), "--set", "rows=4", "--set", "columns=3,5", "--jobs", "0"]) == 1
    assert "2 x hang: " in capsys.readouterr().out


def test_fields_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "any.toml", "--field", "help"]) == 0
    assert "l1_bytes" in capsys.readouterr().out
