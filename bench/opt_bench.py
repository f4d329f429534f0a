"""The whole command: wall time of `tilewright opt`, stock `xdsl-opt` and `mlir-opt-22` on the same programs.

`standard` is made of func, scf, arith and memref operations, which all three know. `npu` is made of the programs in
tests/filecheck/dialects/aiex, which use every aiex operation; the other tools know none of these, so they get the same
program in generic form and are told to let unknown operations pass unchecked.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.split_input import split_input
from tilewright.ir.verifier import verify

ROOT = Path(__file__).parents[1]
OURS, STOCK, MLIR = "tilewright opt", "xdsl-opt", "mlir-opt-22"
TOOLS = {
    OURS: [sys.executable, "-m", "tilewright", "opt"],
    STOCK: [str(Path(sys.executable).parent / "xdsl-opt"), "--allow-unregistered-dialect"],
    MLIR: ["mlir-opt-22", "--allow-unregistered-dialect"],
}
SIZES = 10, 1_000, 10_000, 100_000
STOCK_LIMIT = 10_000
"""xDSL's own tool takes minutes for more."""


def standard_program(operations: int) -> str:
    """A function of about that many operations."""
    loop = """  scf.for %i = %c0 to %c64 step %c1 {{
    %k = arith.constant {0} : i32
    %x = memref.load %m[%i, %c0] : memref<64x64xi32>
    %y = arith.addi %x, %k : i32
    %z = arith.muli %y, %a : i32
    %t = arith.cmpi slt, %y, %a : i32
    scf.if %t {{
      memref.store %z, %m[%i, %c1] : memref<64x64xi32>
    }}
  }}
"""
    loops = "".join(loop.format(i) for i in range(max(0, operations - 6) // 10))
    return f"""func.func @f(%m: memref<64x64xi32>, %a: i32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
{loops}  return
}}
"""


def npu_parts() -> Iterator[tuple[ModuleOp, int]]:
    """The valid programs among the tests of aiex, and their sizes; without memrefs of types that MLIR does not know."""
    for path in sorted(ROOT.glob("tests/filecheck/dialects/aiex/*.mlir")):
        for _, text in split_input(path.read_text(encoding="utf-8")):
            try:
                module = parse_source(make_context(), text, path.name)
            except DiagnosedError:
                continue
            if not verify(module) and "x!" not in text:
                yield module, sum(1 for _ in module.walk())


def npu_program(operations: int) -> tuple[str, str]:
    """About that many operations, in custom and in generic form: the programs above, over and over."""
    parts = [(module_text(m), foreign_text(m), size) for m, size in npu_parts()]
    custom, generic, total = list[str](), list[str](), 0
    while total < operations:
        for own, plain, size in sorted(parts, key=lambda part: part[2]):
            if total < operations:
                custom.append(own)
                generic.append(plain)
                total += size
    return "\n".join(custom), "\n".join(generic)


def foreign_text(module: ModuleOp) -> str:
    """The generic form; references to globals are made unknown too: the device around them is no symbol table there."""
    return module_text(module, generic=True).replace('"memref.get_global"', '"foreign.get_global"')


def aiex_coverage() -> str:
    def names(op: Operation) -> set[str]:
        return {inner.name for inner in op.walk() if inner.name.startswith("aiex.")}

    used = set[str]().union(*(names(module) for module, _ in npu_parts()))
    known = {op.name for op in make_context().get_dialect("aiex").operations}
    return f"npu: {len(used)} of {len(known)} aiex operations" + "".join(
        f"\n  without {n}" for n in sorted(known - used)
    )


def seconds(command: list[str], path: Path, runs: int) -> float:
    """The best of a few runs, each of which has to succeed."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run([*command, str(path)], check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best


def compare(name: str, size: int, texts: dict[str, str]) -> None:
    """One row: the time of each tool on its text."""
    times = dict[str, float]()
    with tempfile.TemporaryDirectory() as folder:
        for tool, command in TOOLS.items():
            if shutil.which(command[0]) is None or (tool == STOCK and size > STOCK_LIMIT):
                continue
            path = Path(folder) / f"{tool}.mlir"
            path.write_text(texts[tool], encoding="utf-8")
            times[tool] = seconds(command, path, runs=7 if size <= 1000 else 3 if size <= 10_000 else 1)
    row = "".join(f"{times[tool]:16.3f}" if tool in times else f"{'-':>16}" for tool in TOOLS)
    ratio = f"{times[OURS] / times[STOCK]:17.2f}x" if STOCK in times else f"{'-':>18}"
    print(f"{name:10}{size:>9,} ops{row}{ratio}", flush=True)


def main() -> None:
    print(f"{'whole command, seconds':23}" + "".join(f"{tool:>16}" for tool in TOOLS) + f"{'ours / xdsl-opt':>18}")
    for size in SIZES:
        compare("standard", size, dict.fromkeys(TOOLS, standard_program(size)))
    for size in SIZES:
        custom, generic = npu_program(size)
        compare("npu", size, {OURS: custom, STOCK: generic, MLIR: generic})
    print(aiex_coverage())


if __name__ == "__main__":
    main()
