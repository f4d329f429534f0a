"""`tilewright translate`: binary output, what happens to files, wrong usage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright import txn
from tilewright.cli.main import main

PROGRAM = """
aie.device(npu1) {
  aie.runtime_sequence(%n: i32) {
    %one = arith.constant 1 : i32
    aiex.npu.write32(%one, VALUE) : i32, i32
  }
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM.replace("VALUE", "%one"))
    return path


def test_binary_is_little_endian_words(source: Path, tmp_path: Path):
    output = tmp_path / "words.bin"
    assert main(["translate", "--aie-npu-to-binary", str(source), "-o", str(output)]) == 0
    assert [op.address for op in txn.decode(output.read_bytes()).operations] == [1]


def test_a_failure_writes_nothing(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source.write_text(PROGRAM.replace("VALUE", "%n"))
    output, table = tmp_path / "words.bin", tmp_path / "map.json"
    output.write_text("what was there before")
    arguments = ["--aie-npu-to-binary", f"--aie-npu-emit-locmap={table}", str(source), "-o", str(output)]
    assert main(["translate", *arguments]) == 1
    assert output.read_text() == "what was there before" and not table.exists()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{source}:5:5: error: 'aiex.npu.write32' op Cannot translate write32" in captured.err


def test_table_beside_the_words(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "words.bin"
    assert main(["translate", "--loc", str(source), "-o", str(output)]) == 0
    assert len(output.read_bytes()) == 40
    assert capsys.readouterr().out.splitlines()[1].startswith("4-9")


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        pytest.param([], "say what to translate to", id="nothing"),
        pytest.param(["--aie-npu-to-cpp", "--aie-npu-to-binary"], "exclude each other", id="two"),
        pytest.param(["--aie-npu-to-cpp", "--loc"], "knows where words come from", id="no words"),
        pytest.param(["--aie-npu-to-binary", "--aie-output-binary=maybe"], "invalid value for boolean", id="boolean"),
        pytest.param(["--aie-npu-to-binary", "--aie-device-name"], "requires a value!", id="no value"),
        pytest.param(["--aie-npu-to-binary", "a.mlir", "b.mlir"], "Too many positional arguments", id="files"),
    ],
)
def test_wrong_usage(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]):
    assert main(["translate", *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_help_names_every_translation(capsys: pytest.CaptureFixture[str]):
    assert main(["translate", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"--{name} " in text for name in ("aie-npu-to-binary", "aie-npu-to-cpp", "mlir-to-cpp"))
