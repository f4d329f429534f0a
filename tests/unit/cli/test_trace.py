"""`tilewright trace`: what trace units recorded, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tilewright.cli.main import main

DESIGN = """
aie.device(npu1_1col) {
  aie.runtime_sequence @sequence() {
    %events = arith.constant 213216 : i32
    %numbers = arith.constant 8737 : i32
    aiex.npu.write32(%events, %numbers) {column = 0 : i32, row = 2 : i32} : i32, i32
  }
}
"""
WORDS = [0x00020003, 0xF0000000, 0, 0x00E31FFE, *[0xFEFEFEFE] * 4, *[0] * 8]


@pytest.fixture
def design(tmp_path: Path) -> Path:
    path = tmp_path / "design.mlir"
    path.write_text(DESIGN)
    return path


def write(path: Path, form: str) -> None:
    words = np.array(WORDS, np.uint32)
    match form:
        case "hex":
            path.write_text("\n".join(f"{word:08x}" for word in WORDS))
        case "bytes":
            words.tofile(path)
        case _:
            with path.open("wb") as file:
                np.save(file, words.view(np.int8))


@pytest.mark.parametrize("form", ["hex", "bytes", "npy"])
def test_every_form_of_a_buffer(design: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "buffer", form)
    output = tmp_path / "out.json"
    assert main(["trace", "decode", str(tmp_path / "buffer"), "--design", str(design), "-o", str(output)]) == 0
    table = capsys.readouterr().out
    first, second = (line.split() for line in table.splitlines() if "INSTR_EVENT" in line)
    assert first == ["Core", "(0,", "2)", "INSTR_EVENT_0", "1", "4", "1"]
    assert second == ["Core", "(0,", "2)", "INSTR_EVENT_1", "1", "1", "20"]
    timed = [entry for entry in json.loads(output.read_text()) if entry["ph"] in "BE"]
    assert [(entry["name"], entry["ph"], entry["ts"]) for entry in timed] == [
        *[("INSTR_EVENT_0", "B", 1), ("INSTR_EVENT_0", "E", 5)],
        *[("INSTR_EVENT_1", "B", 20), ("INSTR_EVENT_1", "E", 21)],
    ]


def test_json_on_stdout_is_alone_there(design: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "buffer", "hex")
    assert main(["trace", "decode", str(tmp_path / "buffer"), "--design", str(design), "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_an_empty_buffer(design: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "buffer").write_bytes(bytes(64))
    assert main(["trace", "decode", str(tmp_path / "buffer"), "--design", str(design)]) == 0
    assert "the buffer has no packets of trace units" in capsys.readouterr().out


@pytest.mark.parametrize(
    "data, text",
    [
        (b"\x01\x02\x03", "has 3 bytes: no whole words"),
        (b"\x93NUMPY\x01", "is no array of NumPy that can be read"),
        (np.array([0x80030003, *[0] * 7], np.uint32).tobytes(), "which the design does not trace"),
    ],
)
def test_mistakes(design: Path, tmp_path: Path, data: bytes, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "buffer").write_bytes(data)
    assert main(["trace", "decode", str(tmp_path / "buffer"), "--design", str(design)]) == 1
    assert text in capsys.readouterr().err


def test_a_design_without_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "design.mlir").write_text("aie.device(npu1_1col) { aie.runtime_sequence @sequence() {} }")
    write(tmp_path / "buffer", "hex")
    assert main(["trace", "decode", str(tmp_path / "buffer"), "--design", str(tmp_path / "design.mlir")]) == 1
    assert "sets up no trace unit" in capsys.readouterr().err
