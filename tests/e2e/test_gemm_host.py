"""The C++ host of docs/examples/gemm_host, built and run: it writes the words that the Python side gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers import EXAMPLES, INCLUDE

import tilewright as tw
from tilewright.cli.main import main

FOLDER = EXAMPLES / "gemm_host"
FLAGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_host_program_makes_the_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(FOLDER / "gemm.py"), "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    host, design = tmp_path / "gemm_host", tw.load(tmp_path)
    sources = [str(FOLDER / "main.cpp"), f"-I{tmp_path}", f"-I{INCLUDE}"]
    subprocess.run(["g++", *FLAGS, *sources, "-o", str(host)], check=True)
    for m, k, n in [(128, 32, 128), (512, 256, 384), (384, 992, 128 * 70), (500, 64, 1002)]:
        words = tmp_path / "insts.bin"
        subprocess.run([host, str(m), str(k), str(n), words], check=True, capture_output=True)
        np.testing.assert_array_equal(np.fromfile(words, np.uint32), design.txn(M=m, K=k, N=n))
    for sizes in (["128", "33", "128"], ["128", "-32", "128"], ["1e3", "32", "128"]):
        refused = subprocess.run([host, *sizes, tmp_path / "none"], capture_output=True, text=True, check=False)
        assert refused.returncode == 1 and "sizes are at least 128, 32 and 128" in refused.stderr
    assert not (tmp_path / "none").exists()
