"""Python files as designs: which program of a file is meant, and what is said about files with mistakes."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli.main import main

PROGRAM = """
import numpy as np
from tilewright.iron import ObjectFifo, Program, Runtime
from tilewright.iron.device import NPU1Col1

line = np.ndarray[(64,), np.dtype[np.int32]]

def make(name="in"):
    of_in = ObjectFifo(line, name=name)
    of_out = of_in.cons().forward()

    def sequence(a, b, source, target):
        source.fill(a)
        target.drain(b, wait=True)

    return Program(NPU1Col1(), Runtime(sequence, [line, line, of_in.prod(), of_out.cons()]))
"""
PLACED = """
from tilewright.iron.dialects.aie import *
from tilewright.iron.extras.context import mlir_mod_ctx

def build():
    with mlir_mod_ctx() as ctx:
        @device(AIEDevice.npu1_1col)
        def body():
            tile(0, 2)
        print(ctx.module)
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str) -> str:
        path = tmp_path / "design.py"
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.parametrize(
    "ending, entry",
    [
        pytest.param("program = make()", [], id="the only program"),
        pytest.param("one, two = make(), make()", ["--entry", "two"], id="one of two"),
        pytest.param("", ["--entry", "make"], id="a function that makes it"),
        pytest.param("module = make().resolve_program()", [], id="as MLIR"),
        pytest.param("print(make().resolve_program())", [], id="printed"),
        pytest.param(
            "if __name__ == '__main__': print(make().resolve_program())", ["--entry", "__main__"], id="a script"
        ),
    ],
)
def test_which_program(write, tmp_path: Path, capsys, ending: str, entry: list[str]):
    assert main(["compile", write(PROGRAM + ending), *entry, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "sequence.insts.bin").is_file()
    assert "aie.device" not in capsys.readouterr().out


@pytest.mark.parametrize("ending, entry", [("build()", []), ("", ["--entry", "__main__"]), ("", ["--entry", "nobody"])])
def test_placed_programs(write, tmp_path: Path, ending: str, entry: list[str]):
    status = main(["compile", write(PLACED + ending), *entry, "-o", str(tmp_path / "out")])
    assert status == (0 if ending else 1)


def test_tw_compile_takes_a_file(write):
    assert tw.compile(write(PROGRAM + "program = make()")).sequences == ["sequence"]


@pytest.mark.parametrize(
    "text, place, complaint",
    [
        pytest.param("x = (", "1:5", "SyntaxError: '(' was never closed", id="no Python"),
        pytest.param("\nx = 1 / 0", "2:5", "ZeroDivisionError: division by zero", id="an exception"),
        pytest.param("import sys\nsys.exit(3)", "2:1", "SystemExit: 3", id="an exit"),
        pytest.param("x = 1", "1:1", "this file defines no program", id="nothing"),
        pytest.param(
            PROGRAM + "a, b = make(), make()", "1:1", "this file defines several programs: a, b", id="too much"
        ),
        pytest.param(
            PROGRAM + "make(depth=0)", "17:1", "TypeError: make() got an unexpected keyword", id="a wrong call"
        ),
    ],
)
def test_files_with_mistakes(write, tmp_path: Path, capsys, text: str, place: str, complaint: str):
    path = write(text)
    assert main(["compile", path, "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{path}:{place}: error: {complaint}")


def test_a_mistake_in_the_program_is_shown_with_its_line(write, tmp_path: Path, capsys):
    path = write(
        "import numpy as np\nfrom tilewright.iron import ObjectFifo\n"
        "fifo = ObjectFifo(np.ndarray[(64,), np.dtype[np.int32]], depth=0)\n"
    )
    assert main(["run", path]) == 1
    error = capsys.readouterr().err.splitlines()
    assert error[0] == f"{path}:3:8: error: Default ObjectFifo depth must be > 0, but got 0"
    assert error[1] == "fifo = ObjectFifo(np.ndarray[(64,), np.dtype[np.int32]], depth=0)"


def test_what_cannot_be_compiled():
    with pytest.raises(TypeError, match="cannot compile int: give a path, MLIR text, a Program"):
        tw.compile(3)


def test_entry_is_for_python(tmp_path: Path, capsys):
    assert main(["compile", "docs/examples/rows.mlir", "--entry", "x", "-o", str(tmp_path)]) == 2
    assert "--entry is for files of Python" in capsys.readouterr().err


def test_threads_may_load_scripts_at_the_same_time(tmp_path: Path) -> None:
    paths = [tmp_path / f"design{number}.py" for number in range(4)]
    for path in paths:
        path.write_text(f"import time\n{PLACED}\ntime.sleep(0.02)\nbuild()\ntime.sleep(0.02)\n")
    before = sys.stdout, sys.argv, sys.path[:]
    with ThreadPoolExecutor(4) as pool:
        designs = list(pool.map(tw.compile, paths))
    assert len(designs) == 4, "each has the module of its own script"
    assert (sys.stdout, sys.argv, sys.path) == before
