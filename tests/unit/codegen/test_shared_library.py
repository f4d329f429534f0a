"""A design's generators as a shared library: what `Design.txn` gives, for hosts in C, C++ and what else calls C."""

from __future__ import annotations

import ctypes
import json
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compilers import links
from helpers import INCLUDE
from programs import FIXED_TRANSFER

import tilewright as tw
from tilewright.cli.main import main
from tilewright.codegen.shared_library import NamedSequence, SharedLibrary, shared_library
from tilewright.native import elf
from tilewright.native.host import LIBRARY_TRIPLES

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PROGRAM = """
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @move(%a: memref<65536xi32>, %rows: i64, %int: i64, %twice: i1, %words: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %register = arith.constant 4096 : i32
    scf.for %i = %c0 to %words step %c1 {
      %value = arith.index_cast %i : index to i32
      aiex.npu.write32(%register, %value) {column = 0 : i32, row = 2 : i32} : i32, i32
    }
    scf.if %twice {
      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, %rows, %int][0, 0, 256, 1]) {id = 3 : i64, issue_token = true, metadata = @in} : memref<65536xi32>
      aiex.npu.dma_wait {symbol = @in}
    }
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, %rows, %int][0, 0, 256, 1]) {id = 4 : i64, issue_token = true, metadata = @in} : memref<65536xi32>
    aiex.npu.dma_wait {symbol = @in}
  }
FIXED
  aie.runtime_sequence @tasks(%a: memref<?xi8>, %small: i8, %medium: i16, %n: i32, %odd: i12) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %register = arith.constant 4096 : i32
    %wide_small = arith.extsi %small : i8 to i32
    %wide_medium = arith.extsi %medium : i16 to i32
    %sum = arith.addi %wide_small, %wide_medium : i32
    aiex.npu.write32(%register, %sum) : i32, i32
    aiex.npu.write32(%register, %odd) : i32, i12
    scf.for %i = %c0 to %n step %c1 : i32 {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<?xi8> len = 256)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
    }
  }
}
""".replace("FIXED\n", FIXED_TRANSFER)  # noqa: E501
CALLS: list[tuple[str, dict[str, int]]] = [
    ("move", {"rows": 4, "int": 8, "twice": 0, "words": 0}),
    ("move", {"rows": 4, "int": 8, "twice": 1, "words": 3}),
    ("move", {"rows": 1, "int": 1024, "twice": 1, "words": 1000}),
    ("move", {"rows": -1, "int": 8, "twice": 0, "words": 0}),
    ("move", {"rows": 4, "int": 5000, "twice": 0, "words": 2}),
    ("fixed", {}),
    ("tasks", {"small": -3, "medium": 300, "n": 3, "odd": 4095}),
    ("tasks", {"small": 127, "medium": -32768, "n": 40, "odd": -2048}),
]
HOST = """
#include "libdemo.h"
#include <stdio.h>
#include <stdlib.h>

static void show(int64_t count, const uint32_t *words) {
  int64_t index;
  printf("%lld", (long long)count);
  for (index = 0; index < count; ++index) printf(" %lu", (unsigned long)words[index]);
  if (count < 0) printf(" %s", demo_failure_text(count));
  printf("\\n");
}

int main(void) {
  uint32_t *words = (uint32_t *)malloc(100000 * sizeof(uint32_t));
@CALLS@
  free(words);
  return 0;
}
"""
CALL = """  if (@NAME@(NULL, 0, @SCALARS@NULL) != @NAME@(words, 100000, @SCALARS@NULL)) return 1;
  show(@NAME@(words, 100000, @SCALARS@NULL), words);
"""


@pytest.fixture(scope="module")
def design() -> tw.Design:
    return tw.compile(PROGRAM)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "demo.mlir").write_text(PROGRAM)
    if platform.system() != "Linux" or platform.machine() not in LIBRARY_TRIPLES:
        pytest.skip("no libraries for this platform")
    assert main(["compile", str(folder / "demo.mlir"), "-o", str(folder), "--shared"]) == 0
    return folder


class Failure(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int64), ("value", ctypes.c_int64)]


@pytest.fixture
def move(folder: Path) -> Any:
    function = ctypes.CDLL(str(folder / "libdemo.so")).demo_main_move
    scalars = [ctypes.c_int64, ctypes.c_int64, ctypes.c_bool, ctypes.c_size_t]
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_void_p, ctypes.c_int64, *scalars, ctypes.POINTER(Failure)]
    return function


@pytest.fixture
def failure_text(folder: Path) -> Any:
    function = ctypes.CDLL(str(folder / "libdemo.so")).demo_failure_text
    function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_int64]
    return function


def expected(design: tw.Design, name: str, scalars: dict[str, int]) -> list[int] | None:
    try:
        return design.txn(name, **scalars).tolist()
    except tw.RangeError:
        return None


def test_words_are_those_of_the_design(design: tw.Design, move: Any):
    words = np.zeros(200, dtype=np.uint32)
    count = move(words.ctypes.data, 200, 4, 8, True, 2, None)
    assert words[:count].tolist() == expected(design, "move", {"rows": 4, "int": 8, "twice": 1, "words": 2})
    assert not words[count:].any()


def test_nothing_is_written_past_the_capacity(move: Any):
    needed = move(None, 0, 4, 8, True, 2, None)
    words = np.full(needed + 10, 0xCAFE, dtype=np.uint32)
    for capacity in range(needed):
        assert move(words.ctypes.data, capacity, 4, 8, True, 2, None) == needed
        assert (words[capacity:] == 0xCAFE).all()


def test_a_failure_has_a_code_a_value_and_a_text(move: Any, failure_text: Any):
    failure = Failure()
    code = move(None, 0, 200, 5003, False, 0, ctypes.byref(failure))
    assert code < 0
    assert failure.code == code
    assert failure.value == 5003
    assert re.fullmatch(
        r".*demo.mlir:17:5: error: .* must be in \[1:1023\] \(depends on rows, int_2\)", failure_text(code).decode()
    )
    assert move(None, 0, 200, 5003, False, 0, None) == code


def test_other_codes_are_no_failures(failure_text: Any):
    assert {failure_text(code) for code in (0, 7, -10_000, 1 << 62, -(1 << 63))} == {b"not a failure of this library"}


def test_the_manifest_names_library_and_functions(folder: Path, design: tw.Design):
    library = json.loads((folder / "design.json").read_text())["library"]
    assert library["file"] == "libdemo.so"
    assert library["header"] == "libdemo.h"
    assert library["functions"] == {name: f"demo_main_{name}" for name in design.sequences}


def test_the_folder_can_be_loaded(folder: Path, design: tw.Design):
    assert (tw.load(folder).txn("fixed") == design.txn("fixed")).all()


def test_the_library_can_have_another_name(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(folder / "demo.mlir"), "-o", str(tmp_path), "--library", "two_words"]) == 0
    assert "two_words_failure *failure" in (tmp_path / "libtwo_words.h").read_text()
    assert ctypes.CDLL(str(tmp_path / "libtwo_words.so")).two_words_main_fixed
    assert main(["compile", str(folder / "demo.mlir"), "-o", str(tmp_path), "--library", "two words"]) == 2
    assert "--library: 'two words' cannot begin names in C" in capsys.readouterr().err


def needs(*tools: str) -> pytest.MarkDecorator:
    missing = [tool for tool in tools if not (links(tool) if tool.endswith(("cc", "++")) else shutil.which(tool))]
    return pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)}")


def host_program(design: tw.Design) -> str:
    calls = list[str]()
    for name, values in CALLS:
        scalars = "".join(f"{values[scalar]}, " for scalar in design.scalars(name))
        calls.append(CALL.replace("@NAME@", f"demo_main_{name}").replace("@SCALARS@", scalars))
    return HOST.replace("@CALLS@", "".join(calls))


def check_output(design: tw.Design, output: str) -> None:
    for (name, scalars), line in zip(CALLS, output.splitlines(), strict=True):
        words = expected(design, name, scalars)
        count, *rest = line.split()
        assert (int(count) < 0) == (words is None)
        assert words is None or [int(word) for word in rest] == words


@pytest.mark.parametrize(
    "compiler, file, options",
    [
        pytest.param(compiler, file, options, marks=needs(compiler))
        for compiler, file, options in [
            ("gcc", "host.c", ["-std=c99"]),
            ("clang", "host.c", ["-std=c11"]),
            ("g++", "host.cpp", ["-std=c++17", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
            ("clang++", "host.cpp", ["-std=c++17"]),
        ]
    ],
)
def test_hosts_link_with_it(
    compiler: str, file: str, options: list[str], design: tw.Design, folder: Path, tmp_path: Path
):
    source, binary = tmp_path / file, tmp_path / "host"
    beside = '#include "move.h"\n#include "fixed.h"\n#include "move.h"\n' if file.endswith(".cpp") else ""
    source.write_text(beside + host_program(design))
    link = [f"-I{INCLUDE}", f"-I{folder}", f"-L{folder}", "-ldemo", f"-Wl,-rpath,{folder}"]
    subprocess.run([compiler, *options, *WARNINGS, source, *link, "-o", binary], check=True)
    check_output(design, subprocess.check_output([binary], text=True))


@pytest.fixture(scope="module")
def arm_library(design: tw.Design) -> SharedLibrary:
    sequences = [NamedSequence(name, design.operation(name), design.operation(name).argument_names)
                 for name in design.sequences]  # fmt: skip
    return shared_library("demo", sequences, LIBRARY_TRIPLES["aarch64"])


def test_a_library_for_another_machine_has_the_same_functions(arm_library: SharedLibrary, design: tw.Design):
    assert arm_library.functions == {name: f"demo_main_{name}" for name in design.sequences}
    assert int.from_bytes(arm_library.code[18:20], "little") == elf.EM_AARCH64


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
def test_a_library_for_another_machine_does_the_same(arm_library: SharedLibrary, design: tw.Design, tmp_path: Path):
    library = arm_library
    (tmp_path / library.file).write_bytes(library.code)
    (tmp_path / library.header_file).write_text(library.header)
    source, binary = tmp_path / "host.c", tmp_path / "host"
    source.write_text(host_program(design))
    compile_host = ["aarch64-linux-gnu-gcc", *WARNINGS, source, f"-I{tmp_path}", f"-L{tmp_path}", "-ldemo"]
    subprocess.run([*compile_host, "-o", binary], check=True)
    command = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={tmp_path}", binary]
    check_output(design, subprocess.check_output(command, text=True))
