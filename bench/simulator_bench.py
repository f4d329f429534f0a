"""The simulator: a matrix product of i16 on a 4x4 array with 32x32x32 tiles, beside NumPy doing the same product.

The kernel takes what a core's vector unit would at its peak, 512 cycles for a tile. Speed is that of the second run on
a loaded device, by the clock on the wall; the exponent is that of the power law through the points, 1 if the cost is
linear in the work. The last table has both models, on a design that the plain one can do in a moment.

For scale, the vendor's cycle-accurate simulator: 50 ms of simulated time take it about 1,200 s, which at 1 GHz is 4.2e4
cycles in a second (FIM43-Redeye/xdna-emu, docs/coverage/aiesim-failure-triage.md, June 2026).
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from gemm_design import gemm_text
from timing import REPEATS, best

import tilewright as tw
from tilewright.sim.trace import TraceEvent

SIZES = 256, 512, 1024
VENDOR_CYCLES_PER_SECOND = 0.050 * 1e9 / 1200


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
    sizes = SIZES[:2] if "--quick" in arguments else SIZES
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


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    main(sys.argv[1:])
