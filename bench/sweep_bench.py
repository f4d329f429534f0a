"""Sweeps: 200 tiles of a product, beside the same `compile` and `run` calls in a plain loop.

Each way is a process of its own that begins with an empty cache. A sweep writes its journal, table and page, the loop
nothing. The overhead is that of one worker against the loop. Seconds of processors are those of all processes of a way,
which others on the machine change little; the clock is for a machine that does nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

M, K, N = 256, 192, 128
TILES = {"m": [16, 24, 32, 48], "k": [16, 24, 32, 48, 64], "n": [16, 32, 48, 64, 80], "c_depth": [1, 2]}
POINTS, QUICK_POINTS = 200, 12
CONSTRAINT = "l1_bytes <= 65536"
PYTHON, LOOP = sys.executable, "loop"


def product(m: int, k: int, n: int, c_depth: int) -> Any:
    from tilewright.designs import TileShape, WholeArrayGemm

    return WholeArrayGemm("npu2", 1, "i16", TileShape(m, k, n), c_depth=c_depth)


def swept(count: int, jobs: int, out: Path) -> None:
    import tilewright as tw

    chosen = {"search": "random", "samples": count, "arguments": {"M": M, "K": K, "N": N}}
    found = tw.sweep(product, TILES, jobs=jobs, out=out, constraints=[CONSTRAINT], **chosen)
    found.to_csv(out / "table.csv")
    found.to_json(out / "table.json")
    found.page(out / "index.html")


def looped(points: list[dict[str, int]]) -> None:
    """What a person would write instead, who knows which tiles fit."""
    import numpy as np

    import tilewright as tw

    for values in points:
        design = tw.compile(product(**values).program())
        a, b, c = np.zeros((M, K), np.int16), np.zeros((K, N), np.int16), np.zeros((M, N), np.int32)
        design.run(a, b, c, M, K, N)


class Measured(NamedTuple):
    """Seconds of processors, and of the clock."""

    cpu: float
    wall: float


def measure(way: str, count: int, folder: Path) -> Measured:
    """How long a way takes in a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        own = [PYTHON, __file__, f"--way={way}", f"--points={count}", f"--folder={folder}"]
        process = subprocess.Popen(own, env={**os.environ, "TILEWRIGHT_CACHE": cache})
        _, status, used = os.wait4(process.pid, 0)  # of the process and of all that it waited for
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{way}: status {process.returncode}")
        found = Measured(used.ru_utime + used.ru_stime, time.perf_counter() - start)
    print(f"{ABOUT[way]:38} {found.cpu:8.1f} s of processors {found.wall:8.1f} s by the clock", flush=True)
    return found


ABOUT = {"2": "two workers", LOOP: "a plain loop over those that are ok", "1": "one worker"}


def rows(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "2" / "table.json").read_text())["rows"]


def main() -> int:
    count = QUICK_POINTS if "--quick" in sys.argv else POINTS
    print(f"{count} points of {M}x{K}x{N} on one column; load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        two, loop, one = (measure(way, count, folder) for way in ABOUT)
        tables = [(folder / way / "table.csv").read_text() for way in ("1", "2")]
        statuses = [row["status"] for row in rows(folder)]
    assert tables[0] == tables[1], "the table depends on the number of workers"
    print(", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses)))
    cpu, wall = one.cpu / loop.cpu - 1, one.wall / loop.wall - 1
    print(f"overhead of one worker: {cpu:.1%} of processors, {wall:.1%} by the clock")
    print(
        f"speed-up of two workers: {one.wall / two.wall:.2f} by the clock, {two.cpu / one.cpu - 1:.1%} more processors"
    )
    return 0


def work(options: dict[str, str]) -> int:
    """One way, in the process that is measured."""
    folder, way = Path(options["folder"]), options["way"]
    if way == LOOP:
        looped([row["parameters"] for row in rows(folder) if row["status"] == "ok"])
    else:
        swept(int(options["points"]), int(way), folder / way)
    return 0


if __name__ == "__main__":
    given = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:] if "=" in word)
    sys.exit(work(given) if given else main())
