"""Names and locations that try to become code: generated texts stay what they are without them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest
from compilers import links
from helpers import HEALTH_CHECKS, INCLUDE, STRESS
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.cli.main import main
from tilewright.ir.escapes import visible
from tilewright.ir.print_attributes import string_text

INJECTIONS = [
    "x.mlir\nint injected = 1;",
    "x\r#error injected",
    "x\\",
    "x??/",
    "*/ #error injected /*",
    '"; system("injected"); "',
    "x\u2028#error injected",
    "\u202e} injected {",
    "%s%n{}{0}",
    "</script><script>injected()</script>",
    "<img src=x onerror=injected()>",
    "]]> --> <!-- sections -->",
    "[red]x[/red]",
    "$(injected) `injected`",
    "\0\x1b[2J",
]
names = st.sampled_from(INJECTIONS) | st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=40)


def design_text(sequence: str, device: str, file: str) -> str:
    """A sequence with a loop and checks; its name, its device's and its file's are given."""
    where = f"loc({string_text(file)}:7:3)"
    return f"""\
aie.device(npu2) @{string_text(device)} {{
  aie.runtime_sequence @{string_text(sequence)}(%buffer: memref<64xi32>, %n: i32) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %address = arith.constant 4096 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {{
      aiex.npu.write32(%address, %i) {{column = 0 : i32, row = 2 : i32}} : i32, i32 {where}
    }} {where}
    aiex.npu.sync(%c0, %c0, %c1, %c0, %c1, %c1) : i32, i32, i32, i32, i32, i32 {where}
  }} {where}
}} {where}
"""


HARNESS = """
#include "generated.h"
#include "lib.h"
#include <cstdio>
int main() {
  const auto words = FUNCTION(5);
  for (uint32_t word : *words) std::printf("%u ", word);
  return 0;
}
"""


def words_of_cpp(folder: Path, design: tw.Design, standard: str) -> list[int]:
    """The words that the generated header makes, compiled with warnings as errors."""
    name = design.sequences[0]
    (folder / "generated.h").write_text(design.cpp(name))
    (folder / "lib.h").write_text(design.library("lib").header)
    (folder / "host.cpp").write_text(HARNESS.replace("FUNCTION", design.cpp_function(name)))
    command = ["g++", standard, "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "host.cpp", "-o", "host"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in subprocess.run([folder / "host"], capture_output=True, check=True).stdout.split()]


@pytest.mark.skipif(not links("g++"), reason="there is no g++")
@settings(suppress_health_check=HEALTH_CHECKS, max_examples=60 if STRESS else 4)
@given(sequence=names, device=names, file=names)
def test_generated_cpp_gives_the_same_words_whatever_things_are_called(
    tmp_path_factory: pytest.TempPathFactory, sequence: str, device: str, file: str
) -> None:
    plain = tw.compile(design_text("seq", "main", "x.mlir"))
    design = tw.compile(design_text(sequence, device, file))
    found = words_of_cpp(tmp_path_factory.mktemp("cpp"), design, "-std=c++17")
    assert found == plain.txn("seq", n=5).tolist() == design.txn(design.sequences[0], n=5).tolist()


def code_of(text: str) -> str:
    """A C++ text as a compiler sees it: trigraphs, then lines that go on, then comments."""
    text = text.replace("??/", "\\").replace("\\\n", "")
    return re.sub(r"//[^\n\r]*|/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("text", INJECTIONS, ids=repr)
def test_names_and_locations_add_no_code(text: str) -> None:
    plain = tw.compile(design_text("S", "D", "F"))
    design = tw.compile(design_text(text, text, text))
    function, wanted = design.cpp_function(design.sequences[0]), plain.cpp_function("D_S")
    guard = re.compile(r"GENERATE_TXN_\w+_H")
    for made, expected in (
        (design.cpp(), plain.cpp()),
        (design.library("lib").header, plain.library("lib").header),
    ):
        code = code_of(made).replace(function, wanted).replace(function.replace("generate", "append"), "append_txn_D_S")
        code = re.sub(r"\blib_[\w]*(?=\(uint32_t)", "lib_D_S", guard.sub("GUARD", code))
        assert code.split() == guard.sub("GUARD", code_of(expected)).split()


def test_two_sequences_that_look_alike_to_cpp_can_be_included_together(tmp_path: Path) -> None:
    body = "aie.runtime_sequence @{}(%n: i32) {{ %a = arith.constant 64 : i32 aiex.npu.write32(%a, %n) : i32, i32 }}"
    names = ['"a b"', '"a.b"', "a_b", "A_b"]
    design = tw.compile("aie.device(npu2) {\n" + "\n".join(body.format(name) for name in names) + "}")
    guards = [design.cpp(name).splitlines()[0] for name in design.sequences]
    functions = [design.cpp_function(name) for name in design.sequences]
    assert len(set(guards)) == len(set(functions)) == len(set(design.library("lib").functions.values())) == 4
    assert functions[0] == "generate_txn_main_a_b" and guards[0] == "#ifndef GENERATE_TXN_A_B_H"


class Elements(HTMLParser):
    """Counts elements, and notes handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, int] = {}
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[tag] = self.found.get(tag, 0) + 1
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def elements(html: str) -> Mapping[str, int]:
    parser = Elements()
    parser.feed(html)
    assert not parser.handlers
    return parser.found


def page_of_run(folder: Path, name: str) -> str:
    source, page, trace = folder / "run.mlir", folder / "page.html", folder / "trace.json"
    source.write_text(design_text(name, "main", name))
    main(["run", str(source), "--set", "n=0", "--report", str(page), "--trace", str(trace), "--json"])
    assert json.loads(trace.read_text())["traceEvents"]
    return page.read_text()


@pytest.fixture(scope="module")
def plain_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of_run(tmp_path_factory.mktemp("plain"), "plain")


@pytest.mark.parametrize(
    "text", ["".join(INJECTIONS), *(INJECTIONS if STRESS else [])], ids=lambda text: repr(text[:40])
)
def test_page_and_trace_of_a_run_show_names_as_they_are(tmp_path: Path, text: str, plain_page: str) -> None:
    page = page_of_run(tmp_path, text)
    assert elements(page) == elements(plain_page)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b\0]", page)


@pytest.mark.parametrize("text", INJECTIONS, ids=repr)
def test_programs_with_such_names_are_read_back_as_they_were(tmp_path: Path, text: str) -> None:
    source = tmp_path / "d.mlir"
    source.write_text(design_text(text, "main", text))
    assert main(["compile", str(source), "-o", str(tmp_path / "out"), "--json"]) == 0
    again = tw.load(tmp_path / "out")
    assert again.sequences == [text] and (again.txn(text, n=3) == tw.compile(source).txn(text, n=3)).all()
    assert json.loads((tmp_path / "out" / "design.json").read_text())["devices"][0]["sequences"][0]["name"] == text


LINKED = """
aie.device(npu2) {{
  %t = aie.tile(0, 2)
  %b = aie.buffer(%t) {{address = 4096 : i32, sym_name = {buffer}}} : memref<16xi32>
  %c = aie.core(%t) {{ aie.end }} {{link_with = {file}, elf_file = {elf}}}
}}
"""


@pytest.mark.parametrize("flag", ["--aie-generate-ldscript", "--aie-generate-bcf", "--aie-generate-mmap"])
@pytest.mark.parametrize("text", ["a;b", "a b", "a\nINPUT(evil)", ")", ""])
def test_linkers_get_no_text_that_they_would_read_otherwise(
    tmp_path: Path, flag: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "d.mlir"
    texts = {"buffer": string_text(text), "file": string_text("a.o"), "elf": string_text("a.elf")}
    source.write_text(LINKED.format(**texts))
    assert main(["translate", str(source), flag, "--tilecol=0", "--tilerow=2"]) == 1
    assert "has a name that linkers cannot read" in capsys.readouterr().err


def test_a_list_of_cores_is_a_list_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import ast

    hostile = 'x"),(__import__("os")\\\n'
    (tmp_path / "d.mlir").write_text(LINKED.format(buffer='"b"', file='"a.o"', elf=string_text(hostile)))
    assert main(["translate", str(tmp_path / "d.mlir"), "--aie-generate-corelist"]) == 0
    assert ast.literal_eval(capsys.readouterr().out.strip()) == [(0, 2, hostile)]


def test_configuration_files_stay_in_their_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.mlir").write_text('aie.device(npu2) @"../evil" {}')
    (tmp_path / "work").mkdir()
    flags = ["--aie-generate-cdo", "--aie-device-name=../evil", f"--work-dir-path={tmp_path / 'work'}"]
    assert main(["translate", str(tmp_path / "d.mlir"), *flags]) == 0
    assert sorted(os.listdir(tmp_path)) == ["d.mlir", "work"]
    assert all(name.startswith("%2E.%2Fevil_aie_cdo_") for name in os.listdir(tmp_path / "work"))


SECTION = """
aie.device(npu2) {{
  aiex.cert.section @{name} {{
    aiex.cert.job(1) {{ aiex.cert.nop }}
  }}
}}
"""


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a\n.include evil", "", ".", "a b"])
def test_a_section_of_control_code_needs_a_name_that_the_assembler_takes(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.mlir").write_text(SECTION.format(name=string_text(name)))
    assert main(["translate", "d.mlir", "--aie-cert-to-asm", "-o", "out.asm"]) == 1
    assert "is no name for the assembler" in capsys.readouterr().err and os.listdir() == ["d.mlir"]


@pytest.mark.parametrize("text", INJECTIONS, ids=repr)
def test_a_picture_of_a_design_shows_names_as_they_are(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d.mlir").write_text(design_text(text, text, text))
    assert main(["show", str(tmp_path / "d.mlir")]) == 0
    shown = capsys.readouterr().out
    assert visible(text)[:8] in shown and not re.search("[\u202a-\u202e\u2066-\u2069\x1b\0]", shown)
