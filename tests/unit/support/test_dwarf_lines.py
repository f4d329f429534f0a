"""Line tables of DWARF: what LLVM's assembler writes is read as LLVM's own tool reads it; damage is told."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.support.dwarf_lines import LINE_STRINGS, LINES, DwarfLine, dwarf_lines
from tilewright.support.structure import ContainerError
from tilewright.txn.elf import Elf

SOURCE = """
    .file 0 "/src" "main.cc"
    .file 1 "include" "far.h"
    .text
f:  .loc 0 10 3
    nop
    .loc 0 12 5
    nop
    nop
    .loc 1 40000 1
    .fill 70000, 1, 0x90
    .loc 0 13 1
    ret
"""
TOOLS = {name: shutil.which(f"{name}-22") for name in ("llvm-mc", "llvm-dwarfdump", "ld.lld")}
needs_llvm = pytest.mark.skipif(None in TOOLS.values(), reason="LLVM's tools are the judge")


def linked(folder: Path, version: int) -> Path:
    (folder / "main.s").write_text(SOURCE)
    made, file = folder / "main.o", folder / "main.elf"
    tools = {name: str(tool) for name, tool in TOOLS.items()}
    flags = ["-triple=i386-linux-gnu", f"-dwarf-version={version}", "-g", "-filetype=obj"]
    subprocess.run([tools["llvm-mc"], *flags, str(folder / "main.s"), "-o", str(made)], check=True)
    places = ["-m", "elf_i386", "--image-base=0", "-Ttext=0x100", "-e", "0x100"]
    subprocess.run([tools["ld.lld"], *places, str(made), "-o", str(file)], check=True)
    return file


@needs_llvm
@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_rows_are_those_of_llvm(tmp_path: Path, version: int) -> None:
    file = linked(tmp_path, version)
    told = subprocess.run([str(TOOLS["llvm-dwarfdump"]), "--debug-line", str(file)], capture_output=True, text=True)
    theirs = re.findall(r"^0x([0-9a-f]{16})\s+(\d+)\s+(\d+)\s+\d+ .*?(end_sequence)?$", told.stdout, re.M)
    expected = [
        (int(at, 16), 0, 0) if is_end else (int(at, 16), int(line), int(column)) for at, line, column, is_end in theirs
    ]
    elf = Elf(file.read_bytes())
    ours = dwarf_lines({it.name: elf.contents(it).data for it in elf.sections})
    assert [(it.address, it.line, it.column) for it in ours] == expected
    assert len(expected) == 5
    assert [it.file for it in ours] == ["main.cc", "main.cc", "include/far.h", "main.cc", ""]


def test_files_without_tables_have_no_lines() -> None:
    assert dwarf_lines({}) == []


@pytest.mark.parametrize(
    ("table", "text"),
    [
        pytest.param(b"\xff\xff\xff\xff" + bytes(12), "one of 64 bits", id="64 bits"),
        pytest.param(b"\x20\0\0\0" + bytes(4), "ends behind its section", id="length"),
        pytest.param(b"\x02\0\0\0\x09\0", "version 9", id="version"),
        pytest.param(b"\x03\0\0\0\x04\0\0", "ends too early", id="header"),
    ],
)
def test_damage_is_told(table: bytes, text: str) -> None:
    with pytest.raises(ContainerError, match=text):
        dwarf_lines({LINES: table})


@given(st.binary(max_size=80), st.binary(max_size=20), st.integers(2, 5))
def test_any_bytes_are_rows_or_an_error(data: bytes, names: bytes, version: int) -> None:
    table = (len(data) + 2).to_bytes(4, "little") + version.to_bytes(2, "little") + data
    try:
        found = dwarf_lines({LINES: table, LINE_STRINGS: names})
    except ContainerError:
        return
    assert all(isinstance(it, DwarfLine) for it in found)
