"""The playground: its programs run from what the site carries, as in a browser, where there is no LLVM."""

from __future__ import annotations

import io
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from helpers import DOCS, ROOT

HOOKS = runpy.run_path(str(DOCS / "site_hooks.py"))
AS_IN_A_BROWSER = """
import json, sys
sys.modules["llvmlite"] = None
sys.path.insert(0, sys.argv[1])
import cell, tilewright
assert tilewright.__file__.startswith(sys.argv[1])
print(json.dumps([json.loads(cell.show(program)) for program in json.load(sys.stdin)]))
"""
PYODIDE = os.environ.get("TILEWRIGHT_PYODIDE", "")
"""A folder with Pyodide: its package of npm, or all of its distribution."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a browser unpacks."""
    folder = tmp_path_factory.mktemp("playground")
    ZipFile(io.BytesIO(HOOKS["playground_archive"]())).extractall(folder)
    return folder


def shown(unpacked: Path, *programs: str) -> list[list[dict[str, str]]]:
    """What programs show, one after the other in one process, each by itself."""
    command = [sys.executable, "-W", "ignore", "-c", AS_IN_A_BROWSER, str(unpacked)]
    done = subprocess.run(command, input=json.dumps(programs), capture_output=True, text=True, check=True, cwd=unpacked)
    return json.loads(done.stdout)


def test_programs_run_and_a_hang_is_explained(unpacked: Path) -> None:
    programs: list[dict[str, str]] = json.loads(HOOKS["playground_programs"]())
    assert all(0 < len(program["title"]) < 90 for program in programs)
    first, hang, sizes, mlir = shown(unpacked, *(program["source"] for program in programs))
    assert first[0]["text"].startswith("right [1 2 3 4") and "cycles" in first[1]["html"]
    assert "most likely cause: nothing releases lock" in hang[0]["text"] and "not finished" not in hang[1]["html"]
    assert sizes[0]["text"].count(" words, ") == 3 and "core (0, 2)" in sizes[1]["html"]
    assert ": error: hang: " in mlir[0]["error"] and "Traceback" not in mlir[0]["error"]


def test_mistakes_are_shown_at_their_line(unpacked: Path) -> None:
    syntax, name, endless, quiet = shown(unpacked, "x = (", "a = 1\nb = a + c", "raise SystemExit(3)", "x = 1")
    assert 'File "cell 1", line 1' in syntax[0]["error"] and "SyntaxError" in syntax[0]["error"]
    assert 'File "cell 1", line 2' in name[0]["error"] and "'c' is not defined" in name[0]["error"]
    assert "SystemExit: 3" in endless[0]["error"] and quiet == []


def test_the_archive_is_the_same_each_time() -> None:
    assert HOOKS["playground_archive"]() == HOOKS["playground_archive"]()


@pytest.mark.skipif(
    not PYODIDE or shutil.which("node") is None, reason="needs Node, and TILEWRIGHT_PYODIDE=node_modules/pyodide"
)
def test_in_pyodide(tmp_path: Path) -> None:
    """Without NumPy for it, which the package of npm has not, passes run; with it, the program that hangs."""
    (tmp_path / "tilewright.zip").write_bytes(HOOKS["playground_archive"]())
    packages = tmp_path / "packages"
    wanted = [HOOKS["xdsl_requirement"](), "rich"]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages), *wanted]
    subprocess.run(install, check=True, capture_output=True)
    has_numpy = any(Path(PYODIDE).glob("numpy-*.whl"))
    program = tmp_path / "program.py"
    hang = (DOCS / "playground" / "programs" / "2_hang.py").read_text(encoding="utf-8")
    text = (DOCS / "examples" / "forgotten_consumer.mlir").read_text(encoding="utf-8")
    passes = f"""
from pathlib import Path
from tilewright.cli.main import main
_ = Path("a.mlir").write_text({text!r})
main(["opt", "a.mlir", "--aie-objectFifo-stateful-transform", "--aie-create-pathfinder-flows"])
"""
    program.write_text(hang if has_numpy else passes, encoding="utf-8")
    command = ["node", str(ROOT / "tests" / "playground.mjs"), PYODIDE, "tilewright.zip", "packages", "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    (first, *_) = json.loads(done.stdout.splitlines()[-1])
    found: Any = first.get("text", first)
    assert "most likely cause" in found if has_numpy else "aie.memtile_dma" in found and "aie.switchbox" in found
