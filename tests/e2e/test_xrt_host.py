"""The C++ host of docs/examples/xrt_host, on a stand-in for XRT that runs our simulator.

Both choices, stored words and words made for the size at hand, give the NPU the same instructions and the right result.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import EXAMPLES, INCLUDE

import tilewright as tw
from tilewright.cli.main import main

FOLDER = EXAMPLES / "xrt_host"
STUB = Path(__file__).parents[1] / "xrt_stub"
FLAGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
EXECUTE = """
import sys
from pathlib import Path

import numpy as np

import tilewright as tw

design, folder = tw.load(sys.argv[1]), Path(sys.argv[2])
files = [folder / name for name in "012"]
arrays = [np.fromfile(file, kind) for file, kind in zip(files, (np.int16, np.int16, np.int32), strict=True)]
design.run(*arrays, 0, 0, 0, txn=np.fromfile(folder / "insts.bin", np.uint32))
arrays[2].tofile(files[2])
"""
"""What stands in for the NPU: the words and buffers of a folder, on the simulator."""
SIZES = ("32", "64", "32")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, and beside it the design."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    folder = tmp_path_factory.mktemp("xrt_host")
    assert main(["compile", str(FOLDER / "gemm.py"), "-o", str(folder)]) == 0
    sources = [str(FOLDER / "main.cpp"), f"-I{folder}", f"-I{INCLUDE}", f"-I{STUB}"]
    subprocess.run(["g++", *FLAGS, *sources, "-o", str(folder / "xrt_host")], check=True)
    return folder / "xrt_host"


def run(host: Path, work: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    execute = work / "execute.py"
    execute.write_text(EXECUTE)
    command = shlex.join([sys.executable, str(execute), str(host.parent)])
    environment = {**os.environ, "XRT_STUB_FOLDER": str(work), "XRT_STUB_RUN": command}
    return subprocess.run([host, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_both_choices_give_the_same_words_and_the_right_product(host: Path, tmp_path: Path) -> None:
    made = run(host, tmp_path, "gemm.xclbin", *SIZES)
    assert made.returncode == 0, made.stderr
    assert "(made here), 0 elements wrong" in made.stdout
    words = np.fromfile(tmp_path / "insts.bin", np.uint32)
    np.testing.assert_array_equal(words, tw.load(host.parent).txn(M=32, K=64, N=32))

    stored = tmp_path / "stored.bin"
    words.tofile(stored)
    again = run(host, tmp_path, "gemm.xclbin", *SIZES, "--insts", str(stored))
    assert again.returncode == 0, again.stderr
    assert "(stored), 0 elements wrong" in again.stdout
    np.testing.assert_array_equal(np.fromfile(tmp_path / "insts.bin", np.uint32), words)


def test_words_of_another_size_give_a_wrong_product(host: Path, tmp_path: Path) -> None:
    """So that the comparison above can fail: these words multiply half the depth."""
    stored = tmp_path / "stored.bin"
    tw.load(host.parent).txn(M=32, K=32, N=32).tofile(stored)
    wrong = run(host, tmp_path, "gemm.xclbin", *SIZES, "--insts", str(stored))
    assert wrong.returncode == 1 and " 0 elements wrong" not in wrong.stdout


@pytest.mark.parametrize(
    "arguments, status, text",
    [
        pytest.param(["x", "32", "33", "32"], 1, "multiples of 32", id="a size the design refuses"),
        pytest.param(["x", "32", "0", "32"], 2, "usage:", id="no size"),
        pytest.param(["x", "32", "32"], 2, "usage:", id="a size is missing"),
        pytest.param(["x", *SIZES, "--insts", "no such file"], 1, "cannot open no such file", id="no file"),
    ],
)
def test_complaints(host: Path, tmp_path: Path, arguments: list[str], status: int, text: str) -> None:
    refused = run(host, tmp_path, *arguments)
    assert refused.returncode == status and text in refused.stderr
    assert not (tmp_path / "insts.bin").exists()
