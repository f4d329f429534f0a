# ruff: noqa: E501  (rows of MLIR text)
"""Reading: operations per second of our reader and of stock xDSL, on the same text in one process, and mlir-opt-22's.

Three kinds of text: a function of arith, scf and memref operations, the same in generic form, and a runtime sequence of
aie and aiex operations (which mlir-opt does not know). With the argument --full, stock xDSL reads 100,000 operations too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser as StockParser

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source

SIZES = 10, 1_000, 10_000, 100_000
STOCK_LIMIT = 10_000
MLIR_OPT = "mlir-opt-22"


def standard_program(operations: int) -> str:
    """A function of about that many operations in custom form."""
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


def generic_program(operations: int) -> str:
    """A function of that many operations in generic form."""
    group = """  %{0} = "arith.constant"() <{{value = {1} : i32}}> : () -> i32
  %{0}x = "memref.load"(%m, %i) <{{nontemporal = false}}> : (memref<64xi32>, index) -> i32
  %{0}y = "arith.addi"(%{0}x, %{0}) <{{overflowFlags = #arith.overflow<none>}}> : (i32, i32) -> i32
  "memref.store"(%{0}y, %m, %i) <{{nontemporal = false}}> : (i32, memref<64xi32>, index) -> ()
"""
    groups = "".join(group.format(f"v{i}", i) for i in range(max(0, operations - 3) // 4))
    return f""""builtin.module"() ({{
"func.func"() <{{function_type = (memref<64xi32>, index) -> (), sym_name = "f"}}> ({{
^bb0(%m: memref<64xi32>, %i: index):
{groups}  "func.return"() : () -> ()
}}) : () -> ()
}}) : () -> ()
"""


def npu_program(operations: int) -> str:
    """A device whose runtime sequence has about that many operations."""
    group = """    %o{0} = arith.constant {0} : i64
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, %o{0}][1, 4, 8, 16][0, 128, 16, 1]) {{id = {1} : i64, metadata = @in}} : memref<4096xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 512][0, 0, 0, 1]) {{id = {2} : i64, metadata = @out}} : memref<4096xi32>
    aiex.npu.dma_wait {{symbol = @out}}
    %w{0} = arith.constant {0} : i32
    aiex.npu.write32(%w{0}, %n) {{column = 0 : i32, row = 2 : i32}} : i32, i32
    %t{0} = aiex.dma_configure_task(%tile, MM2S, 0) {{
      aie.dma_bd(%a : memref<4096xi32> offset = 0 len = 64) {{bd_id = 1 : i32}}
      aie.end
    }}
    aiex.dma_start_task(%t{0})
"""
    groups = "".join(group.format(i, i % 8, 8 + i % 8) for i in range(max(0, operations - 6) // 10))
    return f"""aie.device(npu1) {{
  %tile = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @in(%tile, {{%core}}, 2 : i32) : !aie.objectfifo<memref<512xi32>>
  aie.objectfifo @out(%core, {{%tile}}, 2 : i32) : !aie.objectfifo<memref<512xi32>>
  aie.runtime_sequence(%a: memref<4096xi32>, %b: memref<4096xi32>, %n: i32) {{
{groups}  }}
}}
"""


def read_ours(text: str) -> ModuleOp:
    return parse_source(make_context(), text, "bench.mlir")


def read_stock(text: str) -> ModuleOp:
    return StockParser(make_context(), text).parse_module()


def best_seconds(read: Callable[[str], ModuleOp], text: str, runs: int) -> float:
    """Processor time: what else the machine does should not count."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        read(text)
        best = min(best, time.process_time() - start)
    return best


def mlir_seconds(text: str) -> float | None:
    """The time that mlir-opt reports for its parser."""
    if shutil.which(MLIR_OPT) is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        command = [MLIR_OPT, "--mlir-timing", "--mlir-disable-threading", file.name, "-o", str(Path("/dev/null"))]
        report = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    found = re.search(r"([0-9.]+) .*Parser", report)
    return float(found[1]) if found else None


def main(arguments: list[str]) -> None:
    programs = {"custom form": standard_program, "generic form": generic_program, "aie, aiex": npu_program}
    print(f"{'reading, op/s':27}{'ours':>12}{'xDSL':>12}{'speed-up':>10}{MLIR_OPT:>14}")
    for name, program in programs.items():
        for size in SIZES:
            text = program(size)
            count = sum(1 for _ in read_ours(text).walk())
            runs = 5 if size <= 1000 else 3 if size <= 10_000 else 1
            ours = count / best_seconds(read_ours, text, runs)
            stock = None
            if size <= STOCK_LIMIT or "--full" in arguments:
                stock = count / best_seconds(read_stock, text, min(runs, 2))
            theirs = mlir_seconds(text) if program is not npu_program else None
            row = f"{name:14}{size:>9,} ops{ours:12,.0f}"
            row += f"{stock:12,.0f}{ours / stock:9.1f}x" if stock else f"{'-':>12}{'-':>10}"
            print(row + (f"{count / theirs:14,.0f}" if theirs else f"{'-':>14}"), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
