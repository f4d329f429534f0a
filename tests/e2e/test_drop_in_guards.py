"""C++ from the drop-in tools refuses what `compile` refuses, and has the same effects where it does not."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compilers import links
from helpers import INCLUDE
from txn_effects import Effect, effects

import tilewright as tw
from tilewright.cli.main import main
from tilewright.device.enums import DeviceName

pytestmark = pytest.mark.skipif(not links("g++"), reason="no C++ compiler")

ND = """
aie.device(npu2) {
  %t = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%t, MM2S, 0)
  aie.runtime_sequence @seq(%a: memref<?xi32>, %size: i64, %stride: i64, %offset: i64) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, %offset][1, 2, %size, 8][0, 4096, %stride, 1]) {id = 3 : i64, metadata = @in}
      : memref<?xi32>
  }
}
"""
ND_CALLS = [
    *([4, 64, 0], [1023, 8, 0], [2, 1 << 20, 16]),
    *([4, 0, 0], [4, -1, 0], [4, (1 << 20) + 1, 0], [0, 64, 0], [-3, 64, 0], [1024, 64, 0], [(1 << 32) + 4, 64, 0]),
    *([4, (1 << 32) + 64, 0], [4, 64, -1], [4, 64, 1 << 40]),
]
# A descriptor of the pool serves a pattern and then a plain run, which must not keep the wraps.
POOLED = """
aie.device(npu2) {
  %t = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%t, MM2S, 0)
  aie.runtime_sequence @seq(%a: memref<?xi32>, %turns: i64, %length: i32, %stride: i64) {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    scf.for %i = %zero to %turns step %one : i64 {
      %rows = aiex.dma_configure_task(%t, MM2S, 0) {
        aie.dma_bd(%a : memref<?xi32> offset = 0 len = 256 sizes = [1, 1, 8, 32] strides = [0, 0, %stride, 1])
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%rows)
      aiex.dma_await_task(%rows)
      %run = aiex.dma_configure_task(%t, MM2S, 0) {
        aie.dma_bd(%a : memref<?xi32> offset = 0 len = %length)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%run)
      aiex.dma_await_task(%run)
    }
  }
}
"""
POOLED_CALLS = [[2, 64, 128], [3, 5000, 32], [0, 0, 0], [1, 0, 64], [1, -4, 64], [1, 64, 0], [1, 64, (1 << 20) + 1]]
MAIN = """
#include <cstdio>
#include "aie/Runtime/TxnEncoding.h"
#ifdef AS_UPSTREAM
#undef AIE_RUNTIME_TXN_FILL
#endif
#include "generated.h"
#include "generated.h"  // as often as anyone wants

int main() {
  long long a, b, c;
  while (std::scanf("%lld %lld %lld", &a, &b, &c) == 3) {
    auto words = FUNCTION(a, b, c);
    if (!words)
      std::printf("none");
    else
      for (uint32_t word : *words)
        std::printf("%u ", word);
    std::printf("\\n");
  }
}
"""
OPTIONS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
]
LOWERING = ["--aie-lower-dynamic-bd-pool", "--canonicalize", "--aie-dma-tasks-to-npu", "--aie-dma-to-npu"]


def older_spelling(source: Path, header: Path, *flags: str) -> str:
    assert main(["translate", "--aie-generate-txn-cpp", *flags, str(source), "-o", str(header)]) == 0
    return "generate_txn_seq"


def passes(source: Path, header: Path) -> str:
    emitc = header.with_suffix(".mlir")
    assert main(["opt", *LOWERING, "--convert-aiex-to-emitc", str(source), "-o", str(emitc)]) == 0
    assert main(["translate", "--mlir-to-cpp", str(emitc), "-o", str(header)]) == 0
    return "generate_txn_main_seq"


def streams(folder: Path, function: str, calls: list[list[int]], *options: str) -> list[list[int] | None]:
    """What the header's function gives for some numbers, compiled with all warnings and checked while it runs."""
    (folder / "main.cpp").write_text(MAIN.replace("FUNCTION", function))
    subprocess.run(["g++", *OPTIONS, *options, f"-I{INCLUDE}", "main.cpp", "-o", "main"], cwd=folder, check=True)
    given = "".join(" ".join(map(str, numbers)) + "\n" for numbers in calls)
    said = subprocess.run([folder / "main"], input=given, capture_output=True, text=True, check=True).stdout
    return [None if line == "none" else [int(word) for word in line.split()] for line in said.splitlines()]


def transfers(words: list[int]) -> list[Effect]:
    """What a stream does, without the settings of a design that `compile` makes for its tokens."""
    return [effect for effect in effects(np.array(words, np.uint32), DeviceName.npu2) if effect[0] != "write"]


def compiled(text: str, calls: list[list[int]]) -> list[list[int] | None]:
    design, found = tw.compile(text), list[list[int] | None]()
    for numbers in calls:
        try:
            found.append(design.txn("seq", **dict(zip(design.scalars("seq"), numbers, strict=True))).tolist())
        except tw.RangeError:
            found.append(None)
    return found


@pytest.mark.parametrize(
    "text, calls", [pytest.param(ND, ND_CALLS, id="ND"), pytest.param(POOLED, POOLED_CALLS, id="pooled")]
)
@pytest.mark.parametrize("translate", [older_spelling, passes])
def test_refusals_and_effects_are_those_of_compile(
    text: str, calls: list[list[int]], translate: Callable[[Path, Path], str], tmp_path: Path
) -> None:
    source = tmp_path / "design.mlir"
    source.write_text(text)
    made = streams(tmp_path, translate(source, tmp_path / "generated.h"), calls)
    wanted = compiled(text, calls)
    assert [words is None for words in made] == [words is None for words in wanted]
    assert 2 < sum(words is None for words in wanted) < len(calls) - 1
    for words, others in zip(made, wanted, strict=True):
        if words is not None and others is not None:
            assert transfers(words) == transfers(others)


def test_words_are_the_same_with_a_header_that_only_has_what_upstream_has(tmp_path: Path) -> None:
    source = tmp_path / "design.mlir"
    source.write_text(POOLED)
    function = older_spelling(source, tmp_path / "generated.h")
    ours, theirs = (streams(tmp_path, function, POOLED_CALLS, *options) for options in ([], ["-DAS_UPSTREAM"]))
    assert ours == theirs


def test_an_option_gives_the_text_of_upstream(tmp_path: Path) -> None:
    """No checks but upstream's, and no include guard."""
    source, header = tmp_path / "design.mlir", tmp_path / "generated.h"
    source.write_text(ND)
    older_spelling(source, header, "--txn-cpp-upstream-text")
    text = header.read_text()
    assert text.startswith('#include "aie/Runtime/TxnEncoding.h"')
    assert [line.strip() for line in text.splitlines() if "nullopt" in line] == [
        *("if (v12 > 1023) return std::nullopt;", "if (v12 < 0) return std::nullopt;")
    ]


def test_what_was_lowered_without_checks_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`opt` prints what upstream prints, in which a number that does not fit is cut."""
    source, lowered, header = tmp_path / "design.mlir", tmp_path / "lowered.mlir", tmp_path / "generated.h"
    source.write_text(ND)
    for options, warnings in (("", 1), ("=guards=full", 0)):
        assert main(["opt", f"--aie-dma-to-npu{options}", str(source), "-o", str(lowered)]) == 0
        assert main(["translate", "--aie-npu-to-cpp", str(lowered), "-o", str(header)]) == 0
        assert capsys.readouterr().err.count("warning: puts numbers into a descriptor") == warnings
    assert main(["opt", "--aie-dma-to-npu", str(source), "-o", str(lowered)]) == 0
    assert main(["translate", "--aie-npu-to-cpp", "--txn-cpp-upstream-text", str(lowered), "-o", str(header)]) == 0
    assert capsys.readouterr().err == ""
