"""`tilewright exec`: a program cannot tell it from `python`, but that `aie` is there; errors name its lines."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers import EXAMPLES, ROOT

from tilewright.cli.main import main

PROBE = """
import os, sys
print(__name__, __file__ if "__file__" in globals() else None, __package__, __spec__ and __spec__.name)
print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals(), sorted({*globals()} - {"__annotations__"}))
def typed(a: int): pass
print(typed.__annotations__, sys.stdin.read())
"""
ENDINGS = {
    "exit": "import sys; sys.exit(3)",
    "exit_none": "raise SystemExit",
    "exit_text": "import sys; print('out'); sys.exit('told why')",
    "error": "def divide(n):\n    return 1 / n\n\nprint('before', flush=True)\ndivide(0)",
    "caused": "try:\n    {}[1]\nexcept KeyError as error:\n    raise ValueError('no such thing') from error",
    "syntax": "x = = 1",
    "hook": "import sys\nsys.excepthook = lambda kind, error, trace: print('mine:', error)\nraise ValueError('x')",
    "at_exit": "import atexit\natexit.register(lambda: print(__name__, len(globals()) > 3))",
}


def command(*words: str, cwd: Path, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def both(*words: str, cwd: Path, stdin: str = "") -> list[tuple[int, str, str]]:
    """What Python and the command do with a program."""
    found = [command(*start, *words, cwd=cwd, stdin=stdin) for start in ((), ("-m", "tilewright", "exec"))]
    return [(done.returncode, done.stdout, done.stderr) for done in found]


@pytest.mark.parametrize(
    "words", ["probe.py -h --aie x", "./sub/../probe.py", "-m package.probe a -m b", "-", "zipped.zip 1"]
)
def test_a_program_is_run_as_python_runs_it(tmp_path: Path, words: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "package").mkdir()
    for path in ("probe.py", "package/probe.py", "package/__init__.py"):
        (tmp_path / path).write_text(PROBE if path.endswith("probe.py") else "")
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as file:
        file.writestr("__main__.py", PROBE)
    stdin = PROBE if words == "-" else "from stdin"
    python, ours = both(*words.split(), cwd=tmp_path, stdin=stdin)
    assert ours == python and python[0] == 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_as_it_does_with_python(tmp_path: Path, ending: str) -> None:
    """Status, output, and the traceback of an error of its own, to the letter."""
    (tmp_path / "program.py").write_text(ENDINGS[ending])
    python, ours = both("program.py", cwd=tmp_path)
    assert ours == python


def exec_(program: str, *arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (cwd / "program.py").write_text(program)
    return command("-m", "tilewright", "exec", *arguments, "program.py", cwd=cwd, **environment)


def test_an_error_in_a_design_is_one_message_at_the_programs_line(tmp_path: Path) -> None:
    program = """
import numpy as np
from aie.iron import ObjectFifo

fifo = ObjectFifo(np.ndarray[(16,), np.dtype[np.int32]], name="in")
fifo.set_iter_count(0)
"""
    done = exec_(program, cwd=tmp_path)
    path = tmp_path / "program.py"
    first, quoted, *_ = done.stderr.splitlines()
    assert first == f"{path}:6:1: error: ValueError: Iter count must be in [1, 256] range."
    assert quoted == "fifo.set_iter_count(0)" and "Traceback" not in done.stderr and done.returncode == 1


def test_an_error_without_a_place_gets_that_of_the_program(tmp_path: Path) -> None:
    done = exec_("import aie.iron as iron\nfrom aie.utils import config\nconfig.peano_cxx_path()\n", cwd=tmp_path)
    path = tmp_path / "program.py"
    assert done.stderr.startswith(f"{path}:3:1: error: Invalid Peano install directory: ")
    assert "Traceback" not in done.stderr and done.returncode == 1


def test_lines_of_ours_are_not_in_a_programs_traceback(tmp_path: Path) -> None:
    """A mistake in what it hands us ends at its line; an environment variable shows the rest."""
    program = "from aie.utils.ml import DataShaper\nDataShaper().reorder_mat('no array', 'RC')\n"
    done = exec_(program, cwd=tmp_path)
    assert "reorder_mat('no array'" in done.stderr and 'ml.py"' not in done.stderr and done.returncode == 1
    assert "raised inside tilewright, ml.py:" in done.stderr
    assert 'ml.py"' in exec_(program, cwd=tmp_path, TILEWRIGHT_TRACEBACK="1").stderr


def test_a_missing_name_is_told_at_the_programs_line(tmp_path: Path) -> None:
    done = exec_("from aie.iron import Nothing\n", cwd=tmp_path)
    assert done.stderr.splitlines()[1:] == [
        f'  File "{tmp_path / "program.py"}", line 1, in <module>',
        "    from aie.iron import Nothing",
        "ImportError: tilewright has no 'aie.iron.Nothing', and does not know it as a name of mlir-aie",
    ]


def test_a_program_for_mlir_aie_runs_its_design(tmp_path: Path) -> None:
    program = str(EXAMPLES / "add_number.py")
    done = command("-m", "tilewright", "exec", program, "--size", "128", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "PASS!\n", "")


def test_the_installed_package_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "aie").mkdir()
    (tmp_path / "aie" / "__init__.py").write_text("whose = 'installed'\n")
    paths = os.pathsep.join([str(ROOT), str(tmp_path)])
    program = "import aie; print(getattr(aie, 'whose', 'ours'))"
    outs = [
        exec_(program, *flags, cwd=tmp_path, PYTHONPATH=paths, TILEWRIGHT_AIE=variable).stdout
        for flags, variable in [
            ((), ""),
            (("--aie=installed",), ""),
            ((), "installed"),
            (("--aie", "tilewright"), "installed"),
        ]
    ]
    assert outs == ["ours\n", "installed\n", "installed\n", "ours\n"]


@pytest.mark.parametrize(
    "words, status, text",
    [
        ([], 2, "exec needs a program: SCRIPT.py or -m MODULE"),
        (["nowhere.py"], 2, "can't open file 'nowhere.py': No such file or directory"),
        (["nowhere.zip"], 2, "can't open file 'nowhere.zip'"),
        (["--ai=x", "program.py"], 2, "--aie"),
        (["-m", "no_such_module"], 1, "No module named no_such_module"),
        (["-m", "no_such.module"], 1, "No module named no_such.module"),
        (["--aie=installed", "program.py"], 2, "mlir-aie is not installed"),
    ],
)
def test_wrong_usage_is_told_in_a_line(tmp_path: Path, words: list[str], status: int, text: str) -> None:
    done = command("-m", "tilewright", "exec", *words, cwd=tmp_path, TILEWRIGHT_AIE="")
    assert done.returncode == status and text in done.stderr and "Traceback" not in done.stderr


def test_help_is_of_the_command_only_in_front_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", "--help"]) == 0
    out = capsys.readouterr().out
    assert "SCRIPT.py" in out and "-m MODULE" in out and "--aie" in out and "docs/exec.md" in out
