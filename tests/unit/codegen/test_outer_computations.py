"""Numbers that are computed beside a sequence are the sequence's, in whatever way its words are made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cpp_harness import COMPILERS, compile_cpp, run_cpp

import tilewright as tw
from tilewright.cli.main import main

REGISTER, STEP, COUNT = 0x1D000, 12, 3
BESIDE = f"""
  %register = arith.constant {REGISTER} : i32
  %five = arith.constant 5 : i32
  %seven = arith.constant 7 : i32
  %step = arith.addi %five, %seven : i32
  %count = arith.constant {COUNT} : index
"""
BODY = """
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %next = arith.addi %n, %step : i32
    scf.for %i = %zero to %count step %one {
      aiex.npu.write32(%register, %next) : i32, i32
    }
"""
RUNTIME = f"aie.device(npu1) {{{BESIDE}  aie.runtime_sequence @run(%n: i32) {{{BODY}  }}\n}}\n"
STATIC = f"aie.device(npu1) {{{BESIDE}  %n = arith.constant 30 : i32\n  aie.runtime_sequence @run() {{{BODY}  }}\n}}\n"


def written(words: np.ndarray) -> list[int]:
    return [op.value for op in tw.txn.decode(words).operations if op.address == REGISTER]


@pytest.fixture
def static(tmp_path: Path) -> Path:
    file = tmp_path / "static.mlir"
    file.write_text(STATIC)
    return file


def test_words_of_a_compiled_sequence() -> None:
    assert written(tw.compile(RUNTIME).txn(n=30)) == [42] * COUNT
    assert written(tw.compile(STATIC).txn()) == [42] * COUNT


def test_static_words(static: Path, tmp_path: Path) -> None:
    assert main(["translate", "--aie-npu-to-binary", str(static), "-o", str(tmp_path / "words.bin")]) == 0
    assert written(np.fromfile(tmp_path / "words.bin", dtype=np.uint32)) == [42] * COUNT


def test_run_on_the_simulator(static: Path) -> None:
    assert main(["run", str(static)]) == 0


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
@pytest.mark.parametrize(
    "flags, function",
    [
        pytest.param(["--aie-npu-to-cpp"], "generate_txn_main_run", id="of a lowered sequence"),
        pytest.param(["--aie-generate-txn-cpp"], "generate_txn_run", id="older spelling"),
    ],
)
def test_generated_cpp(flags: list[str], function: str, tmp_path: Path) -> None:
    source, header = tmp_path / "runtime.mlir", tmp_path / "made.h"
    source.write_text(RUNTIME)
    assert main(["translate", *flags, str(source), "-o", str(header)]) == 0
    main_function = f'int main() {{ auto words = {function}(30); for (auto word : *words) std::printf("%x ", word); }}'
    text = f'#include "made.h"\n#include <cstdio>\n{main_function}\n'
    (words,) = run_cpp(compile_cpp("g++", text, tmp_path))
    assert words is not None and written(np.array(words, dtype=np.uint32)) == [42] * COUNT


REFUSED = {
    "aie.tile": ("", "%number = arith.index_cast %tile : index to i32"),
    "memref.load": ("%at = arith.constant 1 : index\n%number = memref.load %buffer[%at] : memref<4xi32>", ""),
    "affine.apply": (
        "%at = affine.apply affine_map<() -> (9)>()",
        """%step = arith.constant 1 : index
        %number = scf.for %i = %step to %at step %step iter_args(%sum = %register) -> i32 { scf.yield %sum : i32 }""",
    ),
}


@pytest.mark.parametrize(
    "command", [["--aie-npu-to-binary"], ["--aie-npu-to-cpp"], ["--aie-generate-txn-cpp"]], ids=lambda flags: flags[0]
)
@pytest.mark.parametrize("name", REFUSED)
def test_other_numbers_from_beside_a_sequence_are_refused(
    name: str, command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    beside, inside = REFUSED[name]
    file = tmp_path / "design.mlir"
    file.write_text(f"""aie.device(npu1) {{
      %register = arith.constant {REGISTER} : i32
      %tile = aie.tile(0, 2)
      %buffer = aie.buffer(%tile) {{address = 1024 : i32, sym_name = "b"}} : memref<4xi32>
      {beside}
      aie.runtime_sequence @run() {{
        {inside}
        aiex.npu.write32(%register, %number) : i32, i32
      }}
    }}""")
    assert main(["translate", *command, str(file)]) == 1
    error = capfd.readouterr().err
    assert f"error: '{name}' op stands beside a sequence that uses its result" in error
    assert "note: the result is used here" in error and "Traceback" not in error
