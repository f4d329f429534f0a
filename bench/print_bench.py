"""Operations printed per second: ours, xDSL's printer and `mlir-opt-22`, on the same programs.

`mlir-opt` reports its own time for printing, without reading and starting.
"""

from __future__ import annotations

import gc
import re
import subprocess
from collections.abc import Callable
from functools import partial
from io import StringIO
from shutil import which
from tempfile import NamedTemporaryFile
from time import process_time

from programs import MLIR_OPT, PROGRAMS, SIZES, read
from xdsl.ir import Operation
from xdsl.printer import Printer as XDSLPrinter

from tilewright.ir.printer import module_text

REPEATS = 3


def best_seconds(*actions: Callable[[], object]) -> list[float]:
    """Processor time of each action, the best of a few; they take turns, so that a busy machine is unkind to all."""
    best = [float("inf")] * len(actions)
    for _ in range(REPEATS):
        for number, action in enumerate(actions):
            gc.collect()
            start = process_time()
            action()
            best[number] = min(best[number], process_time() - start)
    return best


def printed_by_xdsl(op: Operation, generic: bool) -> str:
    out = StringIO()
    XDSLPrinter(out, print_generic_format=generic).print_op(op)
    return out.getvalue()


def mlir_seconds(text: str, generic: bool) -> float:
    """What `mlir-opt` says it spends on output."""
    if which(MLIR_OPT) is None:
        return float("nan")
    flags = ["--mlir-timing", "--mlir-timing-display=list", "--mlir-disable-threading", "--allow-unregistered-dialect"]
    flags += ["--mlir-print-op-generic"] if generic else []
    with NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        command = [MLIR_OPT, *flags, file.name, "-o", "/dev/null"]
        report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = re.search(r"([\d.]+) \(.*\)\s+Output", report)
    return float(found[1]) if found else float("nan")


def main() -> None:
    print(f"{'printing, op/s':31}{'ours':>12}{'xDSL':>12}{'speed-up':>10}{MLIR_OPT:>14}")
    for name, program in PROGRAMS.items():
        for size in SIZES:
            texts = program(size)
            module = read(texts.custom)
            count = sum(1 for _ in module.walk())
            for generic in (False, True):
                ours, xdsl = best_seconds(
                    partial(module_text, module, generic=generic), partial(printed_by_xdsl, module, generic)
                )
                mlir = min(mlir_seconds(texts.foreign, generic) for _ in range(REPEATS))
                rate = f"{count / mlir:14,.0f}" if mlir > 0 else f"{'-':>14}"
                form = f"{name}, {'generic' if generic else 'custom'}"
                line = f"{form:18}{count:>9,} ops{count / ours:12,.0f}{count / xdsl:12,.0f}{xdsl / ours:9.1f}x"
                print(line + rate, flush=True)


if __name__ == "__main__":
    main()
