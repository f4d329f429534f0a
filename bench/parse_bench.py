"""Reading: operations per second of our reader and of stock xDSL, on the same text in one process, and mlir-opt-22's.

Both are given our definitions of operations, so the programs are the same. `mlir-opt` reports its own time for reading;
it lets the operations of `npu` pass unchecked. With --quick, stock xDSL is spared the 100,000 operations.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from programs import MLIR_OPT, PROGRAMS, SIZES, read
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser as StockParser

from tilewright.ir.context import make_context

QUICK_LIMIT = 10_000


def read_stock(text: str) -> ModuleOp:
    return StockParser(make_context(), text).parse_module()


def best_seconds(work: Callable[[str], ModuleOp], text: str, runs: int) -> float:
    """Processor time: what else the machine does should not count."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work(text)
        best = min(best, time.process_time() - start)
    return best


def mlir_seconds(text: str) -> float | None:
    if shutil.which(MLIR_OPT) is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        flags = ["--mlir-timing", "--mlir-disable-threading", "--allow-unregistered-dialect"]
        report = subprocess.run(
            [MLIR_OPT, *flags, file.name, "-o", "/dev/null"], capture_output=True, text=True, check=True
        ).stderr
    found = re.search(r"([0-9.]+) .*Parser", report)
    return float(found[1]) if found else None


def row(name: str, size: int, text: str, foreign: str | None, quick: bool) -> str:
    """Operations per second of each reader, in one line."""
    count = sum(1 for _ in read(text).walk())
    runs = 5 if size <= 1000 else 3 if size <= 10_000 else 1
    ours = count / best_seconds(read, text, runs)
    line = f"{name:18}{count:>9,} ops{ours:12,.0f}"
    if quick and size > QUICK_LIMIT:
        line += f"{'-':>12}{'-':>10}"
    else:
        stock = count / best_seconds(read_stock, text, min(runs, 2))
        line += f"{stock:12,.0f}{ours / stock:9.1f}x"
    theirs = mlir_seconds(foreign) if foreign else None
    return line + (f"{count / theirs:14,.0f}" if theirs else f"{'-':>14}")


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    print(f"{'reading, op/s':31}{'ours':>12}{'xDSL':>12}{'speed-up':>10}{MLIR_OPT:>14}")
    for name, program in PROGRAMS.items():
        for size in SIZES:
            texts = program(size)
            readable = texts.custom if name == "standard" else None
            print(row(f"{name}, custom", size, texts.custom, readable, quick), flush=True)
            print(row(f"{name}, generic", size, texts.generic, texts.foreign, quick), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
