"""The whole command: wall time of `tilewright opt`, stock `xdsl-opt` and `mlir-opt-22` on the same programs.

The other tools know none of the operations of `npu`, so they get it in generic form and let them pass unchecked. With
--quick, stock `xdsl-opt` is spared the 100,000 operations.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import MLIR_OPT, PROGRAMS, SIZES, Program, aiex_coverage

OURS, STOCK = "tilewright opt", "xdsl-opt"
TOOLS = {
    OURS: [sys.executable, "-m", "tilewright", "opt"],
    STOCK: [str(Path(sys.executable).parent / "xdsl-opt"), "--allow-unregistered-dialect"],
    MLIR_OPT: [MLIR_OPT, "--allow-unregistered-dialect"],
}
QUICK_LIMIT = 10_000
AS_INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(command: list[str], path: Path, runs: int) -> float:
    """The best of a few runs, each of which has to succeed."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run([*command, str(path)], check=True, stdout=subprocess.DEVNULL, env=AS_INSTALLED)
        best = min(best, time.perf_counter() - start)
    return best


def compare(name: str, size: int, program: Program, quick: bool) -> None:
    """One row: the time of each tool on its text."""
    times = dict[str, float]()
    knows_all = name == "standard"
    with tempfile.TemporaryDirectory() as folder:
        for tool, command in TOOLS.items():
            if shutil.which(command[0]) is None or (quick and tool == STOCK and size > QUICK_LIMIT):
                continue
            path = Path(folder) / f"{tool}.mlir"
            path.write_text(program.custom if knows_all or tool == OURS else program.foreign, encoding="utf-8")
            times[tool] = seconds(command, path, runs=7 if size <= 1000 else 3 if size <= 10_000 else 1)
    row = "".join(f"{times[tool]:16.3f}" if tool in times else f"{'-':>16}" for tool in TOOLS)
    ratio = f"{times[OURS] / times[STOCK]:17.2f}x" if STOCK in times else f"{'-':>18}"
    print(f"{name:10}{size:>9,} ops{row}{ratio}", flush=True)


def main(arguments: list[str]) -> None:
    print(f"{'whole command, seconds':23}" + "".join(f"{tool:>16}" for tool in TOOLS) + f"{'ours / xdsl-opt':>18}")
    for name, program in PROGRAMS.items():
        for size in SIZES:
            compare(name, size, program(size), "--quick" in arguments)
    print(aiex_coverage())


if __name__ == "__main__":
    main(sys.argv[1:])
