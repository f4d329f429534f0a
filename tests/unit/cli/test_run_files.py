"""What `tilewright run` leaves behind: a table, a trace, a page; of runs that hang as well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from programs import COPY

from tilewright.cli.main import main

WORKS = """\
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
"""
HANGS = WORKS.replace("%a[0, 0, 0, 0][1, 1, 1, 64]", "%a[0, 0, 0, 0][1, 1, 1, 48]")


def design(folder: Path, body: str) -> str:
    path = folder / "copy.mlir"
    path.write_text(COPY.replace("BODY\n", body))
    return str(path)


def test_a_run_ends_with_who_did_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", design(tmp_path, WORKS)]) == 0
    text = capsys.readouterr().out
    lines = [line.split() for line in text.splitlines()]
    assert "us at 1 GHz" in text and "waits by cause: " in text
    assert any(line[:4] == ["shim", "(0,", "0)", "S2MM"] and line[-1] == "256" for line in lines)


def test_machines_get_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", design(tmp_path, WORKS), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "finished"


@pytest.mark.parametrize("body, status", [(WORKS, 0), (HANGS, 1)], ids=["to its end", "until it hangs"])
def test_trace_and_page_are_written(tmp_path: Path, body: str, status: int) -> None:
    trace, page = tmp_path / "run.json", tmp_path / "run.html"
    assert main(["run", design(tmp_path, body), "--trace", str(trace), "--report", str(page)]) == status
    events = json.loads(trace.read_text())["traceEvents"]
    assert {"M", "X", "C", "s"} <= {event["ph"] for event in events}
    html = page.read_text()
    assert "<h1>copy.mlir" in html and "copy.mlir:10" in html, "with the line of each operation"
    assert ('class="waits"' in html) == (status == 1)


@pytest.mark.parametrize("flag", ["--trace", "--report"])
def test_a_file_that_cannot_be_written_is_an_error(
    tmp_path: Path, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", design(tmp_path, WORKS), flag, str(tmp_path / "missing" / "file")]) == 1
    assert "cannot open output file" in capsys.readouterr().err
