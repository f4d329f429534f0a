"""Compiling: seconds from text to lowered sequences for 100, 1,000 and 10,000 tasks, and how that grows.

`transfers` are dma_memcpy_nd operations with a wait after every fourth, `tasks` are configured, started and awaited.
Their shapes repeat, their offsets do not. Time is the processor's, for the whole of `tilewright.compile` with all
limits checked; the exponent is that of the power law through the points, 1 if twice the tasks take twice the time.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from tilewright.driver.compiled_design import compile_text

SIZES = 100, 1_000, 10_000
SHAPES = "[1, 2, 4, 16][0, 512, 64, 1]", "[1, 1, 8, 32][0, 0, 64, 1]", "[2, 1, 1, 256][1024, 0, 0, 1]"
TASK_SHAPES = "len = 128 sizes = [1, 2, 4, 16] strides = [0, 512, 64, 1]", "len = 256"
MEMORY = "memref<1048576xi32>"
DEVICE = """aie.device(npu2) {{
  %tile = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%tile, MM2S, 0)
  aie.shim_dma_allocation @out(%tile, S2MM, 0)
  aie.runtime_sequence @run(%a: {memory}, %b: {memory}) {{
{body}
  }}
}}
"""


def transfers(count: int) -> Iterator[str]:
    for index in range(count):
        memory, name = ("%b", "out") if index % 4 == 3 else ("%a", "in")
        shape = SHAPES[index % len(SHAPES)]
        yield (
            f"aiex.npu.dma_memcpy_nd({memory}[0, 0, 0, {64 * index}]{shape}) "
            f"{{id = {index % 16} : i64, metadata = @{name}}} : {MEMORY}"
        )
        if index % 4 == 3:
            yield "aiex.npu.dma_wait {symbol = @out}"


def tasks(count: int) -> Iterator[str]:
    for index in range(count):
        shape = TASK_SHAPES[index % len(TASK_SHAPES)]
        yield f"%t{index} = aiex.dma_configure_task(%tile, MM2S, 0) {{"
        yield f"  aie.dma_bd(%a : {MEMORY} offset = {64 * index} {shape})"
        yield "  aie.end"
        yield "} {issue_token = true}"
        yield f"aiex.dma_start_task(%t{index})"
        yield f"aiex.dma_await_task(%t{index})"


def seconds(text: str, runs: int) -> float:
    """The best of a few runs."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        compile_text(text, "bench.mlir")
        best = min(best, time.process_time() - start)
    return best


def exponent(times: list[float]) -> float:
    """Slope of the line through the logarithms."""
    points = [(math.log(size), math.log(spent)) for size, spent in zip(SIZES, times, strict=False)]
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def measure(name: str, program: Callable[[int], Iterator[str]], sizes: Sequence[int]) -> None:
    times = list[float]()
    for size, runs in zip(sizes, (5, 3, 1), strict=False):
        body = "\n".join(f"    {line}" for line in program(size))
        times.append(seconds(DEVICE.format(memory=MEMORY, body=body), runs))
    row = "".join(f"{spent:12.3f}" for spent in times)
    print(f"{name:12}{row}{exponent(times):12.3f}{times[-1] / sizes[-1] * 1e6:14.0f}", flush=True)


def main(arguments: list[str]) -> None:
    sizes = SIZES[:-1] if "--quick" in arguments else SIZES
    measured = "".join(f"{size:>12,}" for size in sizes)
    compile_text(DEVICE.format(memory=MEMORY, body="\n".join([*transfers(4), *tasks(4)])), "warm-up.mlir")
    print(f"{'seconds':12}{measured}{'exponent':>12}{'us per task':>14}")
    measure("transfers", transfers, sizes)
    measure("tasks", tasks, sizes)
    print("wanted: an exponent below 1.15")
    print(f"most memory used: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main(sys.argv[1:])
