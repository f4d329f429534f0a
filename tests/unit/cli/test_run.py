"""`tilewright run`: a design on the simulated NPU, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from programs import COPY

from tilewright.cli.demo import SHIPPED
from tilewright.cli.main import main

DESIGN = COPY.replace(
    "BODY\n",
    """\
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
""",
)


@pytest.fixture
def copy(tmp_path: Path) -> str:
    path = tmp_path / "copy.mlir"
    path.write_text(DESIGN)
    return str(path)


def test_a_scalar_reaches_the_cores_of_the_shipped_design(tmp_path: Path) -> None:
    arguments = ["--arg", "a=arange", "--set", "factor=3", "--out", str(tmp_path)]
    assert main(["run", str(SHIPPED), *arguments]) == 0
    assert np.array_equal(np.load(tmp_path / "c.npy"), 3 * np.arange(4096))


def test_files_go_in_and_out(copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = np.random.default_rng(1).integers(0, 1 << 30, 64, dtype=np.int32)
    np.save(tmp_path / "in.npy", values)
    assert main(["run", copy, "--arg", f"a={tmp_path / 'in.npy'}", "--out", str(tmp_path / "out"), "--json"]) == 0
    assert np.array_equal(np.load(tmp_path / "out" / "b.npy"), values)
    report = json.loads(capsys.readouterr().out)
    assert report["cycles"] > 64 and report["buffers"] == ["a", "b"]


def test_a_hang_says_who_waits_for_what(copy: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(copy).write_text(DESIGN.replace("%b[0, 0, 0, 0][1, 1, 1, 64]", "%b[0, 0, 0, 0][1, 1, 2, 32]").replace(
        "%a[0, 0, 0, 0][1, 1, 1, 64]", "%a[0, 0, 0, 0][1, 1, 1, 48]"))  # fmt: skip
    assert main(["run", copy]) == 1
    error = capsys.readouterr().err
    assert f"{copy}:10:5: error: hang: the controller waits for a token of S2MM 0 of tile (0, 0)" in error
    assert f"{copy}:9:5: " in error and "BD 1 on S2MM 0 of tile (0, 0) needs a word" in error


@pytest.mark.parametrize(
    "arguments, message",
    [
        pytest.param(["--arg", "c=zeros"], "no such argument: c; there is a, b", id="unknown buffer"),
        pytest.param(["--arg", "a=ones"], "'ones' is none of zeros, arange", id="unknown spec"),
        pytest.param(["--set", "a=3"], "no such argument: a; there is none", id="a buffer is no scalar"),
        pytest.param(["--sequence", "move"], "no runtime sequence 'move'; there is copy", id="unknown sequence"),
        pytest.param(["--arg", "a"], "takes NAME=VALUE", id="no value"),
    ],
)
def test_wrong_usage(copy: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", copy, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_array_that_is_too_small_is_refused(copy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "small.npy", np.zeros(8, dtype=np.int32))
    assert main(["run", copy, "--arg", f"a={tmp_path / 'small.npy'}"]) == 1
    assert "a has 32 bytes, its type memref<64xi32> needs 256" in capsys.readouterr().err
