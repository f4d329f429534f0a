"""Making streams: ns per word for 10,000 operations of a dynamic sequence, and calls per second for 30 of them.

Beside the generators stand, for as many words, a copy of memory that is in the cache and a vector that grows by one
word at a time. The loop's body is a transfer as lowered code has it: a patch, a push and a wait, with runtime values.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tilewright.cli.main import main as main_command
from tilewright.driver.compiled_design import Design, compile_text

INCLUDE = Path(__file__).parents[1] / "tilewright" / "include"
OPERATIONS_PER_LINE = 3
LINES, FEW_LINES = 3_334, 10
SEQUENCE = """
aie.device(npu2) {
  aie.runtime_sequence @lines(%in: memref<?xi8>, %lines: i32, %line_bytes: i32, %repeat: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %lines step %c1 : i32 {
      %offset = arith.muli %i, %line_bytes : i32
      aiex.npu.address_patch(%offset : i32) {addr = 0x1D004 : ui32, arg_idx = 0 : i32}
      aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %repeat {issue_token = true} : i32, i32
      aiex.npu.sync(%c0, %c0, %c1, %c0, %c1, %c1) : i32, i32, i32, i32, i32, i32
    }
  }
}
"""
SCALARS = {"line_bytes": 1920, "repeat": 3}
CPP = """
#include <chrono>
#include <cstdio>
#include <cstring>

using Clock = std::chrono::steady_clock;

// The best of several rounds, in ns per word.
template <typename Work> double measure(size_t words, Work work) {
  double best = 1e30;
  for (int round = 0; round < 15; ++round) {
    auto start = Clock::now();
    for (int i = 0; i < 20; ++i) work();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / 20);
  }
  return best / words;
}

int main() {
  auto made = generate_txn_main_lines(LINES, 1920, 3);
  if (!made) return 1;
  std::vector<uint32_t> source = *made, target(source.size());
  volatile uint32_t sink = 0;
  double generated = measure(source.size(), [&] { sink = sink + (*generate_txn_main_lines(LINES, 1920, 3))[4]; });
  double dropped_in = measure(source.size(), [&] { sink = sink + (*generate_txn_lines(LINES, 1920, 3))[4]; });
  double copied = measure(source.size(), [&] {
    std::memcpy(target.data(), source.data(), source.size() * sizeof(uint32_t));
    asm volatile("" : : "r"(target.data()) : "memory");
  });
  double pushed = measure(source.size(), [&] {
    std::vector<uint32_t> grown;
    for (uint32_t word : source) grown.push_back(word);
    sink = sink + grown[4];
  });
  std::printf("%f %f %f %f\\n", generated, dropped_in, copied, pushed);
}
"""


def best_seconds(work: Callable[[], object], calls: int, rounds: int = 15) -> float:
    """Seconds for one call, in the best round."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def cpp_numbers(design: Design, lines: int) -> list[float] | None:
    """ns per word of both C++ generators, of a copy and of growing word by word; None without a compiler."""
    if (compiler := shutil.which("g++")) is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "bench.cpp", Path(folder) / "bench"
        program, header = Path(folder) / "lines.mlir", Path(folder) / "lines.h"
        program.write_text(SEQUENCE, encoding="utf-8")
        main_command(["translate", "--aie-generate-txn-cpp", str(program), "-o", str(header)])
        parts = [design.cpp(), header.read_text(encoding="utf-8"), CPP.replace("LINES", str(lines))]
        source.write_text("\n".join(parts), encoding="utf-8")
        subprocess.run([compiler, "-std=c++17", "-O3", f"-I{INCLUDE}", str(source), "-o", str(binary)], check=True)
        output = subprocess.run([binary], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(number) for number in output.split()]


def report(name: str, ns: float, copied: float, pushed: float | None) -> None:
    against_push = "" if pushed is None else f"{pushed / ns:20.1f}x"
    print(f"{name:42}{ns:10.3f}{ns / copied:15.1f}x{against_push}")


def main() -> None:
    design = compile_text(SEQUENCE, "lines.mlir")
    stream = design.txn(lines=LINES, **SCALARS)
    words = stream.size
    print(f"{OPERATIONS_PER_LINE * LINES:,} operations, {words:,} words, {4 * words / 1024:.0f} KiB")
    cpp = cpp_numbers(design, LINES)
    copy = np.empty_like(stream)
    numpy_copied = best_seconds(lambda: np.copyto(copy, stream), 20) / words * 1e9
    native = best_seconds(lambda: design.txn(lines=LINES, **SCALARS), 20) / words * 1e9
    copied = cpp[2] if cpp else numpy_copied
    pushed = cpp[3] if cpp else None
    print(f"{'':42}{'ns/word':>10}{'of a copy':>16}{'than push_back':>21}")
    report("memcpy, warm", copied, copied, pushed)
    report("native generator, fresh array", native, copied, pushed)
    if cpp is not None:
        report("C++ generator, g++ -O3, fresh vector", cpp[0], copied, pushed)
        report("C++ of --aie-generate-txn-cpp, the same", cpp[1], copied, pushed)
        report("push_back of each word, nothing reserved", cpp[3], copied, pushed)
    few = best_seconds(lambda: design.txn(lines=FEW_LINES, **SCALARS), calls=200, rounds=200)
    print(f"Design.txn of {OPERATIONS_PER_LINE * FEW_LINES} operations: {1 / few:,.0f} calls/s")
    print("wanted: at most 3 copies of C++ and 4 of native code, 6 times as fast as push_back, 200,000 calls/s")


if __name__ == "__main__":
    main()
