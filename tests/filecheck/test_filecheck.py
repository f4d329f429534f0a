"""Runs the RUN lines of every `.mlir` file here in this process: `tilewright` and `filecheck` are not started anew."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options

from tilewright.cli.main import main

HERE = Path(__file__).parent
RUN_LINE = re.compile(r"(?://|#)\s*RUN:\s*(.*)")


@dataclass
class Ended:
    """How a command ended and what it wrote."""

    status: int
    out: str
    err: str


@pytest.mark.parametrize("path", [pytest.param(p, id=str(p.relative_to(HERE))) for p in sorted(HERE.rglob("*.mlir"))])
def test_file(path: Path, tmp_path: Path) -> None:
    lines = run_lines(path.read_text(encoding="utf-8"))
    assert lines, "no RUN line"
    substitutions = {"%s": str(path), "%S": str(path.parent), "%t": str(tmp_path / "t"), "%T": str(tmp_path)}
    for line in lines:
        words = [re.sub(r"%[sStT]\b", lambda m: substitutions[m[0]], w) for w in split_words(line)]
        for pipeline in split_list(words, "&&"):
            ended = run_pipeline(pipeline)
            assert ended.status == 0, f"RUN: {line}\nended with {ended.status}\n{ended.err}\n{ended.out}"


def run_lines(text: str) -> list[str]:
    """The commands, those that end with a backslash joined with the next."""
    commands = list[str]()
    continued = False
    for found in RUN_LINE.findall(text):
        if continued:
            commands[-1] += found
        else:
            commands.append(found)
        continued = commands[-1].endswith("\\")
        commands[-1] = commands[-1].removesuffix("\\")
    return commands


def split_words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|")
    lexer.whitespace_split, lexer.commenters = True, ""
    return list(lexer)


def split_list(words: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def run_pipeline(words: list[str]) -> Ended:
    """Run commands joined by `|`; the first that fails decides the status."""
    piped, status, errors = "", 0, ""
    for command in split_list(words, "|"):
        ended = run_command([w for w in command if w != "2>&1"], piped)
        piped = ended.err + ended.out if "2>&1" in command else ended.out
        errors += ended.err
        status = status or ended.status
    return Ended(status, piped, errors)


def run_command(words: list[str], stdin: str) -> Ended:
    match words:
        case ["not", *rest]:
            ended = run_command(rest, stdin)
            return Ended(int(ended.status == 0), ended.out, ended.err)
        case ["tilewright", *arguments]:
            return capture(lambda: main(arguments), stdin)
        case ["filecheck" | "FileCheck", *_]:
            return capture(lambda: Matcher.from_opts(parse_argv_options(words)).run(), stdin)
        case [tool, *_] if shutil.which(tool):
            ended = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False)
            return Ended(ended.returncode, ended.stdout, ended.stderr)
        case _:
            pytest.skip(f"{words[0]} is not installed")


def capture(call: Callable[[], int], stdin: str) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    fake_stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    with redirect_stdout(out), redirect_stderr(err), patch("sys.stdin", fake_stdin):
        status = call()
    return Ended(status, out.getvalue(), err.getvalue())
