"""The commands that are not `opt`, and the command line around all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright
from tilewright.cli.main import COMMANDS, main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tilewright {tilewright.__version__}\n"


@pytest.mark.parametrize("arguments, status", [([], 2), (["--help"], 0), (["-h"], 0)])
def test_overview_names_every_command(capsys: pytest.CaptureFixture[str], arguments: list[str], status: int) -> None:
    assert main(arguments) == status
    out = capsys.readouterr().out
    assert all(f"  {name}" in out for name in COMMANDS)


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert "unknown command 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out


def test_config_names_the_include_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--include"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "aie" / "Runtime").is_dir()


def test_config_wants_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 2
    assert "usage: tilewright config" in capsys.readouterr().err
