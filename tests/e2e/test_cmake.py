"""`find_package(tilewright)`, with a real CMake: designs are libraries of a project, made anew when they change."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import EXAMPLES

import tilewright as tw
from tilewright.cli.main import main

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")

ROOT = Path(tw.__file__).parents[1]
SEQUENCE = """
aie.device(npu2) {
  aie.runtime_sequence @seq(%a: memref<64xi32>, %n: i32) {
    %register = arith.constant 4096 : i32
    aiex.npu.write32(%register, %n) : i32, i32
  }
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(hosts CXX)
find_package(tilewright 0.1 REQUIRED)
set(CMAKE_CXX_FLAGS "-Wall -Wextra -Werror")

aie_generate_txn_library(txn-lib design.mlir OPTIONS --lint off)
add_executable(in_c as_in_c.cpp)
target_link_libraries(in_c PRIVATE txn-lib)

aie_generate_txn_library(headers design.mlir HEADER_ONLY KEEP_BUFFERS SEQUENCES seq)
add_executable(in_cpp host.cpp)
target_link_libraries(in_cpp PRIVATE headers)

if(NOT TARGET tilewright::headers)
  message(FATAL_ERROR "there is no target for hosts that write streams by hand")
endif()
"""
IN_C = """
#include "libtxn_lib.h"
#include <stdio.h>
int main(void) {
  uint32_t words[32];
  int64_t count = txn_lib_main_seq(words, 32, 7, NULL);
  for (int64_t i = 0; i < count; ++i) printf("%u ", words[i]);
  return count < 0;
}
"""
IN_CPP = """
#include "seq.h"
#include <cstdio>
int main() {
  int buffer[64];
  const auto words = generate_txn_main_seq(buffer, 7);
  for (uint32_t word : *words) std::printf("%u ", word);
}
"""


@pytest.fixture(autouse=True)
def this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package under test, in processes too."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def configure(source: Path, build: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable};-m;tilewright"
    flags = [f"-Dtilewright_DIR={ROOT / 'tilewright' / 'cmake'}", f"-DTILEWRIGHT_COMMAND={command}", *options]
    return subprocess.run(["cmake", "-S", source, "-B", build, *flags], capture_output=True, text=True, check=False)


def build(folder: Path) -> None:
    ended = subprocess.run(["cmake", "--build", folder], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def numbers(program: Path) -> list[int]:
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return [int(word) for word in said.split()]


def test_designs_are_libraries(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    texts = {
        "CMakeLists.txt": PROJECT,
        "design.mlir": SEQUENCE,
        "as_in_c.cpp": IN_C,
        "host.cpp": IN_CPP,
    }
    for name, text in texts.items():
        (source / name).write_text(text)
    ended = configure(source, folder, *(["-G", "Ninja"] if shutil.which("ninja") else []))
    assert ended.returncode == 0, ended.stderr
    build(folder)
    wanted = tw.compile(SEQUENCE).txn("seq", n=7).tolist()
    assert [numbers(folder / name) for name in ("in_c", "in_cpp")] == [wanted] * 2
    changed = SEQUENCE.replace("4096", "8192")
    (source / "design.mlir").write_text(changed)
    build(folder)
    wanted = tw.compile(changed).txn("seq", n=7).tolist()
    assert [numbers(folder / name) for name in ("in_c", "in_cpp")] == [wanted] * 2


def test_the_example_is_built_by_cmake(tmp_path: Path) -> None:
    """Of a program in Python, as its folder has it."""
    ended = configure(EXAMPLES / "gemm_host", tmp_path / "build")
    assert ended.returncode == 0, ended.stderr
    build(tmp_path / "build")
    words = tmp_path / "insts.bin"
    subprocess.run([tmp_path / "build" / "gemm_host", "128", "32", "256", words], check=True, capture_output=True)
    design = tw.load(tmp_path / "build" / "gemm.txn")
    np.testing.assert_array_equal(np.fromfile(words, np.uint32), design.txn(M=128, K=32, N=256))
    assert (tmp_path / "build" / "gemm.txn" / "libgemm.so").exists()


def test_a_wrong_argument_is_named(tmp_path: Path) -> None:
    (tmp_path / "design.mlir").write_text(SEQUENCE)
    project = "cmake_minimum_required(VERSION 3.16)\nproject(p NONE)\nfind_package(tilewright REQUIRED)\n"
    (tmp_path / "CMakeLists.txt").write_text(f"{project}aie_generate_txn_library(t design.mlir HEADERS)\n")
    ended = configure(tmp_path, tmp_path / "build")
    assert ended.returncode != 0 and "aie_generate_txn_library(t): what is 'HEADERS'?" in ended.stderr
    (tmp_path / "CMakeLists.txt").write_text(project.replace("tilewright REQUIRED", "tilewright 99 REQUIRED"))
    ended = configure(tmp_path, tmp_path / "other")
    assert ended.returncode != 0 and f"version: {tw.__version__}" in ended.stderr


def test_the_command_says_where_the_package_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--cmake"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "tilewrightConfig.cmake").is_file()
