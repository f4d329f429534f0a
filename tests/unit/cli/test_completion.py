"""Shells complete commands, tools, flags, values and passes; each script is read by its own shell."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

import pytest

from tilewright.cli.main import COMMANDS, main
from tilewright.passes import PASSES

BASH = """
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tilewright
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { }
_describe() { print -l -- ${(M)${(P)2}:#$words[CURRENT]*} }
_files() { print FILES }
compadd() { shift; print -l -- ${(M)@:#$words[CURRENT]*} }
SCRIPT
words=("$@") CURRENT=$#
_tilewright
"""


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    from contextlib import redirect_stdout
    from io import StringIO

    found = dict[str, str]()
    for shell in ("bash", "zsh", "fish"):
        with redirect_stdout(StringIO()) as text:
            assert main(["completion", shell]) == 0
        found[shell] = text.getvalue()
    return found


def completed(shell: str, script: str, words: Sequence[str]) -> set[str]:
    """What a shell offers for the last of some words."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    match shell:
        case "bash":
            command = ["bash", "-c", script + BASH, "bash", *words]
        case "zsh":
            command = ["zsh", "-fc", ZSH.replace("SCRIPT", script), "zsh", *words]
        case _:
            command = ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{' '.join(words)}'"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    separator = "\t" if shell == "fish" else ":" if shell == "zsh" else "\n"
    return {line.split(separator)[0] for line in done.stdout.splitlines() if line}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    "words, offered",
    [
        pytest.param(["co"], {"compile", "config", "completion"}, id="commands"),
        pytest.param(["txn", "d"], {"dis", "diff"}, id="tools of a command"),
        pytest.param(["run", "--re"], {"--report"}, id="flags"),
        pytest.param(["air", "run", "--ran"], {"--ranks"}, id="flags of a tool that is called as a command is"),
        pytest.param(["run", "x.mlir", "--model", ""], {"fast", "words", "plain", "python"}, id="values of a flag"),
        pytest.param(["opt", "--aie-dma-to"], {"--aie-dma-to-npu"}, id="passes"),
        pytest.param(["completion", ""], {"bash", "zsh", "fish"}, id="values of an argument"),
    ],
)
def test_offers(scripts: dict[str, str], shell: str, words: list[str], offered: set[str]) -> None:
    assert completed(shell, scripts[shell], ["tilewright", *words]) == offered


def test_every_command_and_every_pass_is_offered(scripts: dict[str, str]) -> None:
    assert completed("bash", scripts["bash"], ["tilewright", ""]) == set(COMMANDS)
    flags = completed("bash", scripts["bash"], ["tilewright", "opt", "--"])
    assert flags >= {f"--{name}" for name in PASSES}


@pytest.mark.parametrize(
    "arguments, meant",
    [
        pytest.param(["rnu"], "run", id="command"),
        pytest.param(["txn", "dsi", "x"], "dis", id="tool of txn"),
        pytest.param(["air", "rum", "x"], "run", id="tool of air"),
        pytest.param(["run", "x.mlir", "--reprot=y"], "--report", id="flag"),
        pytest.param(["air", "run", "x.mlir", "--backnd", "cuda"], "--backend", id="flag of a tool"),
        pytest.param(["compile", "x", "-o", "y", "--lint", "of"], "off", id="value"),
        pytest.param(["opt", "--canonicalise"], "--canonicalize", id="pass"),
        pytest.param(["completion", "bahs"], "bash", id="argument"),
    ],
)
def test_mistyped_words(arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert f"id you mean '{meant}'?" in capsys.readouterr().err


def test_nothing_is_guessed_where_nothing_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["xyzzy"]) == 2
    assert "did you mean" not in capsys.readouterr().err
