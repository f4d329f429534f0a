"""Whole designs: seconds from text to configuration, for 1 to 8 columns of four cores, each fed and drained by fifos.

Each column has a mem tile that deals out what comes from the host to its cores and gathers what they give. Time is the
processor's; the exponent is that of the power law through the points, 1 if twice the fifos take twice the time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from tilewright.driver.compiled_design import compile_text

COLUMNS = 1, 2, 4, 8
ROWS = range(2, 6)
PART, WHOLE = 64, 256
CORE = """aie.core(%t{column}_{row}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %many = arith.constant 1000 : index
    %size = arith.constant {part} : index
    scf.for %n = %c0 to %many step %c1 {{
      %i = aie.objectfifo.acquire @in{column}_{row}(Consume, 1) : !aie.objectfifosubview<memref<{part}xi32>>
      %a = aie.objectfifo.subview.access %i[0] : !aie.objectfifosubview<memref<{part}xi32>> -> memref<{part}xi32>
      %o = aie.objectfifo.acquire @out{column}_{row}(Produce, 1) : !aie.objectfifosubview<memref<{part}xi32>>
      %b = aie.objectfifo.subview.access %o[0] : !aie.objectfifosubview<memref<{part}xi32>> -> memref<{part}xi32>
      scf.for %k = %c0 to %size step %c1 {{
        %x = memref.load %a[%k] : memref<{part}xi32>
        memref.store %x, %b[%k] : memref<{part}xi32>
      }}
      aie.objectfifo.release @in{column}_{row}(Consume, 1)
      aie.objectfifo.release @out{column}_{row}(Produce, 1)
    }}
    aie.end
  }}"""


def fifo(name: str, source: str, target: str, words: int) -> str:
    return f"aie.objectfifo @{name}(%{source}, {{%{target}}}, 2 : i32) : !aie.objectfifo<memref<{words}xi32>>"


def column_lines(column: int) -> Iterator[str]:
    """The tiles, fifos and cores of one column; neighbouring cores share memory."""
    for row in range(6):
        yield f"%t{column}_{row} = aie.tile({column}, {row})"
    shim, mem = f"t{column}_0", f"t{column}_1"
    yield fifo(f"in{column}", shim, mem, WHOLE)
    yield fifo(f"out{column}", mem, shim, WHOLE)
    for row in ROWS:
        yield fifo(f"in{column}_{row}", mem, f"t{column}_{row}", PART)
        yield fifo(f"out{column}_{row}", f"t{column}_{row}", mem, PART)
    for row in ROWS[:-1]:
        yield fifo(f"next{column}_{row}", f"t{column}_{row}", f"t{column}_{row + 1}", PART)
    inner, outer = (", ".join(f"@{side}{column}_{row}" for row in ROWS) for side in ("in", "out"))
    offsets = [PART * number for number in range(len(ROWS))]
    yield f"aie.objectfifo.link [@in{column}] -> [{inner}] ([] {offsets})"
    yield f"aie.objectfifo.link [{outer}] -> [@out{column}] ({offsets} [])"
    yield from (CORE.format(column=column, row=row, part=PART) for row in ROWS)


def design(columns: int) -> str:
    lines = [line for column in range(columns) for line in column_lines(column)]
    return "\n  ".join(["aie.device(npu2) {", *lines]) + "\n}\n"


def seconds(text: str, runs: int = 2) -> tuple[float, int]:
    """The best of a few runs, and the words of the configuration."""
    best, words = float("inf"), 0
    for _ in range(runs):
        start = time.process_time()
        words = compile_text(text, "bench.mlir").configuration().size
        best = min(best, time.process_time() - start)
    return best, words


def main() -> None:
    seconds(design(1))
    print(f"{'array':>8}{'fifos':>8}{'seconds':>10}{'ms per fifo':>14}{'words':>10}")
    points = list[tuple[float, float]]()
    for columns in COLUMNS:
        text = design(columns)
        fifos = text.count("aie.objectfifo @")
        spent, words = seconds(text)
        points.append((math.log(fifos), math.log(spent)))
        print(f"{f'4x{columns}':>8}{fifos:8}{spent:10.2f}{1000 * spent / fifos:14.1f}{words:10,}", flush=True)
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    print(f"exponent {slope:.2f}")


if __name__ == "__main__":
    main()
