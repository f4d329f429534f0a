"""`tilewright run --xclbin`: a package and its instructions on the simulated NPU."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from xrt_packages import add_text, compiled, write_package

from tilewright.cli.main import main

VALUES = np.arange(64, dtype=np.int32)


@pytest.fixture
def package(tmp_path: Path) -> tuple[str, str]:
    np.save(tmp_path / "a.npy", VALUES.reshape(4, 16))
    return write_package(tmp_path, compiled(tmp_path, add_text(5)))


@pytest.mark.parametrize("as_text", [False, True], ids=["TXN binary", "hex text"])
def test_results_are_written_by_number(
    tmp_path: Path, package: tuple[str, str], as_text: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    xclbin, insts = package
    if as_text:
        words = np.fromfile(insts, np.uint32)
        Path(insts).write_text("".join(f"{word:08X}\n" for word in words))
    out = tmp_path / "out"
    given = ["--arg", f"0={tmp_path / 'a.npy'}", "--out", str(out), "--json"]
    assert main(["run", "--xclbin", xclbin, "--insts", insts, *given]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "finished"
    assert sorted(path.name for path in out.iterdir()) == ["0.npy", "1.npy"]
    assert (np.load(out / "1.npy").view(np.int32).reshape(-1) == VALUES + 5).all()
    assert (np.load(out / "0.npy") == VALUES.reshape(4, 16)).all()


def test_programs_of_cores_take_as_long_from_a_package_of_aiecc_as_from_the_design(
    tmp_path: Path, package: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """aiecc writes loops as branches, as upstream's does, but what packages carry of them is what they were."""
    monkeypatch.chdir(tmp_path)
    Path("design.mlir").write_text(add_text(5))
    names = ["--xclbin-name=aiecc.xclbin", "--npu-insts-name=aiecc.bin"]
    assert main(["aiecc", "--get-xclbin", "--get-npu-insts", *names, "design.mlir"]) == 0
    cycles = list[int]()
    for xclbin, insts in (package, ("aiecc.xclbin", "aiecc.bin")):
        capsys.readouterr()
        assert main(["run", "--xclbin", xclbin, "--insts", insts, "--arg", "0=a.npy", "--json"]) == 0
        cycles.append(json.loads(capsys.readouterr().out)["cycles"])
    assert cycles[0] == cycles[1]


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--xclbin", "X"], 2, "--insts FILE"),
        (["--insts", "I"], 2, "--insts needs --xclbin"),
        (["--xclbin", "X", "--insts", "I", "--set", "n=1"], 2, "--set needs a DESIGN"),
        (["--xclbin", "X", "--insts", "I", "--xclbin-kernel-name", "NONE"], 1, "No such kernel 'NONE'"),
        (["--xclbin", "I", "--insts", "I"], 1, "no xclbin"),
        (["--xclbin", "X", "--insts", "X"], 1, "error:"),
        (["--xclbin", "/nonexistent", "--insts", "I"], 1, "No such file"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    package: tuple[str, str], arguments: list[str], status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"X": package[0], "I": package[1]}
    assert main(["run", *(places.get(it, it) for it in arguments)]) == status
    said = capsys.readouterr().err
    assert text in said and "Traceback" not in said
