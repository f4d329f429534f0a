"""What the documents show can be pasted: commands print what is written there, programs run as they stand.

Blocks of `python` and `sh` are run from the top of a page to its end, in a folder that has `docs/examples`; those that
name a file are that file, or a part of it. Blocks of `console` show what a command prints; `make docs` brings them up
to date. Blocks of `text` are for looking at.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers import DOCS, EXAMPLES, ROOT

import tilewright.iron as iron
from tilewright.cli.main import main
from tilewright.iron.utils.compile.jit import design_cache

PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
CONSOLE = re.compile(r"```console\n\$ (tilewright .*)\n((?:(?!```).*\n)*)```\n")
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\| `(tilewright [^`]*)` \|", re.MULTILINE)
AS_AIE = "tilewright.as_aie"
RUN_NOTEBOOKS = runpy.run_path(str(DOCS / "notebooks.py"))
KNOWN = {"c", "cmake", "console", "cpp", "mlir", "python", "rust", "sh", "text", "toml"}
COMPILERS = "g++", "cc"
INSTALLATION = "python3 -m venv"
"""What a block has that needs a network; `.ci/run` carries it out."""


class Block(NamedTuple):
    kind: str
    file: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    return [Block(*found.groups("")) for found in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_console_blocks(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")

    def shown(block: re.Match[str]) -> str:
        main(shlex.split(block[1])[1:])
        out, err = capsys.readouterr()
        text = "\n".join(line.rstrip() for line in (out + err).rstrip().split("\n"))
        return f"```console\n$ {block[1]}\n{text}\n```\n"

    text = path.read_text(encoding="utf-8")
    current = CONSOLE.sub(shown, text)
    if "TILEWRIGHT_REFRESH_DOCS" in os.environ:
        path.write_text(current, encoding="utf-8")
        return
    assert current == text, f"{path.name} shows old output: make docs"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def workplace(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, where the `tilewright` of this interpreter is on PATH."""
    shutil.copytree(EXAMPLES, tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(cache))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_blocks_run_as_they_stand(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design_cache, "statistics", design_cache.Statistics())
    iron.set_current_device(None)
    monkeypatch.delitem(sys.modules, AS_AIE, raising=False)  # importing it is what serves `aie`
    try:
        _run_blocks(page, workplace)
    finally:
        if AS_AIE in sys.modules:
            sys.modules[AS_AIE].undo()


def _run_blocks(page: Path, workplace: Path) -> None:
    names: dict[str, Any] = {"__name__": page.stem}
    for number, block in enumerate(blocks_of(page)):
        assert block.kind in KNOWN, f"{page.name}: a block of {block.kind!r} is neither run nor known"
        if block.file and (ROOT / block.file).exists():
            assert stripped(block.text) in stripped((ROOT / block.file).read_text(encoding="utf-8")), block.text
        elif block.file:
            (workplace / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            source = workplace / f"{page.stem}_{number}.py"
            source.write_text(block.text, encoding="utf-8")
            exec(compile(block.text, str(source), "exec"), names)
        elif block.kind == "sh" and INSTALLATION not in block.text:
            paste(block.text)
    iron.set_current_device(None)
    if page.stem == "jit":
        assert design_cache.statistics.compiled == 3  # one for all counts; one dynamic, one specialized
    if page.stem == "patterns":
        drawn, shown = workplace / "tiles.svg", DOCS / "images" / "pattern-tiles.svg"
        assert drawn.read_text() == shown.read_text(), "the picture in the document is an old one"


def stripped(text: str) -> str:
    """Lines without what they are indented by, so that a part of a function is found."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def paste(text: str) -> None:
    """Have a shell run lines one after the other; the first that fails ends it. Our own commands need none."""
    commands = [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    # a program that is executed has the process to itself
    is_ours = all(words[0] == "tilewright" and words[1] != "exec" for words in commands)
    if is_ours and not any(set("|&;<>$") & set("".join(words)) for words in commands):
        for words in commands:
            assert main(words[1:]) == 0, words
        return
    for compiler in COMPILERS:
        if re.search(rf"^{re.escape(compiler)} ", text, re.MULTILINE) and shutil.which(compiler) is None:
            pytest.skip(f"there is no {compiler}")
    done = subprocess.run(["bash", "-euc", text], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
    assert "warning:" not in done.stderr, done.stderr


def test_commands_in_the_table_of_the_readme_can_be_pasted(workplace: Path) -> None:
    """From the first to the last, each as it stands; later ones use what earlier ones wrote."""
    commands = COMMAND.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {command.split()[1] for command in commands} >= {"compile", "run", "air", "opt", "txn", "show", "completion"}
    for command in commands:
        paste(command.replace("\\|", "|"))


def test_links_lead_somewhere() -> None:
    """Every link to a file of the project, and every picture."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.filterwarnings("ignore:worker 'forgetful'")
@pytest.mark.parametrize("path", RUN_NOTEBOOKS["NOTEBOOKS"], ids=lambda path: path.stem)
def test_notebooks_show_what_their_cells_do(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert RUN_NOTEBOOKS["executed"](text) == text, "make docs"
    cells = json.loads(text)["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert any(output for cell in cells for output in cell.get("outputs", ()))
