"""The simulator: products of matrices with planned tiles and the library's kernels, on 16 and on 32 cores.

Speed is that of the second run on a loaded device, as modelled cycles in a second of the processor and by the clock on
the wall, the best of several runs. Where that time goes: products are the kernels' own, timed alone; the native loop
moves words and gives turns; Python does the controller, the record of the run and what else native code comes back for.
The second table has a small i16 product beside NumPy doing the same; the exponent is that of the power law through the
points, 1 if the cost is linear in the work. Then both models, on a design that the plain one can do in a moment, and
the memory that long transfers take.

For scale, the vendor's cycle-accurate simulator: 50 ms of simulated time take it about 1,200 s, which at 1 GHz is 4.2e4
cycles in a second (FIM43-Redeye/xdna-emu, docs/coverage/aiesim-failure-triage.md, June 2026).
"""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gemm_design import gemm_text
from timing import REPEATS, best

import tilewright as tw
from tilewright.designs import Gemm
from tilewright.device import model as device_model
from tilewright.device.vector_unit import vector_unit
from tilewright.driver.loaded_device import LoadedDevice
from tilewright.iron.dtype import dtype_map
from tilewright.kernels.matmul import COMBINATIONS
from tilewright.kernels.native_product import ProductShape, native_product
from tilewright.sim.fast.engine import FastEngine
from tilewright.sim.trace import TraceEvent

PLANNED = [(device, "_".join(pair)) for device in ("npu1", "npu2") for pair in COMBINATIONS]
"""Four columns and eight."""
ABOUT = 2048
LARGE = 1 << 15
SIZES = 256, 512, 1024
LONG_WORDS = 6_400_000
LOOP = """
module {{ aie.device(npu2_4col) {{
  {tiles}
  aie.runtime_sequence @run(%a: memref<{total}xi32>, %b: memref<{total}xi32>) {{
    {transfers}
  }}
}} }}
"""
VENDOR_CYCLES_PER_SECOND = 0.050 * 1e9 / 1200


class Spent(NamedTuple):
    """Seconds that a run takes."""

    processor: float
    wall: float
    native: float
    """Of those of the processor: in native code, kernels among it."""


def spent(device: LoadedDevice, run: Callable[[], Any]) -> Spent:
    engine = device.machine.engine
    assert isinstance(engine, FastEngine)
    go, native = engine._go, 0.0

    def timed(first: int) -> int:
        nonlocal native
        start = time.process_time()
        code = go(first)
        native += time.process_time() - start
        return code

    found = list[Spent]()
    for _ in range(REPEATS + 2):
        native, engine._go = 0.0, timed
        processor, wall = time.process_time(), time.perf_counter()
        run()
        found.append(Spent(time.process_time() - processor, time.perf_counter() - wall, native))
        engine._go = go
    return min(found)


def planned(device: str, types: str) -> None:
    """A row of the first table."""
    gemm = Gemm.plan(LARGE, LARGE, LARGE, types, device, b_col_maj=True).best.gemm
    m, k, n = (max(1, round(ABOUT / block)) * block for block in gemm.multiples)
    random = np.random.default_rng(1)
    a, b = (random.integers(-8, 8, shape).astype(dtype_map[gemm.operand]) for shape in ((m, k), (n, k)))
    c = np.zeros((m, n), dtype_map[gemm.result])
    loaded = Gemm(gemm).design.load()
    cycles = loaded.run(a, b, c, m, k, n).cycles
    seconds = spent(loaded, lambda: loaded.run(a, b, c, m, k, n))
    tile = gemm.tile
    calls = m * k * n // (tile.m * tile.k * tile.n)
    alone = calls * kernel_seconds(device, types, tile.m, tile.k, tile.n)
    shares = alone, seconds.native - alone, seconds.processor - seconds.native
    cells = [
        f"{device} {types:10}{f'{tile.m}x{tile.k}x{tile.n}':12} {f'{m}x{k}x{n}':15} {cycles:>10,}",
        *(f"{cycles / taken:8.2e}" for taken in (seconds.processor, seconds.wall)),
        f"{m * k * n / alone / 1e9:6.0f}",
        *(f"{share / seconds.processor:7.0%}" for share in shares),
    ]
    print(" ".join(cells), flush=True)


def kernel_seconds(device: str, types: str, m: int, k: int, n: int) -> float:
    """Of one call of the kernel, alone."""
    operand, _, total = types.partition("_")
    blocks = vector_unit(device_model(device).arch).blocks[operand, total]
    shape = ProductShape(operand, total, m, k, n, *blocks.dims, b_turned=True)
    sizes = ((m * k, operand), (k * n, operand), (m * n, total))
    call = native_product(shape).call(*(np.ones(size, dtype_map[element]) for size, element in sizes))
    function = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(call.function)
    return best(lambda: [function(call.argument) for _ in range(100)], time.process_time) / 100


def peak_of(words: int, columns: int) -> float:
    """The most memory, in MB, that a process takes in which so many words go to each column and back."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (words, columns))


def _peak(words: int, columns: int) -> float:
    tiles = "\n".join(
        f"%shim{n} = aie.tile({n}, 0)\n aie.flow(%shim{n}, DMA : 0, %shim{n}, DMA : 0)\n"
        f"aie.shim_dma_allocation @in{n}(%shim{n}, MM2S, 0)\n aie.shim_dma_allocation @out{n}(%shim{n}, S2MM, 0)"
        for n in range(columns)
    )
    transfer = "aiex.npu.dma_memcpy_nd(%{0}[0,0,0,{1}][1,1,1,{2}][0,0,0,1]) {{id={3}:i64, {4} metadata=@{5}{6}}}"
    transfers = [
        transfer.format(name, n * words, words, index, token, way, n) + f" : memref<{columns * words}xi32>"
        for n in range(columns)
        for index, (name, way, token) in enumerate((("b", "out", "issue_token=true,"), ("a", "in", "")))
    ]
    waits = [f"aiex.npu.dma_wait {{symbol=@out{n}}}" for n in range(columns)]
    text = LOOP.format(tiles=tiles, total=columns * words, transfers="\n".join([*transfers, *waits]))
    a, b = (np.zeros(columns * words, np.int32) for _ in range(2))
    tw.compile(text).run(a, b)
    # Of this process alone: what `getrusage` tells begins with that of the one that started it.
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


class Measured(NamedTuple):
    """One product."""

    size: int
    seconds: float
    numpy_seconds: float
    cycles: int
    events: int
    dma_bytes: int


def measure(size: int) -> Measured:
    random = np.random.default_rng(0)
    a, b = (random.integers(-128, 128, (size, size), dtype=np.int16) for _ in range(2))
    c = np.zeros_like(a)
    device = tw.compile(gemm_text(size, size, size)).load()
    result = device.run(a, b, c)
    assert np.array_equal(c, a @ b), "the product is wrong"
    events = device.machine.engine.events
    seconds = best(lambda: device.run(a, b, c))
    events = (device.machine.engine.events - events) // REPEATS
    words = int(result.trace[result.trace[:, 1] == TraceEvent.BD_END][:, 4].sum())
    return Measured(size, seconds, best(lambda: a @ b), result.cycles, events, 4 * words)


def exponent(points: list[Measured]) -> float:
    """Of time by work, through the points."""
    xs, ys = [math.log(p.size**3) for p in points], [math.log(p.seconds) for p in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)


def both_models() -> None:
    """Cycles in a second of the plain and the fast model, on one small product."""
    random = np.random.default_rng(0)
    a, b = (random.integers(-128, 128, (128, 128), dtype=np.int16) for _ in range(2))
    design, rates = tw.compile(gemm_text(128, 128, 128)), dict[str, float]()
    for model in ("plain", "fast"):
        device = design.load(model=model)
        cycles = device.run(a, b, np.zeros_like(a)).cycles
        rates[model] = cycles / best(lambda device=device: device.run(a, b, np.zeros_like(a)))
    plain, fast = rates["plain"], rates["fast"]
    print(f"\n128: plain {plain:,.0f} cycles/s, fast {fast:,.0f}: {fast / plain:.0f}x")


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    print("     types     tile         product             cycles  per s of CPU, wall GMAC/s kernels  native  Python")
    for device, types in PLANNED[:: len(COMBINATIONS)] if quick else PLANNED:
        planned(device, types)
    print()
    sizes = SIZES[:2] if quick else SIZES
    print("size   seconds  of NumPy's    cycles  cycles/s  turns/s  bytes/s by DMA")
    points = list[Measured]()
    for size in sizes:
        point = measure(size)
        points.append(point)
        rates = (point.cycles / point.seconds, point.events / point.seconds, point.dma_bytes / point.seconds)
        print(
            f"{size:<6} {point.seconds:7.3f} {point.seconds / point.numpy_seconds:10.1f}x {point.cycles:>10,} "
            f"{rates[0]:9.2e} {rates[1]:8.1e} {rates[2]:15.1e}",
            flush=True,
        )
    published = f"the vendor's simulator as published: {VENDOR_CYCLES_PER_SECOND:.1e} cycles/s"
    print(f"time ~ work^{exponent(points):.2f}; {published}")
    both_models()
    cases = [(LONG_WORDS, 1)] if quick else [(LONG_WORDS, 1), (1 << 26, 4)]
    for words, columns in cases:
        print(f"{words:,} words each way on {columns} columns: {peak_of(words, columns):,.0f} MB at most")


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    main(sys.argv[1:])
