"""`tilewright run` with flags that look into cores: traces of bundles, coverage, names from ELF files."""

from __future__ import annotations

from pathlib import Path

import pytest
from container_files import core_elf
from xrt_packages import add_text, adding_code, compiled, with_machine_code, write_package

from tilewright.cli.main import main
from tilewright.isa import assemble


@pytest.fixture
def package(tmp_path: Path) -> list[str]:
    design = compiled(tmp_path, add_text(5))
    code = assemble(adding_code(design, 7))
    (tmp_path / "core.elf").write_bytes(core_elf(code, functions={"main": 0, "add": 0x80}))
    xclbin, insts = with_machine_code(tmp_path, design, code)
    return ["run", "--xclbin", xclbin, "--insts", insts, "--arg", "0=arange"]


def test_each_bundle_is_told_with_what_it_writes(tmp_path: Path, package: list[str]) -> None:
    trace = tmp_path / "trace.txt"
    names = ["--core-elf", f"0,2={tmp_path / 'core.elf'}"]
    assert main([*package, "--core", "0,2", "--trace-instructions", str(trace), *names]) == 0
    lines = [line.split(maxsplit=2) for line in trace.read_text().splitlines()]
    assert lines[0] == ["0", "main", "movx r1, #-1  // r1 = 0xffffffff"]
    assert [int(time) for time, _, _ in lines] == sorted(int(time) for time, _, _ in lines)
    added = [rest for _, place, rest in lines if place == "add+0x10"]
    assert added == [f"add r0, r0, #7  // r0 = {16 * n + 7:#x}, srCarry = 0x0" for n in range(4)]
    loads = [rest for _, place, rest in lines if place == "add"]
    assert loads[1].endswith("r0 = 0x10 (after 7)")
    stores = [rest for _, place, rest in lines if place == "add+0x14"]
    assert stores[0].endswith("] = 0x00000007")


def test_a_trace_without_a_file_goes_to_stdout(package: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*package, "--trace-instructions"]) == 0
    assert "movx r1, #-1  // r1 = 0xffffffff" in capsys.readouterr().out


def test_coverage_counts_issues(package: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*package, "--coverage"]) == 0
    said = capsys.readouterr().out
    assert "core (0, 2): 186 of 191 bundles issued (97 %), 10 of 10 instructions of the program" in said
    assert "  0x80: 150 of 151" in said
    assert "             4      90  add r0, r0, #7" in said


def test_a_report_has_the_functions_of_cores(tmp_path: Path, package: list[str]) -> None:
    page = tmp_path / "page.html"
    assert main([*package, "--report", str(page), "--core-elf", f"0,2={tmp_path / 'core.elf'}"]) == 0
    text = page.read_text()
    assert "Functions of cores" in text
    assert ">add<" in text


@pytest.mark.parametrize(
    ("flags", "status", "text"),
    [
        (["--core", "two"], 2, "--core takes COL,ROW, got 'two'"),
        (["--core", "0,3", "--coverage"], 2, "no core at (0, 3) has machine code; there are (0, 2)"),
        (["--core-elf", "0,2"], 2, "--core-elf takes COL,ROW=FILE"),
        (["--core-elf", "0,2=other.elf"], 1, "other.elf: error: .text is not what the core has at 0x0"),
        (["--core-elf", "0,2=insts.bin"], 1, "insts.bin: error: no ELF file of a core's program"),
        (["--core-elf", "0,2=nothing"], 1, "nothing"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    tmp_path: Path,
    package: list[str],
    flags: list[str],
    status: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.elf").write_bytes(core_elf(assemble("done\n" + "nop\n" * 8)))
    assert main([*package, *flags]) == status
    said = capsys.readouterr().err
    assert text in said and "Traceback" not in said and "internal error" not in said


def test_a_design_of_ours_has_no_machine_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    xclbin, insts = write_package(tmp_path, compiled(tmp_path, add_text(5)))
    assert main(["run", "--xclbin", xclbin, "--insts", insts, "--coverage"]) == 2
    assert "no core of this run has machine code" in capsys.readouterr().err
