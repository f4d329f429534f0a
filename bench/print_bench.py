"""Operations printed per second: ours, xDSL's printer and `mlir-opt`, on the same programs.

    python bench/print_bench.py [SIZE ...]

Prints one row per size and form. `mlir-opt` reports its own time for printing, without reading and starting.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from io import StringIO
from shutil import which
from tempfile import NamedTemporaryFile
from time import process_time

from xdsl.ir import Operation
from xdsl.printer import Printer as XDSLPrinter

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text

SIZES = (1_000, 10_000, 100_000)
REPEATS = 3
MLIR_OPT = which("mlir-opt-22") or which("mlir-opt")

FUNCTION = """func.func @f{number}(%a: memref<64x64xi32>, %b: memref<64x64xi32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
    scf.for %j = %c0 to %n step %c1 {{
      %0 = memref.load %a[%i, %j] : memref<64x64xi32>
      %1 = memref.load %b[%i, %j] : memref<64x64xi32>
      %2 = arith.addi %0, %1 : i32
      %3 = arith.muli %2, %1 : i32
      %4 = arith.cmpi slt, %3, %2 : i32
      scf.if %4 {{
        memref.store %3, %a[%i, %j] : memref<64x64xi32>
      }}
    }}
  }}
  return
}}
"""


def program(operations: int) -> str:
    return "".join(FUNCTION.format(number=number) for number in range(max(1, operations // 16)))


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
    if MLIR_OPT is None:
        return float("nan")
    flags = ["--mlir-timing", "--mlir-timing-display=list", "--mlir-disable-threading"]
    flags += ["--mlir-print-op-generic"] if generic else []
    with NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        report = subprocess.run([MLIR_OPT, *flags, file.name, "-o", "/dev/null"], capture_output=True, text=True).stderr
    found = re.search(r"([\d.]+) \(.*\)\s+Output", report)
    return float(found[1]) if found else float("nan")


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print(f"{'operations':>10}  {'form':8}{'ours':>12}{'xDSL':>12}{'mlir-opt':>12}  op/s    ours to xDSL's")
    for size in sizes:
        text = program(size)
        module = parse_source(make_context(), text, "<bench>")
        count = sum(1 for _ in module.walk())
        for generic in (False, True):
            ours, xdsl = best_seconds(
                partial(module_text, module, generic=generic), partial(printed_by_xdsl, module, generic)
            )
            mlir = min(mlir_seconds(text, generic) for _ in range(REPEATS))
            rates = "".join(f"{count / seconds if seconds else float('inf'):12,.0f}" for seconds in (ours, xdsl, mlir))
            print(f"{count:10,}  {'generic' if generic else 'custom':8}{rates}          {xdsl / ours:.2f}x", flush=True)


if __name__ == "__main__":
    main()
