"""Sweeps: 200 tiles of a product, beside the same `compile` and `run` calls in a plain loop.

Each way begins with an empty cache in a process of its own. The overhead is that of one worker against the loop. The
first column is processor time, which others on the machine change little, the second the clock on the wall.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright.designs import TileShape, WholeArrayGemm

M, K, N = 256, 192, 128
TILES = {"m": [16, 32, 48, 64], "k": [16, 32, 48, 64, 96], "n": [16, 32, 48, 64, 96], "c_depth": [1, 2]}
POINTS, QUICK_POINTS = 200, 12
CONSTRAINT = "l1_bytes <= 65536"


def product(m: int, k: int, n: int, c_depth: int) -> WholeArrayGemm:
    return WholeArrayGemm("npu2", 1, "i16", TileShape(m, k, n), c_depth=c_depth)


def swept(count: int, jobs: int) -> tw.SweepResult:
    sizes = {"M": M, "K": K, "N": N}
    chosen = {"search": "random", "samples": count, "arguments": sizes}
    return tw.sweep(product, TILES, jobs=jobs, constraints=[CONSTRAINT], **chosen)


def looped() -> None:
    """What a person would write instead, who knows which tiles fit."""
    for values in (row.values for row in RESULT.rows if row.is_ok):
        design = tw.compile(product(**values).program())  # pyright: ignore[reportArgumentType]
        a, b, c = np.zeros((M, K), np.int16), np.zeros((K, N), np.int16), np.zeros((M, N), np.int32)
        design.run(a, b, c, M, K, N)


RESULT: tw.SweepResult


class Measured(NamedTuple):
    """Seconds of processors, and of the clock."""

    cpu: float
    wall: float


def measure(action: Callable[[], object]) -> Measured:
    """How long something takes in a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        reader, writer = os.pipe()
        start = time.perf_counter()
        if (child := os.fork()) == 0:
            os.environ["TILEWRIGHT_CACHE"] = cache
            action()
            own, below = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            os.write(writer, str(sum(used.ru_utime + used.ru_stime for used in (own, below))).encode())
            os._exit(0)
        os.waitpid(child, 0)
        return Measured(float(os.read(reader, 100)), time.perf_counter() - start)


def main() -> int:
    global RESULT
    count = QUICK_POINTS if "--quick" in sys.argv else POINTS
    RESULT = swept(count, 2)
    loop = measure(looped)
    one = measure(lambda: swept(count, 1))
    two = measure(lambda: swept(count, 2))
    assert swept(QUICK_POINTS, 1).to_csv() == swept(QUICK_POINTS, 2).to_csv()
    counts = ", ".join(f"{number} {status.value}" for status, number in RESULT.counts.items())
    print(f"{count} points of {M}x{K}x{N} on one column: {counts}; load {os.getloadavg()[0]:.1f}")
    for name, found in (("a plain loop over those that are ok", loop), ("one worker", one), ("two workers", two)):
        print(f"{name:38} {found.cpu:8.1f} s of processors {found.wall:8.1f} s")
    cpu, wall = one.cpu / loop.cpu - 1, one.wall / loop.wall - 1
    print(f"overhead of one worker: {cpu:.1%} of processors, {wall:.1%} of the clock")
    print(f"speed-up of two workers: {one.wall / two.wall:.2f} by the clock")
    return 0


if __name__ == "__main__":
    sys.exit(main())
